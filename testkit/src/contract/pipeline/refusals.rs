//! Requests that fail among requests that do not, and conditions that do not hold.
//!
//! An engine may find out before it sends a request, when the call fails, or by the server's answer.

use std::time::Duration;

use larder_store::{Delta, Error, Put, SetMode, SetOptions, SetOutcome};
use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, lacks, mode};
use super::super::fixture::Fixture;
use super::batches::outcomes;
use super::client::Client;
use super::in_each_way;
use crate::owned_answer::OwnedAnswer;

pub(in super::super) const CASES: &[Case] = &[
    case!(a_session_has_a_pipeline_where_the_capabilities_say_so),
    case!(a_pipelined_key_that_is_too_long_fails_alone, PIPELINE, KEY_LIMIT),
    case!(a_pipelined_batch_with_a_key_that_is_too_long_fails_alone, PIPELINE, KEY_LIMIT),
    case!(a_pipelined_value_that_is_too_large_fails_alone, PIPELINE, VALUE_LIMIT),
    case!(a_pipelined_entry_that_is_too_large_keeps_no_other_out, PIPELINE, VALUE_LIMIT),
    case!(a_pipelined_operation_that_is_missing_fails_alone, PIPELINE, LACKS_SOMETHING),
    case!(pipelined_keys_of_any_bytes_work_or_fail_alone, PIPELINE),
    case!(a_pipelined_condition_that_does_not_hold_is_a_value, PIPELINE, ADD),
    case!(a_pipelined_cas_keeps_to_its_version, PIPELINE, VERSION),
];

pub(in super::super) fn a_session_has_a_pipeline_where_the_capabilities_say_so(
    fixture: &Fixture,
) -> Result<(), Failed> {
    let promised = fixture.capabilities()?.pipeline;
    let has = fixture.session()?.pipeline().is_some();
    ensure!(has == promised, "whether there is a pipeline: {has}, not {promised}");
    Ok(())
}

/// Makes one request of a client.
type Ask<'a> = &'a dyn Fn(&mut Client) -> larder_store::Result<usize>;

/// Makes requests that must each fail with this kind of error, between others that must be answered as ever.
fn fail_alone(client: &mut Client, kind: &str, requests: &[Ask<'_>]) -> Result<(), Failed> {
    let key = client.key("good");
    let mut good = Vec::new();
    let mut refused = Vec::new();
    for (i, request) in requests.iter().enumerate() {
        let value = format!("value {i}");
        let set = client.set(&key, value.as_bytes())?;
        refused.push(request(client));
        good.push((set, client.get(&key)?, value));
    }
    client.finish()?;
    for refused in refused {
        client.has_failed(refused, kind)?;
    }
    for (set, get, value) in good {
        client.is_stored(set)?;
        client.is_hit(get, value.as_bytes())?;
    }
    Ok(())
}

fn a_pipelined_key_that_is_too_long_fails_alone(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_key_len.ok_or("no key limit")?;
    let can = fixture.capabilities()?;
    let key = vec![b'k'; limit + 1];
    in_each_way(fixture, |client| {
        let set = |client: &mut Client| client.set(&key, b"value");
        let get = |client: &mut Client| client.get(&key);
        let delete = |client: &mut Client| client.delete(&key);
        fail_alone(client, "key_too_long", &[&set, &get, &delete, &get])?;
        let touch = |client: &mut Client| client.ask(|p, id| p.touch(id, &key, None));
        if can.touch {
            fail_alone(client, "key_too_long", &[&touch])?;
        }
        let incr = |client: &mut Client| client.incr(&key, Delta::Up(1), None);
        if can.incr { fail_alone(client, "key_too_long", &[&incr]) } else { Ok(()) }
    })
}

fn a_pipelined_batch_with_a_key_that_is_too_long_fails_alone(
    fixture: &Fixture,
) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_key_len.ok_or("no key limit")?;
    let long = vec![b'k'; limit + 1];
    in_each_way(fixture, |client| {
        let [a, b] = ["a", "b"].map(|name| client.key(name));
        let get_many = |client: &mut Client| {
            client.ask(|pipeline, id| pipeline.get_many(id, &[&a, &long, &b]))
        };
        // Some keys may be answered before the failure.
        fail_alone(client, "key_too_long", &[&get_many, &get_many])?;
        let put = |key| Put { key, value: b"batch", options: SetOptions::default() };
        refuse_the_middle(client, [put(&a), put(&long), put(&b)], "key_too_long")
    })
}

