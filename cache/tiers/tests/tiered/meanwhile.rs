//! Events in the middle of an operation: no deleted value comes back, and no entry outlives its TTL.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use larder_store::{Delta, Remaining, Session, SetMode, SetOptions, Store};
use larder_testkit::PATIENCE;

use super::spy::{Spy, spy};
use super::{get, mode, open, set, stack, ttl, value};

/// A write of the key `k`.
type Write = fn(&mut dyn Session);

/// The writes of a key that may come during a read of it.
const WRITES: [(&str, Write); 6] = [
    ("set", |session| set(session, "k", b"1", None)),
    ("delete", |session| assert!(session.delete(b"k").unwrap())),
    ("touch", |session| assert!(session.touch(b"k", None).unwrap())),
    ("incr", |session| assert!(session.incr(b"k", Delta::Up(1), None).unwrap().is_some())),
    ("append", |session| {
        session.set(b"k", b"0", &mode(SetMode::Append)).unwrap();
    }),
    ("clear", |session| session.clear().unwrap()),
];

fn read(session: &mut dyn Session, by_batch: bool) -> Option<Vec<u8>> {
    if !by_batch {
        return get(session, "k");
    }
    let mut found = None;
    session.get_many(&[b"absent", b"k"], &mut |_, value, _| found = Some(value.to_vec())).unwrap();
    found
}

/// A function that lets another session of the stack do this write in its own thread, to its end.
fn elsewhere(store: &Arc<dyn Store>, write: Write) -> impl FnOnce() + Send + 'static {
    let store = Arc::clone(store);
    move || {
        let write = move || write(&mut *store.session().unwrap());
        thread::spawn(write).join().unwrap();
    }
}

#[test]
fn a_value_that_is_overwritten_while_it_is_read_does_not_come_back() {
    for (name, write) in WRITES {
        for by_batch in [false, true] {
            let (store, l1, l2) = stack(&format!("meanwhile/{name}/{by_batch}"));
            let mut session = store.session().unwrap();
            l2.put("k", b"5", None);
            // The reader has the old value, and no other session knows it yet.
            let (again, forgetful) = (elsewhere(&store, write), Arc::clone(&l1));
            l2.when_done(move || {
                again();
                // L1 has no newer value either, which would stop the fill.
                forgetful.lose("k");
            });
            assert_eq!(read(&mut *session, by_batch), Some(b"5".to_vec()), "{name}");
            assert_eq!(value(&l1, "k"), None, "{name}: the old value is back");
            assert_eq!(read(&mut *session, by_batch), value(&l2, "k"), "{name}");
        }
    }
}

#[test]
fn a_hit_of_a_lease_that_is_overwritten_meanwhile_is_not_filled_in_above() {
    for (name, write) in WRITES {
        for by_batch in [false, true] {
            let path = format!("/meanwhile-lease/{name}/{by_batch}");
            let store = open(&format!("tiered:spy:{path}/1|spy:{path}/2?leases=on"));
            let [l1, l2] = [1, 2].map(|level| spy(&format!("{path}/{level}")));
            let mut session = store.session().unwrap();
            l2.put("k", b"5", None);
            let (again, forgetful) = (elsewhere(&store, write), Arc::clone(&l1));
            l2.when_done(move || {
                again();
                forgetful.lose("k");
            });
            let (leases, mut found) = (session.leases().unwrap(), Vec::new());
            if by_batch {
                let mut hit = |_, value: &[u8], _| found = value.to_vec();
                leases.get_or_lease_many(&[b"k"], PATIENCE, Duration::ZERO, &mut hit).unwrap();
            } else {
                leases.get_or_lease(b"k", &mut found, PATIENCE).unwrap();
            }
            assert_eq!(found, b"5", "{name}");
            assert_eq!(value(&l1, "k"), None, "{name}: the old value is back");
        }
    }
}

#[test]
fn a_deleted_value_that_a_middle_tier_still_held_does_not_come_back() {
    let store = open("tiered:spy:/middle/1|spy:/middle/2|spy:/middle/3");
    let [l1, l2, l3] = [1, 2, 3].map(|level| spy(&format!("/middle/{level}")));
    let (mut reader, mut writer) = (store.session().unwrap(), store.session().unwrap());
    set(&mut *writer, "k", b"old", None);
    l1.lose("k");
    let (tell, is_told) = mpsc::channel();
    let (finish, is_finished) = mpsc::channel();
    let (handle, reading) = mpsc::channel();
    // The lowest tier has deleted the key, and the middle tier is about to. Now a reader asks the middle tier. It
    // answers, but the reader gets the answer only after the writer has finished.
    l2.when_done(move || {
        tell.send(()).unwrap();
        is_finished.recv().unwrap();
    });
    l2.when_begun(move || {
        handle.send(thread::spawn(move || get(&mut *reader, "k"))).unwrap();
        is_told.recv().unwrap();
    });
    assert!(writer.delete(b"k").unwrap());
    finish.send(()).unwrap();
    assert_eq!(reading.recv().unwrap().join().unwrap(), Some(b"old".to_vec()));
    for tier in [&l1, &l2, &l3] {
        assert!(tier.held("k").is_none());
    }
}

