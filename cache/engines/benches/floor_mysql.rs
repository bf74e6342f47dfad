//! The cost of a session of `mysql:` on top of its driver, and the saving of a batch.
//!
//! Compares a `get` and a `set` of ours with a prepared statement that does nothing, `DO 0`. Both use the same driver
//! and server, each on its own connection. They run in many short slices that take turns, so that other work of the
//! machine meets both. The difference between the two is the cost of the table. Then the bench compares a batch of 100
//! with 100 single gets.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

mod turns;

use std::time::{Duration, Instant};

use larder_engines::ENGINES;
use larder_store::{Result, Session, SetOptions, StoreUrl};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use turns::{heading, take_turns};

const KEY: &[u8] = b"floor:key:000001";

/// The number of keys of a batch.
const BATCH: usize = 100;

/// The number of times that either is done.
const ROUNDS: usize = 500;

/// Names a server, as in `mysql://user:password@127.0.0.1:3306/database?ssl-mode=DISABLED`: a started server has an
/// account of its own.
const SERVER: &str = "LARDER_FLOOR_MYSQL";

fn main() -> Result<()> {
    let named = std::env::var(SERVER).ok();
    let url = StoreUrl::parse(named.as_deref().unwrap_or("mysql:?flush=2"))?;
    let store = ENGINES.open(&url)?;
    let session = &mut *store.session()?;
    if named.is_some() {
        heading("operation");
        against_nothing(session, &url)?;
    }
    batch(session)
}

/// Single operations against a statement that does nothing.
fn against_nothing(session: &mut dyn Session, url: &StoreUrl) -> Result<()> {
    let mut bare = connect(url);
    let nothing = bare.prep("DO 0").expect("a statement");
    let mut floor = || bare.exec_drop(&nothing, ()).expect("mysql answers");
    let options = SetOptions::default();
    for value_len in [100, 1024, 16 * 1024] {
        let value = vec![b'v'; value_len];
        session.set(KEY, &value, &options)?;
        let mut found = Vec::new();
        let get = || {
            let hit = session.get(KEY, &mut found).expect("mysql answers");
            assert!(hit.is_some() && found.len() == value_len, "a miss");
        };
        take_turns(400, &format!("get {value_len} bytes"), get, &mut floor);
        let set = || {
            session.set(KEY, &value, &options).expect("mysql answers");
        };
        take_turns(400, &format!("set {value_len} bytes"), set, &mut floor);
    }
    Ok(())
}

fn connect(url: &StoreUrl) -> Conn {
    let (host, port) = url.hosts()[0].split_once(':').expect("host and port");
    let opts = OptsBuilder::new()
        .ip_or_hostname(Some(host))
        .tcp_port(port.parse().expect("a port"))
        .prefer_socket(false)
        .user(url.user())
        .pass(url.password());
    Conn::new(opts).expect("mysql listens")
}

/// A batch against as many single gets, which take turns.
fn batch(session: &mut dyn Session) -> Result<()> {
    let keys: Vec<String> = (0..BATCH).map(|i| format!("floor:key:{i:06}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    for key in &keys {
        session.set(key, &[b'v'; 100], &SetOptions::default())?;
    }
    let mut found = Vec::new();
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut n_hits = 0;
        session.get_many(&keys, &mut |_, _, _| n_hits += 1)?;
        let together = start.elapsed();
        let start = Instant::now();
        for key in &keys {
            n_hits += usize::from(session.get(key, &mut found)?.is_some());
        }
        times.push((together, start.elapsed()));
        assert_eq!(n_hits, 2 * BATCH, "a miss");
    }
    let median = |of: fn(&(Duration, Duration)) -> Duration| {
        let mut times: Vec<Duration> = times.iter().map(of).collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let (together, singly) = (median(|times| times.0), median(|times| times.1));
    let ratio = singly.as_secs_f64() / together.as_secs_f64();
    println!(
        "{BATCH} gets of 100 bytes: {singly:.1?} singly, {together:.1?} together, {ratio:.1} times"
    );
    Ok(())
}
