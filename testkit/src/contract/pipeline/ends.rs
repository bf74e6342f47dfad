//! Sessions that end with requests outstanding, and links that are not silent.

use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure_eq, holds, put};
use super::super::fixture::Fixture;
use super::client::Client;
use super::in_each_way;
use crate::Random;

pub(in super::super) const CASES: &[Case] = &[
    case!(expire_fails_nothing_on_a_healthy_link, PIPELINE),
    case!(a_session_that_ends_with_requests_outstanding_harms_no_other, PIPELINE),
    case!(a_session_that_ends_before_a_flush_harms_no_other, PIPELINE),
    case!(a_link_may_be_opened_before_its_first_request, PIPELINE),
    case!(a_pipeline_outlives_the_handle_of_its_store, PIPELINE),
];

fn expire_fails_nothing_on_a_healthy_link(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        client.expire()?;
        let key = client.key("a");
        let mut gets = Vec::new();
        for round in 0..20 {
            let value = format!("round {round}");
            client.set(&key, value.as_bytes())?;
            client.expire()?;
            gets.push((client.get(&key)?, value));
            client.flush()?;
            client.expire()?;
            if round % 5 == 0 {
                client.finish()?;
                client.expire()?;
            }
        }
        client.finish()?;
        gets.into_iter().try_for_each(|(get, value)| client.is_hit(get, value.as_bytes()))
    })
}

/// Answers that nobody receives are on their way, and more than the buffers between the two ends hold.
fn a_session_that_ends_with_requests_outstanding_harms_no_other(
    fixture: &Fixture,
) -> Result<(), Failed> {
    let value = Random::new(61).bytes(100 << 10);
    // A server may count bytes on their way among those of its entries.
    let store = fixture.fresh()?;
    let mut other = Client::of_store(fixture, &*store)?;
    let (_sockets, clients) = Client::together(fixture, &*store, 2)?;
    for mut client in clients.into_iter().chain([Client::of_store(fixture, &*store)?]) {
        let [key, small] = ["a", "small"].map(|name| client.key(name));
        put(client.session(), &key, &value)?;
        for _ in 0..100 {
            client.get(&key)?;
            client.set(&small, b"value")?;
            client.flush()?;
        }
        let own = other.key("own");
        let set = other.set(&own, b"outstanding too")?;
        other.flush()?;
        drop(client);
        let get = other.get(&own)?;
        other.finish()?;
        other.is_stored(set)?;
        other.is_hit(get, b"outstanding too")?;
        holds(&mut *store.session()?, &key, &value)?;
    }
    Ok(())
}

fn a_session_that_ends_before_a_flush_harms_no_other(fixture: &Fixture) -> Result<(), Failed> {
    let mut other = Client::waiting(fixture)?;
    for _ in 0..3 {
        let mut client = Client::waiting(fixture)?;
        let key = client.key("a");
        client.set(&key, b"value")?;
        client.get(&key)?;
        drop(client);
        let own = other.key("own");
        let (set, get) = (other.set(&own, b"value")?, other.get(&own)?);
        other.finish()?;
        other.is_stored(set)?;
        other.is_hit(get, b"value")?;
    }
    Ok(())
}

fn a_link_may_be_opened_before_its_first_request(fixture: &Fixture) -> Result<(), Failed> {
    in_each_way(fixture, |client| {
        client.pipeline()?.connect()?;
        // What is open stays open.
        client.pipeline()?.connect()?;
        let key = client.key("a");
        let (set, get) = (client.set(&key, b"value")?, client.get(&key)?);
        client.finish()?;
        client.pipeline()?.connect()?;
        client.is_stored(set)?;
        client.is_hit(get, b"value")?;
        ensure_eq!(client.unsent_bytes()?, 0, "the unsent bytes");
        Ok(())
    })
}

fn a_pipeline_outlives_the_handle_of_its_store(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let mut client = Client::of_store(fixture, &*store)?;
    let key = client.key("a");
    let set = client.set(&key, b"value")?;
    client.flush()?;
    drop(store);
    let get = client.get(&key)?;
    client.finish()?;
    client.is_stored(set)?;
    client.is_hit(get, b"value")
}
