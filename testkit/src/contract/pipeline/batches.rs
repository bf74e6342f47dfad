//! `get_many` and `set_many` without waiting.

use larder_store::{Put, SetMode, SetOptions, SetOutcome};
use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, holds, mode};
use super::super::fixture::Fixture;
use super::client::Client;
use super::in_each_way;
use crate::Random;
use crate::owned_answer::OwnedAnswer;

pub(in super::super) const CASES: &[Case] = &[
    case!(a_pipelined_get_many_finds_the_present_keys_alone_and_ends, PIPELINE),
    case!(a_pipelined_get_many_answers_a_key_as_often_as_it_is_asked, PIPELINE),
    case!(a_pipelined_set_many_tells_of_each_place_and_ends, PIPELINE),
    case!(a_pipelined_set_many_keeps_to_the_mode_of_each_entry, PIPELINE, ADD),
    case!(a_pipelined_set_many_of_one_key_twice_keeps_the_later_value, PIPELINE),
    case!(pipelined_batches_of_nothing_end, PIPELINE),
    case!(pipelined_batches_of_thousands_are_whole, PIPELINE),
    case!(pipelined_batches_of_large_values_are_whole, PIPELINE),
    case!(a_pipelined_batch_keeps_its_order_among_other_requests, PIPELINE),
];

/// The places and values of the answers to a `get_many`, in the order of the places. The request has ended.
fn entries(client: &Client, request: usize) -> Result<Vec<(usize, &[u8])>, Failed> {
    let (last, entries) = client.answers(request).split_last().ok_or("no answer")?;
    ensure!(matches!(last, OwnedAnswer::End), "the last answer to the get_many is {last:?}");
    let entry = |given| match given {
        &OwnedAnswer::Entry(place, ref value, _) => Ok((place, value.as_slice())),
        other => Err(format!("an answer to the get_many is {other:?}")),
    };
    let mut entries: Vec<_> = entries.iter().map(entry).collect::<Result<_, _>>()?;
    entries.sort_unstable();
    Ok(entries)
}

/// The outcomes of a `set_many`, in the order of their places, which must be complete. The request has ended.
pub(super) fn outcomes(
    client: &Client,
    request: usize,
) -> Result<Vec<&larder_store::Result<SetOutcome>>, Failed> {
    let (last, outcomes) = client.answers(request).split_last().ok_or("no answer")?;
    ensure!(matches!(last, OwnedAnswer::End), "the last answer to the set_many is {last:?}");
    let outcome = |given| match given {
        &OwnedAnswer::Outcome(place, ref outcome) => Ok((place, outcome)),
        other => Err(format!("an answer to the set_many is {other:?}")),
    };
    let mut outcomes: Vec<_> = outcomes.iter().map(outcome).collect::<Result<_, _>>()?;
    outcomes.sort_by_key(|(place, _)| *place);
    let places: Vec<_> = outcomes.iter().map(|(place, _)| *place).collect();
    ensure_eq!(places, (0..outcomes.len()).collect::<Vec<_>>(), "the places of the outcomes");
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

/// The request found exactly these entries, and ended.
pub(in super::super) fn has_entries(
    client: &Client,
    request: usize,
    wanted: &[(usize, impl AsRef<[u8]>)],
) -> Result<(), Failed> {
    let found = entries(client, request)?;
    let places = |entries: &[(usize, &[u8])]| entries.iter().map(|(i, _)| *i).collect::<Vec<_>>();
    let wanted: Vec<_> = wanted.iter().map(|(i, value)| (*i, value.as_ref())).collect();
    ensure_eq!(places(&found), places(&wanted), "the places of the entries");
    let wrong = found.iter().zip(&wanted).find(|(found, wanted)| found != wanted);
    ensure!(wrong.is_none(), "the value of another key at {:?}", wrong.map(|(found, _)| found.0));
    Ok(())
}

/// The request stored this number of entries, and ended.
pub(in super::super) fn has_outcomes(
    client: &Client,
    request: usize,
    n: usize,
) -> Result<(), Failed> {
    let outcomes = outcomes(client, request)?;
    ensure_eq!(outcomes.len(), n, "the number of outcomes");
    for (place, outcome) in outcomes.into_iter().enumerate() {
        let is_stored = outcome.as_ref().is_ok_and(|outcome| outcome.is_stored());
        ensure!(is_stored, "the outcome at {place} is {outcome:?}");
    }
    Ok(())
}

fn get_many(client: &mut Client, keys: &[Vec<u8>]) -> larder_store::Result<usize> {
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    client.ask(|pipeline, id| pipeline.get_many(id, &keys))
}

/// Stores each key's own bytes, or a value made of them.
fn set_many(
    client: &mut Client,
    keys: &[Vec<u8>],
    value_of: impl Fn(usize) -> Vec<u8>,
) -> larder_store::Result<usize> {
    let values: Vec<_> = (0..keys.len()).map(value_of).collect();
    let puts: Vec<_> = keys.iter().zip(&values).map(|(key, value)| plain(key, value)).collect();
    client.ask(|pipeline, id| pipeline.set_many(id, &puts))
}

fn plain<'e>(key: &'e [u8], value: &'e [u8]) -> Put<'e> {
    Put { key, value, options: SetOptions::default() }
}

fn a_pipelined_get_many_finds_the_present_keys_alone_and_ends(
    fixture: &Fixture,
) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let keys: Vec<_> = (0..20).map(|i| client.key(i)).collect();
        // The first, the last and some in the middle are absent.
        let there: Vec<_> = (0..20).filter(|i| i % 3 == 1).collect();
        for i in &there {
            client.set(&keys[*i], &keys[*i])?;
        }
        let some = get_many(client, &keys)?;
        let absent: Vec<_> = keys.iter().step_by(3).cloned().collect();
        let none = get_many(client, &absent)?;
        let all: Vec<_> = there.iter().map(|i| keys[*i].clone()).collect();
        let every = get_many(client, &all)?;
        let one = get_many(client, &keys[4..5])?;
        let missed = get_many(client, &keys[5..6])?;
        client.finish()?;
        let wanted: Vec<_> = there.iter().map(|i| (*i, &keys[*i])).collect();
        has_entries(client, some, &wanted)?;
        has_entries(client, none, &[(0, ""); 0])?;
        has_entries(client, every, &all.iter().enumerate().collect::<Vec<_>>())?;
        has_entries(client, one, &[(0, &keys[4])])?;
        has_entries(client, missed, &[(0, ""); 0])
    })
}

