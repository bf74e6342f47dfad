//! Parsers on noise, and on answers that arrive in pieces.

use larder_protocol::binary::{self, Arrived, HEADER_LEN};
use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::meta::Command;
use larder_protocol::{MAX_LINE_LEN, Malformed, Parse, Parsed, meta, request, resp, text};
use proptest::prelude::*;

/// A parser whose answer is shown as text, so that one list has all parsers.
type Shown = fn(&[u8]) -> Result<Parsed<String>, Malformed>;

fn shown<'a, T: std::fmt::Debug>(
    parse: impl Fn(&'a [u8]) -> Parse<'a, T>,
    input: &'a [u8],
) -> Result<Parsed<String>, Malformed> {
    Ok(match parse(input)? {
        Parsed::Incomplete => Parsed::Incomplete,
        Parsed::Complete(answer, len) => Parsed::Complete(format!("{answer:?}"), len),
    })
}

const PARSERS: &[(&str, Shown)] = &[
    ("get", |input| shown(text::get::parse_reply, input)),
    ("set", |input| shown(text::set::parse_reply, input)),
    ("delete", |input| shown(text::delete::parse_reply, input)),
    ("touch", |input| shown(text::touch::parse_reply, input)),
    ("incr", |input| shown(text::incr::parse_reply, input)),
    ("stats", |input| shown(text::stats::parse_reply, input)),
    ("version", |input| shown(text::version::parse_reply, input)),
    ("flush_all", |input| shown(text::flush_all::parse_reply, input)),
    ("mg", |input| shown(meta::get::parse_reply, input)),
    ("mg T", |input| shown(meta::get::parse_touch_reply, input)),
    ("mg s", |input| shown(meta::get::parse_look_reply, input)),
    ("ms", |input| shown(meta::set::parse_reply, input)),
    ("md", |input| shown(meta::delete::parse_reply, input)),
    ("md C", |input| shown(meta::delete::parse_if_reply, input)),
    ("ma", |input| shown(meta::arithmetic::parse_reply, input)),
    ("mn", |input| shown(meta::noop::parse_reply, input)),
    ("RESP", |input| {
        Ok(match resp::parse_reply(input, "GET")? {
            Parsed::Incomplete => Parsed::Incomplete,
            Parsed::Complete(reply, len) => Parsed::Complete(format!("{reply:?}"), len),
        })
    }),
];

/// Noise that looks like an answer, so that parsers get beyond its first word.
fn answers() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        prop::sample::select(vec![
            "VALUE",
            "END",
            "STORED",
            "NOT_STORED",
            "EXISTS",
            "NOT_FOUND",
            "DELETED",
            "TOUCHED",
            "STAT",
            "VERSION",
            "OK",
            "ERROR",
            "CLIENT_ERROR",
            "SERVER_ERROR",
            "HD",
            "VA",
            "EN",
            "NS",
            "EX",
            "NF",
            "MN",
            "+OK\r\n",
            "-ERR",
            ":1\r\n",
            ":-7\r\n",
            "$5\r\n",
            "$-1\r\n",
            "*2\r\n",
            "f1",
            "t-1",
            "c9",
            "s5",
            "h1",
            "O3",
            "k",
            "-",
            "0",
            "5",
            "18446744073709551616",
            "\r\n",
            "\n",
            "\r",
            "",
        ])
        .prop_map(|word| word.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop::collection::vec(word, 0..12).prop_map(|words| words.join(&b' '))
}

