//! What a session of `redis:` adds to the bytes on the wire.
//!
//! A `get` and a `set` of ours against a bare blocking socket that sends the same request and reads as many bytes of
//! answer, from the same server, in many short slices that take turns: whatever else the machine does falls on both.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use larder_engines::ENGINES;
use larder_store::{Result, Session, SetOptions, StoreUrl};

const SLICES: usize = 500;
const OPERATIONS_PER_SLICE: u32 = 400;
const KEY: &[u8] = b"floor:key:000001";

fn main() -> Result<()> {
    println!(
        "{:<26} {:>10} {:>10} {:>8}   middle half",
        "operation", "ours ns", "bare ns", "ratio"
    );
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
    take_turns(&format!("get {value_len} bytes, {kind}"), &mut bare, &mut *session, |session| {
        let hit = session.get(KEY, &mut found).expect("redis answers");
        assert!(hit.is_some() && found.len() == value_len, "a miss");
    });
    let mut bare = Bare::connect(address, command(&[b"SET", KEY, &value]), b"+OK\r\n".len());
    take_turns(&format!("set {value_len} bytes, {kind}"), &mut bare, &mut *session, |session| {
        session.set(KEY, &value, &options).expect("redis answers");
    });
    Ok(())
}

/// Measures both, each beginning every other pair, and prints a line.
fn take_turns(
    name: &str,
    bare: &mut Bare,
    session: &mut dyn Session,
    mut operation: impl FnMut(&mut dyn Session),
) {
    let mut ours = || {
        let start = Instant::now();
        (0..OPERATIONS_PER_SLICE).for_each(|_| operation(session));
        nanos_per_operation(start)
    };
    let mut theirs = || {
        let start = Instant::now();
        (0..OPERATIONS_PER_SLICE).for_each(|_| bare.ping_pong());
        nanos_per_operation(start)
    };
    ours();
    theirs();
    let mut pairs = Vec::new();
    for slice in 0..SLICES {
        pairs.push(if slice % 2 == 0 {
            (ours(), theirs())
        } else {
            let first = theirs();
            (ours(), first)
        });
    }
    let ours = quantile(pairs.iter().map(|pair| pair.0), 0.5);
    let theirs = quantile(pairs.iter().map(|pair| pair.1), 0.5);
    let ratio = |q| quantile(pairs.iter().map(|pair| pair.0 / pair.1), q);
    let (low, middle, high) = (ratio(0.25), ratio(0.5), ratio(0.75));
    println!("{name:<26} {ours:>10.0} {theirs:>10.0} {middle:>8.3}   {low:.3} to {high:.3}");
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

fn nanos_per_operation(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e9 / f64::from(OPERATIONS_PER_SLICE)
}

/// The value below which this part of the values lies.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place in a short list"
)]
fn quantile(values: impl Iterator<Item = f64>, q: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * q).round() as usize]
}
