//! `set_many` and `delete_many`.

use std::collections::HashSet;

use larder_store::{Put, Session, SetMode, SetOptions, SetOutcome};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, holds, lacks, mode, put};
use super::fixture::Fixture;
use super::ttl::{outlive, short_ttl, with_ttl};

pub(super) const CASES: &[Case] = &[
    case!(set_many_stores_each_entry_and_tells_so_in_order),
    case!(set_many_of_nothing_tells_nothing),
    case!(set_many_of_one_key_twice_keeps_the_later_value),
    case!(set_many_keeps_to_the_mode_of_each_entry, ADD),
    case!(set_many_keeps_to_the_version_of_each_entry, VERSION),
    case!(set_many_keeps_to_the_ttl_and_flags_of_each_entry, TTL, FLAGS),
    case!(set_many_joins_to_what_is_there, APPEND),
    case!(set_many_tells_versions_that_differ, VERSION),
    case!(an_entry_that_is_refused_keeps_no_other_out, KEY_LIMIT),
    case!(delete_many_tells_of_each_key_whether_it_was_there),
    case!(a_batch_of_thousands_is_stored_and_removed_whole),
    case!(a_key_that_is_refused_keeps_no_other_delete_out, KEY_LIMIT),
];

/// The outcomes of a batch, which must come in order and be complete.
fn set_many(
    session: &mut dyn Session,
    entries: &[Put<'_>],
) -> Result<Vec<larder_store::Result<SetOutcome>>, Failed> {
    let (mut outcomes, mut places) = (Vec::new(), Vec::new());
    session.set_many(entries, &mut |i, outcome| {
        places.push(i);
        outcomes.push(outcome);
    })?;
    let all: Vec<_> = (0..entries.len()).collect();
    ensure_eq!(places, all, "the places that set_many tells");
    Ok(outcomes)
}

/// The same, where no entry may be refused with an error.
fn outcomes(session: &mut dyn Session, entries: &[Put<'_>]) -> Result<Vec<SetOutcome>, Failed> {
    let told = set_many(session, entries)?;
    Ok(told.into_iter().collect::<larder_store::Result<_>>()?)
}

fn plain<'e>(key: &'e [u8], value: &'e [u8]) -> Put<'e> {
    Put { key, value, options: SetOptions::default() }
}

fn set_many_stores_each_entry_and_tells_so_in_order(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    for n in [1, 2, 100] {
        let of = |i: usize| {
            (fixture.key(format!("{n}-{i}")), format!("value {i} ").repeat(i * 10).into_bytes())
        };
        let entries: Vec<_> = (0..n).map(of).collect();
        let batch: Vec<_> = entries.iter().map(|(key, value)| plain(key, value)).collect();
        let stored = outcomes(&mut *session, &batch)?;
        ensure!(stored.iter().all(|outcome| outcome.is_stored()), "{stored:?}");
        for (key, value) in &entries {
            holds(&mut *session, key, value)?;
        }
    }
    Ok(())
}

fn set_many_of_nothing_tells_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    set_many(&mut *session, &[])?;
    session.delete_many(&[], &mut |_, _| {})?;
    Ok(())
}

fn set_many_of_one_key_twice_keeps_the_later_value(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, other) = (fixture.key("a"), fixture.key("b"));
    let batch = [plain(&key, b"first"), plain(&other, b"other"), plain(&key, b"second")];
    let stored = outcomes(&mut *session, &batch)?;
    ensure!(stored.iter().all(|outcome| outcome.is_stored()), "{stored:?}");
    holds(&mut *session, &key, b"second")?;
    holds(&mut *session, &other, b"other").map(drop)
}

