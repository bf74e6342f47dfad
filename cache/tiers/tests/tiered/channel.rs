//! Stacks of two hosts over one spied tier, with a channel between them. Each host has an L1 of its own.
//!
//! Values may stay in L1 for an hour. So a value that goes from L1 was ended by the channel.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use larder_host::scratch::ScratchDir;
use larder_store::{Change, Delta, Put, Remaining, Session, SetMode, SetOptions, Store};
use larder_testkit::PATIENCE;
use larder_tiers::{Cap, Config, OnWriteError, Tiers};

use super::bus::Bus;
use super::spy::{Spy, spy};
use super::{get, mode, open, set, value};

/// More than the 10 s for which a value stays in L1 without a subscriber, and less than the hour of a value that stays for
/// long: L1 rounds a TTL up.
const SHORT: Duration = Duration::from_mins(1);

/// The stacks of two hosts.
struct Hosts {
    bus: Arc<Bus>,
    each: [Host; 2],
    l2: Arc<Spy>,
    name: String,
    _folder: ScratchDir,
}

struct Host {
    stack: Arc<dyn Store>,
    l1: Arc<dyn Store>,
}

fn config() -> Config {
    let l1_ttl = Cap(Some(Duration::from_hours(1)));
    // What another thread removes below after a failed write is not what these tests judge.
    Config { l1_ttl, on_write_error: OnWriteError::Keep, ..Config::default() }
}

/// A stack over an open L1 and the spied tier of a test.
fn stack(l1: &Arc<dyn Store>, name: &str, bus: &Arc<Bus>) -> Arc<dyn Store> {
    let channel: Arc<Bus> = Arc::clone(bus);
    let stores = vec![Arc::clone(l1), open(&format!("spy:/channel/{name}"))];
    Arc::new(Tiers::with_channel(stores, &config(), channel).unwrap())
}

/// Two hosts with an L1 of this kind: `mmap`, which processes share, or another one.
fn hosts(name: &str, scheme: &str) -> Hosts {
    let folder = ScratchDir::create_in("hosts", &std::env::temp_dir()).unwrap();
    let bus = Bus::new();
    let host = |number: u32| {
        let path = folder.path().join(number.to_string());
        let l1 = match scheme {
            "mmap" => open(&format!("mmap:{}?size=1m", path.display())),
            other => open(&format!("{other}:?size=1m")),
        };
        Host { stack: stack(&l1, name, &bus), l1 }
    };
    let l2 = spy(&format!("/channel/{name}"));
    let hosts = Hosts { each: [host(0), host(1)], bus, l2, name: name.into(), _folder: folder };
    hosts.until("both subscribe", || hosts.bus.n_subscribers() == 2);
    hosts
}

impl Hosts {
    /// Waits until this is so.
    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < end, "{}: in vain until {what}", self.name);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Reads a key on a host until its L1 has it for long.
    fn warm(&self, host: usize, key: &str) {
        let mut session = self.each[host].stack.session().unwrap();
        self.until("L1 has it for long", || {
            if self.each[host].ttl(key).is_some_and(|ttl| ttl <= SHORT) {
                self.each[host].l1.session().unwrap().delete(key.as_bytes()).unwrap();
            }
            get(&mut *session, key);
            self.each[host].ttl(key).is_some_and(|ttl| ttl > SHORT)
        });
    }

    fn gone(&self, host: usize, key: &str) {
        self.until(&format!("{key} is gone from L1"), || self.each[host].above(key).is_none());
    }
}

impl Host {
    /// The value in L1, read past the stack.
    fn above(&self, key: &str) -> Option<Vec<u8>> {
        get(&mut *self.l1.session().unwrap(), key)
    }

    fn ttl(&self, key: &str) -> Option<Duration> {
        let mut session = self.l1.session().unwrap();
        let meta = session.get(key.as_bytes(), &mut Vec::new()).unwrap()?;
        let Remaining::For(left) = meta.ttl else { panic!("{:?}", meta.ttl) };
        Some(left)
    }

    fn count(&self, name: &str) -> u64 {
        counted(&*self.stack, name)
    }
}

fn counted(stack: &dyn Store, name: &str) -> u64 {
    let counters = stack.counters().unwrap();
    counters.iter().find(|counter| counter.name == name).unwrap().value
}

type Write = fn(&mut dyn Session);

