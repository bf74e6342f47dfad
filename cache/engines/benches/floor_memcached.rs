//! The cost of a session of `memcached:` on top of the bytes on the wire.
//!
//! Compares calls of ours with a bare blocking socket that sends the same request and reads as many bytes of answer.
//! Both use the same memcached, in many short slices that take turns, so that other work of the machine meets both.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]

mod bare_socket;
mod turns;

use bare_socket::{Protocol, compare};
use larder_engines::ENGINES;
use larder_protocol::storage::{StorageMode, StorageRequest};
use larder_protocol::{meta, text};
use larder_store::{Result, StoreUrl};
use turns::heading;

const TEXT: Protocol = Protocol {
    get: |keys| {
        let mut request = Vec::new();
        text::get::encode(&mut request, keys.iter().copied());
        request
    },
    set: |key, value| {
        let mut request = Vec::new();
        text::set::encode_header(&mut request, &storing(key, value));
        [&request, value, b"\r\n"].concat()
    },
    end_of_values: text::get::TAIL,
};

const META: Protocol = Protocol {
    get: |keys| {
        let mut request = Vec::new();
        for key in keys {
            meta::get::encode(&mut request, key);
        }
        request
    },
    set: |key, value| {
        let mut request = Vec::new();
        meta::set::encode_header(&mut request, &storing(key, value));
        [&request, value, b"\r\n"].concat()
    },
    end_of_values: meta::get::TAIL,
};

fn storing<'a>(key: &'a [u8], value: &[u8]) -> StorageRequest<'a> {
    StorageRequest { key, len: value.len(), flags: 0, exptime: 0, mode: StorageMode::Set }
}

fn main() -> Result<()> {
    heading("operation");
    for (name, protocol) in [("text", TEXT), ("meta", META)] {
        // One worker thread, so that both connections are served by the same one.
        let url = format!("memcached:?server_threads=1&protocol={name}");
        let store = ENGINES.open(&StoreUrl::parse(&url)?)?;
        for value_len in [100, 1024, 100 * 1024] {
            compare(name, &*store, &protocol, value_len);
        }
    }
    Ok(())
}
