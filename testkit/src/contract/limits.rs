//! The limits of keys and values.

use larder_store::{SetMode, SetOptions, SetOutcome};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, fails_with, holds, lacks, mode, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    case!(a_key_beyond_the_limit_is_an_error_that_names_it, KEY_LIMIT),
    case!(a_value_beyond_the_limit_is_an_error_that_names_it, VALUE_LIMIT),
    case!(a_refused_large_value_leaves_no_older_value_behind, VALUE_LIMIT),
    case!(a_refused_large_add_leaves_the_value_that_is_there, VALUE_LIMIT, ADD, EVICTS_NOTHING),
    case!(a_refused_large_replace_leaves_the_value_that_is_there, VALUE_LIMIT, ADD, EVICTS_NOTHING),
    case!(a_refused_large_cas_leaves_the_value_that_is_there, VALUE_LIMIT, VERSION, EVICTS_NOTHING),
    case!(
        a_refused_large_append_leaves_the_value_that_is_there,
        VALUE_LIMIT,
        APPEND,
        EVICTS_NOTHING
    ),
    case!(an_empty_key_is_a_key_or_is_refused),
];

fn a_key_beyond_the_limit_is_an_error_that_names_it(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_key_len.ok_or("no key limit")?;
    let mut session = fixture.session()?;
    let key = vec![b'k'; limit + 1];
    let named = |error: larder_store::Error| {
        let text = error.to_string();
        ensure!(text.contains(&format!("{limit} bytes")), "`{text}` does not name {limit} bytes");
        ensure!(
            text.contains(&format!("{} bytes", limit + 1)),
            "`{text}` does not name its length"
        );
        Ok(())
    };
    named(fails_with(session.set(&key, b"value", &SetOptions::default()), "key_too_long")?)?;
    named(fails_with(session.get(&key, &mut Vec::new()), "key_too_long")?)?;
    named(fails_with(session.delete(&key), "key_too_long")?)?;
    let good = fixture.key("good");
    let batch = session.get_many(&[&good, &key], &mut |_, _, _| {});
    named(fails_with(batch, "key_too_long")?)?;
    put(&mut *session, &good, b"the session works on")?;
    holds(&mut *session, &good, b"the session works on").map(drop)
}

fn a_value_beyond_the_limit_is_an_error_that_names_it(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_value_len.ok_or("no value limit")?;
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let refused = session.set(&key, &vec![7; limit + 1], &SetOptions::default());
    let text = fails_with(refused, "value_too_large")?.to_string();
    let named = larder_store::ByteSize(limit as u64).to_string();
    ensure!(text.contains(&format!("item limit {named}")), "`{text}` does not name {named}");
    lacks(&mut *session, &key)?;
    put(&mut *session, &key, b"the session works on")?;
    holds(&mut *session, &key, b"the session works on").map(drop)
}

/// Otherwise readers would still see a value that its writer has long replaced.
fn a_refused_large_value_leaves_no_older_value_behind(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_value_len.ok_or("no value limit")?;
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"old")?;
    let refused = session.set(&key, &vec![7; limit + 1], &SetOptions::default());
    fails_with(refused, "value_too_large")?;
    lacks(&mut *session, &key)
}

/// An engine may check the length or the key first.
fn a_refused_large_add_leaves_the_value_that_is_there(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"old")?;
    match session.set(&key, &too_large(fixture)?, &mode(SetMode::Add)) {
        Ok(SetOutcome::NotStored) => {}
        refused => drop(fails_with(refused, "value_too_large")?),
    }
    holds(&mut *session, &key, b"old").map(drop)
}

fn a_refused_large_replace_leaves_the_value_that_is_there(fixture: &Fixture) -> Result<(), Failed> {
    stays(fixture, |_| SetMode::Replace)
}

fn a_refused_large_cas_leaves_the_value_that_is_there(fixture: &Fixture) -> Result<(), Failed> {
    stays(fixture, |version| SetMode::Cas(version.unwrap_or_default()))
}

fn a_refused_large_append_leaves_the_value_that_is_there(fixture: &Fixture) -> Result<(), Failed> {
    stays(fixture, |_| SetMode::Append)
}

/// A large value is refused in a mode that may depend on the existing version, and the old value stays.
fn stays(fixture: &Fixture, in_mode: fn(Option<u64>) -> SetMode) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"old")?;
    let version = holds(&mut *session, &key, b"old")?.version;
    let refused = session.set(&key, &too_large(fixture)?, &mode(in_mode(version)));
    fails_with(refused, "value_too_large")?;
    holds(&mut *session, &key, b"old").map(drop)
}

fn too_large(fixture: &Fixture) -> Result<Vec<u8>, Failed> {
    let limit = fixture.capabilities()?.max_value_len.ok_or("no value limit")?;
    Ok(vec![7; limit + 1])
}

fn an_empty_key_is_a_key_or_is_refused(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    match session.set(b"", b"value", &SetOptions::default()) {
        Ok(_) => {
            holds(&mut *session, b"", b"value")?;
            ensure!(session.delete(b"")?, "delete of the empty key is false");
            lacks(&mut *session, b"")
        }
        refused => {
            fails_with(refused, "invalid_key")?;
            fails_with(session.get(b"", &mut Vec::new()), "invalid_key").map(drop)
        }
    }
}
