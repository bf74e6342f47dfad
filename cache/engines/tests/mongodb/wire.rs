//! The number of requests of an operation.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use larder_store::{Put, SetOptions, SetOutcome};
use libtest_mimic::Trial;
use mongodb::bson::RawDocument;

use crate::session_support::{open, set};
use crate::support::{stand_in_on, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_hundred_keys_are_one_request", a_hundred_keys),
        trial("each_operation_is_one_request", each_operation),
        trial("an_unacknowledged_batch_is_one_message", unacknowledged_batch),
        trial("unacknowledged_sets_are_followed_by_one_answer", one_answer),
    ]
}

/// The counts of commands by name and `batchSize`, the number of documents that one answer may have.
type Requests = Arc<Mutex<BTreeMap<(String, Option<i32>), usize>>>;

/// Stands before a server and counts the commands of its clients. It ends with the test process.
struct Counter {
    port: u16,
    requests: Requests,
}

impl Counter {
    fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Requests::default();
        let counted = Arc::clone(&requests);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                client.set_nodelay(true).unwrap();
                server.set_nodelay(true).unwrap();
                let (mut answers, mut asker) =
                    (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut answers, &mut asker));
                let counted = Arc::clone(&counted);
                thread::spawn(move || count(client, server, &counted));
            }
        });
        Self { port, requests }
    }

    /// The commands since the last call, without those that the driver sends by itself.
    fn taken(&self) -> Vec<(String, usize)> {
        self.sized().into_iter().map(|((name, _), n)| (name, n)).collect()
    }

    /// The same, with the batch size of each command.
    fn sized(&self) -> Vec<((String, Option<i32>), usize)> {
        let mut taken = std::mem::take(&mut *self.requests.lock().unwrap());
        taken.retain(|(name, _), _| {
            !["hello", "isMaster", "ismaster", "endSessions"].contains(&&**name)
        });
        taken.into_iter().collect()
    }
}

/// Passes requests on, and counts each request before it sends it.
fn count(mut client: TcpStream, mut server: TcpStream, counted: &Requests) -> Option<()> {
    const OP_MSG: [u8; 4] = 2013_u32.to_le_bytes();
    loop {
        let mut message = vec![0; 4];
        client.read_exact(&mut message).ok()?;
        let len = u32::from_le_bytes(message[..4].try_into().unwrap()) as usize;
        message.resize(len, 0);
        client.read_exact(&mut message[4..]).ok()?;
        if message[12..16] == OP_MSG {
            // The name comes after header, flags, kind, length of the document and type of its first field.
            let name = message[26..].split(|byte| *byte == 0).next().unwrap();
            let name = String::from_utf8_lossy(name).into_owned();
            let command = RawDocument::from_bytes(&message[21..]).unwrap();
            let batch_size = command.get_i32("batchSize").ok();
            *counted.lock().unwrap().entry((name, batch_size)).or_default() += 1;
        }
        server.write_all(&message).ok()?;
    }
}

fn a_hundred_keys() {
    let (_server, port) = stand_in_on(0, &[]);
    let counter = Counter::before(port);
    let store = open(&format!("mongodb://127.0.0.1:{}/?directConnection=on", counter.port));
    let mut session = store.session().unwrap();
    let keys: Vec<String> = (0..100).map(|i| format!("key {i}")).collect();
    for key in &keys {
        set(&mut *session, key, &[7; 1000]);
    }
    counter.taken();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let mut n_hits = 0;
    session.get_many(&keys, &mut |_, value, _| n_hits += usize::from(value == [7; 1000])).unwrap();
    // The batch size is one more than the number of keys, because a full batch would need one more request.
    assert_eq!((n_hits, counter.sized()), (100, vec![(("find".into(), Some(101)), 1)]));
    let mut n_found = 0;
    let groups = session.groups().unwrap();
    groups.get_prefix(b"key ", &mut |_, _, _| n_found += 1).unwrap();
    assert_eq!((n_found, counter.taken()), (100, vec![("find".into(), 1)]));
    let put = |key| Put { key, value: b"value", options: SetOptions::default() };
    let entries: Vec<Put<'_>> = keys.iter().copied().map(put).collect();
    let mut n_stored = 0;
    let mut done = |_, outcome: larder_store::Result<SetOutcome>| {
        n_stored += usize::from(outcome.unwrap().is_stored());
    };
    session.set_many(&entries, &mut done).unwrap();
    assert_eq!((n_stored, counter.taken()), (100, vec![("update".into(), 1)]));
    let mut n_deleted = 0;
    session.delete_many(&keys, &mut |_, there| n_deleted += usize::from(there.unwrap())).unwrap();
    let wanted = [("delete", 1), ("update", 1)].map(|(name, n)| (name.to_owned(), n));
    assert_eq!((n_deleted, counter.taken()), (100, wanted.to_vec()));
}