fn a_pipelined_get_many_answers_a_key_as_often_as_it_is_asked(
    fixture: &Fixture,
) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let [a, b, absent] = ["a", "b", "absent"].map(|name| client.key(name));
        client.set(&a, b"value of a")?;
        client.set(&b, b"value of b")?;
        let asked: Vec<_> = [&a, &b, &a, &absent, &absent, &a].map(Clone::clone).into();
        let request = get_many(client, &asked)?;
        client.finish()?;
        let wanted = [(0, "a"), (1, "b"), (2, "a"), (5, "a")];
        let wanted = wanted.map(|(place, name)| (place, format!("value of {name}")));
        has_entries(client, request, &wanted)
    })
}

fn a_pipelined_set_many_tells_of_each_place_and_ends(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        for n in [1, 2, 100] {
            let keys: Vec<_> = (0..n).map(|i| client.key(format_args!("{n}-{i}"))).collect();
            let value_of = |i: usize| format!("value {i} ").repeat(i * 10).into_bytes();
            let set = set_many(client, &keys, value_of)?;
            let read = get_many(client, &keys)?;
            client.finish()?;
            has_outcomes(client, set, n)?;
            let wanted: Vec<_> = (0..n).map(|i| (i, value_of(i))).collect();
            has_entries(client, read, &wanted)?;
            for (i, value) in &wanted {
                holds(client.session(), &keys[*i], value)?;
            }
        }
        Ok(())
    })
}

fn a_pipelined_set_many_keeps_to_the_mode_of_each_entry(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let [there, absent] = ["there", "absent"].map(|name| client.key(name));
        client.set(&there, b"old")?;
        let put = |key, options| Put { key, value: b"new", options };
        let puts = [
            put(&there, mode(SetMode::Add)),
            put(&absent, mode(SetMode::Replace)),
            put(&absent, mode(SetMode::Add)),
        ];
        let request = client.ask(|pipeline, id| pipeline.set_many(id, &puts))?;
        let (old, new) = (client.get(&there)?, client.get(&absent)?);
        client.finish()?;
        let outcomes = outcomes(client, request)?;
        let stored: Vec<_> =
            outcomes.iter().map(|outcome| outcome.as_ref().map(|o| o.is_stored())).collect();
        let is_right = matches!(stored[..], [Ok(false), Ok(false), Ok(true)]);
        ensure!(is_right, "the outcomes are {outcomes:?}");
        client.is_hit(old, b"old")?;
        client.is_hit(new, b"new")
    })
}

