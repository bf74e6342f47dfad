//! Reads by prefix and by tag.

use std::collections::BTreeMap;

use larder_store::{Error, Groups, Meta, Session, SetMode, SetOptions, SetOutcome};
use libtest_mimic::Failed;

use super::expect::{ensure, mode, same, shown};

pub(super) mod prefix;
pub(super) mod refusals;
pub(super) mod tags;
pub(super) mod together;

/// The found entries by their keys, each once.
type Found = BTreeMap<Vec<u8>, (Vec<u8>, Meta)>;

/// The interface of a session for groups, which its capabilities promise.
pub(super) fn groups(session: &mut dyn Session) -> larder_store::Result<&mut dyn Groups> {
    let engine = session.engine();
    session.groups().ok_or(Error::Unsupported { engine, operation: "groups" })
}

/// Collects the entries that a read finds; an entry that comes twice fails the case.
fn collect(
    read: impl FnOnce(&mut larder_store::FoundEntry<'_>) -> larder_store::Result<()>,
) -> Result<Found, Failed> {
    let mut found = Found::new();
    let mut twice = None;
    read(&mut |key, value, meta| {
        if found.insert(key.to_vec(), (value.to_vec(), meta)).is_some() {
            twice = Some(key.to_vec());
        }
    })?;
    match twice {
        Some(key) => Err(Failed::from(format!("{} was found twice", shown(&key)))),
        None => Ok(found),
    }
}

/// The entries whose keys begin with `prefix`.
pub(super) fn by_prefix(session: &mut dyn Session, prefix: &[u8]) -> Result<Found, Failed> {
    collect(|found| groups(session)?.get_prefix(prefix, found))
}

/// The entries with this tag.
pub(super) fn by_tag(session: &mut dyn Session, tag: &[u8]) -> Result<Found, Failed> {
    collect(|found| groups(session)?.get_tag(tag, found))
}

/// Stores a tagged value that the store must accept.
pub(super) fn put_tagged(
    session: &mut dyn Session,
    key: &[u8],
    value: &[u8],
    tag: &[u8],
) -> Result<(), Failed> {
    let outcome = groups(session)?.set_tagged(key, value, &SetOptions::default(), tag)?;
    ensure!(outcome.is_stored(), "tagged set of {} stores nothing", shown(key));
    Ok(())
}

/// A tagged set in this mode, and its outcome.
fn set_tagged(
    session: &mut dyn Session,
    key: &[u8],
    value: &[u8],
    condition: SetMode,
    tag: &[u8],
) -> larder_store::Result<SetOutcome> {
    groups(session)?.set_tagged(key, value, &mode(condition), tag)
}

/// The tag finds exactly these entries.
fn holds_exactly(
    session: &mut dyn Session,
    tag: &[u8],
    wanted: &[(&[u8], &[u8])],
) -> Result<(), Failed> {
    agrees(&by_tag(session, tag)?, wanted)
}

/// The found entries are exactly the wanted entries, each key with its value.
pub(super) fn agrees(found: &Found, wanted: &[(&[u8], &[u8])]) -> Result<(), Failed> {
    for (key, value) in wanted {
        let (found, _) = found.get(*key).ok_or_else(|| format!("{} is missing", shown(key)))?;
        same(key, found, value)?;
    }
    let other = found.keys().find(|key| !wanted.iter().any(|(wanted, _)| wanted == key));
    ensure!(other.is_none(), "{} does not belong to it", shown(other.map_or(b"", |key| key)));
    Ok(())
}
