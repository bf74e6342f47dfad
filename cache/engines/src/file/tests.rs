//! Cases that only a test within the engine can show: two keys of one name, incomplete files, and a clock under
//! control.

use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use larder_store::{ByteSize, Clock, Session, SetMode, SetOptions, SetOutcome, StoreUrl};

use super::SCHEME;
use super::config::FileConfig;
use super::format::TRAILER_LEN;
use super::lock::Locks;
use super::name::Name;
use super::session::FileSession;
use super::store::Shared;
use larder_host::place::Place;

fn open(config: FileConfig) -> (Arc<Shared>, Clock) {
    let clock = Clock::manual(1_000_000);
    let place = Place::of(SCHEME, &StoreUrl::parse("file:").unwrap()).unwrap();
    (Arc::new(Shared::open(place, config, clock.clone()).unwrap()), clock)
}

fn session() -> FileSession {
    FileSession::new(open(FileConfig::default()).0)
}

fn mode(mode: SetMode) -> SetOptions {
    SetOptions { mode, ..SetOptions::default() }
}

fn found(session: &mut FileSession, name: &Name, key: &[u8]) -> Option<Vec<u8>> {
    let mut out = b"header ".to_vec();
    let hit = session.get_onto_at(name, key, &mut out).unwrap();
    let value = out.split_off(b"header ".len());
    assert!(out == b"header " && (hit.is_some() || value.is_empty()));
    hit.map(|_| value)
}

#[test]
fn of_two_keys_with_one_name_the_last_one_is_there_and_the_other_is_a_miss() {
    let mut session = session();
    let name = Name::new(0x0123_4567_89ab_cdef, 2);
    let set = |session: &mut FileSession, key: &[u8], how| {
        session.set_at(&name, key, &[key, b"'s value"].concat(), &mode(how)).unwrap()
    };
    assert!(set(&mut session, b"one", SetMode::Set).is_stored());
    assert_eq!(found(&mut session, &name, b"one").unwrap(), b"one's value");
    assert_eq!(found(&mut session, &name, b"two"), None);
    assert_eq!(set(&mut session, b"two", SetMode::Replace), SetOutcome::NotStored);
    assert_eq!(set(&mut session, b"two", SetMode::Append), SetOutcome::NotStored);
    assert_eq!(set(&mut session, b"two", SetMode::Cas(1)), SetOutcome::NotFound);
    assert!(!session.delete_at(&name, b"two").unwrap());
    assert_eq!(found(&mut session, &name, b"one").unwrap(), b"one's value");

    assert!(set(&mut session, b"two", SetMode::Add).is_stored());
    assert_eq!(found(&mut session, &name, b"two").unwrap(), b"two's value");
    assert_eq!(found(&mut session, &name, b"one"), None);
    assert!(!session.delete_at(&name, b"one").unwrap());
    assert!(session.delete_at(&name, b"two").unwrap());
}

#[test]
fn a_file_that_is_not_whole_is_a_miss_and_makes_way() {
    let (shared, _) = open(FileConfig::default());
    let mut session = FileSession::new(Arc::clone(&shared));
    let name = Name::of(b"key", 2);
    let path = shared.folder.path().join(name.path().as_c_str().to_str().unwrap());
    session.set(b"key", b"value", &SetOptions::default()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(whole.len(), b"valuekey".len() + TRAILER_LEN);
    for broken in [&b""[..], &whole[..5], &whole[..whole.len() - 1], &vec![0; whole.len()]] {
        std::fs::write(&path, broken).unwrap();
        assert_eq!(found(&mut session, &name, b"key"), None);
        assert!(!session.delete(b"key").unwrap());
        assert!(!path.exists());
        std::fs::write(&path, broken).unwrap();
        assert!(!session.touch(b"key", None).unwrap());
        let added = session.set(b"key", b"value", &mode(SetMode::Add)).unwrap();
        assert!(added.is_stored());
        assert_eq!(found(&mut session, &name, b"key").unwrap(), b"value");
    }
}

#[test]
fn an_expired_file_is_removed_by_the_operation_that_meets_it() {
    let size = Some(ByteSize(1 << 20));
    let (shared, clock) = open(FileConfig { size, ..FileConfig::default() });
    let mut session = FileSession::new(Arc::clone(&shared));
    let name = Name::of(b"key", shared.folder.depth());
    let path = shared.folder.path().join(name.path().as_c_str().to_str().unwrap());
    let options = SetOptions { ttl: Some(Duration::from_secs(1)), ..SetOptions::default() };
    let expirations = || shared.expirations.load(Ordering::Relaxed);
    let usage = shared.budget.as_ref().unwrap().usage();

    session.set(b"key", b"value", &options).unwrap();
    clock.advance(Duration::from_millis(999));
    assert_eq!(found(&mut session, &name, b"key").unwrap(), b"value");
    clock.advance(Duration::from_millis(1));
    assert!(path.exists());
    assert_eq!(found(&mut session, &name, b"key"), None);
    assert!(!path.exists());
    assert_eq!((expirations(), usage.items(), usage.bytes()), (1, 0, 0));

    session.set(b"key", b"value", &options).unwrap();
    clock.advance(Duration::from_secs(1));
    assert!(!session.delete(b"key").unwrap());
    assert_eq!((expirations(), usage.items(), usage.bytes()), (2, 0, 0));
}

fn open_with_limit(bytes: u64) -> Arc<Shared> {
    open(FileConfig { size: Some(ByteSize(bytes)), ..FileConfig::default() }).0
}

fn set(session: &mut FileSession, key: &[u8], len: usize) {
    session.set(key, &vec![b'v'; len], &SetOptions::default()).unwrap();
}

/// Runs a case that must end soon. The thread of a case that hangs ends with the test program.
fn in_time(run: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        run();
        // The receiver is gone when the case took too long.
        let _ = done.send(());
    });
    let ended = is_done.recv_timeout(Duration::from_secs(30));
    assert_ne!(ended, Err(mpsc::RecvTimeoutError::Timeout), "it goes on and on");
    thread.join().unwrap();
}

