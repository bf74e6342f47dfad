//! Assertions that many cases share, with messages that show both sides.

use larder_store::{Error, Meta, Session, SetMode, SetOptions};
use libtest_mimic::Failed;

/// Fails the case with a message unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(libtest_mimic::Failed::from(format!($($message)+)));
        }
    };
}
pub(super) use ensure;

/// Fails the case with both sides unless they are equal.
macro_rules! ensure_eq {
    ($left:expr, $right:expr, $($message:tt)+) => {
        match (&$left, &$right) {
            (left, right) => $crate::contract::expect::ensure!(
                left == right,
                "{}: {left:?}, not {right:?}",
                format_args!($($message)+)
            ),
        }
    };
}
pub(super) use ensure_eq;

/// Stores a value that the store must accept.
pub(super) fn put(session: &mut dyn Session, key: &[u8], value: &[u8]) -> Result<(), Failed> {
    put_with(session, key, value, &SetOptions::default())
}

/// As [`put`], with options.
pub(super) fn put_with(
    session: &mut dyn Session,
    key: &[u8],
    value: &[u8],
    options: &SetOptions,
) -> Result<(), Failed> {
    let outcome = session.set(key, value, options)?;
    ensure!(outcome.is_stored(), "set of {} stores nothing", shown(key));
    Ok(())
}

/// Options with a mode and nothing else.
pub(super) fn mode(mode: SetMode) -> SetOptions {
    SetOptions { mode, ..SetOptions::default() }
}

/// The key is there with exactly this value.
pub(super) fn holds(session: &mut dyn Session, key: &[u8], value: &[u8]) -> Result<Meta, Failed> {
    // Old bytes in the buffer must not show through.
    let mut found = b"left from before".to_vec();
    let meta = session.get(key, &mut found)?;
    let meta = meta.ok_or_else(|| format!("{} is a miss, not a hit", shown(key)))?;
    same(key, &found, value)?;
    Ok(meta)
}

/// The key is not there, and a miss leaves the buffer empty.
pub(super) fn lacks(session: &mut dyn Session, key: &[u8]) -> Result<(), Failed> {
    let mut found = b"left from before".to_vec();
    let meta = session.get(key, &mut found)?;
    ensure!(meta.is_none(), "{} is a hit of {} bytes, not a miss", shown(key), found.len());
    ensure!(found.is_empty(), "a miss left {} bytes in the buffer", found.len());
    Ok(())
}

/// Whether the key is there.
pub(super) fn is_there(session: &mut dyn Session, key: &[u8]) -> Result<bool, Failed> {
    Ok(session.get(key, &mut Vec::new())?.is_some())
}

/// Two values are equal; the message is short even for long values.
pub(super) fn same(key: &[u8], found: &[u8], wanted: &[u8]) -> Result<(), Failed> {
    if found == wanted {
        return Ok(());
    }
    let first = found.iter().zip(wanted).position(|(a, b)| a != b);
    let first = first.unwrap_or(found.len().min(wanted.len()));
    Err(Failed::from(format!(
        "{} has {} bytes, not {}; the first difference is at byte {first}",
        shown(key),
        found.len(),
        wanted.len(),
    )))
}

/// The call failed with this kind of error and one lower-case line.
pub(super) fn fails_with<T: std::fmt::Debug>(
    result: larder_store::Result<T>,
    kind: &str,
) -> Result<Error, Failed> {
    match result {
        Ok(value) => Err(Failed::from(format!("answered {value:?}, not an error `{kind}`"))),
        Err(error) => {
            ensure_eq!(error.kind(), kind, "the error `{error}` is of kind");
            ensure!(!error.to_string().contains('\n'), "the error has several lines: {error}");
            Ok(error)
        }
    }
}

/// A key for messages: as text, cut where it is long.
pub(super) fn shown(key: &[u8]) -> String {
    let cut = &key[..key.len().min(48)];
    let more = if cut.len() < key.len() { "…" } else { "" };
    format!("`{}{more}`", cut.escape_ascii())
}