const WRITES: [(&str, Write); 9] = [
    ("set", |session| set(session, "k", b"1", None)),
    ("append", |session| assert!(session.set(b"k", b"1", &mode(SetMode::Append)).is_ok())),
    ("delete", |session| assert!(session.delete(b"k").unwrap())),
    ("touch", |session| assert!(session.touch(b"k", None).unwrap())),
    ("incr", |session| assert!(session.incr(b"k", Delta::Up(1), None).unwrap().is_some())),
    ("set_many", |session| {
        let put = |key| Put { key, value: b"1", options: SetOptions::default() };
        session
            .set_many(&[put(b"j"), put(b"k")], &mut |_, outcome| assert!(outcome.is_ok()))
            .unwrap();
    }),
    ("delete_many", |session| {
        session.delete_many(&[b"j", b"k"], &mut |_, outcome| assert!(outcome.is_ok())).unwrap();
    }),
    ("clear", |session| session.clear().unwrap()),
    ("a failed set", |_| {}),
];

#[test]
fn each_write_of_one_host_ends_the_copy_of_the_other() {
    for scheme in ["mmap", "memory"] {
        let hosts = hosts(&format!("writes/{scheme}"), scheme);
        for (name, write) in WRITES {
            hosts.l2.put("k", b"7", None);
            hosts.warm(1, "k");
            let mut session = hosts.each[0].stack.session().unwrap();
            if name == "a failed set" {
                hosts.l2.fail(true);
                assert!(session.set(b"k", b"1", &SetOptions::default()).is_err());
                hosts.l2.fail(false);
            }
            write(&mut *session);
            hosts.gone(1, "k");
            let mut other = hosts.each[1].stack.session().unwrap();
            assert_eq!(get(&mut *other, "k"), value(&hosts.l2, "k"), "{scheme} {name}");
        }
        assert!(hosts.each[0].count("channel_published") >= WRITES.len() as u64);
        assert!(hosts.each[1].count("channel_received") >= WRITES.len() as u64);
        assert_eq!(hosts.each[1].count("channel_gaps"), 0);
    }
}

#[test]
fn a_message_ends_no_other_key_and_a_host_does_not_heed_its_own() {
    for scheme in ["mmap", "memory"] {
        let hosts = hosts(&format!("own/{scheme}"), scheme);
        let [one, other] = &hosts.each;
        hosts.l2.put("kept", b"1", None);
        hosts.warm(1, "kept");
        let mut session = one.stack.session().unwrap();
        hosts.until("the writer knows its host's subscriber", || {
            set(&mut *session, "k", b"1", None);
            let n_own = one.count("channel_own_skipped");
            hosts.until("it hears of a write", || {
                one.count("channel_own_skipped") + one.count("channel_received") > 0
            });
            n_own > 0
        });
        assert_eq!(one.above("k").as_deref(), Some(&b"1"[..]));
        hosts.until("the other hears", || other.count("channel_received") > 0);
        assert_eq!(other.above("kept").as_deref(), Some(&b"1"[..]));
    }
}

#[test]
fn a_value_that_was_read_before_a_message_is_not_stored_after_it() {
    for scheme in ["mmap", "memory", "moka"] {
        let hosts = hosts(&format!("fenced/{scheme}"), scheme);
        hosts.l2.put("k", b"old", None);
        let mut session = hosts.each[1].stack.session().unwrap();
        let writer = Arc::clone(&hosts.each[0].stack);
        let heard = Arc::clone(&hosts.each[1].stack);
        hosts.l2.when_done(move || {
            set(&mut *writer.session().unwrap(), "k", b"new", None);
            let n_received = || counted(&*heard, "channel_received");
            // The next message is heard only after the first is done.
            set(&mut *writer.session().unwrap(), "next", b"1", None);
            let end = Instant::now() + PATIENCE;
            while n_received() < 1 && Instant::now() < end {
                thread::yield_now();
            }
            set(&mut *writer.session().unwrap(), "last", b"1", None);
            while n_received() < 2 && Instant::now() < end {
                thread::yield_now();
            }
        });
        assert_eq!(get(&mut *session, "k"), Some(b"old".to_vec()), "it began before the write");
        assert_eq!(hosts.each[1].above("k"), None, "{scheme}: the old value is stored");
        assert_eq!(get(&mut *session, "k"), Some(b"new".to_vec()));
    }
}

#[test]
fn a_value_that_was_read_before_a_gap_is_not_stored_after_it() {
    for scheme in ["mmap", "memory", "moka"] {
        let hosts = hosts(&format!("gap/{scheme}"), scheme);
        hosts.l2.put("k", b"old", None);
        let mut session = hosts.each[1].stack.session().unwrap();
        let (bus, l2) = (Arc::clone(&hosts.bus), Arc::clone(&hosts.l2));
        let cut = Arc::clone(&hosts.each[1].stack);
        hosts.l2.when_done(move || {
            l2.put("k", b"new", None);
            bus.cut();
            let end = Instant::now() + PATIENCE;
            while counted(&*cut, "channel_gaps") == 0 && Instant::now() < end {
                thread::yield_now();
            }
        });
        assert_eq!(get(&mut *session, "k"), Some(b"old".to_vec()), "it began before the write");
        assert_eq!(hosts.each[1].above("k"), None, "{scheme}: the old value is stored");
    }
}

