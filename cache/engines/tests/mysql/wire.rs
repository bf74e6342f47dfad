//! Traffic over the wire: the requests and round trips of an operation, and answers in pieces.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use larder_store::{DeleteOutcome, Delta, Put, Session, SetMode, SetOptions, SetOutcome};
use libtest_mimic::Trial;

use crate::session_support::{get, open, set};
use crate::support::{shared, trial, url_at};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("each_operation_is_one_round_trip", each_operation_is_one_round_trip),
        trial("an_answer_may_come_byte_by_byte", an_answer_may_come_byte_by_byte),
        trial("a_panic_in_mid_batch_leaves_the_session_in_step", a_panic_in_mid_batch),
    ]
}

/// The command that runs a prepared statement.
const EXECUTE: u8 = 0x17;

/// Passes all bytes on between clients and a server, and records the requests.
struct Relay {
    port: u16,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The first byte of each packet that begins a command.
    commands: Mutex<Vec<u8>>,
    /// The number of times that a client has spoken after the server.
    n_turns: AtomicUsize,
}

impl Relay {
    /// A relay to this port of 127.0.0.1, which answers in pieces of this many bytes.
    fn to(server: u16, piece: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Seen::default());
        let shared = Arc::clone(&seen);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                serve(client, server, piece, &shared);
            }
        });
        Self { port, seen }
    }

    /// The requests since the last call: the commands, and the turns.
    fn take(&self) -> (Vec<u8>, usize) {
        let commands = std::mem::take(&mut *self.seen.commands.lock().unwrap());
        (commands, self.seen.n_turns.swap(0, Ordering::SeqCst))
    }
}

