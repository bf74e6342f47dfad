//! A session of a server beside a bare socket that sends the same bytes and reads as many.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use larder_store::{Put, SetOptions, Store};

use crate::turns::take_turns;

/// The keys of a batch.
const KEYS: usize = 100;

const LINE_END: &[u8] = b"\r\n";

/// The bytes that a kind of server exchanges.
pub(crate) struct Protocol {
    /// Asks for the values of keys.
    pub(crate) get: fn(&[&[u8]]) -> Vec<u8>,
    /// Stores a value.
    pub(crate) set: fn(&[u8], &[u8]) -> Vec<u8>,
    /// The end of an answer with values.
    pub(crate) end_of_values: &'static [u8],
}

/// Measures a `get`, a `set` and, of short values, a `get_many` of values of one length, and prints a line for each.
pub(crate) fn compare(name: &str, store: &dyn Store, protocol: &Protocol, value_len: usize) {
    let mut session = store.session().expect("the server answers");
    let value = vec![b'v'; value_len];
    let options = SetOptions::default();
    let keys: Vec<String> = (0..KEYS).map(|i| format!("floor:key:{i:06}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let puts: Vec<Put<'_>> = keys.iter().map(|key| Put { key, value: &value, options }).collect();
    session
        .set_many(&puts, &mut |_, outcome| assert!(outcome.is_ok()))
        .expect("the server answers");
    let address = &store.info().settings["nodes"];
    // Slices that take about as long.
    let n = if value_len < 10_000 { 400 } else { 40 };

    let bare = &mut Bare::connect(address, (protocol.get)(&keys[..1]), 1, protocol.end_of_values);
    let mut found = Vec::new();
    let get = || {
        let hit = session.get(keys[0], &mut found).expect("the server answers");
        assert!(hit.is_some() && found.len() == value_len, "a miss");
    };
    take_turns(n, &format!("get {value_len} B, {name}"), get, || bare.ping_pong());

    let bare = &mut Bare::connect(address, (protocol.set)(keys[0], &value), 0, LINE_END);
    let set = || {
        session.set(keys[0], &value, &options).expect("the server answers");
    };
    take_turns(n, &format!("set {value_len} B, {name}"), set, || bare.ping_pong());

    if value_len < 1000 {
        let end = protocol.end_of_values;
        let bare = &mut Bare::connect(address, (protocol.get)(&keys), KEYS, end);
        let get_many = || {
            let mut n_hits = 0;
            let hit = &mut |_, found: &[u8], _| n_hits += usize::from(found.len() == value_len);
            session.get_many(&keys, hit).expect("the server answers");
            assert_eq!(n_hits, KEYS, "a miss");
        };
        let name = format!("get {KEYS} × {value_len} B, {name}");
        take_turns(n / 10, &name, get_many, || bare.ping_pong());
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// A socket that sends a request and reads an answer of known length, and understands neither.
struct Bare {
    stream: Box<dyn Stream>,
    request: Vec<u8>,
    answer_len: usize,
    buffer: Vec<u8>,
}

impl Bare {
    /// The first answer tells the length of all: it has this number of values, and ends so.
    fn connect(address: &str, request: Vec<u8>, n_values: usize, end: &[u8]) -> Self {
        let stream: Box<dyn Stream> = if address.starts_with('/') {
            Box::new(UnixStream::connect(address).expect("the server listens"))
        } else {
            let stream = TcpStream::connect(address).expect("the server listens");
            stream.set_nodelay(true).expect("a socket takes its options");
            Box::new(stream)
        };
        let mut bare = Self { stream, request, answer_len: 0, buffer: vec![0; 256 * 1024] };
        bare.stream.write_all(&bare.request).expect("the server reads");
        let mut answer = Vec::new();
        let n_read = |answer: &[u8]| answer.windows(3).filter(|end| *end == b"v\r\n").count();
        while n_read(&answer) < n_values || !answer.ends_with(end) {
            let n_read = bare.stream.read(&mut bare.buffer).expect("the server answers");
            answer.extend_from_slice(&bare.buffer[..n_read]);
        }
        bare.answer_len = answer.len();
        bare
    }

    fn ping_pong(&mut self) {
        self.stream.write_all(&self.request).expect("the server reads");
        let mut n_received = 0;
        while n_received < self.answer_len {
            n_received += self.stream.read(&mut self.buffer).expect("the server answers");
        }
        assert_eq!(n_received, self.answer_len, "an answer of another length");
    }
}
