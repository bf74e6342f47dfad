//! Namespaces that come and go beside the keys of the workers. Their values say which namespace they are of, so that nobody
//! reads another one's under a number that was given back.

#![expect(clippy::cast_possible_truncation, reason = "a random number is cut anyway")]

use std::sync::Arc;

use larder_segment::{Cache, Condition, Failed, Set};

/// The names. The table has room for fewer, so that each is given the number of another one.
const NAMES: [&str; 3] = ["one", "another", "a third"];

/// Keys of each.
const KEYS: u64 = 8;

/// The values that were found, and those that another namespace stored.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) right: u64,
    pub(crate) wrong: u64,
}

/// Works for a while in one of the namespaces, with these random numbers, and now and then clears or removes it.
pub(crate) fn work(cache: &Arc<Cache>, mut any: impl FnMut() -> u64) -> Result<Found, Failed> {
    let name = NAMES[any() as usize % NAMES.len()];
    let mut found = Found::default();
    // There may be no room for it now, or somebody is stopped who holds the lock of the table.
    let Ok(namespace) = cache.namespace(name) else { return Ok(found) };
    let mut session = namespace.session();
    let mut value = Vec::new();
    for _ in 0..any() % 32 {
        let key = (any() % KEYS).to_le_bytes();
        if any().is_multiple_of(2) {
            let len = any() % if any().is_multiple_of(64) { 40_000 } else { 3000 };
            let written: Vec<u8> = name.bytes().cycle().take(len as usize).collect();
            let condition = [Condition::None, Condition::Absent][any() as usize % 2];
            match session.set(&key, &written, &Set { condition, ..Set::default() }) {
                Ok(_) | Err(Failed::Removed) => {}
                Err(other) => return Err(other),
            }
        } else if session.get(&key, &mut value).is_some() {
            let is_own = name.bytes().cycle().zip(&value).all(|(wanted, is)| wanted == *is);
            found.right += u64::from(is_own);
            found.wrong += u64::from(!is_own);
        }
    }
    match any() % 8 {
        0 => namespace.clear(),
        1..4 => _ = cache.remove_namespace(name),
        _ => {}
    }
    Ok(found)
}
