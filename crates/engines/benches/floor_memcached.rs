//! What a session of `memcached:` adds to the bytes on the wire.
//!
//! A `get` of ours against a bare blocking socket that sends the same request and reads as many bytes of answer,
//! from the same memcached, in many short slices that take turns: whatever else the machine does falls on both.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use larder_engines::ENGINES;
use larder_protocol::{meta, text};
use larder_store::{Result, SetOptions, StoreUrl};

const SLICES: usize = 500;
const GETS_PER_SLICE: u32 = 400;
const KEY: &[u8] = b"floor:key:000001";

fn main() -> Result<()> {
    println!("{:<22} {:>10} {:>10} {:>8}   middle half", "get", "ours ns", "bare ns", "ratio");
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
        "text" => text::get::encode_gets(&mut request, [KEY]),
        _ => meta::get::encode(&mut request, KEY),
    }
    let mut bare = Bare::connect(&store.info().settings["nodes"], request, tail);

    let mut value = Vec::new();
    let mut ours = || {
        let start = Instant::now();
        for _ in 0..GETS_PER_SLICE {
            let hit = session.get(KEY, &mut value).expect("memcached answers");
            assert!(hit.is_some() && value.len() == value_len, "a miss");
        }
        nanos_per_get(start)
    };
    let mut theirs = || {
        let start = Instant::now();
        for _ in 0..GETS_PER_SLICE {
            bare.ping_pong();
        }
        nanos_per_get(start)
    };
    // Warm both up, then let each begin every other pair.
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
    let name = format!("{value_len} bytes, {protocol}");
    let (low, middle, high) = (ratio(0.25), ratio(0.5), ratio(0.75));
    println!("{name:<22} {ours:>10.0} {theirs:>10.0} {middle:>8.3}   {low:.3} to {high:.3}");
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

fn nanos_per_get(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e9 / f64::from(GETS_PER_SLICE)
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
