//! Reads by the beginning of the key.

use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, put, put_with};
use super::super::fixture::Fixture;
use super::super::ttl::{outlive, short_ttl, with_ttl};
use super::{agrees, by_prefix};
use crate::Random;

pub(in super::super) const CASES: &[Case] = &[
    case!(a_prefix_finds_exactly_the_keys_that_begin_with_it, GROUPS),
    case!(a_prefix_is_bytes_and_not_a_pattern, GROUPS),
    case!(a_prefix_of_the_highest_bytes_finds_its_keys, GROUPS),
    case!(an_empty_prefix_finds_every_entry, GROUPS),
    case!(a_prefix_that_is_longer_than_any_key_finds_nothing, GROUPS),
    case!(a_prefix_finds_values_of_all_sizes, GROUPS),
    case!(a_prefix_finds_neither_expired_nor_deleted_entries, GROUPS, TTL),
    case!(a_prefix_tells_flags_and_versions, GROUPS, FLAGS, VERSION),
];

fn a_prefix_finds_exactly_the_keys_that_begin_with_it(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let names = ["a", "ab", "abc", "abcd", "abd", "ac", "b", "A", "Ab", "aB"];
    let keys = names.map(|name| fixture.key(name));
    for key in &keys {
        put(&mut *session, key, key)?;
    }
    for prefix in ["", "a", "ab", "abc", "abcd", "abcde", "A", "b", "c"].map(|p| fixture.key(p)) {
        let wanted: Vec<(&[u8], &[u8])> = keys
            .iter()
            .filter(|key| key.starts_with(&prefix))
            .map(|key| (key.as_slice(), key.as_slice()))
            .collect();
        agrees(&by_prefix(&mut *session, &prefix)?, &wanted)?;
    }
    Ok(())
}

/// A character with a meaning in a query language is an ordinary byte here.
fn a_prefix_is_bytes_and_not_a_pattern(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let base = fixture.key("");
    let tails: [&[u8]; 16] = [
        b"%",
        b"_",
        b"\\",
        b"\\%",
        b"*",
        b"?",
        b".",
        b".*",
        b"[a",
        b"^",
        b"$",
        b"'",
        b"\"",
        b"\0",
        b" ",
        b"\xc3\xa4",
    ];
    let mut keys: Vec<Vec<u8>> = Vec::new();
    for tail in tails {
        for end in [&b""[..], b"x"] {
            let key = [&base, tail, end].concat();
            // Some protocols cannot carry every byte in a key, and refuse it.
            match session.set(&key, &key, &larder_store::SetOptions::default()) {
                Err(error) if error.kind() == "invalid_key" => {}
                done => {
                    done?;
                    keys.push(key);
                }
            }
        }
    }
    for prefix in &keys {
        let wanted: Vec<(&[u8], &[u8])> = keys
            .iter()
            .filter(|key| key.starts_with(prefix))
            .map(|key| (key.as_slice(), key.as_slice()))
            .collect();
        agrees(&by_prefix(&mut *session, prefix)?, &wanted)?;
    }
    Ok(())
}

/// The end of a range is the prefix with its last byte incremented, and 0xff has no successor.
fn a_prefix_of_the_highest_bytes_finds_its_keys(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let base = fixture.key("");
    let tails: [&[u8]; 8] = [
        b"",
        b"\xfe",
        b"\xfe\xff",
        b"\xff",
        b"\xff\0",
        b"\xff\xff",
        b"\xff\xff\0",
        b"\xff\xff\xff\x01",
    ];
    let keys = tails.map(|tail| [&base, tail].concat());
    // A key above all other keys of the store, where a range has no end.
    let top = [&[0xff; 3], &base[..]].concat();
    for key in keys.iter().chain([&top]) {
        match session.set(key, key, &larder_store::SetOptions::default()) {
            Err(error) if error.kind() == "invalid_key" => return Ok(()),
            done => drop(done?),
        }
    }
    for prefix in &keys {
        let wanted: Vec<(&[u8], &[u8])> = keys
            .iter()
            .filter(|key| key.starts_with(prefix))
            .map(|key| (key.as_slice(), key.as_slice()))
            .collect();
        agrees(&by_prefix(&mut *session, prefix)?, &wanted)?;
    }
    for prefix in [&top[..1], &top[..3], &top[..]] {
        let found = by_prefix(&mut *session, prefix)?;
        ensure!(found.contains_key(&top), "the key above all others is missing");
        let begins = |key: &Vec<u8>| key.starts_with(prefix);
        ensure!(found.keys().all(begins), "a key below the prefix was found");
    }
    Ok(())
}

fn an_empty_prefix_finds_every_entry(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let mut session = store.session()?;
    let keys: Vec<_> = (0..50).map(|i| fixture.key(i)).collect();
    for key in &keys {
        put(&mut *session, key, b"value")?;
    }
    // A server may also hold entries of other users.
    let found = by_prefix(&mut *session, b"")?;
    let n_found = keys.iter().filter(|key| found.contains_key(*key)).count();
    ensure_eq!(n_found, keys.len(), "entries that were found");
    Ok(())
}

fn a_prefix_that_is_longer_than_any_key_finds_nothing(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("k");
    put(&mut *session, &key, b"value")?;
    let mut longer = key.clone();
    longer.resize(fixture.capabilities()?.max_key_len.unwrap_or(1 << 10) + 1, b'k');
    agrees(&by_prefix(&mut *session, &longer)?, &[])?;
    agrees(&by_prefix(&mut *session, &key)?, &[(&key, b"value")])
}

fn a_prefix_finds_values_of_all_sizes(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let mut random = Random::new(8);
    let entries: Vec<_> = [0, 1, 100, 4000, 5000, 70_000, 300_000]
        .map(|len| (fixture.key(len), random.bytes(len)))
        .into_iter()
        .collect();
    for (key, value) in &entries {
        put(&mut *session, key, value)?;
    }
    let wanted: Vec<(&[u8], &[u8])> =
        entries.iter().map(|(key, value)| (key.as_slice(), value.as_slice())).collect();
    agrees(&by_prefix(&mut *session, &fixture.key(""))?, &wanted)
}

fn a_prefix_finds_neither_expired_nor_deleted_entries(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let [mortal, dead, deleted, lasting] =
        ["mortal", "dead", "deleted", "lasting"].map(|name| fixture.key(name));
    let ttl = short_ttl(fixture)?;
    put(&mut *session, &lasting, b"l")?;
    put(&mut *session, &deleted, b"d")?;
    session.delete(&deleted)?;
    put_with(&mut *session, &dead, b"0", &with_ttl(std::time::Duration::ZERO))?;
    put_with(&mut *session, &mortal, b"m", &with_ttl(ttl))?;
    outlive(fixture, ttl)?;
    agrees(&by_prefix(&mut *session, &fixture.key(""))?, &[(&lasting, b"l")])
}

fn a_prefix_tells_flags_and_versions(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let options = larder_store::SetOptions { flags: 4711, ..Default::default() };
    put_with(&mut *session, &key, b"value", &options)?;
    let read = session.get(&key, &mut Vec::new())?.ok_or("a miss")?;
    let found = by_prefix(&mut *session, &key)?;
    let (_, meta) = found.get(&key).ok_or("it was not found")?;
    ensure_eq!((meta.flags, meta.version), (4711, read.version), "flags and version");
    Ok(())
}
