//! Namespaces, with keys of their own in one region, across processes, generations and damage.

mod support;

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use larder_segment::{
    Cache, Condition, Failed, LONGEST_NAMESPACE, MOST_NAMESPACES, Options, Outcome, Session, Set,
};
use support::folder;

/// Where the table of names is, the bytes of an entry, and the entries of a region of a MiB.
const TABLE: u64 = 4096;
const ENTRY: u64 = 64;
const NAMES: u64 = 64;

/// The file that the other process opens.
const FILE: &str = "LARDER_NAMESPACE_FILE";

fn set(session: &mut Session, key: &[u8], value: &[u8]) {
    let outcome = session.set(key, value, &Set::default());
    assert!(matches!(outcome, Ok(Outcome::Stored(_))), "{outcome:?}");
}

fn found(session: &mut Session, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    session.get(key, &mut value).map(|_| value)
}

/// Not a test: the other process of the test below.
#[test]
#[ignore = "the other process of the test below"]
fn other_process() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let cache = Cache::existing(Path::new(&file)).unwrap().unwrap();
    let (mut ours, mut theirs) =
        (cache.namespace("second").unwrap(), cache.namespace("first").unwrap().session());
    assert_eq!(found(&mut theirs, b"key").unwrap(), b"of the first");
    let mut session = ours.session();
    assert_eq!(found(&mut session, b"key"), None);
    set(&mut session, b"key", b"lost");
    ours.clear();
    assert_eq!(found(&mut session, b"key"), None);
    ours = cache.namespace("second").unwrap();
    set(&mut ours.session(), b"key", &vec![7; 50_000]);
    set(&mut theirs, b"other", b"from there");
}

#[test]
fn two_processes_have_keys_of_their_own_and_clear_only_these() {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &Options::of_size(4 << 20)).unwrap();
    let first = cache.namespace("first").unwrap();
    let (mut session, mut root) = (first.session(), cache.session());
    set(&mut session, b"key", b"of the first");
    set(&mut root, b"key", b"of none");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["other_process", "--exact", "--ignored"]).env(FILE, &path);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(found(&mut session, b"key").unwrap(), b"of the first");
    assert_eq!(found(&mut session, b"other").unwrap(), b"from there");
    let mut second = cache.namespace("second").unwrap().session();
    assert_eq!(found(&mut second, b"key").unwrap(), vec![7; 50_000]);
    first.clear();
    assert_eq!(found(&mut session, b"key"), None);
    assert_eq!(found(&mut second, b"key").unwrap(), vec![7; 50_000]);
    assert_eq!(found(&mut root, b"key").unwrap(), b"of none");
    drop((cache, first, session, second, root));
    // The namespaces outlive all processes that have them open.
    let cache = Cache::existing(&path).unwrap().unwrap();
    let mut second = cache.namespace("second").unwrap().session();
    assert_eq!(found(&mut second, b"key").unwrap(), vec![7; 50_000]);
    assert_eq!(found(&mut cache.namespace("first").unwrap().session(), b"key"), None);
    cache.clear();
    assert_eq!(found(&mut second, b"key"), None);
}

#[test]
fn the_longest_key_and_the_largest_value_have_room_in_a_namespace() {
    let max_key = (64 << 10) + 1;
    let refused = Cache::private(&Options { max_key, ..Options::of_size(32 << 20) }).unwrap_err();
    assert!(refused.to_string().contains("at most 65536"), "{refused}");
    let max_key = 64 << 10;
    let cache = Cache::private(&Options { max_key, ..Options::of_size(32 << 20) }).unwrap();
    let mut session = cache.namespace(&"n".repeat(LONGEST_NAMESPACE)).unwrap().session();
    let (mut key, value) = (vec![1; max_key], vec![2; cache.max_value()]);
    set(&mut session, &key, &value);
    assert_eq!(found(&mut session, &key).unwrap(), value);
    assert_eq!(found(&mut cache.session(), &key), None);
    key.push(1);
    assert!(session.set(&key, b"", &Set::default()).is_err());
}

#[test]
fn what_was_cleared_gives_way_to_the_same_keys_and_to_others() {
    let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
    let namespace = cache.namespace("app").unwrap();
    let (mut session, mut root) = (namespace.session(), cache.session());
    // The keys are read so often that they would be kept.
    let fill = |session: &mut Session| {
        for key in 0..1000_u32 {
            set(session, &key.to_le_bytes(), &[0; 200]);
        }
        for _ in 0..4 {
            (0..1000_u32).for_each(|key| drop(found(session, &key.to_le_bytes())));
        }
    };
    for _ in 0..40 {
        fill(&mut session);
        assert_eq!(cache.stats().items, 1000, "an older generation is replaced by its keys");
        namespace.clear();
    }
    let before = cache.stats();
    for key in 0..8000_u32 {
        set(&mut root, &key.to_le_bytes(), &[1; 200]);
    }
    // A segment may hold the last cleared records and the first of the others.
    let moved = cache.stats().moved - before.moved;
    assert!(moved < 100, "{moved} moved: what was cleared is not kept");
}

