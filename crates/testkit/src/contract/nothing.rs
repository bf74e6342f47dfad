//! Stores that keep nothing: they measure the cost of measuring.

use std::time::Duration;

use larder_store::{Delta, SetMode, SetOptions};
use libtest_mimic::Failed;

use super::case::{Case, STORES_NOTHING};
use super::expect::{ensure, ensure_eq, holds, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a_store_of_nothing_replays_the_last_set_whatever_the_key",
        needs: &[STORES_NOTHING],
        spawns: false,
        run: a_store_of_nothing_replays_the_last_set_whatever_the_key,
    },
    Case {
        name: "a_store_of_nothing_answers_every_operation_of_a_plan",
        needs: &[STORES_NOTHING],
        spawns: false,
        run: a_store_of_nothing_answers_every_operation_of_a_plan,
    },
];

fn a_store_of_nothing_replays_the_last_set_whatever_the_key(
    fixture: &Fixture,
) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    for value in [&b"first"[..], b"the second, longer", b"", b"3"] {
        put(&mut *session, b"some key", value)?;
        holds(&mut *session, b"some key", value)?;
        holds(&mut *session, b"another key", value)?;
        let mut hits = Vec::new();
        session.get_many(&[b"a", b"b"], &mut |i, value, _| hits.push((i, value.to_vec())))?;
        ensure_eq!(hits, [(0, value.to_vec()), (1, value.to_vec())], "the hits of get_many");
    }
    Ok(())
}

/// The floor of a comparison runs the same plan as its targets, so no part of a plan may stop it.
fn a_store_of_nothing_answers_every_operation_of_a_plan(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    for mode in [SetMode::Set, SetMode::Add, SetMode::Replace, SetMode::Append, SetMode::Prepend] {
        let options = SetOptions { mode, ttl: Some(Duration::from_mins(1)), flags: 5 };
        ensure!(session.set(b"key", b"value", &options)?.is_stored(), "{mode:?} stores nothing");
    }
    ensure!(session.delete(b"key")?, "delete is false");
    ensure!(session.touch(b"key", Some(Duration::from_secs(1)))?, "touch is false");
    ensure!(session.incr(b"key", Delta::Up(1), None)?.is_some(), "incr is none");
    session.clear()?;
    Ok(())
}
