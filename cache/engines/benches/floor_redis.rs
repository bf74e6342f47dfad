//! The cost of a session of `redis:` on top of the bytes on the wire.
//!
//! Compares calls of ours with a bare blocking socket that sends the same request and reads as many bytes of answer.
//! Both use the same server, in many short slices that take turns, so that other work of the machine meets both.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

mod bare_socket;
mod turns;

use bare_socket::{Protocol, compare};
use larder_engines::ENGINES;
use larder_store::{Result, StoreUrl};
use turns::heading;

const RESP: Protocol = Protocol {
    get: |keys| match keys {
        [key] => command(&[b"GET", key]),
        keys => command(&[&[&b"MGET"[..]], keys].concat()),
    },
    set: |key, value| command(&[b"SET", key, value]),
    end_of_values: b"\r\n",
};

fn main() -> Result<()> {
    heading("operation");
    for (name, url) in [("tcp", "redis:"), ("socket", "redis:?socket=on")] {
        let store = ENGINES.open(&StoreUrl::parse(url)?)?;
        for value_len in [100, 1024, 16 * 1024, 100 * 1024] {
            compare(name, &*store, &RESP, value_len);
        }
    }
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