#[test]
fn the_only_entry_is_replaced_though_two_would_not_fit() {
    in_time(|| {
        let shared = open_with_limit(1 << 20);
        let mut session = FileSession::new(Arc::clone(&shared));
        let budget = shared.budget.as_ref().unwrap();
        set(&mut session, b"key", 600_000);
        let bytes = budget.usage().bytes();
        for len in [600_000, 100, 700_000, 600_000] {
            set(&mut session, b"key", len);
            let mut value = Vec::new();
            session.get(b"key", &mut value).unwrap().unwrap();
            assert_eq!(value.len(), len);
        }
        assert_eq!((budget.usage().items(), budget.usage().bytes()), (1, bytes));
        assert_eq!(budget.evictions(), 0);
    });
}

#[test]
fn entries_that_others_are_about_to_change_are_not_waited_for() {
    in_time(|| {
        let shared = open_with_limit(1 << 20);
        let mut session = FileSession::new(Arc::clone(&shared));
        let budget = shared.budget.as_ref().unwrap();
        set(&mut session, b"mine", 400_000);
        set(&mut session, b"theirs", 500_000);
        let locks = Locks::default();
        let turn = locks.wait(&shared.folder, &Name::of(b"theirs", shared.folder.depth())).unwrap();
        set(&mut session, b"mine", 700_000);
        assert_eq!((budget.usage().items(), budget.evictions()), (2, 0));
        assert!(budget.usage().bytes() > budget.limit());
        drop(turn);
        // Once the entries are free again, the next store brings the count down.
        set(&mut session, b"mine", 700_001);
        assert_eq!((budget.usage().items(), budget.evictions()), (1, 1));
        assert!(budget.usage().bytes() <= budget.limit());
    });
}

#[test]
fn threads_that_replace_the_last_entries_at_once_do_not_hold_each_other_up() {
    in_time(|| {
        let shared = open_with_limit(1 << 20);
        std::thread::scope(|scope| {
            for key in [b"one", b"two"] {
                let mut session = FileSession::new(Arc::clone(&shared));
                scope.spawn(move || {
                    for round in 0..500 {
                        set(&mut session, key, 400_000 + 200_000 * (round % 2));
                    }
                });
            }
        });
        let budget = shared.budget.as_ref().unwrap();
        set(&mut FileSession::new(Arc::clone(&shared)), b"last", 100);
        assert!(budget.usage().bytes() <= budget.limit());
    });
}

#[test]
fn a_value_is_read_into_a_buffer_of_any_room() {
    let mut session = session();
    for len in [0, 1, 900, 1024, 5000, 300_000] {
        let value = vec![b'v'; len];
        session.set(b"key", &value, &SetOptions::default()).unwrap();
        for room in [0, 1, len / 2, len, len + TRAILER_LEN, len + TRAILER_LEN + 4, 2 * len] {
            let mut buffer = Vec::with_capacity(room);
            for _ in 0..2 {
                session.get(b"key", &mut buffer).unwrap().unwrap();
                assert!(buffer == value, "{len} bytes into {room}");
            }
        }
    }
}

#[test]
fn a_buffer_that_has_grown_grows_no_more() {
    let mut session = session();
    session.set(b"key", &[b'v'; 10_000], &SetOptions::default()).unwrap();
    let mut buffer = Vec::new();
    session.get(b"key", &mut buffer).unwrap().unwrap();
    let (room, at) = (buffer.capacity(), buffer.as_ptr());
    for _ in 0..10 {
        session.get(b"key", &mut buffer).unwrap().unwrap();
        assert_eq!((buffer.capacity(), buffer.as_ptr()), (room, at));
    }
}