fn a_pipelined_set_many_of_one_key_twice_keeps_the_later_value(
    fixture: &Fixture,
) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let keys: Vec<_> = ["a", "b", "a", "c", "a", "b"].map(|name| client.key(name)).into();
        let set = set_many(client, &keys, |i| format!("value {i}").into_bytes())?;
        let read = get_many(client, &keys[..4])?;
        client.finish()?;
        has_outcomes(client, set, keys.len())?;
        has_entries(client, read, &[(0, "value 4"), (1, "value 5"), (2, "value 4"), (3, "value 3")])
    })
}

fn pipelined_batches_of_nothing_end(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let key = client.key("a");
        let first = get_many(client, &[])?;
        client.finish()?;
        let second = set_many(client, &[], |_| Vec::new())?;
        client.finish()?;
        let set = client.set(&key, b"value")?;
        let read = get_many(client, &[])?;
        let written = set_many(client, &[], |_| Vec::new())?;
        let get = client.get(&key)?;
        client.finish()?;
        for request in [first, read] {
            has_entries(client, request, &[(0, ""); 0])?;
        }
        for request in [second, written] {
            has_outcomes(client, request, 0)?;
        }
        client.is_stored(set)?;
        client.is_hit(get, b"value")
    })
}

fn pipelined_batches_of_thousands_are_whole(fixture: &Fixture) -> Result<(), Failed> {
    const ENTRIES: usize = 3000;
    let mut random = Random::new(41);
    let mut value = |_| {
        let len = [0, 1, 30, 200, 1500][random.below(5)];
        random.bytes(len)
    };
    let values: Vec<_> = (0..ENTRIES).map(&mut value).collect();
    in_each_way(fixture, |client| {
        let keys: Vec<_> = (0..ENTRIES).map(|i| client.key(i)).collect();
        let set = set_many(client, &keys, |i| values[i].clone())?;
        let read = [get_many(client, &keys)?, get_many(client, &keys)?];
        client.finish()?;
        has_outcomes(client, set, ENTRIES)?;
        let wanted: Vec<_> = values.iter().enumerate().collect();
        read.into_iter().try_for_each(|read| has_entries(client, read, &wanted))
    })
}

fn pipelined_batches_of_large_values_are_whole(fixture: &Fixture) -> Result<(), Failed> {
    const ENTRIES: usize = 12;
    let mut random = Random::new(42);
    let values: Vec<_> = (0..ENTRIES).map(|i| random.bytes(i % 4 * (50 << 10))).collect();
    in_each_way(fixture, |client| {
        let keys: Vec<_> = (0..ENTRIES).map(|i| client.key(i)).collect();
        let set = set_many(client, &keys, |i| values[i].clone())?;
        let read = get_many(client, &keys)?;
        client.finish()?;
        has_outcomes(client, set, ENTRIES)?;
        has_entries(client, read, &values.iter().enumerate().collect::<Vec<_>>())
    })
}

fn a_pipelined_batch_keeps_its_order_among_other_requests(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let keys: Vec<_> = (0..10).map(|i| client.key(i)).collect();
        set_many(client, &keys, |_| b"first".to_vec())?;
        let first = get_many(client, &keys)?;
        client.set(&keys[3], b"second")?;
        client.delete(&keys[7])?;
        let second = get_many(client, &keys)?;
        set_many(client, &keys[..8], |_| b"third".to_vec())?;
        let third = client.get(&keys[7])?;
        client.finish()?;
        let all: Vec<_> = (0..10).map(|i| (i, "first")).collect();
        has_entries(client, first, &all)?;
        let changed: Vec<_> = (0..10)
            .filter(|i| *i != 7)
            .map(|i| (i, if i == 3 { "second" } else { "first" }))
            .collect();
        has_entries(client, second, &changed)?;
        client.is_hit(third, b"third")
    })
}
