//! Who is told to load, and for how long.

use std::time::{Duration, Instant};

use larder_store::{Leased, Session, Token};
use libtest_mimic::Failed;

use super::super::at_once::at_once;
use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, holds, lacks, put, same};
use super::super::fixture::Fixture;
use super::super::permits;
use super::super::ttl::{short_ttl, slack};
use super::{LONG, ask_for_stale, expire, fill, is_void, leases, loads, waits};

pub(in super::super) const CASES: &[Case] = &[
    case!(of_many_who_miss_at_once_one_is_told_to_load, LEASES),
    case!(of_many_who_find_a_stale_value_one_is_told_to_load, LEASES),
    case!(a_herd_loads_once_and_all_get_the_value, LEASES),
    case!(a_lease_ends_with_its_time_and_another_caller_loads, LEASES),
    case!(a_lease_of_a_stale_entry_ends_with_its_time, LEASES),
    case!(a_released_lease_lets_the_next_caller_load, LEASES),
    case!(no_read_finds_the_lease_of_an_absent_key, LEASES),
];

/// The answers to threads that ask at the same moment.
fn ask_at_once(fixture: &Fixture, key: &[u8]) -> Result<Vec<Leased>, Failed> {
    at_once(fixture, |session| Ok(leases(session)?.get_or_lease(key, &mut Vec::new(), LONG)?))
}

fn of_many_who_miss_at_once_one_is_told_to_load(fixture: &Fixture) -> Result<(), Failed> {
    for round in 0..20 {
        let answers = ask_at_once(fixture, &fixture.key(round))?;
        let loads = answers.iter().filter(|it| matches!(it, Leased::Load { stale: None, .. }));
        ensure_eq!(loads.count(), 1, "the callers who are told to load");
        let waits = answers.iter().filter(|it| matches!(it, Leased::Wait { stale: None }));
        ensure_eq!(waits.count(), answers.len() - 1, "the callers who are told to wait");
    }
    Ok(())
}

fn of_many_who_find_a_stale_value_one_is_told_to_load(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    for round in 0..20 {
        let key = fixture.key(round);
        put(&mut *session, &key, b"old")?;
        ensure!(expire(&mut *session, &key, None)?, "expire of a key that is there is false");
        let answers = ask_at_once(fixture, &key)?;
        let loads = answers.iter().filter(|it| matches!(it, Leased::Load { stale: Some(_), .. }));
        ensure_eq!(loads.count(), 1, "the callers who are told to load");
        let waits = answers.iter().filter(|it| matches!(it, Leased::Wait { stale: Some(_) }));
        ensure_eq!(waits.count(), answers.len() - 1, "the callers who get the stale value");
    }
    Ok(())
}

fn a_herd_loads_once_and_all_get_the_value(fixture: &Fixture) -> Result<(), Failed> {
    for round in 0..5 {
        let (key, begun) = (&fixture.key(round), Instant::now());
        let loads = at_once(fixture, |session| {
            let (mut value, mut loads) = (Vec::new(), 0);
            loop {
                match leases(session)?.get_or_lease(key, &mut value, LONG)? {
                    Leased::Hit(_) => return same(key, &value, b"loaded").map(|()| loads),
                    Leased::Load { token, .. } => {
                        loads += 1;
                        permits::wait(Duration::from_millis(5));
                        let outcome = fill(session, key, b"loaded", &token)?;
                        ensure!(outcome.is_stored(), "the only fill says {outcome:?}");
                    }
                    Leased::Wait { .. } => {
                        ensure!(begun.elapsed() < LONG / 2, "no value comes");
                        permits::wait(Duration::from_millis(1));
                    }
                }
            }
        })?;
        ensure_eq!(loads.iter().sum::<usize>(), 1, "the loads of one herd");
    }
    Ok(())
}

/// Asks until it is told to load. The lease was given between `before` and `after`.
fn takes_over(
    fixture: &Fixture,
    session: &mut dyn Session,
    key: &[u8],
    before: Instant,
    after: Instant,
    time: Duration,
) -> Result<Token, Failed> {
    let resolution = fixture.capabilities()?.ttl_resolution;
    let latest = time + resolution + slack(resolution);
    loop {
        let asked = after.elapsed();
        if let Leased::Load { token, .. } =
            leases(session)?.get_or_lease(key, &mut Vec::new(), LONG)?
        {
            let answered = before.elapsed();
            let is_over = answered + 2 * resolution >= time;
            ensure!(is_over, "a lease of {time:?} was over after {answered:?}");
            return Ok(token);
        }
        ensure!(asked <= latest, "a lease of {time:?} is not over after {asked:?}");
        permits::wait((resolution / 10).max(Duration::from_millis(5)));
    }
}

