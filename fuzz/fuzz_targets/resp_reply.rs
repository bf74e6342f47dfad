//! The parsers of Redis' replies. No input makes them panic, or take more bytes than there are. A reply that arrives in
//! pieces is parsed as the whole reply, and the elements of an array end where the next reply begins. What a whole reply is said
//! to need at least, it takes.
//!
//!     cargo +nightly fuzz run resp_reply -- -dict=fuzz/dictionaries/resp_reply.dict

#![no_main]

use larder_protocol::resp::{MAX_ARRAY_LEN, ParsedValue, Reply, parse_reply, parse_value};
use larder_protocol::{MAX_LINE_LEN, MAX_VALUE_LEN, Parsed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    check_pieces(input);
    check_whole(input);
    let mut rest = input;
    while let Ok(Parsed::Complete(reply, len)) = parse_reply(rest, "GET") {
        assert!((1..=rest.len().min(MAX_LINE_LEN)).contains(&len));
        assert!(rest[..len].ends_with(b"\r\n"));
        rest = &rest[len..];
        match reply {
            Reply::Bulk(len) | Reply::Verbatim(len) => {
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

fn check_whole(input: &[u8]) {
    match parse_value(input, "GET") {
        Ok(ParsedValue::Complete(value, len)) => {
            assert!((1..=input.len()).contains(&len));
            for end in 0..len {
                match parse_value(&input[..end], "GET") {
                    Ok(ParsedValue::Incomplete(needed)) => assert!(needed <= len),
                    other => panic!("{value:?} is {other:?} when cut at {end}"),
                }
            }
        }
        Ok(ParsedValue::Incomplete(needed)) => assert!(needed == 0 || needed > input.len()),
        Err(_) => {}
    }
}

fn check_pieces(input: &[u8]) {
    let whole = parse_reply(input, "GET");
    for end in 0..input.len() {
        let piece = parse_reply(&input[..end], "GET");
        assert!(piece == Ok(Parsed::Incomplete) || piece == whole);
    }
}
