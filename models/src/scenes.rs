//! Scenes: a few operations of two threads, and their permitted results.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

use loom::sync::atomic::AtomicBool;
use loom::thread;

use crate::cache::Cache;
use crate::layout::Geometry;
use crate::lock;
use crate::locked::Locked;
use crate::memory::{self, Killed, Memory};
use crate::owner::Owner;
use crate::partition::{Partition, Places};
use crate::session::lock_within;
use crate::slot::Slot;
use crate::space::Space;
use crate::superblock::Superblock;
use crate::upkeep::{Keeps, Victim};
use crate::work::Work;
use crate::{Condition, Delta, Failed, Leased, Options, Outcome, Session, Set, Sum, Token};

/// Segments of two records each. Two segments are kept free, so that the start of a third empties the oldest one.
const GEOMETRY: Geometry = Geometry {
    size: 8192,
    partitions: 1,
    segments: 4,
    segment_len: 64,
    buckets: 2,
    ghosts: 4,
    stats_lines: 2,
    namespaces: 1,
};

const KEY: &[u8] = b"the key.";
const OTHER: &[u8] = b"another.";
const ONE: &[u8] = b"value  1";
const TWO: &[u8] = b"value  2";
const ANOTHERS: &[u8] = b"value  3";

fn cache() -> Arc<Cache> {
    cache_of(GEOMETRY)
}

fn cache_of(geometry: Geometry) -> Arc<Cache> {
    // The key's buckets are in two lines, so that no thread looks at its slot twice.
    cache_where(geometry, |places| {
        let memory = Memory::private(0).unwrap();
        let [first, second] = Partition::new(&memory, places, 0).numbers_of(places.hash(KEY));
        first != second
    })
}

/// A cache whose hash gives the key the requested place.
fn cache_where(geometry: Geometry, is_placed: impl Fn(&Places) -> bool) -> Arc<Cache> {
    let size = geometry.partition_at(1);
    let geometry = Geometry { size, ..geometry };
    let seed = (0..).find(|seed| is_placed(&Places::of(geometry, *seed, false))).unwrap();
    let superblock = Superblock { geometry, seed, made_ms: 0, max_key: 8, max_value: 64 };
    let mut cache = Cache::of(Memory::private(size).unwrap(), superblock, None);
    cache.make();
    Arc::new(cache)
}

/// Runs a scene in all orders with at most this number of preemptions of a thread that could go on.
fn explore(interruptions: usize, scene: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(interruptions);
    builder.max_branches = 1_000_000;
    let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    builder.check(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        scene();
    });
    if interruptions > 0 {
        println!("{runs:?} orders");
    }
}

/// The preemptions of scenes whose orders are very many: fewer where only the unchanged code is checked.
const OF_LONG_SCENES: usize = if cfg!(feature = "mutants") { 2 } else { 1 };

/// The results of two threads that run at once.
fn at_once<A: 'static, B: 'static>(
    one: impl FnOnce() -> A + 'static,
    other: impl FnOnce() -> B + 'static,
) -> (A, B) {
    let one = thread::spawn(one);
    let other = thread::spawn(|| {
        memory::be_the_second();
        other()
    });
    (one.join().unwrap(), other.join().unwrap())
}

fn set(session: &mut Session, key: &[u8], value: &[u8]) {
    let outcome = session.set(key, value, &Set::default());
    assert!(matches!(outcome, Ok(Outcome::Stored(_))), "{outcome:?}");
}

fn get(session: &mut Session, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    session.get(key, &mut value).map(|_| value)
}