proptest! {
    #[test]
    fn noise_never_panics_and_never_takes_more_than_there_is(
        input in prop_oneof![answers(), prop::collection::vec(any::<u8>(), 0..200)]
    ) {
        for (name, parse) in PARSERS {
            if let Ok(Parsed::Complete(_, len)) = parse(&input) {
                prop_assert!((1..=input.len()).contains(&len), "{name} took {len}");
            }
        }
    }

    #[test]
    fn a_hit_that_parses_in_one_pass_parses_the_same_in_general(
        key in "k{1,3}", numbers in any::<[u64; 3]>(), ttl in -2_i64..100, cut in 0_usize..200
    ) {
        let [flags, len, version] = numbers.map(|number| number >> (number % 64));
        let line = format!("VALUE {key} {flags} {len}\r\n");
        let input = &line.as_bytes()[..cut.min(line.len())];
        if let Some((header, len)) = text::get::parse_hit(input, b"k") {
            let hit = Ok(text::get::GetReply::Value(header));
            prop_assert_eq!(text::get::parse_reply(input), Ok(Parsed::Complete(hit, len)));
        }
        let line = format!("VA {len} f{flags} c{version} t{ttl}\r\n");
        let input = &line.as_bytes()[..cut.min(line.len())];
        if let Some((len, flags, header_len)) = meta::get::parse_hit(input) {
            let hit = Ok(meta::get::GetReply::Value { len, flags });
            prop_assert_eq!(meta::get::parse_reply(input), Ok(Parsed::Complete(hit, header_len)));
        }
    }

    /// A part of an input is incomplete, or parses to the same as the whole.
    #[test]
    fn a_piece_is_incomplete_or_parses_as_the_whole(mut input in answers(), more in answers()) {
        input.extend_from_slice(b"\r\n");
        for (name, parse) in PARSERS {
            let whole = parse(&input);
            for end in 0..input.len() {
                let piece = parse(&input[..end]);
                prop_assert!(piece == Ok(Parsed::Incomplete) || piece == whole, "{name} at {end}");
            }
            if whole != Ok(Parsed::Incomplete) {
                let followed = [&input[..], &more].concat();
                prop_assert_eq!(&parse(&followed), &whole, "{} with more behind it", name);
            }
        }
    }
}

#[test]
fn no_parser_waits_for_the_end_of_an_endless_line() {
    for (name, parse) in PARSERS {
        assert!(parse(&[b'1'; MAX_LINE_LEN]).is_err(), "{name}");
    }
}

proptest! {
    #[test]
    fn no_request_makes_a_server_panic(words in "[a-z]{1,4}( [ -~]{0,12}){0,8}", noise: Vec<u8>) {
        for line in [words.as_bytes(), &noise] {
            let mut input = line.to_vec();
            input.extend_from_slice(b"\r\n");
            let Ok(Parsed::Complete(line, _)) = request::line(&input, 0) else { continue };
            let _ = text::parse_request(line);
            if let Ok(Some(Command::Get(request))) = meta::parse_request(line) {
                let _ = request.key(&mut [0; MAX_KEY_LEN]);
            }
        }
    }
}

/// Noise that looks like a binary request: any command, short lengths, and as many bytes as there happen to be.
fn binary_requests() -> impl Strategy<Value = Vec<u8>> {
    let lengths = (0_u16..260, prop::sample::select(vec![0_u8, 4, 8, 20, 255]), 0_u32..300);
    let body = prop::collection::vec(any::<u8>(), 0..600);
    (0_u8..0x28, lengths, any::<[u8; 12]>(), body).prop_map(|(opcode, lengths, rest, body)| {
        let (key_len, extras_len, value_len) = lengths;
        let body_len = u32::from(key_len) + u32::from(extras_len) + value_len;
        let mut bytes = vec![binary::REQUEST_MAGIC, opcode];
        bytes.extend_from_slice(&key_len.to_be_bytes());
        bytes.extend_from_slice(&[extras_len, 0, 0, 0]);
        bytes.extend_from_slice(&body_len.to_be_bytes());
        bytes.extend_from_slice(&rest);
        bytes.extend_from_slice(&body);
        bytes
    })
}

proptest! {
    /// A part of a binary request needs more bytes than it has, or is judged as the whole.
    #[test]
    fn a_piece_of_a_binary_request_needs_more_or_parses_as_the_whole(
        input in prop_oneof![binary_requests(), prop::collection::vec(any::<u8>(), 0..100)]
    ) {
        let whole = binary::parse_request(&input);
        if let Ok(Arrived::Whole(_, len)) = whole {
            prop_assert!((HEADER_LEN..=input.len()).contains(&len));
        }
        for end in 0..=input.len() {
            match binary::parse_request(&input[..end]) {
                Ok(Arrived::Needs(len)) => {
                    prop_assert!(len > end && len <= HEADER_LEN + 20 + MAX_KEY_LEN);
                }
                judged => prop_assert_eq!(judged, whole),
            }
        }
    }
}
