//! Leases, fills and releases of many keys.

use std::time::Duration;

use larder_store::{Fill, Leased, Put, Session, SetOptions, SetOutcome, Token};
use libtest_mimic::Failed;

use super::super::at_once::at_once;
use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, holds, lacks, put, put_with, same};
use super::super::fixture::Fixture;
use super::super::ttl::with_ttl;
use super::{LONG, ask, ask_for_stale, expire, leases, loads, waits};

pub(in super::super) const CASES: &[Case] = &[
    case!(a_batch_of_keys_is_answered_as_each_key_is, LEASES),
    case!(a_batch_gives_leases_of_entries_that_end_soon, LEASES, TTL),
    case!(a_batch_of_fills_stores_each_value_whose_token_holds, LEASES),
    case!(a_batch_of_fills_makes_stale_entries_fresh, LEASES),
    case!(a_batch_of_releases_lets_the_next_callers_load, LEASES),
    case!(of_many_batches_at_once_one_is_told_to_load_each_key, LEASES),
    case!(a_key_that_is_refused_keeps_no_other_lease_out, LEASES, KEY_LIMIT),
    case!(a_batch_of_thousands_is_leased_filled_and_read, LEASES),
];

/// The answer to a key of a batch, and its value.
type Answer = (larder_store::Result<Leased>, Vec<u8>);

/// The answers of a batch, which must be complete and have no key twice.
fn ask_many(
    session: &mut dyn Session,
    keys: &[Vec<u8>],
    early: Duration,
) -> Result<Vec<Answer>, Failed> {
    let keys: Vec<_> = keys.iter().map(Vec::as_slice).collect();
    let mut answers: Vec<_> = keys.iter().map(|_| None).collect();
    let mut n_answers = 0;
    leases(session)?.get_or_lease_many(&keys, LONG, early, &mut |i, value, leased| {
        n_answers += 1;
        answers[i] = Some((leased, value.to_vec()));
    })?;
    ensure_eq!(n_answers, keys.len(), "the answers to a batch");
    answers.into_iter().map(|answer| answer.ok_or_else(|| "a key has no answer".into())).collect()
}

/// The tokens of keys that are absent, all of which this caller is told to load.
fn load_many(session: &mut dyn Session, keys: &[Vec<u8>]) -> Result<Vec<Token>, Failed> {
    let token = |(leased, value): Answer| match leased? {
        Leased::Load { token, stale: None } if value.is_empty() => Ok(token),
        other => Err(format!("of an absent key a batch is told {other:?}").into()),
    };
    ask_many(session, keys, Duration::ZERO)?.into_iter().map(token).collect()
}

/// The outcomes of a batch of fills, which must come in order and be complete.
fn fill_many(
    session: &mut dyn Session,
    fills: &[(&[u8], &[u8], Token)],
) -> Result<Vec<SetOutcome>, Failed> {
    let options = SetOptions::default();
    let put = |key, value| Put { key, value, options };
    let fills: Vec<_> = fills
        .iter()
        .map(|(key, value, token)| Fill { put: put(key, value), token: *token })
        .collect();
    let (mut outcomes, mut places) = (Vec::new(), Vec::new());
    leases(session)?.fill_many(&fills, &mut |i, outcome| {
        places.push(i);
        outcomes.push(outcome);
    })?;
    ensure_eq!(places, (0..fills.len()).collect::<Vec<_>>(), "the places that fill_many tells");
    Ok(outcomes.into_iter().collect::<larder_store::Result<_>>()?)
}

fn a_batch_of_keys_is_answered_as_each_key_is(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let names = ["absent", "there", "stale", "loading", "stale and loading", "absent"];
    let keys = names.map(|name| fixture.key(name.replace(' ', "-")));
    for key in [&keys[1], &keys[2], &keys[4]] {
        put(&mut *other, key, b"value")?;
    }
    for key in [&keys[2], &keys[4]] {
        ensure!(expire(&mut *other, key, None)?, "expire of a key that is there is false");
    }
    loads(&mut *other, &keys[3], LONG)?;
    ask_for_stale(&mut *other, &keys[4], b"value", LONG)?;
    let answers = ask_many(&mut *session, &keys, Duration::ZERO)?;
    let is_as_wanted = |place: usize| {
        let (leased, value) = &answers[place];
        match (names[place], leased) {
            ("there", Ok(Leased::Hit(meta))) => !meta.stale && value == b"value",
            ("stale", Ok(Leased::Load { stale: Some(meta), .. }))
            | ("stale and loading", Ok(Leased::Wait { stale: Some(meta) })) => {
                meta.stale && value == b"value"
            }
            ("loading", Ok(Leased::Wait { stale: None })) => value.is_empty(),
            ("absent", Ok(Leased::Load { stale: None, .. } | Leased::Wait { stale: None })) => {
                value.is_empty()
            }
            _ => false,
        }
    };
    for (place, name) in names.iter().enumerate() {
        ensure!(is_as_wanted(place), "of the key that is {name}: {:?}", answers[place]);
    }
    let of_absent = [&answers[0].0, &answers[5].0];
    let loads = of_absent.iter().filter(|leased| matches!(leased, Ok(Leased::Load { .. })));
    ensure_eq!(loads.count(), 1, "the leases of a key that a batch names twice");
    // The leases are in force for single calls.
    waits(&mut *other, &keys[0])?;
    ensure!(ask_for_stale(&mut *other, &keys[2], b"value", LONG)?.0.is_none(), "two load");
    ask_many(&mut *session, &[], Duration::ZERO).map(drop)
}