/// Entries of a small namespace lie among entries without a namespace, which are in use or not. The following sets need twice
/// the room of the small namespace. The result is the number of entries that they move, and the number of other entries that
/// are left.
fn moved_for_room(is_in_use: bool, is_cleared: bool) -> (u64, usize) {
    let cache = Cache::private(&Options::of_size(4 << 20)).expect("a region");
    let small = cache.namespace("small").expect("a name");
    let (mut of_small, mut root) = (small.session(), cache.session());
    let all = 16_500_u32;
    for key in 0..all {
        set(&mut root, &key.to_le_bytes(), &[1; 200]);
        if key % 20 == 0 {
            set(&mut of_small, &key.to_le_bytes(), &[2; 200]);
        }
    }
    if is_in_use {
        (0..all).for_each(|key| drop(found(&mut root, &key.to_le_bytes())));
    }
    if is_cleared {
        small.clear();
    }
    let before = cache.stats().moved;
    for key in 0..all / 10 {
        set(&mut root, &(all + key).to_le_bytes(), &[3; 200]);
    }
    let moved = cache.stats().moved - before;
    let there = (0..all).filter(|key| found(&mut root, &key.to_le_bytes()).is_some());
    (moved, there.count())
}

#[test]
fn what_is_left_of_a_cleared_namespace_moves_no_more_of_others_than_eviction_does() {
    for is_in_use in [false, true] {
        let (moved, there) = moved_for_room(is_in_use, false);
        let (cleared, left) = moved_for_room(is_in_use, true);
        let most = moved + moved / 10 + 50;
        assert!(
            cleared <= most,
            "{cleared} moved after the clear, {moved} without it: {is_in_use}"
        );
        // What eviction takes depends on chance by a few entries.
        assert!(
            left + 50 >= there,
            "{left} there after the clear, {there} without it: {is_in_use}"
        );
    }
}

#[test]
fn a_token_from_before_a_clear_is_worth_nothing_where_the_key_was_deleted() {
    let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
    let namespace = cache.namespace("app").unwrap();
    let mut session = namespace.session();
    let token = session.token(b"key");
    session.delete(b"key").unwrap();
    namespace.clear();
    let fill = Set { condition: Condition::Unchanged(token), ..Set::default() };
    assert_eq!(session.set(b"key", b"old", &fill), Ok(Outcome::NotStored));
}

#[test]
fn names_that_cannot_be_are_refused_in_one_line() {
    let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
    let refused = |name: &str| cache.namespace(name).unwrap_err().to_string();
    assert_eq!(refused(""), "a namespace of 0 bytes: its name has 1 to 48");
    assert_eq!(refused(&"n".repeat(49)), "a namespace of 49 bytes: its name has 1 to 48");
    for number in 0..64_u8 {
        set(&mut cache.namespace(&number.to_string()).unwrap().session(), b"key", &[number]);
    }
    let full = refused("one more");
    assert!(full.contains("has room for 64 namespaces, and none for this one"), "{full}");
    for number in 0..64_u8 {
        let mut session = cache.namespace(&number.to_string()).unwrap().session();
        assert_eq!(found(&mut session, b"key").unwrap(), [number]);
    }
}

#[test]
fn a_region_has_room_for_as_many_namespaces_as_are_asked_for() {
    let of = |size, namespaces| {
        Cache::private(&Options { namespaces: Some(namespaces), ..Options::of_size(size) })
    };
    for (size, asked, least) in [(1 << 20, 1, 1), (1 << 20, 1024, 820), (64 << 20, 65_535, 52_000)]
    {
        let cache = of(size, asked).unwrap();
        let there = (0..asked).take_while(|n| cache.namespace(&n.to_string()).is_ok()).count();
        assert!(there >= least, "{there} of {asked} in {size} bytes");
        let mut last = cache.namespace(&(there - 1).to_string()).unwrap().session();
        set(&mut last, b"key", b"value");
        assert_eq!(found(&mut last, b"key").unwrap(), b"value");
        assert_eq!(cache.survey().namespaces.len(), there);
    }
    for (size, asked, most) in [(1 << 20, 1025, 1024), (1 << 30, MOST_NAMESPACES + 1, 65_535)] {
        let wanted = format!("a region of this size has it for {most} at most");
        assert!(of(size, asked).unwrap_err().to_string().contains(&wanted));
    }
}

