//! Sets whose condition no longer holds, or holds only because an entry is unreadable.

mod support;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use larder_segment::{Cache, Condition, Options, Outcome, Session, Set};
use support::folder;

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };

fn set(session: &mut Session, value: &[u8], condition: Condition) -> Outcome {
    session.set(b"key", value, &Set { condition, ..Set::default() }).expect("room")
}

#[test]
fn what_was_loaded_before_a_clear_fills_nothing() {
    let cache = Cache::private(&SMALL).expect("a region");
    let namespace = cache.namespace("app").expect("a namespace");
    let (mut all, mut own) = (cache.session(), namespace.session());
    let [before_all, before_own] = [all.token(b"key"), own.token(b"key")];
    namespace.clear();
    assert_eq!(set(&mut own, b"old", Condition::Unchanged(before_own)), Outcome::NotStored);
    // A clear of the namespace does not clear the other keys.
    assert!(matches!(set(&mut all, b"new", Condition::Unchanged(before_all)), Outcome::Stored(_)));
    let [before_all, before_own] = [all.token(b"key"), own.token(b"key")];
    cache.clear();
    assert_eq!(set(&mut all, b"old", Condition::Unchanged(before_all)), Outcome::NotStored);
    assert_eq!(set(&mut own, b"old", Condition::Unchanged(before_own)), Outcome::NotStored);
    assert_eq!(cache.stats().refused_fills, 3);
    let token = all.token(b"key");
    assert!(matches!(set(&mut all, b"new", Condition::Unchanged(token)), Outcome::Stored(_)));
}

/// Changes a byte of a file, `by` bytes before the first place of `what`.
fn damage(path: &Path, what: &[u8], by: usize) {
    let bytes = std::fs::read(path).expect("the file");
    let at = bytes.windows(what.len()).position(|window| window == what).expect("it is there");
    let file = OpenOptions::new().write(true).open(path).expect("the file");
    file.write_all_at(&[bytes[at - by].wrapping_add(1)], (at - by) as u64).expect("a byte");
}

#[test]
fn what_nobody_can_read_is_absent() {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &SMALL).expect("a region");
    set(&mut cache.session(), b"a value of its own", Condition::None);
    drop(cache);
    damage(&path, b"a value of its own", 0);
    let cache = Cache::open(&path, &SMALL).expect("the region");
    let mut session = cache.session();
    assert!(session.get(b"key", &mut Vec::new()).is_none());
    assert!(matches!(set(&mut session, b"another", Condition::Absent), Outcome::Stored(_)));
    assert_eq!(set(&mut session, b"a third", Condition::Absent), Outcome::NotStored);
    let mut value = Vec::new();
    assert!(session.get(b"key", &mut value).is_some());
    assert_eq!((&value[..], cache.stats().items), (&b"another"[..], 1));
}

#[test]
fn a_record_is_of_no_other_generation_than_it_was_stored_in() {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &SMALL).expect("a region");
    let namespace = cache.namespace("app").expect("a namespace");
    set(&mut namespace.session(), b"a value of its own", Condition::None);
    namespace.clear();
    drop((namespace, cache));
    // Before the key stands the word with the generation, the lowest byte of which is its second.
    damage(&path, b"keya value of its own", 7);
    let cache = Cache::open(&path, &SMALL).expect("the region");
    let mut session = cache.namespace("app").expect("the namespace").session();
    assert!(session.get(b"key", &mut Vec::new()).is_none());
}
