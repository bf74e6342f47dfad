//! Every request has exactly one last answer, under its own number.

use larder_store::{Put, SetOptions};
use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq};
use super::super::fixture::Fixture;
use super::super::need::TOUCH;
use super::batches::{has_entries, has_outcomes};
use super::in_each_way;
use crate::Random;

pub(in super::super) const CASES: &[Case] = &[
    case!(a_thousand_mixed_requests_have_one_last_answer_each, PIPELINE),
    case!(a_number_is_free_again_after_its_last_answer, PIPELINE),
    case!(a_wait_without_outstanding_requests_returns_at_once, PIPELINE),
    case!(the_outstanding_requests_are_counted, PIPELINE),
];

/// The right answer to a request.
enum Wanted {
    Value(Vec<u8>),
    Miss,
    Stored,
    Found(bool),
    Entries(Vec<(usize, Vec<u8>)>),
    Outcomes(usize),
}

/// Half of them are flushed in several parts, the others all at once.
fn a_thousand_mixed_requests_have_one_last_answer_each(fixture: &Fixture) -> Result<(), Failed> {
    const REQUESTS: usize = 1000;
    const THERE: usize = 20;
    let can_touch = fixture.has(TOUCH)?;
    in_each_way(fixture, |client| {
        let mut random = Random::new(21);
        let values: Vec<_> = (0..THERE).map(|i| random.bytes(i * 37)).collect();
        let there: Vec<_> = (0..THERE).map(|i| client.key(format_args!("there-{i}"))).collect();
        for (key, value) in there.iter().zip(&values) {
            client.set(key, value)?;
        }
        client.finish()?;
        let absent = client.key("absent");
        let mut wanted = Vec::new();
        for round in 0..REQUESTS {
            let i = random.below(THERE);
            let key = &there[i];
            let fresh = client.key(format_args!("fresh-{round}"));
            wanted.push(match random.below(8) {
                0 => (client.get(key)?, Wanted::Value(values[i].clone())),
                1 => (client.get(&absent)?, Wanted::Miss),
                2 => (client.set(&fresh, &values[i])?, Wanted::Stored),
                3 => (client.delete(&absent)?, Wanted::Found(false)),
                4 => {
                    let keys: [&[u8]; 3] = [key, &absent, &there[THERE - 1 - i]];
                    let request = client.ask(|pipeline, id| pipeline.get_many(id, &keys))?;
                    let [first, last] = [i, THERE - 1 - i].map(|i| values[i].clone());
                    (request, Wanted::Entries(vec![(0, first), (2, last)]))
                }
                5 => {
                    let second = client.key(format_args!("second-{round}"));
                    let put = |key| Put { key, value: b"batch", options: SetOptions::default() };
                    let puts = [put(&fresh), put(&second)];
                    let request = client.ask(|pipeline, id| pipeline.set_many(id, &puts))?;
                    (request, Wanted::Outcomes(2))
                }
                6 if can_touch => {
                    let request = client.ask(|pipeline, id| pipeline.touch(id, key, None))?;
                    (request, Wanted::Found(true))
                }
                _ => {
                    let request = client.ask(|pipeline, id| pipeline.get_many(id, &[]))?;
                    (request, Wanted::Entries(Vec::new()))
                }
            });
            if round < REQUESTS / 2 && random.below(50) == 0 {
                client.flush()?;
            }
        }
        ensure_eq!(client.n_open(), REQUESTS, "the outstanding requests");
        client.finish()?;
        for (request, wanted) in &wanted {
            match wanted {
                Wanted::Value(value) => client.is_hit(*request, value)?,
                Wanted::Miss => client.is_miss(*request)?,
                Wanted::Stored => client.is_stored(*request)?,
                Wanted::Found(found) => client.is_found(*request, *found)?,
                Wanted::Entries(entries) => has_entries(client, *request, entries)?,
                Wanted::Outcomes(n) => has_outcomes(client, *request, *n)?,
            }
        }
        Ok(())
    })
}

/// An engine may keep requests by their numbers, and must forget those that have ended.
fn a_number_is_free_again_after_its_last_answer(fixture: &Fixture) -> Result<(), Failed> {
    const NUMBERS: usize = 3;
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let pipeline = super::pipeline(&mut *session)?;
    let mut room = vec![0; 4096];
    for round in 0..50 {
        for id in 0..NUMBERS {
            match (round + id) % 2 {
                0 => pipeline.get(id, &key)?,
                _ => pipeline.set(id, &key, b"value", &SetOptions::default())?,
            }
        }
        let mut ended = Vec::new();
        while pipeline.n_outstanding() > 0 {
            pipeline.wait(&mut room, &mut |id, answer| {
                ended.extend(answer.is_last().then_some(id));
            });
        }
        ended.sort_unstable();
        ensure_eq!(ended, (0..NUMBERS).collect::<Vec<_>>(), "the numbers in round {round}");
    }
    Ok(())
}

fn a_wait_without_outstanding_requests_returns_at_once(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let mut answers = 0;
        // A wait that does not return would last for the timeout, and would count as silence.
        for _ in 0..3 {
            client.pipeline()?.wait(&mut [0; 64], &mut |_, _| answers += 1);
            let key = client.key("a");
            client.set(&key, b"value")?;
            client.finish()?;
        }
        ensure!(answers == 0, "{answers} answers to no request");
        Ok(())
    })
}

fn the_outstanding_requests_are_counted(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let key = client.key("a");
        for n in 1..=20 {
            client.get(&key)?;
            ensure_eq!(client.pipeline()?.n_outstanding(), n, "the count before a flush");
        }
        client.flush()?;
        ensure_eq!(client.pipeline()?.n_outstanding(), 20, "the count behind a flush");
        // Every step of it counts.
        client.finish()
    })
}
