//! Stale entries.

use std::time::{Duration, Instant};

use larder_store::{Leased, Remaining, Session, SetOptions};
use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, holds, lacks, put, put_with, same};
use super::super::fixture::Fixture;
use super::super::ttl::{expires, outlive, short_ttl, with_ttl};
use super::{LONG, ask_for_stale, expire, fill, is_void, leases, loads};

pub(in super::super) const CASES: &[Case] = &[
    case!(an_expired_entry_is_stale_for_every_read, LEASES),
    case!(an_entry_is_kept_as_stale_for_so_long, LEASES, TTL),
    case!(expire_makes_no_ttl_longer, LEASES, TTL),
    case!(expire_of_an_absent_key_is_false, LEASES),
    case!(expire_makes_older_tokens_void, LEASES),
    case!(expire_of_an_absent_key_makes_its_tokens_void, LEASES),
    case!(a_set_or_fill_makes_a_stale_entry_fresh, LEASES),
    case!(a_delete_takes_a_stale_entry_away, LEASES),
    case!(one_caller_loads_an_entry_that_ends_soon, LEASES, TTL),
];

fn one_caller_loads_an_entry_that_ends_soon(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let (key, lasting) = (fixture.key("ends"), fixture.key("lasts"));
    put_with(&mut *session, &key, b"old", &with_ttl(LONG))?;
    put(&mut *session, &lasting, b"old")?;
    let mut value = Vec::new();
    let mut early = |session: &mut dyn Session, key: &[u8], left: Duration| {
        let leased = leases(session)?.get_or_lease_early(key, &mut value, LONG, left)?;
        same(key, &value, b"old")?;
        Ok::<_, Failed>(leased)
    };
    let hits = |leased| matches!(leased, Leased::Hit(meta) if !meta.stale);
    ensure!(hits(early(&mut *session, &key, LONG / 2)?), "it ends too soon");
    ensure!(hits(early(&mut *session, &lasting, 2 * LONG)?), "an entry without a TTL ends");
    let leased = early(&mut *session, &key, 2 * LONG)?;
    let Leased::Load { token, stale: Some(meta) } = leased else {
        return Err(format!("of an entry that ends soon the answer is {leased:?}").into());
    };
    ensure!(meta.stale, "the value is not told to be stale");
    let leased = early(&mut *other, &key, 2 * LONG)?;
    ensure!(matches!(leased, Leased::Wait { stale: Some(_) }), "the second is told {leased:?}");
    holds(&mut *other, &key, b"old")?;
    let outcome = leases(&mut *session)?.fill(&key, b"new", &with_ttl(4 * LONG), &token)?;
    ensure!(outcome.is_stored(), "the fill is {outcome:?}");
    ensure!(!holds(&mut *other, &key, b"new")?.stale, "it is stale after the fill");
    Ok(())
}

fn an_expired_entry_is_stale_for_every_read(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let long = vec![7; 50_000];
    for (name, value) in [("short", &b"old"[..]), ("empty", b""), ("long", &long)] {
        let key = fixture.key(name);
        put_with(&mut *session, &key, value, &SetOptions { ttl: None, ..SetOptions::default() })?;
        ensure!(!holds(&mut *other, &key, value)?.stale, "a new entry is stale");
        ensure!(expire(&mut *session, &key, None)?, "expire of a key that is there is false");
        ensure!(holds(&mut *other, &key, value)?.stale, "get does not tell it");
        let mut out = b"before".to_vec();
        let meta = other.get_onto(&key, &mut out)?.ok_or("get_onto misses a stale entry")?;
        ensure!(meta.stale && out[6..] == *value, "get_onto does not tell it");
        let facts = other.look(&key)?.ok_or("look misses a stale entry")?;
        ensure!(facts.meta.stale && facts.value_len == value.len(), "look says {facts:?}");
        let mut is_fresh = false;
        other.get_many(&[&key], &mut |_, _, meta| is_fresh |= !meta.stale)?;
        ensure!(!is_fresh, "get_many says that it is fresh");
        if fixture.capabilities()?.get_and_touch {
            let meta = other.get_and_touch(&key, Some(LONG), &mut out)?;
            ensure!(meta.is_some_and(|meta| meta.stale), "get_and_touch says {meta:?}");
            same(&key, &out, value)?;
        }
        ensure!(expire(&mut *other, &key, None)?, "expire of a stale entry is false");
        ensure!(holds(&mut *session, &key, value)?.stale, "it is fresh once more");
    }
    Ok(())
}

