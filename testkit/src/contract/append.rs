//! `append` and `prepend`.

use larder_store::{SetMode, SetOptions, SetOutcome};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, holds, lacks, mode, put, put_with};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    case!(append_and_prepend_join_the_value_that_is_there, APPEND),
    case!(append_and_prepend_of_an_absent_key_store_nothing, APPEND),
    case!(append_keeps_the_flags, APPEND, FLAGS),
    case!(append_of_nothing_changes_nothing, APPEND),
    case!(append_beyond_the_value_limit_is_refused, APPEND, VALUE_LIMIT),
];

fn append_and_prepend_join_the_value_that_is_there(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"middle")?;
    let appended = session.set(&key, b", end", &mode(SetMode::Append))?;
    ensure!(appended.is_stored(), "append stores nothing");
    holds(&mut *session, &key, b"middle, end")?;
    let prepended = session.set(&key, b"start, ", &mode(SetMode::Prepend))?;
    ensure!(prepended.is_stored(), "prepend stores nothing");
    holds(&mut *session, &key, b"start, middle, end").map(drop)
}

fn append_and_prepend_of_an_absent_key_store_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("absent");
    for join in [SetMode::Append, SetMode::Prepend] {
        let outcome = session.set(&key, b"value", &mode(join))?;
        ensure_eq!(outcome, SetOutcome::NotStored, "{join:?} of an absent key");
        lacks(&mut *session, &key)?;
    }
    Ok(())
}

fn append_keeps_the_flags(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put_with(&mut *session, &key, b"a", &SetOptions { flags: 77, ..SetOptions::default() })?;
    session.set(&key, b"b", &mode(SetMode::Append))?;
    session.set(&key, b"_", &mode(SetMode::Prepend))?;
    let meta = holds(&mut *session, &key, b"_ab")?;
    ensure_eq!(meta.flags, 77, "the flags after append and prepend");
    Ok(())
}

fn append_of_nothing_changes_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"value")?;
    let outcome = session.set(&key, b"", &mode(SetMode::Append))?;
    ensure!(outcome.is_stored(), "append of an empty value stores nothing");
    holds(&mut *session, &key, b"value").map(drop)
}

fn append_beyond_the_value_limit_is_refused(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_value_len.ok_or("no value limit")?;
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"12345678")?;
    let outcome = session.set(&key, &vec![b'x'; limit - 4], &mode(SetMode::Append));
    super::expect::fails_with(outcome, "value_too_large").map(drop)
}
