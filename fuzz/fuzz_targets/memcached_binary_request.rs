//! The parser of binary requests as a server receives them. No input makes the parser panic, or take more bytes than
//! there are. A request that arrives in pieces is the same request.
//!
//!     cargo +nightly fuzz run memcached_binary_request -- -dict=fuzz/dictionaries/memcached_binary_request.dict

#![no_main]

use larder_protocol::binary::{
    Arrived, Command, HEADER_LEN, REPLY_MAGIC, Request, get, parse_request, reply, sasl,
};
use larder_protocol::key::MAX_KEY_LEN;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let whole = parse_request(input);
    for end in 0..input.len() {
        match parse_request(&input[..end]) {
            Ok(Arrived::Needs(len)) => assert!(len > end && len <= HEADER_LEN + 20 + MAX_KEY_LEN),
            judged => assert_eq!(judged, whole),
        }
    }
    match whole {
        Ok(Arrived::Needs(len)) => assert!(len > input.len()),
        Ok(Arrived::Whole(request, len)) => {
            assert!((HEADER_LEN..=input.len()).contains(&len));
            check(&request, &input[len..]);
        }
        Err(fault) => {
            let mut answer = Vec::new();
            reply::encode_fault(&mut answer, fault);
            assert_eq!(answer.is_empty(), fault.answer().is_none());
            assert!(fault.ends_connection() || fault.request_len() >= Some(HEADER_LEN));
        }
    }
});

/// An answer has the length that its header tells.
fn check(request: &Request<'_>, behind: &[u8]) {
    let mut answer = Vec::new();
    match request.command {
        Command::Get(command) => {
            assert!(!command.key.is_empty() && command.key.len() <= MAX_KEY_LEN);
            let header = get::ValueHeader { flags: 7, len: behind.len(), version: 9 };
            get::encode_header(&mut answer, request.echo, &command, &header);
            assert_eq!(answer.len(), command.header_len());
            answer.extend_from_slice(behind);
        }
        Command::Sasl(command) => {
            let message = &behind[..command.len.min(behind.len())];
            if let Some(credentials) = sasl::parse_plain(message) {
                assert!(!credentials.user.is_empty() && !credentials.password.is_empty());
            }
            sasl::encode_authenticated(&mut answer, request.echo);
        }
        _ => reply::encode_success(&mut answer, request.echo, 9),
    }
    if answer.is_empty() {
        assert!(request.echo.is_quiet());
        return;
    }
    assert_eq!(answer[..2], [REPLY_MAGIC, request.echo.opcode]);
    let body_len = u32::from_be_bytes([answer[8], answer[9], answer[10], answer[11]]);
    assert_eq!(answer.len(), HEADER_LEN + body_len as usize);
}
