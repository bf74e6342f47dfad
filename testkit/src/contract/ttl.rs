//! No TTL, short TTLs, TTLs of zero; and the remaining time.

use std::time::{Duration, Instant};

use larder_store::{Remaining, Session, SetMode, SetOptions, SetOutcome};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, holds, is_there, lacks, put, put_with};
use super::fixture::Fixture;
use super::permits;

pub(super) const CASES: &[Case] = &[
    case!(an_entry_is_there_until_its_ttl_has_passed_and_then_is_gone, TTL),
    case!(an_entry_with_a_ttl_of_zero_is_gone_at_once, TTL),
    case!(an_entry_without_a_ttl_stays, TTL),
    case!(set_without_ttl_ends_the_ttl_from_before, TTL),
    case!(set_with_ttl_starts_a_new_ttl, TTL),
    case!(add_stores_over_an_expired_entry, TTL, ADD),
    case!(replace_and_delete_do_not_see_an_expired_entry, TTL, ADD),
    case!(get_many_skips_expired_entries, TTL),
    case!(append_keeps_the_ttl, TTL, APPEND),
    case!(the_remaining_ttl_is_told, TTL, TTL_LEFT),
    case!(a_ttl_of_years_is_kept, TTL),
];

/// The shortest TTL that the engine can tell from no TTL.
pub(super) fn short_ttl(fixture: &Fixture) -> Result<Duration, Failed> {
    Ok((3 * fixture.capabilities()?.ttl_resolution).max(Duration::from_millis(100)))
}

/// Options with a TTL and nothing else.
pub(super) fn with_ttl(ttl: Duration) -> SetOptions {
    SetOptions { ttl: Some(ttl), ..SetOptions::default() }
}

/// Waits until a TTL that was given before now has surely passed. A thread that writes behind may hand it on later, so its writes
/// are waited for first.
pub(super) fn outlive(fixture: &Fixture, ttl: Duration) -> Result<(), Failed> {
    fixture.session()?.settle()?;
    permits::wait(ttl + slack(fixture.capabilities()?.ttl_resolution));
    Ok(())
}

/// The greatest delay of an entry's end: its TTL rounded up, by a clock of this resolution.
///
/// A thread that writes behind hands the rest of a TTL on. Where a busy machine holds that thread meanwhile, the entry
/// ends later by as much.
pub(super) fn slack(resolution: Duration) -> Duration {
    resolution + (resolution / 4).max(Duration::from_millis(250))
}

/// Watches a key whose TTL was given between `before` and `after`: the key must be there until its TTL ends, and then
/// be gone.
///
/// Failures are only results that neither a delay of this thread nor the clock's resolution explains. These are an early
/// answer "absent", and a late question that was still answered "present". A server's clock may be a tick behind, and
/// its next tick may come late, so an entry may end two steps early. Where reads begin the TTL again, as some tiers do,
/// the entry may live for that much longer.
pub(super) fn expires(
    fixture: &Fixture,
    session: &mut dyn Session,
    key: &[u8],
    before: Instant,
    after: Instant,
    ttl: Duration,
) -> Result<(), Failed> {
    let can = fixture.capabilities()?;
    let resolution = can.ttl_resolution;
    let latest = (1 + can.ttl_restarts) * (ttl + resolution + slack(resolution));
    loop {
        let asked = after.elapsed();
        if !is_there(session, key)? {
            let answered = before.elapsed();
            ensure!(
                answered + 2 * resolution >= ttl,
                "gone after {answered:?}, with a ttl of {ttl:?}"
            );
            return Ok(());
        }
        ensure!(
            asked <= latest,
            "still there after {asked:?}, with a ttl of {ttl:?} that ends after {latest:?} at the latest"
        );
        permits::wait((resolution / 10).max(Duration::from_millis(5)));
    }
}

fn an_entry_is_there_until_its_ttl_has_passed_and_then_is_gone(
    fixture: &Fixture,
) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let ttl = short_ttl(fixture)?;
    let before = Instant::now();
    put_with(&mut *session, &key, b"value", &with_ttl(ttl))?;
    let after = Instant::now();
    expires(fixture, &mut *session, &key, before, after, ttl)?;
    lacks(&mut *session, &key)
}

fn an_entry_with_a_ttl_of_zero_is_gone_at_once(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"before")?;
    put_with(&mut *session, &key, b"value", &with_ttl(Duration::ZERO))?;
    lacks(&mut *session, &key)
}

fn an_entry_without_a_ttl_stays(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"value")?;
    outlive(fixture, short_ttl(fixture)?)?;
    holds(&mut *session, &key, b"value").map(drop)
}