/// A session of a namespace that is removed meanwhile, and whose number another name gets, neither finds nor takes away what
/// that one stores.
pub(crate) fn a_session_and_one_who_gives_its_number_away() {
    explore(1, || {
        let cache = cache();
        let mut old = cache.namespace("old").unwrap().session();
        let of_old = move || {
            let set = old.set(KEY, ONE, &Set::default());
            (set, get(&mut old, KEY))
        };
        // Another name has the number, and then the session's own name again.
        let of_new = move || {
            for (before, name) in [("old", "new"), ("new", "old")] {
                cache.remove_namespace(before).ok().filter(|removed| *removed)?;
                cache.namespace(name).ok()?;
            }
            let mut session = cache.existing_namespace("old")?.session();
            let set = session.set(KEY, TWO, &Set::default());
            matches!(set, Ok(Outcome::Stored(_))).then(|| get(&mut session, KEY))
        };
        let ((set, found), news) = at_once(of_old, of_new);
        assert!(
            found.is_none_or(|found| set.is_ok() && found == ONE),
            "found what another namespace stored"
        );
        assert!(
            news.is_none_or(|found| found.as_deref() == Some(TWO)),
            "a session of a removed namespace took it away"
        );
    });
}

/// A reader finds one of the two values, never a miss, and finds the new value once its writer has returned.
pub(crate) fn a_reader_and_a_writer_of_one_key() {
    explore(3, || {
        let cache = cache();
        let (mut writer, mut reader) = (cache.session(), cache.session());
        set(&mut writer, KEY, ONE);
        let said = Arc::new(AtomicBool::new(false));
        let says = Arc::clone(&said);
        let write = move || {
            set(&mut writer, KEY, TWO);
            says.store(true, Release);
        };
        let read = move || (said.load(Acquire), get(&mut reader, KEY));
        let ((), (is_new, found)) = at_once(write, read);
        let found = found.expect("a key that is there all the time");
        assert!(found == TWO || (found == ONE && !is_new), "{found:?}");
        assert_eq!(get(&mut cache.session(), KEY).as_deref(), Some(TWO));
    });
}

/// Fills three segments, of which the oldest begins with the key, so that the next set empties the oldest.
fn full(session: &mut Session) {
    set(session, KEY, ONE);
    for other in 1..=5_u64 {
        set(session, &other.to_ne_bytes(), ANOTHERS);
    }
}

/// A reader finds its value or nothing, while its record's space is given to another record.
pub(crate) fn a_reader_and_one_who_empties_its_segment() {
    explore(2, || {
        let cache = cache();
        let (mut writer, mut reader) = (cache.session(), cache.session());
        full(&mut writer);
        let write = move || set(&mut writer, OTHER, ANOTHERS);
        let ((), found) = at_once(write, move || get(&mut reader, KEY));
        // A record that is read in time is copied into another segment.
        let then = get(&mut cache.session(), KEY);
        for found in [found, then] {
            assert!(found.as_deref().is_none_or(|it| it == ONE), "{found:?}");
        }
    });
}

/// Lets a thread die after this many writes of its work; `false` where that has ended before.
fn dies_in(writes: usize, work: impl FnOnce()) -> bool {
    memory::die_after(Some(writes));
    let ended = catch_unwind(AssertUnwindSafe(work));
    memory::die_after(None);
    match ended {
        Ok(()) => false,
        Err(cause) => cause.is::<Killed>() || std::panic::resume_unwind(cause),
    }
}

/// Runs a scene with a death after each number of writes, as long as any order of the scene says that a thread has died.
/// Returns how many numbers these are.
fn explore_deaths(
    interruptions: usize,
    scene: impl Fn(usize) -> bool + Clone + Send + Sync + 'static,
) -> usize {
    let is_killed = |writes| {
        let is_killed = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (it_was, scene) = (Arc::clone(&is_killed), scene.clone());
        explore(interruptions, move || {
            if scene(writes) {
                it_was.store(true, Release);
            }
        });
        is_killed.load(Acquire)
    };
    (0..).take_while(|writes| is_killed(*writes)).count()
}

/// A value that was loaded before a delete is absent after it, even where the delete did not wait for the lock. Then comes
/// what else holds.
fn fill_and_delete(token: fn(&mut Session) -> Token, then: fn(&Arc<Cache>)) {
    explore(3, move || {
        let cache = cache();
        let (mut filler, mut deleter) = (cache.session(), cache.session());
        let condition = Condition::Unchanged(token(&mut filler));
        let fill = move || filler.set(KEY, ONE, &Set { condition, ..Set::default() });
        let (filled, _) = at_once(fill, move || deleter.delete(KEY).unwrap());
        assert_eq!(get(&mut cache.session(), KEY), None, "{filled:?}");
        then(&cache);
    });
}

