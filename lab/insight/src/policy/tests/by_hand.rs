//! Sequences that were worked out by hand.

use super::{Use, count, hits, hits_of_entries, optimal, reads, step};
use crate::policy::{Fifo, Lru, S3Fifo, Sieve, WTinyLfu};
use crate::step::Step;

/// The places of the reads that hit.
fn places(hits: &[bool]) -> Vec<usize> {
    (0..hits.len()).filter(|at| hits[*at]).collect()
}

#[test]
fn the_example_of_every_textbook() {
    // The reference string of Belady, Nelson and Shedler (1969), which they used for first-in first-out: a larger memory
    // has more faults.
    let string = reads(&[1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]);
    assert_eq!((count::<Fifo>(&string, 3), count::<Fifo>(&string, 4)), (3, 2));
    assert_eq!((count::<Lru>(&string, 3), count::<Lru>(&string, 4)), (2, 4));
    // Belady's own count has 7 and 6 faults of 12.
    assert_eq!((optimal(&string, 3), optimal(&string, 4)), (5, 6));
    // A loop that is one key longer than the cache: LRU always drops the key that comes next.
    let ring = reads(&[0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!((count::<Lru>(&ring, 2), optimal(&ring, 2)), (0, 4));
}

#[test]
fn the_hand_of_sieve_goes_from_the_oldest_to_the_newest_and_stays() {
    // Behind each read: the queue from the oldest to the newest, `*` for used, and the key at the hand.
    let string = reads(&[
        0, 1, 2, // 0 1 2, hand at the end
        0, // hit: 0* 1 2
        3, // passes 0, takes 1: 0 2 3, hand at 2
        1, // takes 2: 0 3 1, hand at 3
        0, // hit: 0* 3 1
        4, // takes 3: 0* 1 4, hand at 1
        1, // hit: 0* 1* 4
        5, // passes 1, takes 4, the newest: 0* 1 5, hand at the end
        0, // hit
        1, // hit: 0* 1* 5
        6, // from the oldest, passes 0 and 1, takes 5: 0 1 6, hand at the end
        5, // takes 0: 1 6 5, hand at 1
        7, // takes 1: 6 5 7, hand at 6
        0, // takes 6
    ]);
    assert_eq!(places(&hits::<Sieve>(&string, 3)), [3, 6, 8, 10, 11]);
}

#[test]
fn s3_fifo_moves_on_what_was_used_and_knows_what_left_its_small_queue() {
    // One of the four entries is the share of the small queue, three are that of the main one.
    let string = reads(&[
        0, 1, 2, 3, // 0 small, and as the cache is not full, the others main
        0, 0, // hits: twice used
        4, // 0 moves on: main 1 2 3 0 is over its share, and 1 leaves: small 4
        1, // unknown, as it left main: 4 leaves: small 1, main 2 3 0
        4, // known: 1 leaves: main 2 3 0 4
        0, 2, // hits
        1, // known: main is over its share; 2 was used and stays, 3 leaves: main 0 4 2 1
        2, // hit
        3, // unknown: 0 was used and stays, 4 leaves: small 3, main 2 1 0
        4, // unknown: 3 leaves: small 4
        0, // hit
    ]);
    assert_eq!(places(&hits::<S3Fifo>(&string, 4)), [4, 5, 9, 10, 12, 15]);
}

#[test]
fn w_tiny_lfu_takes_a_newcomer_only_in_the_place_of_a_less_used_entry() {
    // One of five entries is the window.
    let string = reads(&[
        0, 1, 2, 3, 4, // window 4, probation 0 1 2 3
        0, 0, // hits: 0 is protected
        5, // 4 against 1: used once each, 4 leaves; window 5
        6, // 5 leaves; window 6
        6, // hit: used twice
        7, // 6 against 1: 1 leaves; window 7, probation 2 3 6, protected 0
        1, // 7 against 2: 7 leaves; window 1
        6, 0, 2, 3, // hits
        1, // hit
    ]);
    assert_eq!(places(&hits_of_entries::<WTinyLfu>(&string, 5)), [5, 6, 9, 12, 13, 14, 15, 16]);
}

#[test]
fn an_entry_that_is_written_or_dropped_before_its_next_read_is_not_worth_keeping() {
    let read = |key| step(key, Use::Read, 1);
    let drop = step(0, Use::Drop, 1);
    let steps = [read(0), read(1), drop, read(1), read(0), step(1, Use::Write, 1), read(1)];
    assert_eq!(optimal(&steps, 1), 2);
    assert_eq!(count::<Lru>(&steps, 1), 2);
}

#[test]
fn an_add_stores_only_where_there_is_no_entry() {
    let of = |at, usage, size| Step { at, ttl: 10, ..step(0, usage, size) };
    let steps = [
        of(0, Use::Add, 2),   // stored until 10
        of(5, Use::Read, 2),  // a hit
        of(6, Use::Add, 9),   // changes neither the size nor the TTL
        of(9, Use::Read, 2),  // a hit
        of(10, Use::Add, 3),  // stored until 20
        of(19, Use::Read, 3), // a hit
    ];
    assert_eq!(hits::<Lru>(&steps, 4), [true; 3]);
    assert_eq!(hits::<S3Fifo>(&steps, 4), [true; 3]);
    assert_eq!(optimal(&steps, 4), 3);
}

#[test]
fn an_entry_is_a_miss_once_its_ttl_is_over_and_is_then_filled_again() {
    let read = |at| Step { at, ttl: 10, ..step(0, Use::Read, 1) };
    let renew = |at| Step { usage: Use::Renew, ..read(at) };
    // Filled at 0 until 10, filled again at 10 until 20, renewed at 19 until 29.
    let steps = [read(0), read(9), read(10), read(19), renew(19), read(28), read(29)];
    for hits in [hits::<Lru>(&steps, 1), hits::<Fifo>(&steps, 1), hits::<WTinyLfu>(&steps, 1)] {
        assert_eq!(places(&hits), [1, 3, 4]);
    }
    assert_eq!(optimal(&steps, 1), 3);
}

#[test]
fn a_set_that_may_be_an_update_ends_the_ttl_of_the_entry_before() {
    let of = |at, usage, ttl| Step { at, ttl, ..step(0, usage, 1) };
    let steps = [
        of(0, Use::Read, 10),  // a miss, which is filled until 10
        of(0, Use::Fill, 10),  // the recorded fill
        of(5, Use::Renew, 50), // until 55
        of(9, Use::Read, 10), // a hit, after which the recorded application stored something, for whatever reason
        of(90, Use::Fill, 0), // after the entry has expired, and for ever
        of(99, Use::Read, 0), // a hit
    ];
    for hits in [hits::<Lru>(&steps, 1), hits::<Fifo>(&steps, 1), hits::<S3Fifo>(&steps, 4)] {
        assert_eq!(hits, [false, true, true]);
    }
    assert_eq!(optimal(&steps, 1), 2);
}

#[test]
fn what_cannot_be_stored_or_is_not_there_changes_nothing() {
    let of = |usage, size| step(0, usage, size);
    let steps = [
        of(Use::Look, 1),   // a miss that nobody fills
        of(Use::Change, 1), // nothing to change
        of(Use::Renew, 1),
        of(Use::Drop, 1),
        of(Use::Read, 9),   // larger than the cache
        of(Use::Read, 2),   // a miss that is filled
        of(Use::Read, 2),   // a hit
        of(Use::Change, 9), // no room for the new value, so there is none
        of(Use::Read, 2),
    ];
    let expected = [false, false, false, true, false];
    assert_eq!(hits::<Lru>(&steps, 4), expected);
    assert_eq!(hits::<Sieve>(&steps, 4), expected);
    assert_eq!(hits::<S3Fifo>(&steps, 4), expected);
    assert_eq!(hits::<WTinyLfu>(&steps, 4), expected);
    assert_eq!(optimal(&steps, 4), 1);
}