fn a_batch_gives_leases_of_entries_that_end_soon(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let keys = ["ends", "lasts"].map(|name| fixture.key(name));
    put_with(&mut *session, &keys[0], b"old", &with_ttl(LONG))?;
    put(&mut *session, &keys[1], b"old")?;
    for (early, ends) in [(LONG / 2, false), (2 * LONG, true)] {
        let answers = ask_many(&mut *session, &keys, early)?;
        for ((leased, value), ends) in answers.iter().zip([ends, false]) {
            same(b"an early key", value, b"old")?;
            let is_load =
                matches!(leased, Ok(Leased::Load { stale: Some(meta), .. }) if meta.stale);
            let is_hit = matches!(leased, Ok(Leased::Hit(meta)) if !meta.stale);
            ensure!(if ends { is_load } else { is_hit }, "with {early:?}: {leased:?}");
        }
    }
    Ok(())
}

fn a_batch_of_fills_stores_each_value_whose_token_holds(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let keys: Vec<_> = ["a", "set", "deleted", "b"].map(|name| fixture.key(name)).into();
    let tokens = load_many(&mut *session, &keys)?;
    put(&mut *other, &keys[1], b"newer")?;
    other.delete(&keys[2])?;
    let long = vec![7; 50_000];
    let values: [&[u8]; 4] = [b"of a", b"of set", b"of deleted", &long];
    let mut fills: Vec<_> = (0..4).map(|i| (&*keys[i], values[i], tokens[i])).collect();
    // The token of another key, a token that no store gave, and a token for the second time.
    let strange = fixture.key("strange");
    fills.push((&strange, b"of another", tokens[0]));
    fills.push((&strange, b"of nobody", Token::from_bytes([0; Token::LEN])));
    fills.push((&keys[0], b"of a once more", tokens[0]));
    let outcomes = fill_many(&mut *session, &fills)?;
    let stored: Vec<_> = outcomes.iter().map(|outcome| outcome.is_stored()).collect();
    ensure_eq!(stored, [true, false, false, true, false, false, false], "whether each is stored");
    holds(&mut *other, &keys[0], b"of a")?;
    holds(&mut *other, &keys[1], b"newer")?;
    lacks(&mut *other, &keys[2])?;
    holds(&mut *other, &keys[3], &long)?;
    lacks(&mut *other, &strange)
}

fn a_batch_of_fills_makes_stale_entries_fresh(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let keys: Vec<_> = (0..5).map(|i| fixture.key(i)).collect();
    for key in &keys {
        put(&mut *session, key, b"old")?;
        expire(&mut *session, key, None)?;
    }
    let mut tokens = Vec::new();
    for (leased, value) in ask_many(&mut *session, &keys, Duration::ZERO)? {
        same(b"a stale key", &value, b"old")?;
        let Leased::Load { token, stale: Some(_) } = leased? else {
            return Err("nobody is told to load a stale entry".into());
        };
        tokens.push(token);
    }
    // The token of the last is void by then.
    expire(&mut *session, &keys[4], None)?;
    let fills = keys.iter().zip(&tokens).map(|(key, token)| (&**key, &b"new"[..], *token));
    let fills: Vec<_> = fills.collect();
    let outcomes = fill_many(&mut *session, &fills)?;
    let stored: Vec<_> = outcomes.iter().map(|outcome| outcome.is_stored()).collect();
    ensure_eq!(stored, [true, true, true, true, false], "whether each is stored");
    for key in &keys[..4] {
        ensure!(!holds(&mut *session, key, b"new")?.stale, "it is stale after a fill");
        ensure!(expire(&mut *session, key, None)?, "expire of a key that is there is false");
        let (token, _) = ask_for_stale(&mut *session, key, b"new", LONG)?;
        ensure!(token.is_some(), "the lease is in force after its fill");
    }
    ensure!(holds(&mut *session, &keys[4], b"old")?.stale, "a void token makes it fresh");
    Ok(())
}

