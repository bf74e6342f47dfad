//! Counters. A given counter must be exact; an unknown counter is `None`.

use larder_store::{Counter, Ownership};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, holds, lacks, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    case!(counters_that_are_given_are_exact, COUNTS),
    case!(counters_count_the_keys_of_a_batch, COUNTS),
    case!(counters_add_up_over_sessions_and_outlive_them, COUNTS),
    case!(counters_of_its_own_have_names_of_their_own_and_only_grow, COUNTERS),
];

fn counters_that_are_given_are_exact(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let mut session = store.session()?;
    let before = store.stats()?;
    for name in ["a", "b", "c"] {
        put(&mut *session, &fixture.key(name), b"value")?;
    }
    for _ in 0..5 {
        holds(&mut *session, &fixture.key("a"), b"value")?;
    }
    for name in ["x", "y"] {
        lacks(&mut *session, &fixture.key(name))?;
    }
    session.delete(&fixture.key("c"))?;
    let after = store.stats()?;
    let grown = after.since(&before);
    for (name, counted, wanted) in [
        ("hits", grown.hits, 5),
        ("misses", grown.misses, 2),
        ("sets", grown.sets, 3),
        ("deletes", grown.deletes, 1),
        ("evictions", grown.evictions, 0),
        ("expirations", grown.expirations, 0),
    ] {
        ensure!(counted.is_none_or(|n| n == wanted), "{name}: {counted:?}, not {wanted}");
    }
    // An external server may also hold entries of other users, so its totals are unknown.
    if store.info().ownership != Ownership::External {
        ensure!(after.items.is_none_or(|n| n == 2), "items: {:?}, not 2", after.items);
        ensure!(after.bytes.is_none_or(|n| n >= 10), "bytes: {:?}, below 10", after.bytes);
    }
    Ok(())
}

fn counters_count_the_keys_of_a_batch(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let mut session = store.session()?;
    put(&mut *session, &fixture.key("a"), b"value")?;
    let before = store.stats()?;
    let (a, absent) = (fixture.key("a"), fixture.key("absent"));
    session.get_many(&[&a, &absent, &a], &mut |_, _, _| {})?;
    let grown = store.stats()?.since(&before);
    ensure!(grown.hits.is_none_or(|n| n == 2), "hits: {:?}, not 2", grown.hits);
    ensure!(grown.misses.is_none_or(|n| n == 1), "misses: {:?}, not 1", grown.misses);
    Ok(())
}

fn counters_add_up_over_sessions_and_outlive_them(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let before = store.stats()?;
    for round in 0..3 {
        let mut session = store.session()?;
        put(&mut *session, &fixture.key(round), b"value")?;
        holds(&mut *session, &fixture.key(round), b"value")?;
    }
    let grown = store.stats()?.since(&before);
    ensure!(grown.hits.is_none_or(|n| n == 3), "hits: {:?}, not 3", grown.hits);
    ensure!(grown.sets.is_none_or(|n| n == 3), "sets: {:?}, not 3", grown.sets);
    let rate = store.stats()?.since(&before).hit_rate();
    ensure_eq!(rate.is_some(), grown.requests().is_some(), "a hit rate where hits are known");
    Ok(())
}

fn counters_of_its_own_have_names_of_their_own_and_only_grow(
    fixture: &Fixture,
) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let before = store.counters()?;
    put(&mut *store.session()?, &fixture.key("a"), b"value")?;
    let after = store.counters()?;
    let common = format!("{:?}", store.stats()?);
    ensure_eq!(after.len(), before.len(), "counters of its own");
    for (i, (then, now)) in before.iter().zip(&after).enumerate() {
        let Counter { name, value } = now;
        ensure_eq!(*name, then.name, "the counter in this place");
        let may_fall = now.is_amount();
        ensure!(may_fall || *value >= then.value, "{name}: {value} after {}", then.value);
        let is_plain = name.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
        ensure!(is_plain && !name.is_empty(), "{name:?} is not words joined by underscores");
        ensure!(!common.contains(&format!(" {name}: ")), "{name} is counted by every store");
        ensure!(after[..i].iter().all(|other| other.name != *name), "two counters are {name}");
    }
    Ok(())
}
