//! The parser of Redis' replies. No input makes it panic, or take more bytes than there are. A reply that arrives in
//! pieces is parsed as the whole reply, and the elements of an array end where the next reply begins.
//!
//!     cargo +nightly fuzz run resp_reply -- -dict=fuzz/dictionaries/resp_reply.dict

#![no_main]

use larder_protocol::resp::{MAX_ARRAY_LEN, Reply, parse_reply};
use larder_protocol::{MAX_LINE_LEN, MAX_VALUE_LEN, Parsed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    check_pieces(input);
    let mut rest = input;
    while let Ok(Parsed::Complete(reply, len)) = parse_reply(rest, "GET") {
        assert!((1..=rest.len().min(MAX_LINE_LEN)).contains(&len));
        assert!(rest[..len].ends_with(b"\r\n"));
        rest = &rest[len..];
        match reply {
            Reply::Bulk(len) => {
                assert!(len <= MAX_VALUE_LEN);
                let Some(behind) = rest.get(len + 2..) else { break };
                rest = behind;
            }
            Reply::Array(len) => assert!(len <= MAX_ARRAY_LEN),
            Reply::Simple(text) | Reply::Error(text) => assert!(!text.contains(&b'\n')),
            Reply::Integer(_) | Reply::Nil => {}
        }
    }
});

fn check_pieces(input: &[u8]) {
    let whole = parse_reply(input, "GET");
    for end in 0..input.len() {
        let piece = parse_reply(&input[..end], "GET");
        assert!(piece == Ok(Parsed::Incomplete) || piece == whole);
    }
}