fn serve(client: TcpStream, server: u16, piece: usize, seen: &Arc<Seen>) {
    let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let server_spoke = Arc::new(AtomicUsize::new(0));
    let (from_server, to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let spoke = Arc::clone(&server_spoke);
    thread::spawn(move || {
        pass_on(from_server, to_client, piece, |_| {
            spoke.store(1, Ordering::SeqCst);
        });
    });
    let seen = Arc::clone(seen);
    thread::spawn(move || {
        let mut packets = Packets::default();
        pass_on(client, server, usize::MAX, |bytes| {
            seen.n_turns.fetch_add(server_spoke.swap(0, Ordering::SeqCst), Ordering::SeqCst);
            packets.read(bytes, &mut seen.commands.lock().unwrap());
        });
    });
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, piece: usize, mut look: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(len @ 1..) = from.read(&mut buffer) {
        look(&buffer[..len]);
        if buffer[..len].chunks(piece).any(|piece| to.write_all(piece).is_err()) {
            return;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// The packets of a stream: three bytes of length, and one byte with the packet's number, which is 0 for a command.
#[derive(Default)]
struct Packets {
    buffer: Vec<u8>,
}

impl Packets {
    fn read(&mut self, bytes: &[u8], commands: &mut Vec<u8>) {
        self.buffer.extend_from_slice(bytes);
        while let [a, b, c, number, rest @ ..] = &self.buffer[..] {
            let len = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
            if rest.len() < len {
                return;
            }
            if *number == 0
                && let Some(command) = rest.first()
            {
                commands.push(*command);
            }
            self.buffer.drain(..4 + len);
        }
    }
}

fn each_operation_is_one_round_trip() {
    let server = shared();
    let relay = Relay::to(server.port(), usize::MAX);
    let store = open(&url_at(relay.port, "namespace=turns"));
    let session = &mut *store.session().unwrap();
    // The first run prepares each statement.
    do_everything(session, "first", &mut |_, _, operation| operation());
    let mut least = BTreeMap::new();
    // The session that removes expired rows adds requests once a second.
    for prefix in ["second", "third", "fourth", "fifth"] {
        do_everything(session, prefix, &mut |name, n_round_trips, operation| {
            relay.take();
            operation();
            let (commands, n_turns) = relay.take();
            let seen = (n_turns, commands);
            let (_, least) =
                least.entry(name.to_owned()).or_insert_with(|| (n_round_trips, seen.clone()));
            *least = seen.min(least.clone());
        });
    }
    for (name, (n_round_trips, least)) in least {
        assert_eq!(least, (n_round_trips, vec![EXECUTE; n_round_trips]), "{name}");
    }
}

/// Carries out an operation of this name, which must take this many round trips.
type Count<'a> = dyn FnMut(&str, usize, &mut dyn FnMut()) + 'a;

/// Passes each operation to `count`.
fn do_everything(session: &mut dyn Session, prefix: &str, count: &mut Count<'_>) {
    let keys: Vec<String> = (0..100).map(|i| format!("{prefix} {i}")).collect();
    for key in &keys {
        set(session, key, b"value");
    }
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let mut value = Vec::new();
    let store = |session: &mut dyn Session, key: &[u8], mode| {
        let options = SetOptions { mode, ..SetOptions::default() };
        assert!(session.set(key, b"7", &options).unwrap().is_stored());
    };

    count("get", 1, &mut || assert!(session.get(keys[1], &mut value).unwrap().is_some()));
    let mut n_hits = 0;
    count("get_many", 1, &mut || session.get_many(&keys, &mut |_, _, _| n_hits += 1).unwrap());
    assert_eq!(n_hits, 100);
    let put = |key| Put { key, value: b"value", options: SetOptions::default() };
    let entries: Vec<Put<'_>> = keys.iter().copied().map(put).collect();
    count("set_many", 1, &mut || {
        session
            .set_many(&entries, &mut |_, outcome| assert!(outcome.unwrap().is_stored()))
            .unwrap();
    });
    let version = session.get(keys[0], &mut value).unwrap().unwrap().version.unwrap();
    count("set", 1, &mut || store(session, keys[2], SetMode::Set));
    count("large set", 1, &mut || set(session, &format!("{prefix} large"), &vec![0; 1 << 20]));
    count("add", 1, &mut || store(session, prefix.as_bytes(), SetMode::Add));
    count("lost add", 1, &mut || {
        let add = SetOptions { mode: SetMode::Add, ..SetOptions::default() };
        assert_eq!(session.set(keys[3], b"", &add).unwrap(), SetOutcome::NotStored);
    });
    count("replace", 1, &mut || store(session, keys[4], SetMode::Replace));
    count("cas", 1, &mut || store(session, keys[0], SetMode::Cas(version)));
    count("append", 1, &mut || store(session, keys[5], SetMode::Append));
    count("touch", 1, &mut || {
        assert!(session.touch(keys[6], Some(Duration::from_mins(1))).unwrap());
    });
    count("get_and_touch", 2, &mut || {
        let ttl = Some(Duration::from_mins(1));
        assert!(session.get_and_touch(keys[10], ttl, &mut value).unwrap().is_some());
    });
    let version = session.get(keys[11], &mut value).unwrap().unwrap().version.unwrap();
    count("delete_if", 1, &mut || {
        assert_eq!(session.delete_if(keys[11], version).unwrap(), DeleteOutcome::Deleted);
    });
    count("delete", 1, &mut || assert!(session.delete(keys[7]).unwrap()));
    count("incr", 2, &mut || {
        assert_eq!(session.incr(keys[2], Delta::Up(1), None).unwrap().map(|n| n.number), Some(8));
    });
    let groups = session.groups().unwrap();
    let tagged = SetOptions::default();
    count("set_tagged", 1, &mut || {
        groups.set_tagged(keys[8], b"value", &tagged, b"tag").unwrap();
    });
    let mut n_found = 0;
    count("get_tag", 1, &mut || groups.get_tag(b"tag", &mut |_, _, _| n_found += 1).unwrap());
    count("get_prefix", 1, &mut || {
        groups.get_prefix(keys[9], &mut |_, _, _| n_found += 1).unwrap();
    });
    assert!(n_found > 2, "{n_found}");
    count("delete_tag", 1, &mut || assert_eq!(groups.delete_tag(b"tag").unwrap(), 1));
}

fn an_answer_may_come_byte_by_byte() {
    let server = shared();
    for piece in [1, 2, 7, 1000] {
        let relay = Relay::to(server.port(), piece);
        let store = open(&url_at(relay.port, "namespace=pieces"));
        let session = &mut *store.session().unwrap();
        let large = vec![b'\n'; 200 * piece.min(100) + 20];
        set(session, "large", &large);
        set(session, "small", b"7");
        assert_eq!(get(session, "large"), Some(large.clone()), "{piece}");
        assert_eq!(get(session, "absent"), None);
        assert_eq!(
            session.incr(b"small", Delta::Up(34), None).unwrap().map(|n| n.number),
            Some(41)
        );
        let mut hits = Vec::new();
        let keys: [&[u8]; 4] = [b"large", b"absent", b"small", b"large"];
        session.get_many(&keys, &mut |i, value, _| hits.push((i, value.to_vec()))).unwrap();
        hits.sort_unstable();
        assert_eq!(hits, [(0, large.clone()), (2, b"41".to_vec()), (3, large)], "{piece}");
        assert!(session.touch(b"small", None).unwrap() && session.delete(b"small").unwrap());
    }
}

fn a_panic_in_mid_batch() {
    let server = shared();
    let store = open(&server.url("namespace=panics"));
    let session = &mut *store.session().unwrap();
    for key in ["a", "b", "c"] {
        set(session, key, key.as_bytes());
    }
    let keys: [&[u8]; 3] = [b"a", b"b", b"c"];
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        // Unlike `panic!`, this prints nothing that looks like a failure.
        session.get_many(&keys, &mut |_, _, _| resume_unwind(Box::new("a test panics on purpose")))
    }));
    assert!(panicked.is_err());
    for key in ["a", "b", "c"] {
        assert_eq!(get(session, key), Some(key.as_bytes().to_vec()));
    }
}
