//! Bytes of any kind: no panic, bounded memory, and the same rows however the bytes are cut.

use larder_record::follow::Kind;
use larder_record::{Keys, Recorder};
use proptest::prelude::*;

use crate::exchange::{Exchange, From, all_shown, exchange, follow, follow_at};

/// Pieces of real exchanges, from which noise is made that is often nearly right.
const WORDS: &[&str] = &[
    "get a\r\n",
    "get a b c\r\n",
    "gets a\r\n",
    "gat 5 a\r\n",
    "set a 0 0 1\r\n",
    "x\r\n",
    "set a 0 0 1 noreply\r\n",
    "VALUE a 0 1\r\n",
    "END\r\n",
    "STORED\r\n",
    "ERROR\r\n",
    "mg a v q k\r\n",
    "VA 1 ka\r\n",
    "EN\r\n",
    "HD\r\n",
    "mn\r\n",
    "MN\r\n",
    "ms a 1\r\n",
    "stats\r\n",
    "STAT a b\r\n",
    "delete a\r\n",
    "DELETED\r\n",
    "incr a 1\r\n",
    "5\r\n",
    "*2\r\n",
    "$3\r\nGET\r\n",
    "$1\r\na\r\n",
    "*3\r\n",
    "$3\r\nSET\r\n",
    "+OK\r\n",
    "$-1\r\n",
    "$1\r\n",
    "*1\r\n",
    "$5\r\nMULTI\r\n",
    "$4\r\nEXEC\r\n",
    "+QUEUED\r\n",
    "$9\r\nSUBSCRIBE\r\n",
    "$9\r\nsubscribe\r\n",
    ":1\r\n",
    ">3\r\n",
    "|1\r\n",
    "%1\r\n",
    "_\r\n",
    "-ERR\r\n",
    "$6\r\nCLIENT\r\n",
    "$5\r\nREPLY\r\n",
    "$3\r\nOFF\r\n",
    "$4\r\nMGET\r\n",
    "*-1\r\n",
    "*0\r\n",
    "\r\n",
    " ",
    "$6\r\nSELECT\r\n",
    "$6\r\nGETDEL\r\n",
    "\u{0}",
    "*1048576\r\n",
    "$99999999999\r\n",
    "*9223372036854775807\r\n",
];

fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        8 => prop::sample::select(WORDS).prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..40),
        1 => (0_u8..=0x24, 0_u8..30, prop::collection::vec(any::<u8>(), 0..30)).prop_map(
            |(opcode, len, body)| {
                let mut bytes = vec![0x80, opcode, 0, len / 2, 0, 0, 0, 0, 0, 0, 0, len];
                bytes.extend([0; 12]);
                bytes.extend(body);
                bytes
            }
        ),
    ]
}

fn any_talk() -> impl Strategy<Value = Exchange> {
    let from = prop_oneof![Just(From::Application), Just(From::Server)];
    prop::collection::vec((from, piece()), 0..60)
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Memcached), Just(Kind::Redis)]
}

/// A right conversation of each protocol, in which every kind of state occurs.
const RIGHT: &[(Kind, &str)] = &[
    (
        Kind::Memcached,
        "> set a 0 60 5\n> hello\n< STORED\n> get a b\n> mg c v q O1\n> mn\n< VALUE a 0 5\n< hello\n< END\n< MN\n\
         > stats\n< STAT a 1\n< END\n> delete a noreply\n> incr n 5\n< 12",
    ),
    (
        Kind::Redis,
        "> *2\n> $5\n> HELLO\n> $1\n> 3\n< %1\n< +proto\n< :3\n> *1\n> $5\n> MULTI\n< +OK\n> *2\n> $3\n> GET\n> $1\n\
         > a\n< >2\n< $10\n< invalidate\n< *1\n< $1\n< a\n< +QUEUED\n> *1\n> $4\n> EXEC\n< *1\n< $2\n< xy\n\
         > *3\n> $3\n> SET\n> $1\n> a\n> $4\n> abcd\n< +OK",
    ),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn noise_is_survived_and_leaves_nothing_behind(kind in any_kind(), exchange in any_talk()) {
        let mut recorder = Recorder::new(Keys::new(&[7; 16]), 0, 1);
        let (batch, _) = follow_at(kind, &exchange, &mut recorder);
        // What nobody waits for takes no room.
        prop_assert_eq!(recorder.pending_bytes(), 0);
        let bytes: usize = exchange.iter().map(|(_, bytes)| bytes.len()).sum();
        prop_assert!(batch.len() <= bytes + 1);
    }

    #[test]
    fn rows_are_the_same_however_bytes_are_cut(
        place in 0..RIGHT.len(),
        cuts in prop::collection::vec(1_usize..9, 1..200),
    ) {
        let (kind, text) = RIGHT[place];
        let exchange = exchange(text);
        let whole = all_shown(&follow(kind, &exchange).0);
        let mut lens = cuts.iter().cycle();
        let mut cut: Exchange = Vec::new();
        for (from, bytes) in &exchange {
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (piece, left) = rest.split_at((*lens.next().unwrap()).min(rest.len()));
                cut.push((*from, piece.to_vec()));
                rest = left;
            }
        }
        let (batch, done) = follow(kind, &cut);
        prop_assert_eq!(all_shown(&batch), whole);
        prop_assert_eq!(done, Ok(()));
    }
}