fn set_many_keeps_to_the_mode_of_each_entry(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (there, absent) = (fixture.key("there"), fixture.key("absent"));
    put(&mut *session, &there, b"old")?;
    let of = |key, value, set_mode| Put { key, value, options: mode(set_mode) };
    let batch = [
        of(&there, b"no", SetMode::Add),
        of(&absent, b"no", SetMode::Replace),
        of(&absent, b"added", SetMode::Add),
        of(&absent, b"replaced", SetMode::Replace),
        of(&absent, b"no", SetMode::Add),
    ];
    let told = outcomes(&mut *session, &batch)?;
    let stored: Vec<_> = told.iter().map(|outcome| outcome.is_stored()).collect();
    ensure_eq!(stored, [false, false, true, true, false], "whether each is stored");
    holds(&mut *session, &there, b"old")?;
    holds(&mut *session, &absent, b"replaced").map(drop)
}

fn set_many_keeps_to_the_version_of_each_entry(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, absent) = (fixture.key("a"), fixture.key("absent"));
    put(&mut *session, &key, b"old")?;
    let version = holds(&mut *session, &key, b"old")?.version.ok_or("no version")?;
    let of = |key, value, version| Put { key, value, options: mode(SetMode::Cas(version)) };
    let batch = [of(&key, b"new", version), of(&key, b"no", version), of(&absent, b"no", version)];
    let told = outcomes(&mut *session, &batch)?;
    ensure!(told[0].is_stored(), "{told:?}");
    ensure_eq!(&told[1..], [SetOutcome::Exists, SetOutcome::NotFound], "the others");
    holds(&mut *session, &key, b"new").map(drop)
}

fn set_many_keeps_to_the_ttl_and_flags_of_each_entry(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (mortal, lasting) = (fixture.key("mortal"), fixture.key("lasting"));
    let ttl = short_ttl(fixture)?;
    let flagged = SetOptions { flags: 7, ..SetOptions::default() };
    let batch = [
        Put { key: &mortal, value: b"m", options: with_ttl(ttl) },
        Put { key: &lasting, value: b"l", options: flagged },
    ];
    let stored = outcomes(&mut *session, &batch)?;
    ensure!(stored.iter().all(|outcome| outcome.is_stored()), "{stored:?}");
    outlive(fixture, ttl)?;
    lacks(&mut *session, &mortal)?;
    ensure_eq!(holds(&mut *session, &lasting, b"l")?.flags, 7, "the flags");
    Ok(())
}

fn set_many_joins_to_what_is_there(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, absent) = (fixture.key("a"), fixture.key("absent"));
    let of = |key, value, set_mode| Put { key, value, options: mode(set_mode) };
    let batch = [
        of(&key, b"b", SetMode::Set),
        of(&key, b"c", SetMode::Append),
        of(&key, b"a", SetMode::Prepend),
        of(&absent, b"x", SetMode::Append),
    ];
    let told = outcomes(&mut *session, &batch)?;
    let stored: Vec<_> = told.iter().map(|outcome| outcome.is_stored()).collect();
    ensure_eq!(stored, [true, true, true, false], "whether each is stored");
    holds(&mut *session, &key, b"abc")?;
    lacks(&mut *session, &absent)
}

fn set_many_tells_versions_that_differ(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let keys: Vec<_> = (0..20).map(|i| fixture.key(i)).collect();
    // The first keys come twice: no reader of their first value may take the second for it.
    let batch: Vec<_> = keys.iter().chain(&keys[..5]).map(|key| plain(key, b"value")).collect();
    let mut seen = HashSet::new();
    for round in 0..3 {
        let told = outcomes(&mut *session, &batch)?;
        for (i, (outcome, entry)) in told.iter().zip(&batch).enumerate() {
            let SetOutcome::Stored(Some(version)) = outcome else {
                return Err(format!("entry {i}: {outcome:?}, not a version").into());
            };
            ensure!(seen.insert((entry.key, *version)), "version {version} again, round {round}");
            if i >= 5 {
                let read = holds(&mut *session, entry.key, b"value")?.version;
                ensure_eq!(read, Some(*version), "the version of entry {i}");
            }
        }
    }
    Ok(())
}

