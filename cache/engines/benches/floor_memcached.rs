//! The cost of a session of `memcached:` on top of the bytes on the wire.
//!
//! Compares a `get` of ours with a bare blocking socket that sends the same request and reads as many bytes of answer.
//! Both use the same memcached, in many short slices that take turns, so that other work of the machine meets both.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

mod turns;

use std::io::{Read, Write};
use std::net::TcpStream;

use larder_engines::ENGINES;
use larder_protocol::{meta, text};
use larder_store::{Result, SetOptions, StoreUrl};
use turns::{heading, take_turns};

const KEY: &[u8] = b"floor:key:000001";

fn main() -> Result<()> {
    heading("get");
    for (protocol, tail) in [("text", &text::get::TAIL[..]), ("meta", meta::get::TAIL)] {
        for len in [100, 1024] {
            compare(protocol, tail, len)?;
        }
    }
    Ok(())
}

/// Measures one protocol with values of one length, and prints a line.
fn compare(protocol: &str, tail: &[u8], value_len: usize) -> Result<()> {
    // One worker thread, so that both connections are served by the same one.
    let url = format!("memcached:?server_threads=1&protocol={protocol}");
    let store = ENGINES.open(&StoreUrl::parse(&url)?)?;
    let mut session = store.session()?;
    session.set(KEY, &vec![b'v'; value_len], &SetOptions::default())?;
    let mut request = Vec::new();
    match protocol {
        "text" => text::get::encode(&mut request, [KEY]),
        _ => meta::get::encode(&mut request, KEY),
    }
    let mut bare = Bare::connect(&store.info().settings["nodes"], request, tail);

    let mut value = Vec::new();
    let get = || {
        let hit = session.get(KEY, &mut value).expect("memcached answers");
        assert!(hit.is_some() && value.len() == value_len, "a miss");
    };
    take_turns(&format!("{value_len} bytes, {protocol}"), get, || bare.ping_pong());
    Ok(())
}

/// A socket that sends a request and reads an answer of known length, and understands neither.
struct Bare {
    stream: TcpStream,
    request: Vec<u8>,
    answer_len: usize,
    buffer: Vec<u8>,
}

impl Bare {
    fn connect(address: &str, request: Vec<u8>, tail: &[u8]) -> Self {
        let mut stream = TcpStream::connect(address).expect("memcached listens");
        stream.set_nodelay(true).expect("a socket takes its options");
        let mut buffer = vec![0; 16 * 1024];
        stream.write_all(&request).expect("memcached reads");
        let mut answer_len = 0;
        while !buffer[..answer_len].ends_with(tail) || !buffer[..answer_len].contains(&b'v') {
            answer_len += stream.read(&mut buffer[answer_len..]).expect("memcached answers");
        }
        Self { stream, request, answer_len, buffer }
    }

    fn ping_pong(&mut self) {
        self.stream.write_all(&self.request).expect("memcached reads");
        let mut received = 0;
        while received < self.answer_len {
            received += self.stream.read(&mut self.buffer).expect("memcached answers");
        }
    }
}
