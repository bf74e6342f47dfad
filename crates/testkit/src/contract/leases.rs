//! Leases, fill tokens and stale entries.

use std::time::{Duration, Instant};

use larder_store::{
    Delta, Error, Leased, Leases, Meta, Remaining, Session, SetMode, SetOptions, SetOutcome, Token,
};
use libtest_mimic::Failed;

use super::at_once::at_once;
use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, fails_with, holds, lacks, mode, put, put_with, same};
use super::fixture::Fixture;
use super::seats;
use super::ttl::{expires, outlive, short_ttl, slack, with_ttl};

pub(super) const CASES: &[Case] = &[
    case!(of_many_who_miss_at_once_one_is_told_to_load, LEASES),
    case!(of_many_who_find_a_stale_value_one_is_told_to_load, LEASES),
    case!(a_herd_loads_once_and_all_get_the_value, LEASES),
    case!(a_lease_ends_with_its_time_and_another_caller_loads, LEASES),
    case!(a_lease_of_a_stale_entry_ends_with_its_time, LEASES),
    case!(a_fill_ends_the_lease_and_is_found, LEASES),
    case!(a_fill_keeps_its_ttl_and_flags, LEASES, TTL, FLAGS),
    case!(a_fill_in_another_mode_is_refused, LEASES),
    case!(a_change_of_the_key_makes_its_token_void, LEASES),
    case!(a_number_that_is_begun_makes_a_token_void, LEASES, INCR),
    case!(a_token_is_good_for_one_fill, LEASES),
    case!(a_token_of_another_key_fills_nothing, LEASES),
    case!(a_token_crosses_a_wire_to_another_session, LEASES),
    case!(a_token_that_no_store_gave_fills_nothing, LEASES),
    case!(a_clear_makes_tokens_void, LEASES, CLEAR),
    case!(a_released_lease_lets_the_next_caller_load, LEASES),
    case!(no_read_finds_the_lease_of_an_absent_key, LEASES),
    case!(an_expired_entry_is_stale_for_every_read, LEASES),
    case!(an_entry_is_kept_as_stale_for_so_long, LEASES, TTL),
    case!(expire_makes_no_ttl_longer, LEASES, TTL),
    case!(expire_of_an_absent_key_is_false, LEASES),
    case!(expire_makes_older_tokens_void, LEASES),
    case!(expire_of_an_absent_key_makes_its_tokens_void, LEASES),
    case!(a_set_or_fill_makes_a_stale_entry_fresh, LEASES),
    case!(a_delete_takes_a_stale_entry_away, LEASES),
    case!(a_token_without_a_lease_fills_until_the_key_changes, TOKENS),
    case!(of_two_who_renew_a_token_at_most_the_later_keeps_it, TOKENS),
];

/// Longer than any case takes.
const LONG: Duration = Duration::from_mins(5);

/// The interface of a session for leases, which its capabilities promise.
fn leases(session: &mut dyn Session) -> larder_store::Result<&mut dyn Leases> {
    let engine = session.engine();
    session.leases().ok_or(Error::Unsupported { engine, operation: "leases" })
}

fn ask(session: &mut dyn Session, key: &[u8], time: Duration) -> Result<Leased, Failed> {
    let mut value = b"left from before".to_vec();
    let leased = leases(session)?.get_or_lease(key, &mut value, time)?;
    let is_empty =
        matches!(leased, Leased::Load { stale: None, .. } | Leased::Wait { stale: None });
    ensure!(!is_empty || value.is_empty(), "{leased:?} left {} bytes in the buffer", value.len());
    Ok(leased)
}

/// The caller is told to load an absent key.
fn loads(session: &mut dyn Session, key: &[u8], time: Duration) -> Result<Token, Failed> {
    match ask(session, key, time)? {
        Leased::Load { token, stale: None } => Ok(token),
        other => Err(format!("who should load is told {other:?}").into()),
    }
}

/// The caller is told to wait for an absent key.
fn waits(session: &mut dyn Session, key: &[u8]) -> Result<(), Failed> {
    ensure_eq!(ask(session, key, LONG)?, Leased::Wait { stale: None }, "who should wait is told");
    Ok(())
}

/// What is asked for a stale value, which must come with the answer.
fn ask_for_stale(
    session: &mut dyn Session,
    key: &[u8],
    wanted: &[u8],
    time: Duration,
) -> Result<(Option<Token>, Meta), Failed> {
    let mut value = b"left from before".to_vec();
    let leased = leases(session)?.get_or_lease(key, &mut value, time)?;
    let (token, meta) = match leased {
        Leased::Load { token, stale: Some(meta) } => (Some(token), meta),
        Leased::Wait { stale: Some(meta) } => (None, meta),
        other => return Err(format!("of a stale value the answer is {other:?}").into()),
    };
    same(key, &value, wanted)?;
    ensure!(meta.stale, "the stale value is not told to be stale");
    Ok((token, meta))
}