fn an_entry_that_is_refused_keeps_no_other_out(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let limit = fixture.capabilities()?.max_key_len.ok_or("no limit")?;
    let (before, after) = (fixture.key("before"), fixture.key("after"));
    let long = vec![b'k'; limit + 1];
    let batch = [plain(&before, b"b"), plain(&long, b"no"), plain(&after, b"a")];
    let told = set_many(&mut *session, &batch)?;
    ensure!(told[0].as_ref().is_ok_and(|told| told.is_stored()), "{told:?}");
    ensure!(told[1].as_ref().is_err_and(|error| error.kind() == "key_too_long"), "{told:?}");
    ensure!(told[2].as_ref().is_ok_and(|told| told.is_stored()), "{told:?}");
    holds(&mut *session, &before, b"b")?;
    holds(&mut *session, &after, b"a").map(drop)
}

fn delete_many_tells_of_each_key_whether_it_was_there(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let keys: Vec<_> = (0..30).map(|i| fixture.key(i)).collect();
    for key in keys.iter().step_by(2) {
        put(&mut *session, key, b"value")?;
    }
    let other = fixture.key("other");
    put(&mut *session, &other, b"value")?;
    let batch: Vec<_> = keys.iter().chain(&keys[..1]).map(Vec::as_slice).collect();
    let (mut places, mut there) = (Vec::new(), Vec::new());
    session.delete_many(&batch, &mut |i, outcome| {
        places.push(i);
        there.push(outcome);
    })?;
    ensure_eq!(places, (0..batch.len()).collect::<Vec<_>>(), "the places that delete_many tells");
    let there = there.into_iter().collect::<larder_store::Result<Vec<_>>>()?;
    let wanted: Vec<_> = (0..batch.len()).map(|i| i % 2 == 0 && i < keys.len()).collect();
    ensure_eq!(there, wanted, "whether each was there");
    for key in &keys {
        lacks(&mut *session, key)?;
    }
    holds(&mut *session, &other, b"value").map(drop)
}

fn a_key_that_is_refused_keeps_no_other_delete_out(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let limit = fixture.capabilities()?.max_key_len.ok_or("no limit")?;
    let (before, after) = (fixture.key("before"), fixture.key("after"));
    for key in [&before, &after] {
        put(&mut *session, key, b"value")?;
    }
    let (long, mut told) = (vec![b'k'; limit + 1], Vec::new());
    session.delete_many(&[&before, &long, &after], &mut |_, outcome| told.push(outcome))?;
    ensure!(matches!(told[..], [Ok(true), Err(_), Ok(true)]), "{told:?}");
    ensure!(told[1].as_ref().is_err_and(|error| error.kind() == "key_too_long"), "{told:?}");
    lacks(&mut *session, &before)?;
    lacks(&mut *session, &after)
}

/// More than an engine may take in one commit or one request.
fn a_batch_of_thousands_is_stored_and_removed_whole(fixture: &Fixture) -> Result<(), Failed> {
    const MANY: usize = 5000;
    let mut session = fixture.session()?;
    let keys: Vec<_> = (0..MANY).map(|i| fixture.key(i)).collect();
    let batch: Vec<_> = keys.iter().map(|key| plain(key, key)).collect();
    let told = outcomes(&mut *session, &batch)?;
    ensure!(told.len() == MANY && told.iter().all(|told| told.is_stored()), "some are not stored");
    for key in keys.iter().step_by(MANY / 50).chain(keys.last()) {
        holds(&mut *session, key, key)?;
    }
    let names: Vec<_> = keys.iter().map(Vec::as_slice).collect();
    let mut deleted = Vec::new();
    session.delete_many(&names, &mut |i, outcome| deleted.push((i, outcome)))?;
    ensure_eq!(deleted.len(), MANY, "the outcomes of a batch");
    for (wanted, (i, was_there)) in deleted.into_iter().enumerate() {
        ensure!(i == wanted && was_there?, "the {wanted}. key of a batch is not deleted");
    }
    for key in keys.iter().step_by(MANY / 50).chain(keys.last()) {
        lacks(&mut *session, key)?;
    }
    Ok(())
}
