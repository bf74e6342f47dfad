//! Parsers of requests as a server receives them. No input makes a parser panic, or take more bytes than there are. A
//! request that arrives in pieces is the same request.
//!
//!     cargo +nightly fuzz run memcached_request -- -dict=fuzz/dictionaries/memcached_request.dict

#![no_main]

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::meta::request::{Facts, Request};
use larder_protocol::meta::{self, Command};
use larder_protocol::{Parsed, request, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(Parsed::Complete(line, len)) = request::line(input, 0) else { return };
    assert!(len <= input.len() && line.len() < len);
    for piece in 0..len {
        assert_eq!(request::line(&input[..piece], 0), Ok(Parsed::Incomplete));
        assert_eq!(request::line(input, piece.min(len - 1)), Ok(Parsed::Complete(line, len)));
    }
    if let Ok(text::Request::Get(get)) = text::parse_request(line) {
        assert!(get.keys.count() > 0);
    }
    match meta::parse_request(line) {
        Ok(Some(Command::Get(request) | Command::Delete(request) | Command::Debug(request))) => {
            check(&request);
        }
        Ok(Some(Command::Set(set))) => {
            if let Ok(request) = set.request {
                check(&request);
            }
        }
        Ok(Some(Command::Arithmetic(request))) => {
            let _ = meta::arithmetic::is_down(&request.flags);
            check(&request);
        }
        Ok(_) => {}
        Err(fault) => assert!(fault.line().ends_with(b"\r\n")),
    }
});

fn check(request: &Request<'_>) {
    let mut room = [0; MAX_KEY_LEN];
    if let Ok(key) = request.key(&mut room) {
        assert!(!key.is_empty() && key.len() <= MAX_KEY_LEN);
    }
    let mut answer = Vec::new();
    request.encode_flags(&mut answer, b"fcsthl", &Facts::default());
    assert!(!answer.contains(&b'\n'));
}