#[test]
fn what_was_stored_without_a_subscriber_is_ended_before_there_is_cover() {
    for scheme in ["mmap", "memory"] {
        let hosts = hosts(&format!("cover/{scheme}"), scheme);
        let other = &hosts.each[1];
        hosts.bus.set_down(true);
        hosts.until("a gap", || other.count("channel_gaps") > 0);
        hosts.l2.put("k", b"old", None);
        let mut session = other.stack.session().unwrap();
        hosts.until("L1 has it", || {
            get(&mut *session, "k");
            other.above("k").is_some()
        });
        // The message of this change is lost.
        hosts.l2.put("k", b"new", None);
        hosts.bus.set_down(false);
        hosts.l2.put("any", b"1", None);
        hosts.warm(1, "any");
        assert_eq!(other.above("k"), None, "{scheme}");
    }
}

#[test]
fn what_another_process_stores_for_long_after_a_gap_is_ended_too() {
    let hosts = hosts("again", "mmap");
    let second = stack(&hosts.each[1].l1, "again", &hosts.bus);
    hosts.l2.put("k", b"old", None);
    hosts.warm(1, "k");
    let mut session = second.session().unwrap();
    hosts.until("the second process has cover", || {
        hosts.each[1].l1.session().unwrap().delete(b"k").unwrap();
        get(&mut *session, "k");
        hosts.each[1].ttl("k").is_some_and(|ttl| ttl > SHORT)
    });
    hosts.bus.set_down(true);
    hosts.until("a gap", || {
        hosts.each[1].count("channel_gaps") + counted(&*second, "channel_gaps") > 0
    });
    // The second process may not know yet.
    get(&mut *session, "k");
    hosts.until("it is not there for long", || {
        hosts.each[1].ttl("k").is_none_or(|ttl| ttl <= SHORT)
    });
}

#[test]
fn a_lost_message_is_noticed_by_the_next_and_ends_everything() {
    for scheme in ["mmap", "memory"] {
        let hosts = hosts(&format!("lost/{scheme}"), scheme);
        let mut session = hosts.each[0].stack.session().unwrap();
        set(&mut *session, "first", b"1", None);
        hosts.until("a first message", || hosts.each[1].count("channel_received") > 0);
        hosts.l2.put("k", b"old", None);
        hosts.warm(1, "k");
        hosts.bus.lose_one();
        set(&mut *session, "k", b"new", None);
        hosts.until("the message is lost", || hosts.bus.has_lost());
        assert_eq!(hosts.each[1].above("k").as_deref(), Some(&b"old"[..]));
        set(&mut *session, "another", b"1", None);
        hosts.gone(1, "k");
        hosts.until("a gap", || hosts.each[1].count("channel_gaps") == 1);
    }
}

#[test]
fn a_cut_connection_ends_everything_and_another_one_is_opened() {
    for scheme in ["mmap", "memory"] {
        let hosts = hosts(&format!("cut/{scheme}"), scheme);
        hosts.l2.put("k", b"old", None);
        hosts.warm(1, "k");
        hosts.bus.cut();
        hosts.gone(1, "k");
        hosts.until("a gap", || hosts.each[1].count("channel_gaps") > 0);
        hosts.until("both subscribe again", || hosts.bus.n_subscribers() == 2);
        hosts.warm(1, "k");
        set(&mut *hosts.each[0].stack.session().unwrap(), "k", b"new", None);
        hosts.gone(1, "k");
    }
}

#[test]
fn while_the_channel_is_down_values_are_kept_for_a_short_time_and_writes_are_published_later() {
    for scheme in ["mmap", "memory"] {
        let hosts = hosts(&format!("down/{scheme}"), scheme);
        let [one, other] = &hosts.each;
        hosts.l2.put("k", b"old", None);
        hosts.warm(1, "k");
        hosts.bus.set_down(true);
        hosts.gone(1, "k");
        let mut session = other.stack.session().unwrap();
        // L1 may end everything once more, because another process could not know yet.
        hosts.until("L1 has it", || {
            get(&mut *session, "k");
            other.above("k").is_some()
        });
        assert!(other.ttl("k").is_none_or(|ttl| ttl <= SHORT), "{scheme}: kept for long");
        set(&mut *one.stack.session().unwrap(), "k", b"new", None);
        hosts.bus.set_down(false);
        let has =
            |change: &Change| matches!(change, Change::Keys(keys) if keys.contains(&b"k".to_vec()));
        hosts.until("it is published", || hosts.bus.sent().iter().any(has));
        hosts.until("the new value is read", || {
            get(&mut *session, "k").as_deref() == Some(&b"new"[..])
        });
        hosts.warm(1, "k");
    }
}

