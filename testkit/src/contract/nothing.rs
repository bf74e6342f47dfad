//! Stores that keep nothing: they measure the cost of measuring.

use std::time::Duration;

use larder_store::{Delta, Put, SetMode, SetOptions};
use libtest_mimic::Failed;

use super::case::Case;
use super::expect::{ensure, ensure_eq, holds, put};
use super::fixture::Fixture;
use super::need::{PIPELINE, STORES_NOTHING};
use super::pipeline::batches::{has_entries, has_outcomes};
use super::pipeline::in_each_way;
use super::pipeline::refusals::a_session_has_a_pipeline_where_the_capabilities_say_so;

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
    Case {
        name: "a_store_of_nothing_answers_every_request_of_a_pipeline",
        needs: &[STORES_NOTHING, PIPELINE],
        spawns: false,
        run: a_store_of_nothing_answers_every_request_of_a_pipeline,
    },
    Case {
        name: "a_session_of_nothing_has_a_pipeline_where_the_capabilities_say_so",
        needs: &[STORES_NOTHING],
        spawns: false,
        run: a_session_has_a_pipeline_where_the_capabilities_say_so,
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

/// A pipeline is a part of a plan, too.
fn a_store_of_nothing_answers_every_request_of_a_pipeline(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let value = vec![7; 10_000];
        for round in 0..3 {
            let mut sent = Vec::new();
            for i in 0..200 {
                let key = client.key(i);
                let set = client.set(&key, &value)?;
                let get = client.get(&key)?;
                let keys: [&[u8]; 2] = [&key, b"another"];
                let read = client.ask(|pipeline, id| pipeline.get_many(id, &keys))?;
                let options = SetOptions::default();
                let puts = keys.map(|key| Put { key, value: &value, options });
                let written = client.ask(|pipeline, id| pipeline.set_many(id, &puts))?;
                let touched = client.ask(|pipeline, id| pipeline.touch(id, &key, None))?;
                let found = [client.delete(&key)?, touched];
                let counted = client.incr(&key, Delta::Up(1), None)?;
                sent.push((set, get, read, written, found, counted));
                if i == round {
                    client.flush()?;
                }
            }
            client.expire()?;
            client.finish()?;
            for (set, get, read, written, found, counted) in sent {
                client.is_stored(set)?;
                client.is_hit(get, &value)?;
                has_entries(client, read, &[(0, &value), (1, &value)])?;
                has_outcomes(client, written, 2)?;
                found.into_iter().try_for_each(|request| client.is_found(request, true))?;
                client.is_counted(counted, Some(1))?;
            }
        }
        ensure!(client.ended().is_sorted(), "the requests are answered out of order");
        ensure_eq!(client.unsent_bytes()?, 0, "the unsent bytes");
        Ok(())
    })
}