/// The same scene with a filler that is killed, at any of its writes; another thread has the lock after it.
fn fill_and_die_and_delete(token: fn(&mut Session) -> Token, then: fn(&Arc<Cache>)) {
    explore_deaths(2, move |writes| {
        let cache = cache();
        let (mut filler, mut deleter) = (cache.session(), cache.session());
        let condition = Condition::Unchanged(token(&mut filler));
        let filled = Set { condition, ..Set::default() };
        let fill = move || dies_in(writes, || drop(filler.set(KEY, ONE, &filled)));
        let (is_killed, _) = at_once(fill, move || deleter.delete(KEY).unwrap());
        set(&mut cache.session(), OTHER, ANOTHERS);
        assert_eq!(get(&mut cache.session(), KEY), None, "killed after {writes} writes");
        then(&cache);
        is_killed
    });
}

pub(crate) fn one_who_fills_and_one_who_deletes() {
    fill_and_delete(|filler| filler.token(KEY), |_| ());
}

pub(crate) fn one_who_fills_and_dies_and_one_who_deletes() {
    fill_and_die_and_delete(|filler| filler.token(KEY), |_| ());
}

/// The answer to one who asks for a lease, with any time.
fn ask(session: &mut Session) -> Result<Leased, Failed> {
    session.get_or_lease(KEY, &mut Vec::new(), Duration::from_hours(1), Duration::ZERO)
}

/// A lease of the key, which nobody has.
fn lease(session: &mut Session) -> Token {
    match ask(session) {
        Ok(Leased::Load { token, .. }) => token,
        other => panic!("who should load is told {other:?}"),
    }
}

fn loads(answer: &Result<Leased, Failed>) -> bool {
    matches!(answer, Ok(Leased::Load { .. }))
}

/// Of two who miss a key, one is told to load it. The other one waits, or does not get the lock.
pub(crate) fn two_who_miss_one_key() {
    explore(3, || {
        let cache = cache();
        let (mut one, mut other) = (cache.session(), cache.session());
        let answers = at_once(move || ask(&mut one), move || ask(&mut other));
        assert!(!(loads(&answers.0) && loads(&answers.1)), "two are told to load");
        assert!(loads(&answers.0) || loads(&answers.1), "nobody is told to load: {answers:?}");
    });
}

/// Who asks while the loader fills the key in finds the value or waits, and is not told to load it again.
pub(crate) fn one_who_fills_under_a_lease_and_one_who_asks() {
    explore(3, || {
        let cache = cache();
        let (mut filler, mut asker) = (cache.session(), cache.session());
        let condition = Condition::Unchanged(lease(&mut filler));
        let fill = move || filler.set(KEY, ONE, &Set { condition, ..Set::default() });
        let (filled, answer) = at_once(fill, move || ask(&mut asker));
        let is_filled = matches!(filled, Ok(Outcome::Stored(_)));
        assert!(!(is_filled && loads(&answer)), "two are told to load");
    });
}

/// Who asks after the delete is told to load.
pub(crate) fn one_who_fills_under_a_lease_and_one_who_deletes() {
    fill_and_delete(lease, |cache| drop(lease(&mut cache.session())));
}

pub(crate) fn one_who_fills_under_a_lease_and_dies_and_one_who_deletes() {
    fill_and_die_and_delete(lease, |cache| drop(lease(&mut cache.session())));
}

