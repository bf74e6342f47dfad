//! Connections to memcached.

use larder_record::follow::{Kind, StopReason};
use larder_record::{Keys, Recorder};

use crate::exchange::{BEGIN_NS, From, check, check_lost, check_talk, exchange, follow, follow_at};

pub(super) fn rows(text: &str, rows: &[&str]) {
    check(Kind::Memcached, text, rows);
}

#[test]
fn every_command_of_the_text_protocol() {
    rows(
        "> set a 0 60 5
         > hello
         < STORED
         > get a
         < VALUE a 0 5
         < hello
         < END
         > gets b
         < END
         > add a 0 0 1
         > x
         < NOT_STORED
         > replace a 0 0 2
         > xx
         < STORED
         > append a 0 0 1
         > !
         < STORED
         > prepend a 0 0 1
         > !
         < STORED
         > cas a 0 0 1 17
         > x
         < EXISTS
         > cas b 0 0 1 17
         > x
         < NOT_FOUND
         > incr n 5
         < 15
         > decr n 6
         < NOT_FOUND
         > touch a 30
         < TOUCHED
         > gat 90 a c
         < VALUE a 0 1
         < x
         < END
         > delete a
         < DELETED
         > delete a 0
         < NOT_FOUND",
        &[
            "0 set a size=5 ttl=60 stored",
            "1 get a size=5 hit",
            "2 get b miss",
            "3 add a size=1 ttl=0 not_stored",
            "4 replace a size=2 ttl=0 stored",
            "5 append a size=1 stored",
            "6 prepend a size=1 stored",
            "7 cas a size=1 ttl=0 exists",
            "8 cas b size=1 ttl=0 not_found",
            "9 incr n size=2 by=5 stored",
            "10 decr n by=6 not_found",
            "11 touch a ttl=30 touched",
            "12 gat a size=1 ttl=90 hit",
            "12 gat c ttl=90 miss",
            "13 delete a deleted",
            "14 delete a not_found",
        ],
    );
}

#[test]
fn commands_that_are_no_operations_leave_no_rows() {
    rows(
        "> version
         < VERSION 1.6.18
         > stats
         < STAT pid 1
         < STAT curr_items 3
         < END
         > stats reset
         < RESET
         > stats detail on
         < OK
         > flush_all
         < OK
         > flush_all noreply
         > verbosity 1
         < OK
         > lru_crawler metadump all
         < key=a exp=-1 la=1 cas=2 fetch=no cls=1 size=64
         < END
         > lru_crawler mgdump all
         < mg a
         < EN
         > slabs automove 0
         < OK
         > nonsense
         < ERROR
         > 
         < ERROR
         > get a
         < END
         > quit",
        &["12 get a miss"],
    );
}

#[test]
fn requests_without_answers() {
    rows(
        "> set a 0 0 1 noreply
         > x
         > delete b noreply
         > incr n 1 noreply
         > touch a 5 noreply
         > get a
         > set b 0 0 1 noreply
         > y
         > get b
         < VALUE a 0 1
         < x
         < END
         < VALUE b 0 1
         < y
         < END",
        &[
            "0 set a size=1 ttl=0 -",
            "1 delete b -",
            "2 incr n by=1 -",
            "3 touch a ttl=5 -",
            "4 get a size=1 hit",
            "5 set b size=1 ttl=0 -",
            "6 get b size=1 hit",
        ],
    );
}

#[test]
fn gets_of_many_keys_in_any_order_of_values() {
    rows(
        "> get a b c d e
         < VALUE b 0 2
         < bb
         < VALUE e 0 5
         < END
         < 
         < END
         > get a b a
         < VALUE a 0 1
         < a
         < VALUE a 0 3
         < aaa
         < END
         > get a b c d
         < VALUE c 0 3
         < ccc
         < VALUE a 0 1
         < a
         < VALUE b 0 2
         < bb
         < END",
        // The value of e looks like the end of the answer.
        &[
            "0 get a miss",
            "0 get b size=2 hit",
            "0 get c miss",
            "0 get d miss",
            "0 get e size=5 hit",
            "1 get a size=1 hit",
            "1 get b miss",
            "1 get a size=3 hit",
            "2 get a size=1 hit",
            "2 get b size=2 hit",
            "2 get c size=3 hit",
            "2 get d miss",
        ],
    );
}

