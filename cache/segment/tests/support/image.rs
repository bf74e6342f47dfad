//! A file that is damaged in every way: its first content, the changes, and the operations on it
//! afterwards.
//!
//! No damage may end or stop a process, and no key may ever have a value that was not stored under it.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use larder_segment::{Cache, Condition, Cursor, Options, Session, Set, Survey};
use rapidhash::v3::rapidhash_v3;

const SIZE: usize = 1 << 20;
const OPTIONS: Options = Options { item: 512, ..Options::of_size(SIZE) };

/// Keys of the image, more than it has room for.
const KEYS: u32 = 400;

/// Words of the superblock that are summed, and where the sum is.
const SUMMED: usize = 14 * 8;
/// Where the namespaces begin, of 64 bytes each. The lines of counters follow.
const NAMES_AT: usize = 4096;
/// The part of a partition before the words of its segments, on which the notes follow.
const BEFORE_NOTES: usize = 8704;

fn name(key: u32) -> Vec<u8> {
    format!("key-{key}").into_bytes()
}

/// The value of a key: longer than a record for some.
fn value(key: u32) -> Vec<u8> {
    let len = match key % 100 {
        0 => 9000 + key as usize * 17 % 20_000,
        1..60 => 2000 + key as usize * 31 % 5000,
        _ => 20 + key as usize * 7 % 900,
    };
    key.to_le_bytes().iter().copied().cycle().take(len).collect()
}

/// The bytes that an append stores under an absent key.
const APPENDED: &[u8] = b"more";

/// A whole file, full of entries.
pub(crate) fn made(folder: &Path) -> Vec<u8> {
    let path = folder.join("image");
    let cache = Cache::open(&path, &OPTIONS).unwrap();
    let mut session = cache.session();
    for key in 0..KEYS {
        let ttl = (key % 3 == 0).then(|| Duration::from_secs(1 << (key % 20)));
        let set = Set { ttl, flags: key % 5, ..Set::default() };
        session.set(&name(key), &value(key), &set).unwrap();
        session.get(&name(key / 2), &mut Vec::new());
    }
    let mut other = cache.namespace("other").unwrap().session();
    other.set(b"key", &value(1), &Set::default()).unwrap();
    drop((session, other, cache));
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    bytes
}

/// The offset of the first partition's notes on segments, of four words each, and their number.
pub(crate) fn notes(image: &[u8]) -> (usize, usize) {
    let number = |at: usize| number(image, at);
    (partition_at(image) + BEFORE_NOTES + number(32) * 8, number(32))
}

/// Where the first partition begins, behind the namespaces and the lines of counters.
fn partition_at(image: &[u8]) -> usize {
    NAMES_AT + number(image, 72) * 64 + number(image, 64) * 128
}

fn number(image: &[u8], at: usize) -> usize {
    let bytes = image[at..].first_chunk().copied();
    usize::try_from(u64::from_ne_bytes(bytes.unwrap())).unwrap()
}

/// Changes an image by the bytes of `how`, eleven for each change. They choose the part, the way, the place and the
/// value.
pub(crate) fn damage(image: &mut [u8], how: &[u8]) {
    let number = |at: usize| number(image, at);
    let (segments, segment_len, buckets) = (number(32), number(40), number(48));
    let partition = partition_at(image);
    // The records end with the file, but for less than a page.
    let records = (SIZE - segments * segment_len).saturating_sub(4096);
    let index = records - buckets * 64;
    let notes = partition..notes(image).0 + segments * 32;
    let parts = [notes.clone(), notes, index..records, records..SIZE, partition..SIZE, 256..SIZE];
    // A file with a changed description is mostly refused, so only one in eight changes it.
    let all = 16..SUMMED;
    let is_described = how.first().is_some_and(|first| first % 8 != 0);
    for (change, how) in how.chunks_exact(11).enumerate() {
        let (place, what) = how.split_at(3);
        let part = &parts[usize::from(place[0] % 8) % parts.len()];
        let part = if is_described || change > 0 { part } else { &all };
        let word = (usize::from(place[1]) << 8 | usize::from(place[2])) * 8;
        let at = (part.start + word % part.len().max(8)).min(SIZE - 8) / 8 * 8;
        let what = u64::from_ne_bytes(*what.first_chunk().unwrap());
        // The change is of one word, or of the same word in the notes on all segments.
        let times = if place[0] & 8 == 0 { 1 } else { segments };
        for at in (at..SIZE - 8).step_by(32).take(times) {
            let to: &mut [u8; 8] = image[at..].first_chunk_mut().unwrap();
            let was = u64::from_ne_bytes(*to);
            let becomes = match place[0] >> 4 {
                0..4 => what,
                4..8 => was ^ 1 << (what % 64),
                8..12 => was.wrapping_add(what % 1024),
                _ => was & 0xffff_ffff | what << 32,
            };
            *to = becomes.to_ne_bytes();
        }
    }
    // With a wrong checksum nothing else would be read.
    let sum = rapidhash_v3(&image[..SUMMED]);
    image[SUMMED..SUMMED + 8].copy_from_slice(&sum.to_ne_bytes());
}