fn a_pipelined_entry_that_is_too_large_keeps_no_other_out(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_value_len.ok_or("no value limit")?;
    let value = vec![7; limit + 1];
    in_each_way(fixture, |client| {
        let [a, large, b] = ["a", "large", "b"].map(|name| client.key(name));
        client.set(&large, b"old")?;
        let put = |key, value| Put { key, value, options: SetOptions::default() };
        let puts = [put(&a, b"batch"), put(&large, &value), put(&b, b"batch")];
        refuse_the_middle(client, puts, "value_too_large")?;
        lacks(client.session(), &large)
    })
}

/// Stores a batch of three whose second entry fails with this kind of error. The others are stored, as by a session's
/// own call.
fn refuse_the_middle(client: &mut Client, puts: [Put<'_>; 3], kind: &str) -> Result<(), Failed> {
    let set = client.ask(|pipeline, id| pipeline.set_many(id, &puts))?;
    let read = [client.get(puts[0].key)?, client.get(puts[2].key)?];
    client.finish()?;
    let outcomes = outcomes(client, set)?;
    let kinds: Vec<_> =
        outcomes.iter().map(|outcome| outcome.as_ref().map_or_else(Error::kind, |_| "")).collect();
    ensure!(kinds == ["", kind, ""], "the outcomes are {outcomes:?}");
    read.into_iter().zip([0, 2]).try_for_each(|(read, i)| client.is_hit(read, puts[i].value))
}

/// In its plain mode a set that is refused leaves no older value behind, also for the requests behind it.
fn a_pipelined_value_that_is_too_large_fails_alone(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_value_len.ok_or("no value limit")?;
    let value = vec![7; limit + 1];
    in_each_way(fixture, |client| {
        let key = client.key("large");
        let set = |client: &mut Client| client.set(&key, &value);
        let old = |client: &mut Client| client.set(&key, b"old");
        old(client)?;
        fail_alone(client, "value_too_large", &[&set, &set])?;
        lacks(client.session(), &key)?;
        old(client)?;
        let refused = set(client);
        let gone = client.get(&key)?;
        old(client)?;
        let back = client.get(&key)?;
        client.finish()?;
        client.has_failed(refused, "value_too_large")?;
        client.is_miss(gone)?;
        client.is_hit(back, b"old")
    })
}

/// A store that does not honour a TTL, flags or a condition must refuse them.
fn a_pipelined_operation_that_is_missing_fails_alone(fixture: &Fixture) -> Result<(), Failed> {
    let can = fixture.capabilities()?;
    let flags = SetOptions { flags: 1, ..SetOptions::default() };
    let ttl = SetOptions { ttl: Some(Duration::from_secs(100)), ..SetOptions::default() };
    let missing = [
        (can.add, mode(SetMode::Add)),
        (can.add, mode(SetMode::Replace)),
        (can.version, mode(SetMode::Cas(1))),
        (can.append, mode(SetMode::Append)),
        (can.append, mode(SetMode::Prepend)),
        (can.flags, flags),
        (can.ttl, ttl),
    ];
    in_each_way(fixture, |client| {
        let absent = client.key("absent");
        for (_, options) in missing.iter().filter(|(has, _)| !has) {
            let set = |client: &mut Client| client.set_with(&absent, b"x", options);
            fail_alone(client, "unsupported", &[&set, &set])?;
            lacks(client.session(), &absent)?;
        }
        if !can.touch {
            let touch = |client: &mut Client| client.ask(|p, id| p.touch(id, &absent, None));
            fail_alone(client, "unsupported", &[&touch, &touch])?;
        }
        if !can.incr {
            let incr = |client: &mut Client| client.incr(&absent, Delta::Up(1), None);
            fail_alone(client, "unsupported", &[&incr, &incr])?;
        }
        Ok(())
    })
}

/// Some protocols cannot carry every byte in a key.
fn pipelined_keys_of_any_bytes_work_or_fail_alone(fixture: &Fixture) -> Result<(), Failed> {
    let tails: [&[u8]; 7] = [b"\0", b" b", b"\r\nb", b"\x7f", b"\xff\xfe", b"\xc3\xa4", b"/../b"];
    in_each_way(fixture, |client| {
        let key = client.key("a");
        let mut sent = Vec::new();
        for tail in tails {
            let odd = [&key[..], tail].concat();
            client.set(&key, b"good")?;
            let set = client.set(&odd, tail);
            sent.push((set, client.get(&odd), client.get(&key)?, tail));
        }
        let empty = client.get(b"");
        let last = client.get(&key)?;
        client.finish()?;
        client.is_hit(last, b"good")?;
        for (set, odd, good, tail) in sent {
            client.is_hit(good, b"good")?;
            match (set, odd) {
                (Ok(set), Ok(odd)) if matches!(client.answers(set), [OwnedAnswer::Stored(_)]) => {
                    client.is_hit(odd, tail)?;
                }
                (set, odd) => {
                    client.has_failed(set, "invalid_key")?;
                    client.has_failed(odd, "invalid_key")?;
                }
            }
        }
        match empty {
            Ok(empty) if !matches!(client.answers(empty), [OwnedAnswer::Failed(_)]) => Ok(()),
            empty => client.has_failed(empty, "invalid_key"),
        }
    })
}

/// The request had one answer, which is this outcome of a set.
fn came_out(client: &Client, request: usize, wanted: SetOutcome) -> Result<(), Failed> {
    let answers = client.answers(request);
    let is_right = matches!(answers, [OwnedAnswer::Stored(outcome)] if *outcome == wanted);
    ensure!(is_right, "request {request} has the answers {answers:?}, not {wanted:?}");
    Ok(())
}

fn a_pipelined_condition_that_does_not_hold_is_a_value(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let key = client.key("a");
        let replaced = client.set_with(&key, b"replaced", &mode(SetMode::Replace))?;
        let added = client.set_with(&key, b"added", &mode(SetMode::Add))?;
        let again = client.set_with(&key, b"added again", &mode(SetMode::Add))?;
        let read = client.get(&key)?;
        let then = client.set_with(&key, b"replaced then", &mode(SetMode::Replace))?;
        let last = client.get(&key)?;
        client.finish()?;
        came_out(client, replaced, SetOutcome::NotStored)?;
        client.is_stored(added)?;
        came_out(client, again, SetOutcome::NotStored)?;
        client.is_hit(read, b"added")?;
        client.is_stored(then)?;
        client.is_hit(last, b"replaced then")
    })
}

fn a_pipelined_cas_keeps_to_its_version(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let [key, absent] = ["a", "absent"].map(|name| client.key(name));
        client.set(&key, b"first")?;
        let get = client.get(&key)?;
        client.finish()?;
        let [OwnedAnswer::Hit(_, meta)] = client.answers(get) else { return Err("no hit".into()) };
        let version = meta.version.ok_or("a hit without its version")?;
        let cas = |client: &mut Client, key, value| {
            client.set_with(key, value, &mode(SetMode::Cas(version)))
        };
        let won = cas(client, &key, b"second")?;
        let lost = cas(client, &key, b"third")?;
        let nowhere = cas(client, &absent, b"fourth")?;
        let read = client.get(&key)?;
        client.finish()?;
        client.is_stored(won)?;
        came_out(client, lost, SetOutcome::Exists)?;
        came_out(client, nowhere, SetOutcome::NotFound)?;
        client.is_hit(read, b"second")
    })
}