#[test]
fn errors_are_results_and_do_not_desynchronise() {
    let long = "k".repeat(251);
    rows(
        &format!(
            "> set a 0 0 99999
             < SERVER_ERROR object too large for cache
             > incr a 1
             < CLIENT_ERROR cannot increment or decrement non-numeric value
             > get {long}
             < CLIENT_ERROR bad command line format
             > get a
             < SERVER_ERROR out of memory writing get response
             > set a 0 0 2
             > xxx
             < CLIENT_ERROR bad data chunk
             < ERROR
             > set a b c d
             < CLIENT_ERROR bad command line format
             > get a
             < END"
        )
        .replace("> incr a 1", &format!("> {}\n> incr a 1", "x".repeat(99_999))),
        &[
            "0 set a size=99999 ttl=0 error",
            "1 incr a by=1 error",
            "3 get a error",
            "4 set a size=2 ttl=0 error",
            "7 get a miss",
        ],
    );
}

#[test]
fn every_command_of_the_meta_protocol() {
    rows(
        "> mg a v
         < VA 3
         < aaa
         > mg a
         < HD
         > mg a s v t
         < EN
         > mg a s
         < HD s17
         > mg a v T60
         < VA 1
         < a
         > ms a 2 T90 F5
         > aa
         < HD
         > ms a 2 ME
         > aa
         < NS
         > ms a 2 C5
         > aa
         < EX
         > ms a 2 MA I
         > aa
         < NF
         > md a
         < HD
         > md a C5
         < EX
         > ma n
         < HD
         > ma n MD D5 v
         < VA 2
         < 17
         > ma n N0 J13
         < NF
         > me a
         < ME a exp=-1 la=1 cas=2 fetch=no cls=1 size=64
         > mn
         < MN
         > mg YWJj b v
         < VA 1 b
         < x
         > mg lease v N30
         < VA 0 W
         < 
         > mg lease v N30
         < VA 4 X W
         < last
         > mg bad* z
         < CLIENT_ERROR invalid flag",
        &[
            "0 get a size=3 hit",
            "1 get a hit",
            "2 get a miss",
            "3 get a size=17 hit",
            "4 gat a size=1 ttl=60 hit",
            "5 set a size=2 ttl=90 stored",
            "6 add a size=2 ttl=0 not_stored",
            "7 cas a size=2 ttl=0 exists",
            "8 append a size=2 not_found",
            "9 delete a deleted",
            "10 delete a exists",
            "11 incr n by=1 stored",
            "12 decr n size=2 by=5 stored",
            "13 incr n ttl=0 by=1 not_found",
            "16 get abc size=1 hit",
            "17 get lease miss",
            "18 get lease size=4 hit",
        ],
    );
}

#[test]
fn quiet_requests_of_the_meta_protocol() {
    rows(
        "> mg a v q O1
         > mg b v q O2
         > mg c v q O3
         > ms d 1 q
         > x
         > ms e 1 q ME
         > x
         > md f q
         > ma g q
         > mn
         < VA 1 O2
         < b
         < NS
         < MN
         > mg a v q k
         > mg b v q k
         > mg b v k
         < VA 1 kb
         < b
         < VA 1 kb
         < b
         > mg a v q
         > mg a v q
         > mg b v
         < EN
         > md a q
         > ma b q
         > mn
         < NF
         < MN
         > md a q
         > md b
         < NF",
        &[
            "0 get a miss",
            "1 get b size=1 hit",
            "2 get c miss",
            "3 set d size=1 ttl=0 stored",
            "4 add e size=1 ttl=0 not_stored",
            "5 delete f -",
            "6 incr g by=1 -",
            "8 get a miss",
            "9 get b size=1 hit",
            "10 get b size=1 hit",
            "11 get a miss",
            "12 get a miss",
            "13 get b miss",
            // Versions of memcached that tell it, and those that do not.
            "14 delete a not_found",
            "15 incr b by=1 -",
            "17 delete a -",
            "18 delete b not_found",
        ],
    );
}