fn set_without_ttl_ends_the_ttl_from_before(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let ttl = short_ttl(fixture)?;
    put_with(&mut *session, &key, b"mortal", &with_ttl(ttl))?;
    put(&mut *session, &key, b"lasting")?;
    outlive(fixture, ttl)?;
    holds(&mut *session, &key, b"lasting").map(drop)
}

fn set_with_ttl_starts_a_new_ttl(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let ttl = short_ttl(fixture)?;
    put_with(&mut *session, &key, b"short", &with_ttl(ttl))?;
    put_with(&mut *session, &key, b"long", &with_ttl(ttl + Duration::from_secs(100)))?;
    outlive(fixture, ttl)?;
    holds(&mut *session, &key, b"long")?;
    put_with(&mut *session, &key, b"short again", &with_ttl(ttl))?;
    outlive(fixture, ttl)?;
    lacks(&mut *session, &key)
}

fn add_stores_over_an_expired_entry(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let ttl = short_ttl(fixture)?;
    put_with(&mut *session, &key, b"old", &with_ttl(ttl))?;
    outlive(fixture, ttl)?;
    let added = session.set(&key, b"new", &super::expect::mode(SetMode::Add))?;
    ensure!(added.is_stored(), "add over an expired entry stores nothing");
    holds(&mut *session, &key, b"new").map(drop)
}

fn replace_and_delete_do_not_see_an_expired_entry(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (replaced, deleted) = (fixture.key("replaced"), fixture.key("deleted"));
    let ttl = short_ttl(fixture)?;
    put_with(&mut *session, &replaced, b"old", &with_ttl(ttl))?;
    put_with(&mut *session, &deleted, b"old", &with_ttl(ttl))?;
    outlive(fixture, ttl)?;
    let outcome = session.set(&replaced, b"new", &super::expect::mode(SetMode::Replace))?;
    ensure_eq!(outcome, SetOutcome::NotStored, "replace of an expired entry");
    ensure!(!session.delete(&deleted)?, "delete found an expired entry");
    Ok(())
}

fn get_many_skips_expired_entries(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (mortal, lasting) = (fixture.key("mortal"), fixture.key("lasting"));
    let ttl = short_ttl(fixture)?;
    put_with(&mut *session, &mortal, b"m", &with_ttl(ttl))?;
    put(&mut *session, &lasting, b"l")?;
    outlive(fixture, ttl)?;
    let mut hits = Vec::new();
    session.get_many(&[&mortal, &lasting], &mut |i, value, _| hits.push((i, value.to_vec())))?;
    ensure_eq!(hits, [(1, b"l".to_vec())], "the hits of get_many");
    Ok(())
}

fn append_keeps_the_ttl(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let ttl = short_ttl(fixture)?;
    put_with(&mut *session, &key, b"a", &with_ttl(ttl))?;
    session.set(&key, b"b", &super::expect::mode(SetMode::Append))?;
    outlive(fixture, ttl)?;
    lacks(&mut *session, &key)
}

fn the_remaining_ttl_is_told(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"lasting")?;
    let lasting = holds(&mut *session, &key, b"lasting")?.ttl;
    ensure_eq!(lasting, Remaining::Forever, "the remaining ttl of an entry without one");

    let resolution = fixture.capabilities()?.ttl_resolution;
    let ttl = Duration::from_secs(1000);
    let before = Instant::now();
    put_with(&mut *session, &key, b"mortal", &with_ttl(ttl))?;
    match holds(&mut *session, &key, b"mortal")?.ttl {
        Remaining::For(left) => {
            let slack = slack(resolution);
            ensure!(left <= ttl + slack, "{left:?} left of {ttl:?}");
            ensure!(left + before.elapsed() + slack >= ttl, "only {left:?} left of {ttl:?}");
        }
        other => return Err(format!("the remaining ttl is {other:?}").into()),
    }
    Ok(())
}

/// From thirty days on memcached reads a number as a date; no engine may misread such a TTL.
fn a_ttl_of_years_is_kept(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    for days in [29, 31, 366, 3660] {
        let key = fixture.key(days);
        let ttl = Duration::from_secs(days * 86_400);
        put_with(&mut *session, &key, b"value", &with_ttl(ttl))?;
        match holds(&mut *session, &key, b"value")?.ttl {
            Remaining::Forever => return Err(format!("{days} days became for ever").into()),
            Remaining::For(left) => {
                let day = Duration::from_hours(24);
                ensure!(left + day > ttl && left < ttl + day, "{left:?} left of {days} days");
            }
            Remaining::Unknown => {}
        }
    }
    Ok(())
}
