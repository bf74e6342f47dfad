//! The cost of a session of `redis:` on top of the bytes on the wire.
//!
//! Compares a `get` and a `set` of ours with a bare blocking socket that sends the same request and reads as many bytes
//! of answer. Both use the same server, in many short slices that take turns, so that other work of the machine meets
//! both.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

mod turns;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use larder_engines::ENGINES;
use larder_store::{Result, SetOptions, StoreUrl};
use turns::{heading, take_turns};

const KEY: &[u8] = b"floor:key:000001";

fn main() -> Result<()> {
    heading("operation");
    for url in ["redis:", "redis:?socket=on"] {
        for len in [100, 1024, 16 * 1024] {
            compare(url, len)?;
        }
    }
    Ok(())
}

/// Measures values of one length on one kind of socket, and prints a line for each operation.
fn compare(url: &str, value_len: usize) -> Result<()> {
    let store = ENGINES.open(&StoreUrl::parse(url)?)?;
    let mut session = store.session()?;
    let value = vec![b'v'; value_len];
    let options = SetOptions::default();
    session.set(KEY, &value, &options)?;
    let address = &store.info().settings["nodes"];
    let kind = if address.starts_with('/') { "socket" } else { "tcp" };

    let answer_len = format!("${value_len}\r\n\r\n").len() + value_len;
    let mut bare = Bare::connect(address, command(&[b"GET", KEY]), answer_len);
    let mut found = Vec::new();
    let get = || {
        let hit = session.get(KEY, &mut found).expect("redis answers");
        assert!(hit.is_some() && found.len() == value_len, "a miss");
    };
    take_turns(&format!("get {value_len} bytes, {kind}"), get, || bare.ping_pong());
    let mut bare = Bare::connect(address, command(&[b"SET", KEY, &value]), b"+OK\r\n".len());
    let set = || {
        session.set(KEY, &value, &options).expect("redis answers");
    };
    take_turns(&format!("set {value_len} bytes, {kind}"), set, || bare.ping_pong());
    Ok(())
}

/// A command as it goes over the wire.
fn command(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend(format!("${}\r\n", argument.len()).into_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
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
    fn connect(address: &str, request: Vec<u8>, answer_len: usize) -> Self {
        let stream: Box<dyn Stream> = if address.starts_with('/') {
            Box::new(UnixStream::connect(address).expect("redis listens"))
        } else {
            let stream = TcpStream::connect(address).expect("redis listens");
            stream.set_nodelay(true).expect("a socket takes its options");
            Box::new(stream)
        };
        Self { stream, request, answer_len, buffer: vec![0; 32 * 1024] }
    }

    fn ping_pong(&mut self) {
        self.stream.write_all(&self.request).expect("redis reads");
        let mut received = 0;
        while received < self.answer_len {
            received += self.stream.read(&mut self.buffer).expect("redis answers");
        }
        assert_eq!(received, self.answer_len, "an answer of another length");
    }
}
