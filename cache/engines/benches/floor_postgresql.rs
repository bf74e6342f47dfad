//! The cost of a session of `postgresql:` on top of a round trip with PostgreSQL, and the saving of a batch.
//!
//! Compares a `get` of ours with a bare blocking socket that has the same statement done and reads as many bytes of
//! answer. Both use the same server, in many short slices that take turns, so that other work of the machine meets
//! both. Then the bench compares a batch of 100 keys with 100 single gets.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

mod turns;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use larder_engines::ENGINES;
use larder_store::{Result, SetOptions, StoreUrl};
use larder_testkit::Postgres;
use turns::{heading, take_turns};

const KEY: &[u8] = b"floor:key:000001";

/// The name of the statement of a `get` on the bare connection.
const NAME: &[u8] = b"get\0";

const GET: &str = "SELECT value, flags, version, deadline_ms FROM larder \
                   WHERE key = $1 AND (deadline_ms IS NULL OR deadline_ms > $2)";

fn main() -> Result<()> {
    let server = Postgres::start(&[]);
    // The server asks for no password on the socket: the answer to it would take a library.
    let folder = server.folder().display();
    let port = server.port();
    let url = format!("postgresql://me@/postgres?host={folder}&port={port}");
    let socket = format!("{folder}/.s.PGSQL.{port}");
    heading("operation");
    for len in [100, 1024, 16 * 1024] {
        compare(&url, &socket, len)?;
    }
    batches(&url)
}

/// Measures values of one length.
fn compare(url: &str, socket: &str, value_len: usize) -> Result<()> {
    let store = ENGINES.open(&StoreUrl::parse(url)?)?;
    let mut session = store.session()?;
    let value = vec![b'v'; value_len];
    session.set(KEY, &value, &SetOptions::default())?;
    let mut bare = Bare::connect(socket);
    let mut found = Vec::new();
    let get = || {
        let hit = session.get(KEY, &mut found).expect("postgres answers");
        assert!(hit.is_some() && found.len() == value_len, "a miss");
    };
    take_turns(400, &format!("get {value_len} bytes"), get, || bare.get(value_len));
    session.delete(KEY)?;
    Ok(())
}

/// Measures 100 keys, at once and one by one.
fn batches(url: &str) -> Result<()> {
    let store = ENGINES.open(&StoreUrl::parse(url)?)?;
    let (mut many, mut single) = (store.session()?, store.session()?);
    let keys: Vec<String> = (0..100).map(|i| format!("floor:key:{i:06}")).collect();
    for key in &keys {
        single.set(key.as_bytes(), &[b'v'; 100], &SetOptions::default())?;
    }
    let batch: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    // Both are an operation a key: every hundredth of the one reads the batch for them all.
    let (mut one, mut other) = ((0..batch.len()).cycle(), (0..batch.len()).cycle());
    let at_once = || {
        if other.next() == Some(0) {
            let mut n_hits = 0;
            many.get_many(&batch, &mut |_, _, _| n_hits += 1).expect("postgres answers");
            assert_eq!(n_hits, 100);
        }
    };
    let mut found = Vec::new();
    let one_by_one = || {
        let key = batch[one.next().unwrap_or_default()];
        assert!(single.get(key, &mut found).expect("postgres answers").is_some());
    };
    take_turns(400, "a key alone, and of 100", one_by_one, at_once);
    batch.iter().try_for_each(|key| single.delete(key).map(drop))
}

/// A connection that sends bytes of the protocol and reads an answer up to its end, and understands neither.
struct Bare {
    stream: UnixStream,
    request: Vec<u8>,
    buffer: Vec<u8>,
}

impl Bare {
    fn connect(socket: &str) -> Self {
        let stream = UnixStream::connect(socket).expect("postgres listens");
        let mut bare = Self { stream, request: Vec::new(), buffer: vec![0; 64 * 1024] };
        // Version 3.0 of the protocol, and the user.
        let hello = [&196_608_u32.to_be_bytes()[..], b"user\0me\0database\0postgres\0\0"].concat();
        let len = u32::try_from(hello.len() + 4).expect("a short message");
        bare.exchange(&[&len.to_be_bytes()[..], &hello].concat());
        let prepare = [NAME, GET.as_bytes(), &[0, 0, 0]].concat();
        bare.exchange(&[message(b'P', &prepare), message(b'S', b"")].concat());
        bare.request = get_request();
        bare
    }

    fn get(&mut self, value_len: usize) {
        let request = std::mem::take(&mut self.request);
        assert!(self.exchange(&request) > value_len, "a miss");
        self.request = request;
    }

    /// Sends a request, and reads until the server is ready for the next; how many bytes that were.
    fn exchange(&mut self, request: &[u8]) -> usize {
        const READY: &[u8] = b"Z\0\0\0\x05I";
        self.stream.write_all(request).expect("postgres reads");
        let mut received = 0;
        loop {
            received += self.stream.read(&mut self.buffer[received..]).expect("postgres answers");
            if self.buffer[..received].ends_with(READY) {
                return received;
            }
        }
    }
}

/// Binds key and time, has the statement done, and asks for the end of the answer.
fn get_request() -> Vec<u8> {
    let in_binary = [0, 1, 0, 1];
    let key = [&16_u32.to_be_bytes()[..], KEY].concat();
    let now = [&8_u32.to_be_bytes()[..], &1_700_000_000_000_u64.to_be_bytes()].concat();
    let bind = [b"\0", NAME, &in_binary, &[0, 2], &key, &now, &in_binary].concat();
    let execute = [0, 0, 0, 0, 0];
    [message(b'B', &bind), message(b'E', &execute), message(b'S', b"")].concat()
}

/// A message of the protocol: its kind, its length, its body.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len() + 4).expect("a short message");
    [&[kind][..], &len.to_be_bytes(), body].concat()
}
