//! The order of the answers to requests for one key.

use std::collections::HashMap;

use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::ensure;
use super::super::fixture::Fixture;
use super::in_each_way;
use crate::Random;

pub(in super::super) const CASES: &[Case] = &[
    case!(requests_for_one_key_are_carried_out_and_answered_in_order, PIPELINE),
    case!(many_changes_of_a_few_keys_are_read_as_they_were_sent, PIPELINE),
];

fn requests_for_one_key_are_carried_out_and_answered_in_order(
    fixture: &Fixture,
) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let key = client.key("a");
        let absent = client.get(&key)?;
        let sets = [client.set(&key, b"first")?];
        let first = client.get(&key)?;
        let sets = [sets[0], client.set(&key, b"the second, longer")?];
        let second = client.get(&key)?;
        let deleted = client.delete(&key)?;
        let gone = client.get(&key)?;
        let again = client.delete(&key)?;
        client.finish()?;
        client.is_miss(absent)?;
        client.is_hit(first, b"first")?;
        client.is_hit(second, b"the second, longer")?;
        client.is_found(deleted, true)?;
        client.is_miss(gone)?;
        client.is_found(again, false)?;
        sets.into_iter().try_for_each(|set| client.is_stored(set))?;
        let ended = client.ended();
        ensure!(ended.is_sorted(), "the requests are answered in the order {ended:?}");
        Ok(())
    })
}

/// The expected answer to a request.
enum Wanted {
    Stored,
    Value(Option<Vec<u8>>),
    Found(bool),
}

fn many_changes_of_a_few_keys_are_read_as_they_were_sent(fixture: &Fixture) -> Result<(), Failed> {
    const KEYS: usize = 8;
    const REQUESTS: usize = 600;
    in_each_way(fixture, |client| {
        let mut random = Random::new(11);
        let mut model: HashMap<usize, Vec<u8>> = HashMap::new();
        let mut sent = Vec::new();
        for round in 0..REQUESTS {
            let i = random.below(KEYS);
            let key = client.key(i);
            sent.push(match random.below(8) {
                0..3 => {
                    let len = random.below(300);
                    let value = [format!("{round}: ").as_bytes(), &random.bytes(len)].concat();
                    let request = client.set(&key, &value)?;
                    model.insert(i, value);
                    (i, request, Wanted::Stored)
                }
                3 => (i, client.delete(&key)?, Wanted::Found(model.remove(&i).is_some())),
                _ => (i, client.get(&key)?, Wanted::Value(model.get(&i).cloned())),
            });
        }
        client.finish()?;
        for (_, request, wanted) in &sent {
            match wanted {
                Wanted::Stored => client.is_stored(*request)?,
                Wanted::Value(Some(value)) => client.is_hit(*request, value)?,
                Wanted::Value(None) => client.is_miss(*request)?,
                Wanted::Found(found) => client.is_found(*request, *found)?,
            }
        }
        for key in 0..KEYS {
            let is_its = |request: &&usize| sent[**request].0 == key;
            let ended: Vec<_> = client.ended().iter().filter(is_its).collect();
            ensure!(ended.is_sorted(), "the requests for key {key} end in the order {ended:?}");
        }
        Ok(())
    })
}