#[test]
fn of_two_values_written_at_once_the_one_lost_below_is_not_left_above() {
    let (store, l1, l2) = stack("two-writers");
    let mut session = store.session().unwrap();
    // The second write runs completely while the first write waits for its answer from below.
    l2.when_done(elsewhere(&store, |session| set(session, "k", b"second", None)));
    set(&mut *session, "k", b"first", None);
    assert_eq!(value(&l2, "k"), Some(b"second".to_vec()));
    assert_ne!(value(&l1, "k"), Some(b"first".to_vec()));
    assert_eq!(get(&mut *session, "k"), Some(b"second".to_vec()));
}

#[test]
fn no_reader_sees_a_value_older_than_the_last_acknowledged_write() {
    let (store, l1, _) = stack("racing");
    let (begun, done) = (&AtomicU64::new(0), &AtomicU64::new(0));
    let is_over = &AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            let mut session = store.session().unwrap();
            let l1 = Arc::clone(&l1);
            scope.spawn(move || {
                for round in 0.. {
                    if is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    if round % 4 == 0 {
                        l1.lose("k");
                    }
                    let oldest = done.load(Ordering::SeqCst);
                    let found = get(&mut *session, "k");
                    let newest = begun.load(Ordering::SeqCst);
                    let is_right = |number: u64| found == written(number);
                    if !(oldest..=newest).any(is_right) {
                        is_over.store(true, Ordering::SeqCst);
                        panic!("{found:?} is not of the writes {oldest} to {newest}");
                    }
                }
            });
        }
        let mut session = store.session().unwrap();
        let start = Instant::now();
        for number in 1.. {
            if is_over.load(Ordering::SeqCst) || start.elapsed() > Duration::from_millis(700) {
                break;
            }
            begun.store(number, Ordering::SeqCst);
            match written(number) {
                Some(value) => set(&mut *session, "k", &value, None),
                None => drop(session.delete(b"k").unwrap()),
            }
            done.store(number, Ordering::SeqCst);
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

/// The result of the write of this number: every odd write sets, every even write deletes.
fn written(number: u64) -> Option<Vec<u8>> {
    (!number.is_multiple_of(2)).then(|| number.to_string().into_bytes())
}

#[test]
fn a_ttl_is_counted_from_before_the_answer_was_under_way() {
    for by_batch in [false, true] {
        let (store, l1, l2) = stack(&format!("slow-answer/{by_batch}"));
        let mut session = store.session().unwrap();
        l2.put("k", b"value", Some(Duration::from_mins(1)));
        l2.when_done(|| thread::sleep(Duration::from_millis(500)));
        assert!(read(&mut *session, by_batch).is_some());
        let below = ttl(&l2, "k");
        assert!(ttl(&l1, "k") <= below);
        // An entry that has expired when the answer comes is not filled in at all.
        l1.lose("k");
        l2.put("k", b"value", Some(Duration::from_secs(3)));
        l2.when_done(|| thread::sleep(Duration::from_millis(3100)));
        assert!(read(&mut *session, by_batch).is_some());
        assert_eq!(held_ttl(&l1), None);
    }
}

#[test]
fn a_value_stored_so_slowly_that_it_would_outlive_itself_is_taken_back() {
    let store = open("tiered:spy:/slow-fill/1|spy:/slow-fill/2|?l1_ttl=5s&jitter=0");
    let [l1, l2] = [1, 2].map(|level| spy(&format!("/slow-fill/{level}")));
    let mut session = store.session().unwrap();
    // The bound is below the remaining TTL, and above it when the fill is done.
    l2.put("k", b"value", Some(Duration::from_millis(5300)));
    let slow = Arc::clone(&l1);
    l2.when_done(move || slow.when_begun(|| thread::sleep(Duration::from_millis(600))));
    assert!(get(&mut *session, "k").is_some());
    assert_eq!(held_ttl(&l1), None);
    // The same for a write.
    let slow = Arc::clone(&l1);
    l2.when_done(move || slow.when_begun(|| thread::sleep(Duration::from_millis(600))));
    let ttl = Some(Duration::from_millis(5300));
    session.set(b"k", b"value", &SetOptions { ttl, ..SetOptions::default() }).unwrap();
    assert_eq!(held_ttl(&l1), None);
}

fn held_ttl(spy: &Spy) -> Option<Remaining> {
    spy.held("k").map(|(_, meta)| meta.ttl)
}
