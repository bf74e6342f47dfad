//! Parsers of memcached's answers. No input makes a parser panic, or take more bytes than there are. An
//! answer that arrives in pieces is parsed as the whole answer.
//!
//!     cargo +nightly fuzz run memcached_response -- -dict=fuzz/dictionaries/memcached_response.dict

#![no_main]

use larder_protocol::{Malformed, Parse, Parsed, meta, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((choice, input)) = input.split_first() else { return };
    match choice % 16 {
        0 => check(text::get::parse_reply, input),
        1 => check(text::set::parse_reply, input),
        2 => check(text::delete::parse_reply, input),
        3 => check(text::touch::parse_reply, input),
        4 => check(text::incr::parse_reply, input),
        5 => check(text::stats::parse_reply, input),
        6 => check(text::version::parse_reply, input),
        7 => check(text::flush_all::parse_reply, input),
        8 => check(meta::get::parse_reply, input),
        9 => check(meta::get::parse_touch_reply, input),
        10 => check(meta::set::parse_reply, input),
        11 => check(meta::delete::parse_reply, input),
        12 => check(meta::arithmetic::parse_reply, input),
        13 => check(meta::get::parse_look_reply, input),
        14 => check(meta::delete::parse_if_reply, input),
        _ => check(meta::noop::parse_reply, input),
    }
    check_one_pass(input);
});

fn check<'a, T: std::fmt::Debug>(parse: impl Fn(&'a [u8]) -> Parse<'a, T>, input: &'a [u8]) {
    let whole = shown(parse(input));
    if let Ok(Parsed::Complete(_, len)) = &whole {
        assert!((1..=input.len()).contains(len));
    }
    for end in 0..input.len() {
        let piece = shown(parse(&input[..end]));
        assert!(piece == Ok(Parsed::Incomplete) || piece == whole);
    }
}

fn shown<T: std::fmt::Debug>(parsed: Parse<'_, T>) -> Result<Parsed<String>, Malformed> {
    Ok(match parsed? {
        Parsed::Incomplete => Parsed::Incomplete,
        Parsed::Complete(answer, len) => Parsed::Complete(format!("{answer:?}"), len),
    })
}

/// The one-pass parsers give the same results as the general parsers.
fn check_one_pass(input: &[u8]) {
    if let Some((header, len)) = text::get::parse_hit(input, b"k") {
        let hit = Ok(text::get::GetReply::Value(header));
        assert_eq!(text::get::parse_reply(input), Ok(Parsed::Complete(hit, len)));
    }
    if let Some((len, flags, header_len)) = meta::get::parse_hit(input) {
        let hit = Ok(meta::get::GetReply::Value { len, flags });
        assert_eq!(meta::get::parse_reply(input), Ok(Parsed::Complete(hit, header_len)));
    }
}
