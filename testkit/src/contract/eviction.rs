//! Cases at a byte limit.

use std::sync::Arc;

use larder_store::{Error, SetOptions, Store};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, holds, put, same};
use super::fixture::{Fixture, SMALL_LIMIT};
use crate::Random;

pub(super) const CASES: &[Case] = &[
    case!(a_store_that_evicts_keeps_within_its_byte_limit, EVICTS_AT_ITS_LIMIT),
    case!(a_store_that_does_not_evict_says_that_it_is_full, REFUSES_AT_ITS_LIMIT),
];

const VALUE_LEN: usize = 32 << 10;

fn value(i: usize) -> Vec<u8> {
    Random::new(i as u64).bytes(VALUE_LEN)
}

/// Whether the store declares that it makes room by dropping everything.
fn wipes(store: &Arc<dyn Store>) -> bool {
    store.info().settings.get("when_full").is_some_and(|what| what == "drops everything")
}

/// Four times the limit is stored. Afterwards every found value must be right, and a good part must be found. Making
/// room is not wiping, unless the store declares that it wipes.
fn a_store_that_evicts_keeps_within_its_byte_limit(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.bounded()?;
    let mut session = store.session()?;
    let limit = limit_of(&store)?;
    let before = store.stats()?;
    let n_values = usize::try_from(4 * limit)? / VALUE_LEN;
    for i in 0..n_values {
        put(&mut *session, &fixture.key(i), &value(i))?;
    }
    if let Some(bytes) = store.stats()?.bytes {
        ensure!(bytes <= limit, "holds {bytes} bytes, and its limit is {limit}");
    }
    let mut found = Vec::new();
    let mut n_found = 0;
    for i in 0..n_values {
        if session.get(&fixture.key(i), &mut found)?.is_some() {
            same(&fixture.key(i), &found, &value(i))?;
            n_found += 1;
        }
    }
    let held = n_found * VALUE_LEN as u64;
    // Each tier of a stack may hold other entries.
    let most = limit * store.tiers().len().max(1) as u64;
    ensure!(held <= most, "answers {held} bytes of values, and its limit is {most}");
    let least = if wipes(&store) { 1 } else { limit / 4 };
    ensure!(held >= least, "answers only {held} bytes of values of a limit of {limit}");
    // Read only now: a server's answers take room too, and may have evicted another entry.
    if let Some(evictions) = store.stats()?.since(&before).evictions {
        let gone = n_values as u64 - n_found;
        ensure!(evictions >= gone, "{gone} values are gone, and {evictions} evictions are counted");
        let written = n_values as u64;
        ensure!(evictions <= written, "{evictions} evictions of {written} values");
    }
    // The store makes room for another entry, and finds it.
    let key = fixture.key("last");
    put(&mut *session, &key, b"small")?;
    holds(&mut *session, &key, b"small").map(drop)
}

fn a_store_that_does_not_evict_says_that_it_is_full(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.bounded()?;
    let mut session = store.session()?;
    let n_values = usize::try_from(4 * limit_of(&store)?)? / VALUE_LEN;
    let mut stored = 0;
    let refused = loop {
        ensure!(stored < n_values, "took four times its limit and refused nothing");
        match session.set(&fixture.key(stored), &value(stored), &SetOptions::default()) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    ensure!(matches!(refused, Error::Full { .. }), "the refusal is not `full`: {refused}");
    for i in 0..stored {
        holds(&mut *session, &fixture.key(i), &value(i))?;
    }
    Ok(())
}

fn limit_of(store: &Arc<dyn Store>) -> Result<u64, Failed> {
    let limit = store.stats()?.capacity_bytes.unwrap_or(SMALL_LIMIT);
    ensure!(limit > 0, "a byte limit of 0");
    Ok(limit)
}