/// Who gives a lease and is killed at any write leaves a lease that is whole, or none.
pub(crate) fn one_who_dies_while_a_lease_is_given() {
    explore_deaths(0, |writes| {
        let cache = cache();
        let mut asker = cache.session();
        let is_killed = dies_in(writes, || drop(ask(&mut asker)));
        let mut next = cache.session();
        // Only a delete ends the lease of a dead loader before its time.
        next.delete(KEY).unwrap();
        let token = lease(&mut next);
        let set = Set { condition: Condition::Unchanged(token), ..Set::default() };
        let filled = next.set(KEY, ONE, &set);
        assert!(matches!(filled, Ok(Outcome::Stored(_))), "{filled:?} after {writes} writes");
        is_killed
    });
}

/// A reader finds the old or the new TTL during a touch, and the old or the new number during an
/// addition.
pub(crate) fn one_who_touches_and_a_reader() {
    explore(3, || {
        // The segments have room for records of numbers.
        let cache = cache_of(Geometry { segment_len: 128, ..GEOMETRY });
        let (mut changer, mut reader) = (cache.session(), cache.session());
        set(&mut changer, KEY, b"41");
        assert_eq!(changer.incr(KEY, Delta::Up(1), None).unwrap().number(), Some(42));
        let before = changer.get(KEY, &mut Vec::new()).unwrap().version;
        let change = move || {
            assert_eq!(changer.touch(KEY, Some(Duration::from_hours(1))), Ok(true));
            assert_eq!(changer.incr(KEY, Delta::Up(1), None).unwrap().number(), Some(43));
        };
        let read = move || {
            let mut value = Vec::new();
            let entry = reader.get(KEY, &mut value).expect("it is there all the time");
            (value, entry.version)
        };
        let ((), (value, version)) = at_once(change, read);
        assert!(value == b"42" || value == b"43", "{value:?}");
        assert_eq!(value == b"42", version == before, "a version of another number");
        assert_eq!(get(&mut cache.session(), KEY).as_deref(), Some(&b"43"[..]));
    });
}

/// The same scene with a clear in between. The filler's segment then has a later time than the deleter's first look at the clock.
pub(crate) fn one_who_clears_and_fills_and_one_who_deletes() {
    explore(2, || {
        let cache = cache();
        let (mut filler, mut deleter) = (cache.session(), cache.session());
        let before = filler.token(KEY).of;
        let fill = move || {
            filler.cache().clear();
            let token = filler.token(KEY);
            let condition = Condition::Unchanged(token);
            (token.of, filler.set(KEY, ONE, &Set { condition, ..Set::default() }))
        };
        let ((at_first, filled), _) = at_once(fill, move || deleter.delete(KEY).unwrap());
        // A filler that began after the deleter may store its value, which it loaded later.
        if at_first == before {
            assert_eq!(get(&mut cache.session(), KEY), None, "{filled:?}");
        }
    });
}

/// A record that is copied into another segment meanwhile is deleted all the same.
pub(crate) fn one_who_moves_and_one_who_deletes() {
    explore(2, || {
        let cache = cache();
        let (mut mover, mut deleter) = (cache.session(), cache.session());
        full(&mut mover);
        assert!(get(&mut mover, KEY).is_some());
        let segment = segment_of(&cache);
        locked(&cache).set_victim(Victim { segment, keeps: Keeps::Used, at: 0 });
        let evict = move || locked(mover.cache()).step(&mut Work::most());
        let (_, is_there) = at_once(evict, move || deleter.delete(KEY).unwrap());
        assert!(is_there);
        assert_eq!(get(&mut cache.session(), KEY), None);
    });
}

/// A slot that is moved into another bucket meanwhile is found, and is deleted all the same: no later read finds it.
pub(crate) fn one_who_splits_and_one_who_deletes() {
    explore(OF_LONG_SCENES, || {
        let cache = split_by_the_key();
        let mut deleter = cache.session();
        let splitter = Arc::clone(&cache);
        let split = move || assert!(locked(&splitter).split());
        let delete = move || (deleter.delete(KEY).unwrap(), get(&mut deleter, KEY));
        let ((), (is_there, found)) = at_once(split, delete);
        assert!(is_there);
        assert_eq!(found, None, "after the delete has returned");
        assert_eq!(get(&mut cache.session(), KEY), None);
    });
}

