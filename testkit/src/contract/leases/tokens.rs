//! Tokens, and what makes them void.

use std::time::Instant;

use larder_store::{Delta, Leased, SetMode, SetOptions, SetOutcome, Token};
use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, fails_with, holds, mode, put, same};
use super::super::fixture::Fixture;
use super::super::ttl::{expires, short_ttl, with_ttl};
use super::{LONG, ask_for_stale, expire, fill, is_void, leases, loads, waits};

pub(in super::super) const CASES: &[Case] = &[
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
    case!(a_token_without_a_lease_fills_until_the_key_changes, TOKENS),
    case!(of_two_who_renew_a_token_at_most_the_later_keeps_it, TOKENS),
];

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
    let after = Instant::now();
    ensure!(outcome.is_stored(), "the only fill says {outcome:?}");
    if let Some(meta) = session.get(&key, &mut Vec::new())? {
        ensure_eq!(meta.flags, 5, "the flags of the fill");
    }
    expires(fixture, &mut *session, &key, before, after, ttl)
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
