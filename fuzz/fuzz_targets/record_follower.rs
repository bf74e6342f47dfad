//! The follower of recorded connections. No bytes of either side make it panic, and it leaves no room taken. Connections
//! that share a desk do not mix.
//!
//!     cargo +nightly fuzz run record_follower -- -dict=fuzz/dictionaries/record_follower.dict
//!
//! The first byte of the input chooses the protocol. Then each piece has a byte before it: its side, in the highest bit,
//! and its length.

#![no_main]

use larder_record::follow::{Follower, Kind};
use larder_record::{Recorder, Keys};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((first, input)) = input.split_first() else { return };
    let kind = if first & 1 == 0 { Kind::Memcached } else { Kind::Redis };
    let keys = Keys::new(&[7; 16]).in_clear(first & 2 != 0);
    let mut recorder = Recorder::new(keys.clone(), 0, 1);
    let alone = rows(kind, input, &mut recorder);
    assert_eq!(recorder.pending_bytes(), 0);
    // Beside another connection, half of whose conversation is held, the rows are the same.
    let mut recorder = Recorder::new(keys, 0, 1);
    let mut other = Follower::new(kind, 1);
    let other_is_followed = other.requests(input, 1, &mut recorder).is_ok();
    let begin = recorder.batch.len();
    assert_eq!(rows(kind, input, &mut recorder)[begin..], alone);
    other.end(!other_is_followed, &mut recorder);
    assert_eq!(recorder.pending_bytes(), 0);
});

/// The rows of a connection, without the numbers of requests.
fn rows(kind: Kind, mut input: &[u8], recorder: &mut Recorder) -> Vec<String> {
    let mut follower = Follower::new(kind, 0);
    let mut is_followed = true;
    let mut at_ns = 1_800_000_000_000_000_000;
    while let Some((head, rest)) = input.split_first() {
        let (piece, rest) = rest.split_at(rest.len().min(usize::from(head & 127)));
        input = rest;
        at_ns += 1000;
        let done = if head & 128 == 0 {
            follower.requests(piece, at_ns, recorder)
        } else {
            follower.answers(piece, at_ns, recorder)
        };
        if done.is_err() {
            is_followed = false;
            break;
        }
    }
    follower.end(!is_followed, recorder);
    let rows = recorder.batch.rows();
    rows.map(|row| format!("{:?}", larder_workload::trace::Row { request: 0, ..row })).collect()
}