fn a_lease_ends_with_its_time_and_another_caller_loads(fixture: &Fixture) -> Result<(), Failed> {
    let (mut loader, mut session) = (fixture.session()?, fixture.session()?);
    let (key, time) = (fixture.key("a"), short_ttl(fixture)?);
    let before = Instant::now();
    let late = loads(&mut *loader, &key, time)?;
    let after = Instant::now();
    let token = takes_over(fixture, &mut *session, &key, before, after, time)?;
    waits(&mut *loader, &key)?;
    is_void(&mut *loader, &key, &late, None, "another lease")?;
    ensure!(fill(&mut *session, &key, b"loaded", &token)?.is_stored(), "the later fill is refused");
    is_void(&mut *loader, &key, &late, Some(b"loaded"), "another fill")
}

fn a_lease_of_a_stale_entry_ends_with_its_time(fixture: &Fixture) -> Result<(), Failed> {
    let (mut loader, mut session) = (fixture.session()?, fixture.session()?);
    let (key, time) = (fixture.key("a"), short_ttl(fixture)?);
    put(&mut *session, &key, b"old")?;
    expire(&mut *session, &key, None)?;
    let before = Instant::now();
    let (late, _) = ask_for_stale(&mut *loader, &key, b"old", time)?;
    let late = late.ok_or("the first who finds a stale value is told to wait")?;
    let after = Instant::now();
    let token = takes_over(fixture, &mut *session, &key, before, after, time)?;
    let (none, _) = ask_for_stale(&mut *loader, &key, b"old", LONG)?;
    ensure!(none.is_none(), "two are told to load a stale value");
    is_void(&mut *loader, &key, &late, Some(b"old"), "another lease")?;
    ensure!(fill(&mut *session, &key, b"loaded", &token)?.is_stored(), "the later fill is refused");
    holds(&mut *session, &key, b"loaded").map(drop)
}

fn a_released_lease_lets_the_next_caller_load(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("absent");
    let token = loads(&mut *session, &key, LONG)?;
    ensure!(leases(&mut *session)?.release(&key, &token)?, "the release of a lease is false");
    let next = loads(&mut *other, &key, LONG)?;
    ensure!(!leases(&mut *session)?.release(&key, &token)?, "a lease is released twice");
    is_void(&mut *session, &key, &token, None, "its release")?;
    waits(&mut *session, &key)?;
    ensure!(fill(&mut *other, &key, b"loaded", &next)?.is_stored(), "the later fill is refused");

    let key = fixture.key("stale");
    put(&mut *session, &key, b"old")?;
    expire(&mut *session, &key, None)?;
    for session in [&mut session, &mut other] {
        let (token, _) = ask_for_stale(&mut **session, &key, b"old", LONG)?;
        let token = token.ok_or("nobody may load after a release")?;
        ensure!(leases(&mut **session)?.release(&key, &token)?, "the release is false");
    }
    ensure!(holds(&mut *session, &key, b"old")?.stale, "a release made the entry fresh");
    Ok(())
}

fn no_read_finds_the_lease_of_an_absent_key(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    let token = loads(&mut *session, &key, LONG)?;
    lacks(&mut *other, &key)?;
    let mut out = b"before".to_vec();
    ensure!(other.get_onto(&key, &mut out)?.is_none(), "get_onto finds the lease");
    ensure_eq!(out, b"before", "what get_onto leaves");
    ensure_eq!(other.look(&key)?, None, "what a look finds of a lease");
    let mut found = 0;
    other.get_many(&[&key], &mut |_, _, _| found += 1)?;
    ensure_eq!(found, 0, "the entries that a batch finds");
    if fixture.capabilities()?.get_and_touch {
        let mut value = Vec::new();
        let meta = other.get_and_touch(&key, Some(LONG), &mut value)?;
        ensure!(meta.is_none() && value.is_empty(), "get_and_touch finds the lease: {meta:?}");
        return Ok(());
    }
    ensure!(fill(&mut *session, &key, b"loaded", &token)?.is_stored(), "the fill is refused");
    Ok(())
}