fn a_batch_of_releases_lets_the_next_callers_load(fixture: &Fixture) -> Result<(), Failed> {
    let (mut session, mut other) = (fixture.session()?, fixture.session()?);
    let keys: Vec<_> = ["a", "b", "over"].map(|name| fixture.key(name)).into();
    let tokens = load_many(&mut *session, &keys)?;
    put(&mut *other, &keys[2], b"newer")?;
    let stale = fixture.key("stale");
    put(&mut *other, &stale, b"old")?;
    expire(&mut *other, &stale, None)?;
    let (of_stale, _) = ask_for_stale(&mut *session, &stale, b"old", LONG)?;
    let mut held: Vec<_> = keys.iter().zip(&tokens).map(|(key, token)| (&**key, *token)).collect();
    held.push((&stale, of_stale.ok_or("the first who finds a stale value is told to wait")?));
    let (mut told, mut places) = (Vec::new(), Vec::new());
    leases(&mut *session)?.release_many(&held, &mut |i, outcome| {
        places.push(i);
        told.push(outcome);
    })?;
    ensure_eq!(places, [0, 1, 2, 3], "the places that release_many tells");
    let told = told.into_iter().collect::<larder_store::Result<Vec<_>>>()?;
    ensure_eq!(told, [true, true, false, true], "whether each lease was in force");
    for key in &keys[..2] {
        loads(&mut *other, key, LONG)?;
    }
    ensure!(matches!(ask(&mut *other, &keys[2], LONG)?, Leased::Hit(_)), "a release ends a value");
    ensure!(ask_for_stale(&mut *other, &stale, b"old", LONG)?.0.is_some(), "nobody may load");
    let fills: Vec<_> = held.iter().map(|(key, token)| (*key, &b"late"[..], *token)).collect();
    let outcomes = fill_many(&mut *session, &fills)?;
    ensure!(!outcomes.iter().any(|outcome| outcome.is_stored()), "after the release: {outcomes:?}");
    Ok(())
}

fn of_many_batches_at_once_one_is_told_to_load_each_key(fixture: &Fixture) -> Result<(), Failed> {
    for round in 0..5 {
        let keys: Vec<_> = (0..20).map(|i| fixture.key(format!("{round}-{i}"))).collect();
        let mut setup = fixture.session()?;
        for key in &keys[10..] {
            put(&mut *setup, key, b"old")?;
            expire(&mut *setup, key, None)?;
        }
        let answers = at_once(fixture, |session| ask_many(session, &keys, Duration::ZERO))?;
        for place in 0..keys.len() {
            let of_key = answers.iter().map(|answers| &answers[place].0);
            let loads = of_key.filter(|leased| matches!(leased, Ok(Leased::Load { .. })));
            ensure_eq!(loads.count(), 1, "the callers who are told to load key {place}");
        }
    }
    Ok(())
}

fn a_key_that_is_refused_keeps_no_other_lease_out(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let limit = fixture.capabilities()?.max_key_len.ok_or("no limit")?;
    let keys = [fixture.key("before"), vec![b'k'; limit + 1], fixture.key("after")];
    let answers = ask_many(&mut *session, &keys, Duration::ZERO)?;
    let kind = |place: usize| answers[place].0.as_ref().err().map(larder_store::Error::kind);
    ensure_eq!([kind(0), kind(1), kind(2)], [None, Some("key_too_long"), None], "the errors");
    let token = |place: usize| match &answers[place].0 {
        Ok(Leased::Load { token, .. }) => Ok(*token),
        other => Err(Failed::from(format!("who should load is told {other:?}"))),
    };
    let fills = [(0, token(0)?), (1, token(0)?), (2, token(2)?)];
    let mut told = Vec::new();
    let options = SetOptions::default();
    let fills =
        fills.map(|(i, token)| Fill { put: Put { key: &keys[i], value: b"v", options }, token });
    leases(&mut *session)?.fill_many(&fills, &mut |_, outcome| told.push(outcome))?;
    ensure!(matches!(&told[..], [Ok(_), Err(_), Ok(_)]), "{told:?}");
    holds(&mut *session, &keys[0], b"v")?;
    holds(&mut *session, &keys[2], b"v").map(drop)
}

/// More than a node may get before its answers are read, in both directions.
fn a_batch_of_thousands_is_leased_filled_and_read(fixture: &Fixture) -> Result<(), Failed> {
    const MANY: usize = 2500;
    let mut session = fixture.session()?;
    let keys: Vec<_> = (0..MANY).map(|i| fixture.key(i)).collect();
    let value = vec![b'v'; 1500];
    let tokens = load_many(&mut *session, &keys)?;
    let fills: Vec<_> =
        keys.iter().zip(&tokens).map(|(key, token)| (&**key, &*value, *token)).collect();
    let outcomes = fill_many(&mut *session, &fills)?;
    ensure!(outcomes.iter().all(|outcome| outcome.is_stored()), "some are not stored");
    for (leased, found) in ask_many(&mut *session, &keys, Duration::ZERO)? {
        ensure!(matches!(leased, Ok(Leased::Hit(_))), "after the fills a key is told {leased:?}");
        same(b"a key of thousands", &found, &value)?;
    }
    Ok(())
}
