//! Answers of memcached that several requests may have caused.

use larder_record::follow::Kind;

use crate::exchange::{all_shown, check_talk, exchange, follow};
use crate::memcached::{answers, asks, rows};

#[test]
fn a_line_that_two_requests_may_have_caused_waits_for_the_lines_behind_it() {
    // `a` was deleted in silence, and `b` was absent.
    rows(
        "> md a q
         > md b
         > mg c v
         < NF
         < EN",
        &["0 delete a -", "1 delete b not_found", "2 get c miss"],
    );
    // Both were absent.
    rows(
        "> md a q
         > md b
         > mg c v
         < NF
         < NF
         < EN",
        &["0 delete a not_found", "1 delete b not_found", "2 get c miss"],
    );
    // The value of the held line passes before the next line is looked for.
    rows(
        "> mg a q v
         > mg b v
         > get c
         < VA 2
         < MN
         < VALUE c 0 1
         < x
         < END",
        &["0 get a miss", "1 get b size=2 hit", "2 get c size=1 hit"],
    );
    // An error is the last request's: a no-op has none, and so has the first one nothing to tell.
    rows(
        "> ms a 1 q
         > x
         > nonsense
         > mn
         < ERROR
         < MN",
        &["0 set a size=1 ttl=0 stored"],
    );
    rows(
        "> mg a q
         > ms b 1
         > x
         > mg c q
         > ms d 1
         > x
         > mn
         < HD
         < HD
         < MN",
        &[
            "0 get a miss",
            "1 set b size=1 ttl=0 stored",
            "2 get c miss",
            "3 set d size=1 ttl=0 stored",
        ],
    );
}

#[test]
fn many_quiet_requests_before_a_loud_one_are_told_apart() {
    const N: usize = 3000;
    let quiet = "> md a q\n".repeat(N);
    // All were absent, the last one too: each line but the last may be the last request's.
    let absent = format!("{quiet}> md b\n> mg c v\n{}< EN", "< NF\n".repeat(N + 1));
    let (batch, done) = follow(Kind::Memcached, &exchange(&absent));
    assert_eq!(done, Ok(()));
    let shown = all_shown(&batch);
    assert_eq!(shown.len(), N + 2);
    assert!(shown[..=N].iter().all(|row| row.ends_with(" not_found")), "{:?}", shown.last());
    assert_eq!(shown[N + 1], format!("{} get c miss", N + 1));
    // All were deleted in silence but the first ten.
    let deleted = format!("{quiet}> md b\n> mg c v\n{}< HD\n< EN", "< NF\n".repeat(10));
    let (batch, done) = follow(Kind::Memcached, &exchange(&deleted));
    assert_eq!(done, Ok(()));
    let shown = all_shown(&batch);
    assert_eq!(shown.iter().filter(|row| row.ends_with(" not_found")).count(), 10);
    assert_eq!(shown[N], format!("{N} delete b deleted"));
}

#[test]
fn binary_answers_that_two_requests_may_have_caused_wait_for_the_answers_behind_them() {
    let set = [0; 8];
    let asked = || {
        vec![
            asks(0x01, &set, "a", b"hello", 0),
            asks(0x14, b"", "a", b"", 0),
            asks(0x04, b"", "a", b"", 0),
            asks(0x00, b"", "a", b"", 0),
            asks(0x0a, b"", "", b"", 0),
        ]
    };
    // The quiet delete was silent, and the loud one found nothing.
    let mut exchange = asked();
    exchange.extend([
        answers(0x01, 0, "", b"", 0),
        answers(0x04, 1, "", b"Not found", 0),
        answers(0x00, 1, "", b"Not found", 0),
        answers(0x0a, 0, "", b"", 0),
    ]);
    check_talk(
        Kind::Memcached,
        &exchange,
        &[
            "0 set a size=5 ttl=0 stored",
            "1 delete a deleted",
            "2 delete a not_found",
            "3 get a miss",
        ],
    );
    // The key was gone before both.
    let mut exchange = asked();
    exchange.extend([
        answers(0x01, 0, "", b"", 0),
        answers(0x04, 1, "", b"Not found", 0),
        answers(0x04, 1, "", b"Not found", 0),
        answers(0x00, 1, "", b"Not found", 0),
        answers(0x0a, 0, "", b"", 0),
    ]);
    check_talk(
        Kind::Memcached,
        &exchange,
        &[
            "0 set a size=5 ttl=0 stored",
            "1 delete a not_found",
            "2 delete a not_found",
            "3 get a miss",
        ],
    );
    // A quiet request leaves out its usual answer: these are the loud ones'.
    check_talk(
        Kind::Memcached,
        &vec![
            asks(0x09, b"", "a", b"", 0),
            asks(0x00, b"", "b", b"", 0),
            asks(0x11, &set, "a", b"x", 0),
            asks(0x01, &set, "b", b"xy", 0),
            answers(0x00, 1, "", b"Not found", 0),
            answers(0x01, 0, "", b"", 0),
        ],
        &[
            "0 get a miss",
            "1 get b miss",
            "2 set a size=1 ttl=0 stored",
            "3 set b size=2 ttl=0 stored",
        ],
    );
    // Without an answer, silence means nothing of what stands before it.
    check_talk(
        Kind::Memcached,
        &vec![asks(0x11, &set, "a", b"x", 0), asks(0x00, b"", "a", b"", 0)],
        &["0 set a size=1 ttl=0 -", "1 get a -"],
    );
}

#[test]
fn lines_that_stay_in_doubt_are_bounded() {
    // A server that tells nothing of absent keys, and a client that never asks for anything else.
    let pair = "> md a q\n> md b\n< NF\n";
    let (batch, done) = follow(Kind::Memcached, &exchange(&pair.repeat(5000)));
    assert_eq!(done, Ok(()));
    let shown = all_shown(&batch);
    assert_eq!(shown.len(), 10_000);
    assert!(shown.iter().all(|row| row.ends_with(" delete a -") || row.ends_with("b not_found")));
}