/// Opens a damaged image and does every operation with it.
pub(crate) fn try_all(folder: &Path, image: &[u8]) {
    let path = folder.join("damaged");
    fs::write(&path, image).unwrap();
    if let Ok(cache) = Cache::open(&path, &OPTIONS) {
        look(&mut cache.session());
        let _ = (cache.stats().evictions(), cache.survey());
        change(&mut cache.session());
        look(&mut cache.session());
        if let Ok(namespace) = cache.namespace("other") {
            let mut session = namespace.session();
            let mut found = Vec::new();
            assert!(session.get(b"key", &mut found).is_none() || found == value(1));
            let _ = session.set(b"key", &value(1), &Set::default());
            namespace.clear();
            let _ = cache.remove_namespace("other");
        }
        walk(&cache.session());
        cache.clear();
        let mut session = cache.session();
        change(&mut session);
        look(&mut session);
        let _ = (cache.stats().evictions(), cache.survey());
    }
    let _ = Survey::of_file(&path);
    fs::remove_file(&path).unwrap();
}

/// Each key that a walk finds has been stored. The length of its value may be damaged.
fn walk(session: &Session) {
    let keys: HashSet<Vec<u8>> = (0..KEYS).map(name).collect();
    let mut next = Some(Cursor::default());
    while let Some(from) = next {
        next = session.scan(from, 50, &mut |key, _| {
            assert!(keys.contains(key), "{key:?} was never stored");
        });
    }
}

/// Whether each key has its value, or that with what was appended, or none.
fn look(session: &mut Session) {
    let keys: Vec<Vec<u8>> = (0..KEYS).map(name).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut key = 0..KEYS;
    for keys in keys.chunks(100) {
        let numbers: Vec<u32> = key.by_ref().take(keys.len()).collect();
        session.get_many(keys, &mut |i, found, entry| {
            let (first, rest) = found.split_at(found.len().min(value(numbers[i]).len()));
            assert_eq!(first, value(numbers[i]), "{}", numbers[i]);
            assert!(rest.chunks(APPENDED.len()).all(|more| more == APPENDED), "{}", numbers[i]);
            let _ = entry.ttl.map(|ttl| ttl.as_millis());
        });
    }
}

/// Changes more keys than there is room for, in every way.
fn change(session: &mut Session) {
    for key in 0..KEYS {
        let (name, value) = (name(key), value(key));
        let set = |condition| Set { condition, ..Set::default() };
        let _ = match key % 11 {
            0 => session.delete(&name).is_ok(),
            1 => session.set(&name, APPENDED, &set(Condition::Append)).is_ok(),
            2 => session.touch(&name, Some(Duration::from_secs(9))).is_ok(),
            3 => session.expire(&name, None).is_ok(),
            4 => {
                let token = session.token(&name);
                session.set(&name, &value, &set(Condition::Unchanged(token))).is_ok()
            }
            5 => {
                let entry = session.get(&name, &mut Vec::new());
                let condition = entry.map_or(Condition::Absent, |e| Condition::Version(e.version));
                session.set(&name, &value, &set(condition)).is_ok()
            }
            _ => session.set(&name, &value, &Set::default()).is_ok(),
        };
    }
}
