//! TTLs, flags and versions.

use std::time::{Duration, Instant};

use larder_store::{Meta, Remaining, SetOptions};
use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, holds};
use super::super::fixture::Fixture;
use super::super::ttl::{expires, outlive, short_ttl, with_ttl};
use super::client::Client;
use super::in_each_way;
use crate::owned_answer::OwnedAnswer;

pub(in super::super) const CASES: &[Case] = &[
    case!(a_pipelined_ttl_is_kept, PIPELINE, TTL),
    case!(a_pipelined_ttl_of_zero_has_passed_at_once, PIPELINE, TTL),
    case!(a_pipelined_touch_gives_a_new_ttl, PIPELINE, TTL, TOUCH),
    case!(a_pipelined_touch_tells_whether_the_key_is_there, PIPELINE, TOUCH),
    case!(a_pipelined_hit_has_the_metadata_of_any_hit, PIPELINE),
    case!(pipelined_flags_are_kept, PIPELINE, FLAGS),
    case!(a_pipelined_set_tells_the_version_that_it_made, PIPELINE, VERSION),
];

fn a_pipelined_ttl_is_kept(fixture: &Fixture) -> Result<(), Failed> {
    let ttl = short_ttl(fixture)?;
    in_each_way(fixture, |client| {
        let [mortal, lasting] = ["mortal", "lasting"].map(|name| client.key(name));
        let before = Instant::now();
        client.set_with(&mortal, b"value", &with_ttl(ttl))?;
        client.set(&lasting, b"value")?;
        client.finish()?;
        let after = Instant::now();
        expires(fixture, client.session(), &mortal, before, after, ttl)?;
        let (gone, there) = (client.get(&mortal)?, client.get(&lasting)?);
        client.finish()?;
        client.is_miss(gone)?;
        client.is_hit(there, b"value")
    })
}

fn a_pipelined_ttl_of_zero_has_passed_at_once(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let key = client.key("a");
        client.set(&key, b"before")?;
        client.set_with(&key, b"value", &with_ttl(Duration::ZERO))?;
        let gone = client.get(&key)?;
        client.finish()?;
        client.is_miss(gone)
    })
}

fn touch(client: &mut Client, key: &[u8], ttl: Option<Duration>) -> larder_store::Result<usize> {
    client.ask(|pipeline, id| pipeline.touch(id, key, ttl))
}

fn a_pipelined_touch_gives_a_new_ttl(fixture: &Fixture) -> Result<(), Failed> {
    let ttl = short_ttl(fixture)?;
    in_each_way(fixture, |client| {
        let [shorter, longer, lasting] =
            ["shorter", "longer", "lasting"].map(|name| client.key(name));
        client.set(&shorter, b"value")?;
        client.set_with(&longer, b"value", &with_ttl(ttl))?;
        client.set_with(&lasting, b"value", &with_ttl(ttl))?;
        let prolonged = [
            touch(client, &longer, Some(Duration::from_mins(10)))?,
            touch(client, &lasting, None)?,
        ];
        client.finish()?;
        let before = Instant::now();
        let shortened = touch(client, &shorter, Some(ttl))?;
        client.finish()?;
        let after = Instant::now();
        client.is_found(shortened, true)?;
        // Where the machine was busy, the short TTL may have passed before the touch.
        let found =
            prolonged.map(|touch| matches!(client.answers(touch), [OwnedAnswer::Found(true)]));
        expires(fixture, client.session(), &shorter, before, after, ttl)?;
        outlive(fixture, ttl)?;
        for (key, found) in [&longer, &lasting].into_iter().zip(found) {
            if found {
                holds(client.session(), key, b"value")?;
            }
        }
        Ok(())
    })
}

fn a_pipelined_touch_tells_whether_the_key_is_there(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let [key, absent] = ["a", "absent"].map(|name| client.key(name));
        client.set(&key, b"value")?;
        let touches = [(&key, true), (&absent, false), (&key, true)];
        let touches = touches.map(|(key, found)| (touch(client, key, None), found));
        let (read, missed) = (client.get(&key)?, client.get(&absent)?);
        client.finish()?;
        for (touch, found) in touches {
            client.is_found(touch?, found)?;
        }
        client.is_hit(read, b"value")?;
        client.is_miss(missed)
    })
}

/// The metadata of a hit.
fn meta_of(client: &Client, request: usize) -> Result<Meta, Failed> {
    match client.answers(request) {
        [OwnedAnswer::Hit(_, meta)] => Ok(*meta),
        other => Err(format!("request {request} is no hit: {other:?}").into()),
    }
}

/// A remaining time differs by the time between two answers.
fn a_pipelined_hit_has_the_metadata_of_any_hit(fixture: &Fixture) -> Result<(), Failed> {
    let can = fixture.capabilities()?;
    let ttl = can.ttl.then_some(Duration::from_mins(10));
    in_each_way(fixture, |client| {
        for (name, ttl) in [("lasting", None), ("mortal", ttl)] {
            let key = client.key(name);
            let flags = if can.flags { 77 } else { 0 };
            client.set_with(&key, b"value", &SetOptions { ttl, flags, ..SetOptions::default() })?;
            let get = client.get(&key)?;
            let many = client.ask(|pipeline, id| pipeline.get_many(id, &[&key]))?;
            client.finish()?;
            let any = holds(client.session(), &key, b"value")?;
            let hit = meta_of(client, get)?;
            let [OwnedAnswer::Entry(0, _, entry), OwnedAnswer::End] = client.answers(many) else {
                return Err(format!("the get_many has {:?}", client.answers(many)).into());
            };
            ensure_eq!(entry.flags, flags, "the flags of an entry");
            let without_ttl = |meta: Meta| Meta { ttl: Remaining::Unknown, ..meta };
            ensure_eq!(without_ttl(hit), without_ttl(any), "the metadata of a hit");
            match (hit.ttl, any.ttl) {
                (Remaining::For(hit), Remaining::For(any)) => {
                    ensure!(hit >= any, "{hit:?} remain, and {any:?} remain later");
                }
                (hit, any) => ensure_eq!(hit, any, "the remaining ttl of a hit"),
            }
        }
        Ok(())
    })
}

fn pipelined_flags_are_kept(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let mut gets = Vec::new();
        for flags in [0, 1, 77, u32::MAX] {
            let key = client.key(flags);
            client.set_with(&key, b"value", &SetOptions { flags, ..SetOptions::default() })?;
            gets.push((client.get(&key)?, flags));
        }
        client.finish()?;
        for (get, flags) in gets {
            ensure_eq!(meta_of(client, get)?.flags, flags, "the flags");
        }
        Ok(())
    })
}

fn a_pipelined_set_tells_the_version_that_it_made(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let key = client.key("a");
        let mut sent = Vec::new();
        for value in [&b"first"[..], b"second", b"third"] {
            sent.push((client.set(&key, value)?, client.get(&key)?));
        }
        client.finish()?;
        for (set, get) in sent {
            let [OwnedAnswer::Stored(outcome)] = client.answers(set) else {
                return Err("a set without its outcome".into());
            };
            let read = meta_of(client, get)?.version;
            ensure!(read.is_some(), "a hit without its version");
            ensure_eq!(*outcome, larder_store::SetOutcome::Stored(read), "the outcome of the set");
        }
        Ok(())
    })
}