/// A reader finds a key whose slot is moved into another bucket meanwhile.
pub(crate) fn a_reader_and_one_who_splits() {
    explore(2, || {
        let cache = split_by_the_key();
        let mut reader = cache.session();
        let splitter = Arc::clone(&cache);
        let split = move || assert!(locked(&splitter).split());
        let ((), found) = at_once(split, move || get(&mut reader, KEY));
        assert_eq!(found.as_deref(), Some(ONE));
        assert_eq!(get(&mut cache.session(), KEY).as_deref(), Some(ONE));
    });
}

/// A cache with the key, whose slot the next split moves.
fn split_by_the_key() -> Arc<Cache> {
    let is_moved = |places: &Places| {
        let hash = places.hash(KEY);
        let numbers = Partition::new(&Memory::private(0).unwrap(), places, 0).numbers_of(hash);
        numbers == [1, 0] && Slot::tag_of(hash) & 1 == 1
    };
    // The first split gives a segment to the index, with room for both.
    let cache = cache_where(Geometry { segment_len: 128, ..GEOMETRY }, is_moved);
    set(&mut cache.session(), KEY, ONE);
    assert!(locked(&cache).split());
    let hash = cache.places.hash(KEY);
    let first = cache.partition(0).buckets_of(hash)[0];
    let is_there = cache.memory().line(first).iter().any(|word| word.load(Acquire) != 0);
    assert!(is_there, "the key's slot is in the bucket that is split");
    cache
}

/// The segment of the key's record.
fn segment_of(cache: &Cache) -> usize {
    let hash = cache.places.hash(KEY);
    locked(cache).find(hash, KEY, Space::ROOT).unwrap().segment
}

fn locked(cache: &Cache) -> Locked<'_> {
    lock_within(cache, cache.partition(0), Duration::from_secs(9)).unwrap()
}

/// An operation that only changes an existing entry does not bring back a deleted one.
pub(crate) fn one_who_changes_and_one_who_deletes() {
    let touch = |session: &mut Session| session.touch(KEY, None).is_ok();
    fn with(session: &mut Session, condition: Condition) -> bool {
        session.set(KEY, TWO, &Set { condition, ..Set::default() }).is_ok()
    }
    let changes: [fn(&mut Session) -> bool; 3] = [
        touch,
        |session| with(session, Condition::Append),
        |session| with(session, Condition::Present),
    ];
    for change in changes {
        explore(3, move || {
            // The segments have room for records with a version or a longer value.
            let cache = cache_of(Geometry { segment_len: 128, ..GEOMETRY });
            let (mut changer, mut deleter) = (cache.session(), cache.session());
            set(&mut changer, KEY, ONE);
            let changing = move || change(&mut changer);
            let (changed, _) = at_once(changing, move || deleter.delete(KEY).unwrap());
            assert_eq!(get(&mut cache.session(), KEY), None, "changed: {changed}");
        });
    }
}

/// A reader that begins after a clear does not find an older entry.
pub(crate) fn a_reader_and_one_who_clears() {
    explore(3, || {
        let cache = cache();
        let (mut writer, mut reader) = (cache.session(), cache.session());
        set(&mut writer, KEY, ONE);
        let said = Arc::new(AtomicBool::new(false));
        let says = Arc::clone(&said);
        let write = move || {
            writer.cache().clear();
            says.store(true, Release);
            set(&mut writer, KEY, TWO);
        };
        let read = move || (said.load(Acquire), get(&mut reader, KEY));
        let ((), (is_cleared, found)) = at_once(write, read);
        let may_be = |it: &[u8]| it == TWO || (it == ONE && !is_cleared);
        assert!(found.as_deref().is_none_or(may_be), "{found:?} after {is_cleared}");
        assert_eq!(get(&mut cache.session(), KEY).as_deref(), Some(TWO));
    });
}

/// The lock of the only partition, and a word that only the lock's holder may write.
const LOCK: usize = 0;
const COUNT: usize = 256;