fn fill(
    session: &mut dyn Session,
    key: &[u8],
    value: &[u8],
    token: &Token,
) -> Result<SetOutcome, Failed> {
    Ok(leases(session)?.fill(key, value, &SetOptions::default(), token)?)
}

/// A token that is void fills nothing, and leaves what is there.
fn is_void(
    session: &mut dyn Session,
    key: &[u8],
    token: &Token,
    there: Option<&[u8]>,
    after: &str,
) -> Result<(), Failed> {
    let outcome = fill(session, key, b"loaded before", token)?;
    ensure_eq!(outcome, SetOutcome::NotStored, "a fill with a token from before {after}");
    match there {
        Some(value) => holds(session, key, value).map(drop),
        None => lacks(session, key),
    }
}

fn expire(session: &mut dyn Session, key: &[u8], keep: Option<Duration>) -> Result<bool, Failed> {
    Ok(leases(session)?.expire(key, keep)?)
}

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
                        seats::wait(Duration::from_millis(5));
                        let outcome = fill(session, key, b"loaded", &token)?;
                        ensure!(outcome.is_stored(), "the only fill says {outcome:?}");
                    }
                    Leased::Wait { .. } => {
                        ensure!(begun.elapsed() < LONG / 2, "no value comes");
                        seats::wait(Duration::from_millis(1));
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
    (before, after): (Instant, Instant),
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
        seats::wait((resolution / 10).max(Duration::from_millis(5)));
    }
}

fn a_lease_ends_with_its_time_and_another_caller_loads(fixture: &Fixture) -> Result<(), Failed> {
    let (mut loader, mut session) = (fixture.session()?, fixture.session()?);
    let (key, time) = (fixture.key("a"), short_ttl(fixture)?);
    let before = Instant::now();
    let late = loads(&mut *loader, &key, time)?;
    let asked = (before, Instant::now());
    let token = takes_over(fixture, &mut *session, &key, asked, time)?;
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
    let asked = (before, Instant::now());
    let token = takes_over(fixture, &mut *session, &key, asked, time)?;
    let (none, _) = ask_for_stale(&mut *loader, &key, b"old", LONG)?;
    ensure!(none.is_none(), "two are told to load a stale value");
    is_void(&mut *loader, &key, &late, Some(b"old"), "another lease")?;
    ensure!(fill(&mut *session, &key, b"loaded", &token)?.is_stored(), "the later fill is refused");
    holds(&mut *session, &key, b"loaded").map(drop)
}

fn a_fill_ends_the_lease_and_is_found(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let long = vec![7; 50_000];
    for (name, value) in [("short", &b"loaded"[..]), ("empty", b""), ("long", &long)] {
        let key = fixture.key(name);
        let token = loads(&mut *session, &key, LONG)?;
        waits(&mut *other, &key)?;
        waits(&mut *session, &key)?;
        let outcome = fill(&mut *session, &key, value, &token)?;
        let meta = holds(&mut *other, &key, value)?;
        ensure_eq!(outcome, SetOutcome::Stored(meta.version), "the fill");
        let mut found = Vec::new();
        let hit = leases(&mut *other)?.get_or_lease(&key, &mut found, LONG)?;
        ensure!(matches!(hit, Leased::Hit(meta) if !meta.stale), "after the fill: {hit:?}");
        same(&key, &found, value)?;
    }
    Ok(())
}

fn a_fill_keeps_its_ttl_and_flags(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, ttl) = (fixture.key("a"), short_ttl(fixture)?);
    let token = loads(&mut *session, &key, LONG)?;
    let options = SetOptions { flags: 5, ..with_ttl(ttl) };
    let before = Instant::now();
    let outcome = leases(&mut *session)?.fill(&key, b"loaded", &options, &token)?;
    let filled = (before, Instant::now());
    ensure!(outcome.is_stored(), "the only fill says {outcome:?}");
    if let Some(meta) = session.get(&key, &mut Vec::new())? {
        ensure_eq!(meta.flags, 5, "the flags of the fill");
    }
    expires(fixture, &mut *session, &key, filled, ttl)
}

fn a_fill_in_another_mode_is_refused(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let token = loads(&mut *session, &key, LONG)?;
    for other in [SetMode::Add, SetMode::Replace, SetMode::Append, SetMode::Cas(1)] {
        let filled = leases(&mut *session)?.fill(&key, b"loaded", &mode(other), &token);
        fails_with(filled, "unsupported")?;
    }
    ensure!(fill(&mut *session, &key, b"loaded", &token)?.is_stored(), "the fill is refused");
    Ok(())
}