#[test]
fn a_get_of_thousands_of_keys_is_taken_word_by_word() {
    let keys: Vec<String> = (0..5000).map(|i| format!("key:{i:09}")).collect();
    let mut text = format!("> get {}\n", keys.join(" "));
    for key in keys.iter().step_by(2) {
        text.extend(["< VALUE ", key, " 0 1\n< x\n"]);
    }
    text += "< END\n> gat 60 a\n< END";
    let mut expected: Vec<String> = keys
        .iter()
        .enumerate()
        .map(|(i, key)| {
            let found = if i % 2 == 0 { "size=1 hit" } else { "miss" };
            format!("0 get {key} {found}")
        })
        .collect();
    expected.push("1 gat a ttl=60 miss".into());
    rows(&text, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn times_are_those_of_the_bytes() {
    let exchange = exchange(
        "> set a 0 0 1\n> x\n< STORED\n> get a\n> get b\n< VALUE a 0 1\n< x\n< END\n< END",
    );
    let (batch, _) = follow(Kind::Memcached, &exchange);
    let times: Vec<(u64, u64)> = batch
        .rows()
        .map(|row| (row.time_us.unwrap() - BEGIN_NS / 1000, row.latency_ns.unwrap()))
        .collect();
    // A request is there with its last byte, an answer with its first.
    assert_eq!(times, [(2, 1000), (4, 2000), (5, 4000)]);
}

#[test]
fn the_result_of_what_was_never_answered_is_unknown() {
    rows(
        "> get a b
         < VALUE a 0 1
         < x
         > set c 0 0 1
         > x",
        &["0 get a size=1 hit", "0 get b -", "1 set c size=1 ttl=0 -"],
    );
    // A request that has not arrived as a whole.
    rows("> set h 0 0 10\n> ab", &["0 set h size=10 ttl=0 -"]);
    let mut recorder = Recorder::new(Keys::new(&[7; 16]), 0, 1);
    let (_, done) =
        follow_at(Kind::Memcached, &exchange("> get a b\n> set c 0 0 1\n> x"), &mut recorder);
    assert_eq!(done, Ok(()));
    let counts = recorder.counts;
    assert_eq!((counts.operations, counts.unanswered, counts.errors), (3, 3, 0));
    // A server that has answered all others was silent about the last one.
    rows(
        "> mg a
         > mg b q
         < EN",
        &["0 get a miss", "1 get b miss"],
    );
    rows(
        "> mg b q
         > mg a",
        &["0 get b -", "1 get a -"],
    );
}

#[test]
fn an_answer_that_fits_no_request_ends_the_following() {
    let rows = &["0 get a miss"];
    let unasked = check_lost(Kind::Memcached, "> get a\n< END\n< STORED\n> get b\n< END", rows);
    assert_eq!(unasked, StopReason::Answer("what nobody asked for"));
    let wrong = check_lost(Kind::Memcached, "> get a\n< END\n> get b\n< STORED", rows);
    assert_eq!(wrong, StopReason::Answer("no answer to what was asked"));
    let stranger =
        check_lost(Kind::Memcached, "> get a\n< END\n> get b\n< VALUE c 0 1\n< x\n< END", rows);
    assert_eq!(stranger, StopReason::Answer("a value that nobody asked for"));
    let watcher = check_lost(Kind::Memcached, "> get a\n< END\n> watch\n< OK", rows);
    assert!(!watcher.is_trouble());
    let endless = format!("> get a\n< END\n> set {}", "x".repeat(9000));
    assert!(check_lost(Kind::Memcached, &endless, rows).is_trouble());
}

/// A request or an answer of the binary protocol.
fn binary(
    magic: u8,
    opcode: u8,
    status: u16,
    extras: &[u8],
    key: &[u8],
    value: &[u8],
    opaque: u32,
) -> Vec<u8> {
    let body = u32::try_from(extras.len() + key.len() + value.len()).unwrap();
    let mut bytes = vec![magic, opcode];
    bytes.extend(u16::try_from(key.len()).unwrap().to_be_bytes());
    bytes.extend([u8::try_from(extras.len()).unwrap(), 0]);
    bytes.extend(status.to_be_bytes());
    bytes.extend(body.to_be_bytes());
    bytes.extend(opaque.to_be_bytes());
    bytes.extend([0; 8]);
    [&bytes[..], extras, key, value].concat()
}

pub(super) fn asks(
    opcode: u8,
    extras: &[u8],
    key: &str,
    value: &[u8],
    opaque: u32,
) -> (From, Vec<u8>) {
    (From::Application, binary(0x80, opcode, 0, extras, key.as_bytes(), value, opaque))
}

pub(super) fn answers(
    opcode: u8,
    status: u16,
    key: &str,
    value: &[u8],
    opaque: u32,
) -> (From, Vec<u8>) {
    let extras: &[u8] = if status == 0 && matches!(opcode, 0 | 0x0c) { &[0; 4] } else { b"" };
    (From::Server, binary(0x81, opcode, status, extras, key.as_bytes(), value, opaque))
}

#[test]
fn the_binary_protocol_with_its_quiet_commands() {
    let set = [0, 0, 0, 0, 0, 0, 0, 60];
    let by_five = [&5_u64.to_be_bytes()[..], &0_u64.to_be_bytes(), &[0xff; 4]].concat();
    let exchange = vec![
        // SASL comes first, and is no operation.
        asks(0x20, b"", "", b"", 0),
        answers(0x20, 0, "", b"PLAIN", 0),
        asks(0x21, b"", "PLAIN", b"\0user\0secret", 0),
        answers(0x21, 0, "", b"Authenticated", 0),
        asks(0x01, &set, "a", b"hello", 1),
        answers(0x01, 0, "", b"", 1),
        // Quiet gets: the first has no answer, the second is answered by the loud opcode.
        asks(0x0d, b"", "b", b"", 2),
        asks(0x09, b"", "a", b"", 3),
        asks(0x11, &set, "c", b"x", 4),
        asks(0x12, &set, "a", b"x", 5),
        asks(0x14, b"", "c", b"", 6),
        asks(0x0a, b"", "", b"", 7),
        answers(0x00, 0, "", b"hello", 3),
        answers(0x12, 2, "", b"Data exists for key.", 5),
        answers(0x0a, 0, "", b"", 7),
        asks(0x05, &by_five, "n", b"", 8),
        answers(0x05, 1, "", b"Not found", 8),
        asks(0x1c, &[0, 0, 0, 9], "a", b"", 9),
        answers(0x1c, 0, "", b"", 9),
        asks(0x10, b"", "", b"", 10),
        answers(0x10, 0, "pid", b"17", 10),
        answers(0x10, 0, "", b"", 10),
        // An unknown command, whose body passes.
        asks(0x77, b"", "key", b"value", 11),
        answers(0x77, 0x81, "", b"Unknown command", 11),
        asks(0x0c, b"", "a", b"", 12),
        answers(0x0c, 0, "a", b"hi", 12),
    ];
    check_talk(
        Kind::Memcached,
        &exchange,
        &[
            "2 set a size=5 ttl=60 stored",
            "3 get b miss",
            "4 get a size=5 hit",
            "5 set c size=1 ttl=60 stored",
            "6 add a size=1 ttl=60 not_stored",
            "7 delete c deleted",
            "9 incr n by=5 not_found",
            "10 touch a ttl=9 touched",
            "13 get a size=2 hit",
        ],
    );
}