/// Adds one under the lock; `None` if the lock is not free in time. Returns whether the lock's last
/// holder had died.
fn count_under_lock(memory: &Memory, patience: Duration) -> Option<bool> {
    let held = lock::take(memory, LOCK, Owner::private(), patience).ok()?;
    memory.store(COUNT, memory.load(COUNT) + 1);
    Some(held.owner_died)
}

/// Two threads have the lock in turn, and each sees the writes that the other made under it.
pub(crate) fn two_who_take_one_lock() {
    explore(3, || {
        let memory = Arc::new(Memory::private(512).unwrap());
        let other = Arc::clone(&memory);
        let patience = Duration::from_secs(3);
        let (one, two) = at_once(
            move || (count_under_lock(&memory, patience), memory),
            move || count_under_lock(&other, patience),
        );
        let (one, memory) = one;
        let had = u64::from(one.is_some()) + u64::from(two.is_some());
        assert!(had > 0, "neither had it");
        assert_eq!(count_under_lock(&memory, Duration::ZERO), Some(false));
        assert_eq!(memory.load(COUNT), had + 1);
    });
}

/// One thread takes the lock over. The other thread gets it after that, or not at all.
pub(crate) fn two_who_take_the_lock_of_a_dead_one() {
    explore(3, || {
        let memory = Arc::new(Memory::private(512).unwrap());
        let dead = lock::take(&memory, LOCK, Owner::private(), Duration::ZERO).unwrap();
        // A third thread, which is dead now, took the lock.
        std::mem::forget(dead);
        let word = memory.word(LOCK);
        word.store(word.load(Acquire) + 2, Release);
        memory::dies(2);
        let other = Arc::clone(&memory);
        let (one, two) = at_once(
            move || (count_under_lock(&memory, Duration::ZERO), memory),
            move || count_under_lock(&other, Duration::ZERO),
        );
        let (one, memory) = one;
        let took_over = [one, two].into_iter().filter(|it| *it == Some(true)).count();
        assert_eq!(took_over, 1, "{one:?} and {two:?}");
        let had = u64::from(one.is_some()) + u64::from(two.is_some());
        assert_eq!(count_under_lock(&memory, Duration::ZERO), Some(false));
        assert_eq!(memory.load(COUNT), had + 1);
    });
}

/// A thread that is killed at any of its writes leaves the key with its older or newer value, or without one. Other
/// threads go on.
pub(crate) fn whoever_dies_leaves_what_others_go_on_from() {
    let operations: [(&str, fn(&mut Session)); 5] = [
        ("set", |session| set(session, KEY, TWO)),
        ("set another", |session| set(session, OTHER, ANOTHERS)),
        ("touch", |session| assert_eq!(session.touch(KEY, None), Ok(true))),
        ("delete", |session| assert_eq!(session.delete(KEY), Ok(true))),
        ("clear", |session| session.cache().clear()),
    ];
    for (name, operation) in operations {
        let times = explore_deaths(0, move |writes| kill(name, operation, writes));
        println!("{name}: killed at each of {times} writes");
        assert!(times > 0);
    }
}

/// Kills an operation after this number of writes; `false` where the operation has ended before.
fn kill(name: &str, operation: fn(&mut Session), writes: usize) -> bool {
    let cache = cache();
    let (mut dying, mut other) = (cache.session(), cache.session());
    full(&mut dying);
    assert!(get(&mut dying, KEY).is_some());
    let is_killed = dies_in(writes, || operation(&mut dying));
    let found = get(&mut other, KEY);
    let may_be = |it: &[u8]| it == ONE || it == TWO;
    assert!(found.as_deref().is_none_or(may_be), "{name} killed after {writes}: {found:?}");
    for round in 0..20_u64 {
        set(&mut other, OTHER, &round.to_ne_bytes());
        assert_eq!(get(&mut other, OTHER).as_deref(), Some(&round.to_ne_bytes()[..]));
        set(&mut other, &round.to_ne_bytes(), ONE);
        if let Some(again) = get(&mut other, KEY) {
            assert_eq!(Some(again), found, "{name} killed after {writes}");
        }
    }
    is_killed
}