fn a_change_of_the_key_makes_its_token_void(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("set");
    let token = loads(&mut *session, &key, LONG)?;
    put(&mut *other, &key, b"newer")?;
    is_void(&mut *session, &key, &token, Some(b"newer"), "a set")?;

    let key = fixture.key("set-and-deleted");
    let token = loads(&mut *session, &key, LONG)?;
    put(&mut *other, &key, b"newer")?;
    other.delete(&key)?;
    is_void(&mut *session, &key, &token, None, "a set and a delete")?;

    // This is what a writer does who changes the place from which others load.
    let key = fixture.key("deleted");
    let token = loads(&mut *session, &key, LONG)?;
    other.delete(&key)?;
    let next = loads(&mut *other, &key, LONG)?;
    is_void(&mut *session, &key, &token, None, "a delete")?;
    waits(&mut *session, &key)?;
    ensure!(fill(&mut *other, &key, b"newer", &next)?.is_stored(), "the later fill is refused");
    is_void(&mut *session, &key, &token, Some(b"newer"), "another fill")
}

fn a_number_that_is_begun_makes_a_token_void(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    put(&mut *session, &key, b"5")?;
    expire(&mut *session, &key, None)?;
    let (token, _) = ask_for_stale(&mut *session, &key, b"5", LONG)?;
    let token = token.ok_or("the first who finds a stale value is told to wait")?;
    other.incr(&key, Delta::Up(1), None)?;
    is_void(&mut *session, &key, &token, Some(b"6"), "an incr")
}

fn a_token_is_good_for_one_fill(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let token = loads(&mut *session, &key, LONG)?;
    ensure!(fill(&mut *session, &key, b"loaded", &token)?.is_stored(), "the fill is refused");
    is_void(&mut *session, &key, &token, Some(b"loaded"), "its own fill")
}

fn a_token_of_another_key_fills_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, other) = (fixture.key("a"), fixture.key("other"));
    let token = loads(&mut *session, &key, LONG)?;
    is_void(&mut *session, &other, &token, None, "the lease of another key")?;
    let _theirs = loads(&mut *session, &other, LONG)?;
    is_void(&mut *session, &other, &token, None, "the lease of another key")?;
    ensure!(fill(&mut *session, &key, b"loaded", &token)?.is_stored(), "the fill is refused");
    Ok(())
}

fn a_token_crosses_a_wire_to_another_session(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    let bytes = loads(&mut *session, &key, LONG)?.to_bytes();
    drop(session);
    let outcome = fill(&mut *other, &key, b"loaded", &Token::from_bytes(bytes))?;
    ensure!(outcome.is_stored(), "a fill by another session says {outcome:?}");
    holds(&mut *other, &key, b"loaded").map(drop)
}

fn a_token_that_no_store_gave_fills_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (absent, leased) = (fixture.key("absent"), fixture.key("leased"));
    let given = loads(&mut *session, &leased, LONG)?.to_bytes();
    let changed = |place: usize| {
        let mut bytes = given;
        bytes[place] ^= 0x10;
        bytes
    };
    let others = (0..Token::LEN).map(changed).chain([[0; Token::LEN], [0xff; Token::LEN]]);
    for bytes in others {
        let token = Token::from_bytes(bytes);
        is_void(&mut *session, &absent, &token, None, "no lease")?;
        leases(&mut *session)?.release(&absent, &token)?;
    }
    for bytes in [[0; Token::LEN], [0xff; Token::LEN]] {
        is_void(&mut *session, &leased, &Token::from_bytes(bytes), None, "no lease")?;
    }
    Ok(())
}

fn a_clear_makes_tokens_void(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let mut session = store.session()?;
    let key = fixture.key("a");
    let token = loads(&mut *session, &key, LONG)?;
    session.clear()?;
    is_void(&mut *session, &key, &token, None, "a clear")
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
    let expired = (before, Instant::now());
    expires(fixture, &mut *session, &key, expired, keep)?;
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

fn a_token_without_a_lease_fills_until_the_key_changes(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    for (change, there) in [("set", Some(&b"newer"[..])), ("delete", None)] {
        let tokens = [leases(&mut *session)?.token(&key)?, leases(&mut *other)?.token(&key)?];
        if change == "set" {
            put(&mut *other, &key, b"newer")?;
        } else {
            other.delete(&key)?;
        }
        for token in &tokens {
            is_void(&mut *session, &key, token, there, change)?;
        }
    }
    let token = leases(&mut *session)?.token(&key)?;
    ensure!(fill(&mut *other, &key, b"loaded", &token)?.is_stored(), "the fill is refused");
    holds(&mut *session, &key, b"loaded").map(drop)
}

fn of_two_who_renew_a_token_at_most_the_later_keeps_it(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let key = fixture.key("a");
    let reader = leases(&mut *session)?.token(&key)?;
    let one = leases(&mut *session)?.renew(&key, None)?.ok_or("a first token is void")?;
    is_void(&mut *session, &key, &reader, None, "a renewal")?;
    let again = leases(&mut *session)?.renew(&key, Some(&one))?;
    let again = again.ok_or("a token that nobody made void is void")?;
    is_void(&mut *session, &key, &one, None, "a renewal")?;
    let two = leases(&mut *other)?.renew(&key, None)?.ok_or("a first token is void")?;
    ensure_eq!(leases(&mut *session)?.renew(&key, Some(&again))?, None, "a void token renewed");
    // The attempt makes the other token void as well.
    is_void(&mut *other, &key, &two, None, "a renewal by another session")
}