#[test]
fn a_removed_namespace_gives_its_place_to_another_which_finds_nothing_of_it() {
    // For entries of this size the index begins with two slots each: it has not to grow, and none of its buckets is full.
    let options = Options { namespaces: Some(1), item: 400, ..Options::of_size(1 << 20) };
    let cache = Cache::private(&options).unwrap();
    let old = cache.namespace("old").unwrap();
    let mut of_old = old.session();
    for key in 0..200_u32 {
        set(&mut of_old, &key.to_le_bytes(), &[1; 1000]);
    }
    set(&mut of_old, b"large", &vec![1; 100_000]);
    assert!(cache.namespace("new").is_err(), "there is room for one");
    assert!(!cache.remove_namespace("none").unwrap());
    assert!(cache.remove_namespace("old").unwrap());
    assert!(!cache.remove_namespace("old").unwrap());
    assert!(cache.existing_namespace("old").is_none());
    let new = cache.namespace("new").unwrap();
    let mut of_new = new.session();
    assert_eq!(found(&mut of_new, b"large"), None);
    set(&mut of_new, b"large", b"new");

    // A session of the removed one neither sees nor changes what the other has under its number.
    assert!(of_old.is_removed() && !of_new.is_removed());
    assert_eq!(found(&mut of_old, b"large"), None);
    let mut many = 0;
    of_old.get_many(&[b"large"], &mut |_, _, _| many += 1);
    assert_eq!(many, 0);
    assert_eq!(of_old.delete(b"large"), Ok(false));
    assert_eq!(of_old.touch(b"large", None), Ok(false));
    assert_eq!(of_old.expire(b"large", None), Ok(false));
    let large = vec![1; 100_000];
    for value in [&b"old"[..], &large] {
        for condition in [Condition::None, Condition::Absent] {
            let of = Set { condition, ..Set::default() };
            assert_eq!(of_old.set(b"large", value, &of), Err(Failed::Removed));
        }
    }
    of_old.clear();
    old.clear();
    assert_eq!(found(&mut of_new, b"large").unwrap(), b"new");
    // Nor does it come back with a namespace of its own name.
    assert!(cache.remove_namespace("new").unwrap());
    let mut again = cache.namespace("old").unwrap().session();
    assert!(of_old.is_removed() && of_new.is_removed() && !again.is_removed());
    set(&mut again, b"large", b"again");
    assert_eq!(found(&mut of_old, b"large"), None);
    assert_eq!(of_old.set(b"large", b"old", &Set::default()), Err(Failed::Removed));
    let append = Set { condition: Condition::Append, ..Set::default() };
    assert_eq!(of_old.set(b"large", b"old", &append), Err(Failed::Removed));
    of_old.clear();
    assert_eq!(found(&mut again, b"large").unwrap(), b"again");
    assert_eq!(cache.survey().namespaces[0].cleared, 0, "its own clears are counted");
    let mut of_new = again;
    // What is left of it gives way.
    for key in 0..1700_u32 {
        set(&mut of_new, &key.to_le_bytes(), &[2; 400]);
    }
    assert_eq!(cache.stats().evictions(), 0, "{:?}", cache.stats());
}

/// Where the entry of a name is in a file.
fn place_of(path: &Path, name: &[u8]) -> u64 {
    let bytes = std::fs::read(path).expect("the file");
    let of = |number: &u64| usize::try_from(TABLE + number * ENTRY).expect("an offset");
    let has = |number: &u64| bytes[of(number) + 16..].starts_with(name);
    TABLE + (0..NAMES).find(has).expect("an entry of this name") * ENTRY
}

#[test]
fn a_damaged_table_gives_no_namespace_the_keys_of_another() {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &Options::of_size(1 << 20)).unwrap();
    for name in ["aa", "ab"] {
        set(&mut cache.namespace(name).unwrap().session(), b"key", name.as_bytes());
    }
    let of = |name: &str| found(&mut cache.namespace(name).unwrap().session(), b"key");
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    let [first, second] = [b"aa", b"ab"].map(|name| place_of(&path, name));
    // The first has the name of the second now, or of nobody.
    for wrong in [&b"ab"[..], b"zz", b"\xff\xff"] {
        file.write_all_at(wrong, first + 16).unwrap();
        assert_eq!(of("aa"), None, "{wrong:?}");
        assert_eq!(of("ab").unwrap(), b"ab", "{wrong:?}");
    }
    file.write_all_at(b"aa", first + 16).unwrap();
    assert_eq!(of("aa").unwrap(), b"aa");
    // The first is free for the next, who finds nothing of it.
    file.write_all_at(&[0; 8], first + 8).unwrap();
    for name in 0..NAMES - 2 {
        let name = name.to_string();
        assert_eq!(of(&name), None);
    }
    assert!(cache.remove_namespace("0").unwrap());
    file.write_all_at(&[0xff; 8], second).unwrap();
    assert_eq!(of("ab"), None);
    set(&mut cache.namespace("ab").unwrap().session(), b"key", b"once more");
    assert_eq!(of("ab").unwrap(), b"once more");
    // And nothing but damage.
    for at in (TABLE..TABLE + NAMES * ENTRY).step_by(8) {
        file.write_all_at(&at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_ne_bytes(), at).unwrap();
    }
    assert!(cache.namespace("ab").unwrap_err().to_string().contains("64 namespaces"));
    set(&mut cache.session(), b"key", b"of none");
}
