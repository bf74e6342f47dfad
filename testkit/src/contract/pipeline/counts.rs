//! `incr` without waiting.

use larder_store::{Delta, Initial, SetOptions};
use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, lacks};
use super::super::fixture::Fixture;
use super::super::ttl::{outlive, short_ttl};
use super::client::Client;
use super::in_each_way;
use crate::owned_answer::OwnedAnswer;

pub(in super::super) const CASES: &[Case] = &[
    case!(pipelined_counts_are_carried_out_in_order_among_other_requests, PIPELINE, INCR),
    case!(a_pipelined_incr_of_an_absent_key_is_none_and_stores_nothing, PIPELINE, INCR),
    case!(a_pipelined_incr_of_an_absent_key_stores_the_initial_number, PIPELINE, INCR),
    case!(a_pipelined_initial_number_has_its_ttl, PIPELINE, INCR, TTL),
    case!(a_pipelined_incr_of_no_number_fails_alone, PIPELINE, INCR),
    case!(pipelined_counts_of_several_sessions_lose_nothing, PIPELINE, INCR),
];

fn pipelined_counts_are_carried_out_in_order_among_other_requests(
    fixture: &Fixture,
) -> Result<(), Failed> {
    const COUNTS: u64 = 300;
    in_each_way(fixture, |client| {
        let [key, other] = ["n", "other"].map(|name| client.key(name));
        client.set(&key, b"1000000000000000000")?;
        let mut counts = Vec::new();
        let mut number = 1_000_000_000_000_000_000;
        for round in 0..COUNTS {
            let delta = if round % 3 == 2 { Delta::Down(1) } else { Delta::Up(round) };
            number = delta.applied_to(number);
            let set = client.set(&other, format!("value {round}").as_bytes())?;
            let count = client.incr(&key, delta, None)?;
            let get = client.get(&key)?;
            counts.push((set, count, get, number));
        }
        client.finish()?;
        for (set, count, get, number) in counts {
            client.is_stored(set)?;
            client.is_counted(count, Some(number))?;
            client.is_hit(get, number.to_string().as_bytes())?;
        }
        Ok(())
    })
}

fn a_pipelined_incr_of_an_absent_key_is_none_and_stores_nothing(
    fixture: &Fixture,
) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let key = client.key("absent");
        let counts =
            [client.incr(&key, Delta::Up(1), None)?, client.incr(&key, Delta::Down(1), None)?];
        let get = client.get(&key)?;
        client.finish()?;
        counts.into_iter().try_for_each(|count| client.is_counted(count, None))?;
        client.is_miss(get)
    })
}

fn a_pipelined_incr_of_an_absent_key_stores_the_initial_number(
    fixture: &Fixture,
) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let initial = Some(Initial { number: 41, ttl: None });
        for (name, delta, second) in [("up", Delta::Up(2), 43), ("down", Delta::Down(50), 0)] {
            let key = client.key(name);
            let first = client.incr(&key, delta, initial)?;
            let get = client.get(&key)?;
            let counted = client.incr(&key, delta, initial)?;
            let deleted = client.delete(&key)?;
            let again = client.incr(&key, delta, initial)?;
            client.finish()?;
            client.is_counted(first, Some(41))?;
            client.is_hit(get, b"41")?;
            client.is_counted(counted, Some(second))?;
            client.is_found(deleted, true)?;
            client.is_counted(again, Some(41))?;
        }
        Ok(())
    })
}

fn a_pipelined_initial_number_has_its_ttl(fixture: &Fixture) -> Result<(), Failed> {
    let mut client = Client::waiting(fixture)?;
    let (absent, there) = (client.key("absent"), client.key("there"));
    client.set_with(&there, b"5", &SetOptions::default())?;
    let ttl = short_ttl(fixture)?;
    let initial = Some(Initial { number: 7, ttl: Some(ttl) });
    let [first, second] = [&absent, &there].map(|key| client.incr(key, Delta::Up(1), initial));
    let (first, second) = (first?, second?);
    client.finish()?;
    client.is_counted(first, Some(7))?;
    client.is_counted(second, Some(6))?;
    outlive(fixture, ttl)?;
    lacks(client.session(), &absent)?;
    let get = client.get(&there)?;
    client.finish()?;
    client.is_hit(get, b"6")
}

fn a_pipelined_incr_of_no_number_fails_alone(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let [text, number] = ["text", "number"].map(|name| client.key(name));
        client.set(&text, b"five")?;
        client.set(&number, b"5")?;
        let initial = Some(Initial { number: 1, ttl: None });
        let failing = [None, initial].map(|absent| client.incr(&text, Delta::Up(1), absent));
        let count = client.incr(&number, Delta::Up(1), None)?;
        let get = client.get(&text)?;
        client.finish()?;
        for request in failing {
            client.has_failed(request, "not_a_number")?;
        }
        client.is_counted(count, Some(6))?;
        client.is_hit(get, b"five")
    })
}

/// A request that another session comes in between may fail as busy, and has counted nothing then.
fn pipelined_counts_of_several_sessions_lose_nothing(fixture: &Fixture) -> Result<(), Failed> {
    const ROUNDS: u64 = 30;
    let mut clients =
        (0..3).map(|_| Client::waiting(fixture)).collect::<Result<Vec<_>, Failed>>()?;
    let key = fixture.key("counter");
    let initial = Some(Initial { number: 0, ttl: None });
    let mut n_counted = 0_u64;
    for _ in 0..ROUNDS {
        let mut asked = Vec::new();
        for client in &mut clients {
            asked.push([
                client.incr(&key, Delta::Up(1), initial)?,
                client.incr(&key, Delta::Up(1), initial)?,
            ]);
            client.flush()?;
        }
        for (client, requests) in clients.iter_mut().zip(asked) {
            client.finish()?;
            for request in requests {
                match client.answers(request) {
                    [OwnedAnswer::Counted(Some(_))] => n_counted += 1,
                    [OwnedAnswer::Failed(larder_store::Error::Busy { .. })] => {}
                    other => return Err(format!("the answer to an incr is {other:?}").into()),
                }
            }
        }
    }
    ensure!(n_counted > ROUNDS, "only {n_counted} of {} are counted", ROUNDS * 6);
    let last = clients[0].session().incr(&key, Delta::Up(0), None)?;
    // The first of all stored 0, and each other one added 1.
    ensure_eq!(last.map(|counted| counted.number), Some(n_counted - 1), "the count");
    Ok(())
}
