//! Requests stand in memory until they are flushed, and a caller can bound this memory.

use std::time::Instant;

use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, holds, lacks};
use super::super::fixture::Fixture;
use super::client::Client;
use super::{in_each_way, in_own_store};
use crate::{PATIENCE, Random};

pub(in super::super) const CASES: &[Case] = &[
    case!(requests_stand_in_memory_until_they_are_flushed, PIPELINE),
    case!(a_flush_leaves_no_small_request_behind, PIPELINE),
    case!(large_sets_leave_memory_as_their_answers_are_received, PIPELINE),
    case!(answers_that_are_not_received_do_not_block_a_flush, PIPELINE),
    case!(a_session_with_nothing_to_send_wants_no_room, PIPELINE),
];

const LARGE_LEN: usize = 100 << 10;

fn requests_stand_in_memory_until_they_are_flushed(fixture: &Fixture) -> Result<(), Failed> {
    let mut other = fixture.session()?;
    in_each_way(fixture, |client| {
        let key = client.key("a");
        ensure_eq!(client.unsent_bytes()?, 0, "the unsent bytes of no request");
        // The links are open now, so that only a flush is missing.
        client.set(&key, b"first")?;
        client.finish()?;
        ensure_eq!(client.unsent_bytes()?, 0, "the unsent bytes of answered requests");
        let mut before = 0;
        for _ in 0..3 {
            client.set(&key, b"second")?;
            client.get(&key)?;
            let n_bytes = client.unsent_bytes()?;
            ensure!(n_bytes > before, "{n_bytes} bytes are unsent, and {before} bytes were before");
            before = n_bytes;
        }
        // Each of these would find an answer to a request that has been sent too early.
        holds(&mut *other, &key, b"first")?;
        ensure!(!client.pipeline()?.is_ready(), "there are answers before a flush");
        client.receive(0)?;
        ensure_eq!(client.n_open(), 6, "the requests without a flush that are outstanding");
        client.finish()?;
        ensure_eq!(client.unsent_bytes()?, 0, "the unsent bytes at the end");
        holds(&mut *other, &key, b"second").map(drop)
    })
}

fn a_flush_leaves_no_small_request_behind(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        for round in 0..20 {
            let key = client.key(round);
            client.set(&key, b"value")?;
            client.get(&key)?;
            client.flush()?;
            ensure_eq!(client.unsent_bytes()?, 0, "the unsent bytes behind a flush");
            if round % 4 == 0 {
                client.finish()?;
            }
        }
        Ok(())
    })
}

/// More bytes than all buffers between the two ends hold. A caller adds no request while many bytes are unsent.
fn large_sets_leave_memory_as_their_answers_are_received(fixture: &Fixture) -> Result<(), Failed> {
    const SETS: usize = 150;
    const KEYS: usize = 3;
    const BOUND: usize = 4 * LARGE_LEN;
    let mut random = Random::new(51);
    let values: Vec<_> = (0..SETS).map(|_| random.bytes(LARGE_LEN)).collect();
    in_own_store(fixture, |client| {
        let mut sets = Vec::new();
        let begun = Instant::now();
        for (i, value) in values.iter().enumerate() {
            let key = client.key(i % KEYS);
            sets.push(client.set(&key, value)?);
            client.flush()?;
            while client.unsent_bytes()? > BOUND {
                client.receive_some()?;
                ensure!(begun.elapsed() < PATIENCE, "the unsent bytes do not become fewer");
            }
        }
        client.finish()?;
        ensure_eq!(client.unsent_bytes()?, 0, "the unsent bytes at the end");
        sets.into_iter().try_for_each(|set| client.is_stored(set))?;
        for (i, value) in values.iter().enumerate().skip(SETS - KEYS) {
            let key = client.key(i % KEYS);
            holds(client.session(), &key, value)?;
        }
        Ok(())
    })
}

/// The answers are more than all buffers hold, so the server cannot go on before some are received. A flush that waited
/// for the server would wait for ever.
fn answers_that_are_not_received_do_not_block_a_flush(fixture: &Fixture) -> Result<(), Failed> {
    const GETS: usize = 200;
    let value = Random::new(52).bytes(LARGE_LEN);
    in_own_store(fixture, |client| {
        let [key, other] = ["a", "b"].map(|name| client.key(name));
        client.set(&key, &value)?;
        client.finish()?;
        let mut gets = Vec::new();
        let mut sets = Vec::new();
        for _ in 0..GETS {
            gets.push(client.get(&key)?);
            client.flush()?;
        }
        for _ in 0..GETS / 10 {
            sets.push(client.set(&other, &value)?);
            client.flush()?;
        }
        ensure_eq!(client.n_open(), GETS + GETS / 10, "the requests without an answer");
        client.finish()?;
        gets.into_iter().try_for_each(|get| client.is_hit(get, &value))?;
        sets.into_iter().try_for_each(|set| client.is_stored(set))
    })
}

/// Otherwise a loop would never rest: a socket nearly always has room.
fn a_session_with_nothing_to_send_wants_no_room(fixture: &Fixture) -> Result<(), Failed> {
    let (sockets, mut clients) = Client::together(fixture, &**fixture.store()?, 1)?;
    let [client] = &mut clients[..] else { return Err("no client".into()) };
    let value = Random::new(53).bytes(LARGE_LEN);
    let key = client.key("a");
    for _ in 0..100 {
        client.set(&key, &value)?;
    }
    client.finish()?;
    client.flush()?;
    ensure!(!sockets.wants_room(0), "a link wants room for no bytes");
    lacks(client.session(), &fixture.key("absent"))
}