fn unacknowledged_batch() {
    let (_server, port) = stand_in_on(0, &[]);
    let counter = Counter::before(port);
    let store = open(&format!("mongodb://127.0.0.1:{}/?directConnection=on&w=0", counter.port));
    let mut session = store.session().unwrap();
    counter.taken();
    let put = |key| Put { key, value: b"value", options: SetOptions::default() };
    let entries: [Put<'_>; 3] = [put(b"a"), put(b"b"), put(b"a")];
    let mut versions = Vec::new();
    let mut done = |_, outcome: larder_store::Result<SetOutcome>| versions.push(outcome.unwrap());
    session.set_many(&entries, &mut done).unwrap();
    let read = session.get(b"a", &mut Vec::new()).unwrap().unwrap();
    assert_eq!(versions[2], SetOutcome::Stored(read.version));
    // A key that comes again begins another command.
    let wanted = [("find", 1), ("ping", 1), ("update", 2)];
    assert_eq!(counter.taken(), wanted.map(|(name, n)| (name.to_owned(), n)));
}

fn each_operation() {
    use larder_store::{Delta, Session, SetMode};
    let (_server, port) = stand_in_on(0, &[]);
    let counter = Counter::before(port);
    let store = open(&format!("mongodb://127.0.0.1:{}/?directConnection=on", counter.port));
    let mut session = store.session().unwrap();
    let mode = |mode| SetOptions { mode, ..SetOptions::default() };
    set(&mut *session, "key", b"1");
    counter.taken();
    let mut expect = |what: &str, wanted: &[(&str, usize)], act: &dyn Fn(&mut dyn Session)| {
        act(&mut *session);
        let wanted: Vec<(String, usize)> =
            wanted.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        assert_eq!(counter.taken(), wanted, "{what}");
    };
    let one_update: &[(&str, usize)] = &[("update", 1)];
    for condition in [SetMode::Set, SetMode::Add, SetMode::Replace] {
        expect(&format!("{condition:?}"), one_update, &|session| {
            session.set(b"key", b"1", &mode(condition)).unwrap();
        });
    }
    expect("get", &[("find", 1)], &|session| {
        session.get(b"key", &mut Vec::new()).unwrap().unwrap();
    });
    expect("touch", one_update, &|session| assert!(session.touch(b"key", None).unwrap()));
    let read_and_write: &[(&str, usize)] = &[("find", 1), ("update", 1)];
    expect("append", read_and_write, &|session| {
        session.set(b"key", b"2", &mode(SetMode::Append)).unwrap();
    });
    expect("incr", read_and_write, &|session| {
        assert_eq!(session.incr(b"key", Delta::Up(1), None).unwrap().map(|n| n.number), Some(13));
    });
    expect("get_and_touch", &[("findAndModify", 1)], &|session| {
        session.get_and_touch(b"key", None, &mut Vec::new()).unwrap().unwrap();
    });
    expect("delete", &[("delete", 1)], &|session| assert!(session.delete(b"key").unwrap()));
}

fn one_answer() {
    let (_server, port) = stand_in_on(0, &[]);
    let counter = Counter::before(port);
    let store = open(&format!("mongodb://127.0.0.1:{}/?directConnection=on&w=0", counter.port));
    let mut session = store.session().unwrap();
    counter.taken();
    for _ in 0..10 {
        set(&mut *session, "key", b"value");
    }
    session.get(b"key", &mut Vec::new()).unwrap().unwrap();
    session.get(b"key", &mut Vec::new()).unwrap().unwrap();
    let wanted = [("find", 2), ("ping", 1), ("update", 10)];
    assert_eq!(counter.taken(), wanted.map(|(name, n)| (name.to_owned(), n)));
    // A session gets no further than this before its server.
    for _ in 0..1001 {
        set(&mut *session, "key", b"value");
    }
    session.get(b"key", &mut Vec::new()).unwrap().unwrap();
    let wanted = [("find", 1), ("ping", 2), ("update", 1001)];
    assert_eq!(counter.taken(), wanted.map(|(name, n)| (name.to_owned(), n)));
}