#[test]
fn too_many_writes_while_the_channel_is_down_become_one_message() {
    let hosts = hosts("overflow", "memory");
    hosts.bus.set_down(true);
    let mut session = hosts.each[0].stack.session().unwrap();
    for number in 0..70_000 {
        session.delete(format!("key-{number}").as_bytes()).unwrap();
    }
    assert!(hosts.each[0].count("channel_keys_dropped") > 0);
    hosts.bus.set_down(false);
    hosts.until("it is published", || hosts.bus.sent().contains(&Change::Everything));
}

#[test]
fn stacks_of_one_host_have_one_subscriber_and_another_takes_over_when_it_ends() {
    let mut hosts = hosts("takeover", "mmap");
    let n_takeovers = |stack: &dyn Store| counted(stack, "channel_takeovers");
    hosts.l2.put("k", b"old", None);
    let mut second = stack(&hosts.each[1].l1, "takeover", &hosts.bus);
    // A process that starves for too long loses its place, which is not what is judged here.
    hosts.until("the first one subscribes for both", || {
        hosts.warm(1, "k");
        if n_takeovers(&*second) > 0 {
            second = stack(&hosts.each[1].l1, "takeover", &hosts.bus);
        }
        set(&mut *hosts.each[0].stack.session().unwrap(), "any", b"1", None);
        n_takeovers(&*second) == 0 && hosts.bus.n_subscribers() == 2
    });
    hosts.warm(1, "k");
    let (bus, l1) = (Arc::clone(&hosts.bus), Arc::clone(&hosts.each[1].l1));
    hosts.each[1] = Host { stack: Arc::clone(&second), l1 };
    hosts.until("the other takes over", || n_takeovers(&*second) == 1);
    hosts.gone(1, "k");
    hosts.warm(1, "k");
    set(&mut *hosts.each[0].stack.session().unwrap(), "k", b"new", None);
    hosts.gone(1, "k");
    hosts.until("one subscribes for each host", || {
        set(&mut *hosts.each[0].stack.session().unwrap(), "any", b"1", None);
        bus.n_subscribers() == 2
    });
}

#[test]
fn the_threads_end_with_the_last_session_and_publish_what_was_written_before() {
    for scheme in ["mmap", "memory"] {
        let hosts = hosts(&format!("end/{scheme}"), scheme);
        let Hosts { bus, each: [one, other], .. } = hosts;
        drop(other);
        let Host { stack, l1 } = one;
        let mut session = stack.session().unwrap();
        drop(stack);
        assert!(Arc::strong_count(&bus) > 1, "the session still hears");
        let held = bus.held();
        for number in 0..1000 {
            set(&mut *session, &format!("key-{number}"), b"1", None);
        }
        thread::scope(|scope| {
            let ends = scope.spawn(|| drop(session));
            thread::sleep(Duration::from_millis(20));
            assert!(!ends.is_finished());
            drop(held);
        });
        assert_eq!((Arc::strong_count(&bus), Arc::strong_count(&l1)), (1, 1), "{scheme}");
        let of = |change: Change| match change {
            Change::Keys(keys) => keys.len(),
            Change::Everything => 0,
        };
        assert_eq!(bus.sent().into_iter().map(of).sum::<usize>(), 1000);
    }
}

#[test]
fn what_is_left_of_an_earlier_process_is_ended_before_the_first_read() {
    let hosts = hosts("left", "mmap");
    hosts.l2.put("k", b"old", None);
    hosts.warm(1, "k");
    let Hosts { bus, each: [_, other], l2, _folder, .. } = hosts;
    let Host { stack: ended, l1 } = other;
    drop(ended);
    // No process of the host hears of it, and no new one connects.
    l2.put("k", b"new", None);
    bus.set_down(true);
    let stack = stack(&l1, "left", &bus);
    assert_eq!(get(&mut *stack.session().unwrap(), "k"), Some(b"new".to_vec()));
}

#[test]
fn a_stack_with_a_channel_has_a_bound() {
    let stores = || vec![open("memory:"), open("spy:/channel/bound")];
    let unbounded = Config { l1_ttl: Cap(None), ..Config::default() };
    let refused = Tiers::with_channel(stores(), &unbounded, Bus::new()).unwrap_err().to_string();
    assert!(refused.contains("so a stack with one has a bound; write 5m"), "{refused}");
    let named = Config { channel: Some("tracking".into()), ..Config::default() };
    let refused = Tiers::new(stores(), &named).unwrap_err().to_string();
    assert!(refused.contains("Tiers::with_channel"), "{refused}");
}
