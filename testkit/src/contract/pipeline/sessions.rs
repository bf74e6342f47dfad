//! Several sessions: one driven without waiting beside others, and many driven by one loop.

use std::time::Instant;

use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, holds, lacks, put, same};
use super::super::fixture::Fixture;
use super::client::{Client, receive_some};
use super::in_each_way;
use crate::{PATIENCE, Random};

pub(in super::super) const CASES: &[Case] = &[
    case!(a_pipelined_change_is_seen_by_another_session, PIPELINE),
    case!(a_change_by_another_session_is_seen_by_a_pipeline, PIPELINE),
    case!(a_session_is_used_both_ways_in_turn, PIPELINE),
    case!(a_call_among_outstanding_requests_is_right_or_fails, PIPELINE),
    case!(a_session_that_is_open_may_be_watched, PIPELINE),
    case!(sessions_of_one_loop_do_not_mix_their_answers, PIPELINE),
    case!(a_pipeline_may_move_to_another_thread, PIPELINE),
];

fn a_pipelined_change_is_seen_by_another_session(fixture: &Fixture) -> Result<(), Failed> {
    let mut other = fixture.session()?;
    in_each_way(fixture, |client| {
        let [key, second] = ["a", "b"].map(|name| client.key(name));
        for round in 0..10 {
            let value = format!("round {round}");
            client.set(&key, value.as_bytes())?;
            client.set(&second, value.as_bytes())?;
            client.finish()?;
            holds(&mut *other, &key, value.as_bytes())?;
            holds(&mut *other, &second, value.as_bytes())?;
            client.delete(&key)?;
            client.finish()?;
            lacks(&mut *other, &key)?;
        }
        Ok(())
    })
}

fn a_change_by_another_session_is_seen_by_a_pipeline(fixture: &Fixture) -> Result<(), Failed> {
    let mut other = fixture.session()?;
    in_each_way(fixture, |client| {
        let key = client.key("a");
        for round in 0..10 {
            let value = format!("round {round}");
            put(&mut *other, &key, value.as_bytes())?;
            let hit = client.get(&key)?;
            client.finish()?;
            client.is_hit(hit, value.as_bytes())?;
            other.delete(&key)?;
            let miss = client.get(&key)?;
            client.finish()?;
            client.is_miss(miss)?;
        }
        Ok(())
    })
}

fn a_session_is_used_both_ways_in_turn(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let key = client.key("a");
        for round in 0..10 {
            let value = format!("round {round}");
            client.set(&key, value.as_bytes())?;
            client.finish()?;
            holds(client.session(), &key, value.as_bytes())?;
            put(client.session(), &key, b"waited for")?;
            let read = client.get(&key)?;
            client.finish()?;
            client.is_hit(read, b"waited for")?;
        }
        Ok(())
    })
}

/// The call may fail, and may end the requests as lost. Neither has a wrong answer, and both work afterwards.
fn a_call_among_outstanding_requests_is_right_or_fails(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        let [key, other] = ["a", "other"].map(|name| client.key(name));
        client.set(&other, b"of the call")?;
        client.finish()?;
        let mut sent = Vec::new();
        for round in 0..10 {
            let value = format!("round {round}");
            let set = client.set(&key, value.as_bytes())?;
            sent.push((set, client.get(&key)?, value));
        }
        client.flush()?;
        let mut found = Vec::new();
        match client.session().get(&other, &mut found) {
            Ok(Some(_)) => same(&other, &found, b"of the call")?,
            Ok(None) => return Err("the call is a miss".into()),
            Err(_) => {}
        }
        client.finish()?;
        for (set, get, value) in sent {
            if !client.is_lost(set) {
                client.is_stored(set)?;
            }
            if !client.is_lost(get) {
                client.is_hit(get, value.as_bytes())?;
            }
        }
        put(client.session(), &key, b"afterwards")?;
        let read = client.get(&key)?;
        client.finish()?;
        client.is_hit(read, b"afterwards")
    })
}

fn a_session_that_is_open_may_be_watched(fixture: &Fixture) -> Result<(), Failed> {
    let mut client = Client::waiting(fixture)?;
    let key = client.key("a");
    client.set(&key, b"value")?;
    client.finish()?;
    for _ in 0..3 {
        let mut gets = vec![client.get(&key)?];
        client.flush()?;
        // Its answer may have arrived already.
        client.watch()?;
        gets.push(client.get(&key)?);
        client.finish()?;
        gets.into_iter().try_for_each(|get| client.is_hit(get, b"value"))?;
    }
    Ok(())
}

/// Each session has keys of its own, and values that name the session, the key and the round.
fn sessions_of_one_loop_do_not_mix_their_answers(fixture: &Fixture) -> Result<(), Failed> {
    const SESSIONS: usize = 32;
    const OUTSTANDING: usize = 4;
    const REQUESTS: usize = 60;
    let (sockets, mut clients) = Client::together(fixture, &**fixture.store()?, SESSIONS)?;
    let value_of = |client: usize, i: usize, round: usize| {
        let name = format!("session {client}, key {i}, round {round}: ");
        [name.as_bytes(), &Random::new((client * 1000 + round) as u64).bytes(client * 50)].concat()
    };
    let mut rounds = vec![[0; OUTSTANDING]; SESSIONS];
    let mut gets: Vec<Vec<(usize, Vec<u8>)>> = vec![Vec::new(); SESSIONS];
    let begun = Instant::now();
    let mut n_sent = 0;
    while n_sent < SESSIONS * REQUESTS || clients.iter().any(|client| client.n_open() > 0) {
        for (c, client) in clients.iter_mut().enumerate() {
            // The keys take turns: a set, and then a get of it.
            while client.n_open() < OUTSTANDING && client.ended().len() + client.n_open() < REQUESTS
            {
                let request = client.ended().len() + client.n_open();
                let i = request / 2 % OUTSTANDING;
                let key = client.key(i);
                if request.is_multiple_of(2) {
                    rounds[c][i] += 1;
                    client.set(&key, &value_of(c, i, rounds[c][i]))?;
                } else {
                    gets[c].push((client.get(&key)?, value_of(c, i, rounds[c][i])));
                }
                n_sent += 1;
            }
        }
        receive_some(&sockets, &mut clients)?;
        ensure!(begun.elapsed() < PATIENCE, "some requests have no last answer yet");
    }
    for (client, gets) in clients.iter().zip(&gets) {
        ensure!(gets.len() == REQUESTS / 2, "{} gets, not {}", gets.len(), REQUESTS / 2);
        gets.iter().try_for_each(|(get, value)| client.is_hit(*get, value))?;
    }
    Ok(())
}

fn a_pipeline_may_move_to_another_thread(fixture: &Fixture) -> Result<(), Failed> {
    let mut client = Client::waiting(fixture)?;
    let key = client.key("a");
    client.set(&key, b"here")?;
    client.flush()?;
    let there = std::thread::spawn(move || {
        let read = client.get(&key)?;
        client.finish()?;
        client.is_hit(read, b"here")
    });
    there.join().map_err(|_| "a panic")?
}