fn an_entry_is_kept_as_stale_for_so_long(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, keep) = (fixture.key("a"), short_ttl(fixture)?);
    put(&mut *session, &key, b"old")?;
    let before = Instant::now();
    ensure!(expire(&mut *session, &key, Some(keep))?, "expire of a key that is there is false");
    let after = Instant::now();
    expires(fixture, &mut *session, &key, before, after, keep)?;
    lacks(&mut *session, &key)?;
    ensure!(!expire(&mut *session, &key, None)?, "expire finds what was kept long enough");
    put(&mut *session, &key, b"old")?;
    expire(&mut *session, &key, Some(Duration::ZERO))?;
    lacks(&mut *session, &key)
}

fn expire_makes_no_ttl_longer(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let ttl = short_ttl(fixture)?;
    for (name, keep) in [("none", None), ("long", Some(LONG))] {
        let key = fixture.key(name);
        put_with(&mut *session, &key, b"old", &with_ttl(ttl))?;
        if expire(&mut *session, &key, keep)? && fixture.capabilities()?.ttl_left {
            let left = session.get(&key, &mut Vec::new())?.map(|meta| meta.ttl);
            ensure!(left != Some(Remaining::Forever), "a stale entry lasts for ever");
        }
        outlive(fixture, ttl)?;
        lacks(&mut *session, &key)?;
    }
    Ok(())
}

fn expire_of_an_absent_key_is_false(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("absent");
    ensure!(!expire(&mut *session, &key, None)?, "expire of an absent key is true");
    ensure!(!expire(&mut *session, &key, Some(LONG))?, "expire of an absent key is true");
    lacks(&mut *session, &key)
}

fn expire_makes_older_tokens_void(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    put(&mut *session, &key, b"old")?;
    expire(&mut *session, &key, None)?;
    let (token, _) = ask_for_stale(&mut *session, &key, b"old", LONG)?;
    let token = token.ok_or("the first who finds a stale value is told to wait")?;
    expire(&mut *other, &key, None)?;
    is_void(&mut *session, &key, &token, Some(b"old"), "another expire")?;
    let (next, _) = ask_for_stale(&mut *other, &key, b"old", LONG)?;
    ensure!(next.is_some(), "nobody is told to load after an expire");
    Ok(())
}

fn expire_of_an_absent_key_makes_its_tokens_void(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    let token = loads(&mut *session, &key, LONG)?;
    ensure!(!expire(&mut *other, &key, None)?, "expire of an absent key is true");
    lacks(&mut *session, &key)?;
    let next = loads(&mut *other, &key, LONG)?;
    is_void(&mut *session, &key, &token, None, "an expire")?;
    ensure!(fill(&mut *other, &key, b"newer", &next)?.is_stored(), "the later fill is refused");
    Ok(())
}

fn a_set_or_fill_makes_a_stale_entry_fresh(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    put(&mut *session, &key, b"old")?;
    expire(&mut *session, &key, None)?;
    let (token, _) = ask_for_stale(&mut *session, &key, b"old", LONG)?;
    put(&mut *other, &key, b"set")?;
    ensure!(!holds(&mut *session, &key, b"set")?.stale, "a set leaves it stale");
    let token = token.ok_or("the first who finds a stale value is told to wait")?;
    is_void(&mut *session, &key, &token, Some(b"set"), "a set")?;

    expire(&mut *session, &key, None)?;
    let (token, _) = ask_for_stale(&mut *session, &key, b"set", LONG)?;
    let token = token.ok_or("the first who finds a stale value is told to wait")?;
    let (none, _) = ask_for_stale(&mut *other, &key, b"set", LONG)?;
    ensure!(none.is_none(), "two are told to load a stale value");
    ensure!(fill(&mut *session, &key, b"filled", &token)?.is_stored(), "the fill is refused");
    ensure!(!holds(&mut *other, &key, b"filled")?.stale, "a fill leaves it stale");
    Ok(())
}

fn a_delete_takes_a_stale_entry_away(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    put(&mut *session, &key, b"old")?;
    expire(&mut *session, &key, None)?;
    let (token, _) = ask_for_stale(&mut *session, &key, b"old", LONG)?;
    ensure!(other.delete(&key)?, "delete of a stale entry is false");
    lacks(&mut *session, &key)?;
    let token = token.ok_or("the first who finds a stale value is told to wait")?;
    is_void(&mut *session, &key, &token, None, "a delete")?;
    loads(&mut *session, &key, LONG).map(drop)
}
