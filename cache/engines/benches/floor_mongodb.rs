//! The cost of a session of `mongodb:` on top of the driver's least request, a `ping`, and the saving of many keys at
//! once.
//!
//! `mongodb:` chooses the server. Both take turns in many short slices, so that other work of the machine meets both.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

mod turns;

use larder_engines::ENGINES;
use larder_store::{Result, Session, SetOptions, StoreUrl};
use mongodb::Client;
use mongodb::bson::doc;
use tokio::runtime::Builder;
use turns::{heading, take_turns};

const KEY: &[u8] = b"floor:key:000001";
const MANY: usize = 100;

fn main() -> Result<()> {
    let store = ENGINES.open(&StoreUrl::parse("mongodb:")?)?;
    println!("{}", store.info().version.unwrap_or_default());
    heading("operation, bare: ping");
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let url = format!("mongodb://{}/?directConnection=true", store.info().addresses[0]);
    let client = runtime.block_on(Client::with_uri_str(url)).expect("the driver");
    let admin = client.database("admin");
    let ping = || {
        runtime.block_on(async { admin.run_command(doc! { "ping": 1 }).await }).expect("a ping");
    };
    let mut session = store.session()?;
    for len in [100, 1024, 16 * 1024] {
        let value = vec![b'v'; len];
        let options = SetOptions::default();
        session.set(KEY, &value, &options)?;
        let mut found = Vec::new();
        let get = || {
            let hit = session.get(KEY, &mut found).expect("the server answers");
            assert!(hit.is_some() && found.len() == len, "a miss");
        };
        take_turns(400, &format!("get {len} bytes"), get, ping);
        let set = || {
            session.set(KEY, &value, &options).expect("the server answers");
        };
        take_turns(400, &format!("set {len} bytes"), set, ping);
    }
    many_keys(&mut *session)
}

/// A hundred keys by one request against the same by one request each.
fn many_keys(session: &mut dyn Session) -> Result<()> {
    let keys: Vec<String> = (0..MANY).map(|i| format!("floor:many:{i:06}")).collect();
    for key in &keys {
        session.set(key.as_bytes(), &[b'v'; 1024], &SetOptions::default())?;
    }
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let (session, mut found) = (std::cell::RefCell::new(session), Vec::new());
    let at_once = || {
        let mut n_hits = 0;
        session.borrow_mut().get_many(&keys, &mut |_, _, _| n_hits += 1).expect("an answer");
        assert_eq!(n_hits, MANY, "a miss");
    };
    let one_by_one = || {
        for key in &keys {
            assert!(session.borrow_mut().get(key, &mut found).expect("an answer").is_some());
        }
    };
    take_turns(4, &format!("{MANY} keys at once"), at_once, one_by_one);
    Ok(())
}
