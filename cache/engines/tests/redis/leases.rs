//! The leases and stale entries of `redis:`, as other clients of the server see and change them.

use std::time::Duration;

use crate::session_support::{failure, get, open, set};
use crate::support::{ask, redis_server, stranger, trial};
use larder_store::{
    Delta, End, Initial, Leased, Leases, Meta, Put, Remaining, Session, SetMode, SetOptions,
    SetOutcome, Token,
};
use libtest_mimic::Trial;

const LONG: Duration = Duration::from_mins(5);

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_change_by_another_client_ends_a_lease", a_change_by_another_client),
        trial("a_lease_is_no_entry_to_change", a_lease_is_no_entry_to_change),
        trial("what_is_made_of_a_stale_entry_is_stale", what_is_made_of_a_stale_entry),
        trial("a_hash_of_another_client_is_no_entry", a_hash_of_another_client),
        trial("a_fill_beyond_the_limit_leaves_nothing_older", a_fill_beyond_the_limit),
        trial("a_lease_ends_with_its_time_whatever_the_ttl_of_its_key", a_lease_ends_with_its_time),
        trial("an_entry_becomes_stale_on_a_full_server", a_full_server),
        trial("a_value_is_ended_only_where_it_is_still_there", the_end_of_a_value),
    ]
}

fn leases(session: &mut dyn Session) -> &mut dyn Leases {
    session.leases().unwrap()
}

/// The lease of a key, and the stale value.
fn lease(session: &mut dyn Session, key: &str, time: Duration) -> (Token, Option<Vec<u8>>) {
    let mut value = Vec::new();
    match leases(session).get_or_lease(key.as_bytes(), &mut value, time).unwrap() {
        Leased::Load { token, stale } => (token, stale.map(|_| value)),
        other => panic!("who should load {key} is told {other:?}"),
    }
}

fn fills(session: &mut dyn Session, key: &str, value: &[u8], token: &Token) -> bool {
    let filled = leases(session).fill(key.as_bytes(), value, &SetOptions::default(), token);
    filled.unwrap() != SetOutcome::NotStored
}

fn mode(mode: SetMode) -> SetOptions {
    SetOptions { mode, ..SetOptions::default() }
}

fn stale_value(session: &mut dyn Session, key: &str) -> (Vec<u8>, bool) {
    let mut value = Vec::new();
    let Meta { stale, .. } = session.get(key.as_bytes(), &mut value).unwrap().unwrap();
    (value, stale)
}

fn a_change_by_another_client() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    for change in ["SET key newer", "DEL key", "UNLINK key", "FLUSHDB"] {
        for is_stale in [false, true] {
            session.delete(b"key").unwrap();
            if is_stale {
                set(session, "key", b"old");
                assert!(leases(session).expire(b"key", None).unwrap());
            }
            let (token, stale) = lease(session, "key", LONG);
            assert_eq!(stale.is_some(), is_stale);
            ask::<()>(link, change);
            let left = get(session, "key");
            assert!(!fills(session, "key", b"loaded", &token), "a fill after {change}");
            assert_eq!(get(session, "key"), left, "after {change}");
        }
    }
}

fn a_lease_is_no_entry_to_change() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    let (token, _) = lease(session, "key", LONG);
    for joined in [SetMode::Append, SetMode::Prepend] {
        let outcome = session.set(b"key", b"x", &mode(joined)).unwrap();
        assert_eq!(outcome, SetOutcome::NotStored, "{joined:?}");
        let put = Put { key: b"key", value: b"x", options: mode(joined) };
        let done = &mut |_, outcome: larder_store::Result<SetOutcome>| {
            assert_eq!(outcome.unwrap(), SetOutcome::NotStored, "{joined:?} in a batch");
        };
        session.set_many(&[put], done).unwrap();
    }
    assert_eq!(session.incr(b"key", Delta::Up(1), None).unwrap(), None);
    assert!(!session.touch(b"key", None).unwrap(), "a lease may last for ever");
    assert!((1..=300_000).contains(&ask::<i64>(link, "PTTL key")));
    assert!(fills(session, "key", b"loaded", &token), "none of this ends the lease");

    let (token, _) = lease(session, "n", LONG);
    let begun = session.incr(b"n", Delta::Up(1), Some(Initial { number: 7, ttl: None }));
    assert_eq!(begun.unwrap().map(|n| n.number), Some(7));
    assert!(!fills(session, "n", b"1", &token), "a fill of a number that was begun");
    assert_eq!(stale_value(session, "n"), (b"7".to_vec(), false));
}

fn what_is_made_of_a_stale_entry() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    let options = SetOptions { ttl: Some(LONG), ..SetOptions::default() };
    for (wanted, change) in [
        ("51", Some(SetMode::Append)),
        ("15", Some(SetMode::Prepend)),
        // An incr.
        ("6", None),
    ] {
        session.set(b"n", b"5", &options).unwrap();
        assert!(leases(session).expire(b"n", Some(2 * LONG)).unwrap());
        let (token, stale) = lease(session, "n", LONG);
        assert_eq!(stale, Some(b"5".to_vec()));
        if let Some(join) = change {
            assert!(session.set(b"n", b"1", &mode(join)).unwrap().is_stored());
        } else {
            let counted = session.incr(b"n", Delta::Up(1), None).unwrap();
            assert_eq!(counted.map(|n| n.number), Some(6));
        }
        assert_eq!(stale_value(session, "n"), (wanted.into(), true));
        assert!((1..=300_000).contains(&ask::<i64>(link, "PTTL n")), "it keeps its TTL");
        assert!(!fills(session, "n", b"1", &token), "a fill of what was changed");
        lease(session, "n", LONG);
    }
    assert!(leases(session).expire(b"n", Some(Duration::from_secs(9))).unwrap());
    assert!((1..=9000).contains(&ask::<i64>(link, "PTTL n")), "it is kept for less than that");
    assert!(session.touch(b"n", None).unwrap());
    assert_eq!(ask::<i64>(link, "PTTL n"), -1);
    let meta = session.get_and_touch(b"n", Some(LONG), &mut Vec::new()).unwrap().unwrap();
    assert!(meta.stale && (1..=300_000).contains(&ask::<i64>(link, "PTTL n")));
    let meta = session.get_and_touch(b"n", None, &mut Vec::new()).unwrap().unwrap();
    assert!(meta.stale && ask::<i64>(link, "PTTL n") == -1);
    set(session, "text", b"no number");
    leases(session).expire(b"text", None).unwrap();
    failure(session.incr(b"text", Delta::Up(1), None), "not_a_number");
}

fn a_hash_of_another_client() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    ask::<()>(link, "HSET theirs v theirs");
    ask::<()>(link, "LPUSH list one");
    let token = &lease(session, "key", LONG).0;
    for key in [&b"theirs"[..], b"list"] {
        let value = &mut Vec::new();
        for message in [
            failure(session.get(key, value), "protocol"),
            failure(session.get_and_touch(key, None, value), "protocol"),
            failure(session.look(key), "protocol"),
            failure(session.incr(key, Delta::Up(1), None), "protocol"),
            failure(session.set(key, b"x", &mode(SetMode::Append)), "protocol"),
            failure(session.set(key, b"x", &mode(SetMode::Prepend)), "protocol"),
            failure(leases(session).get_or_lease(key, value, LONG), "protocol"),
            failure(leases(session).expire(key, None), "protocol"),
        ] {
            let wanted = "WRONGTYPE Operation against a key holding the wrong kind of value";
            assert!(message.contains(wanted), "{message}");
        }
        let filled = leases(session).fill(key, b"x", &SetOptions::default(), token).unwrap();
        assert_eq!(filled, SetOutcome::NotStored);
        assert!(!leases(session).release(key, token).unwrap());
    }
    assert_eq!(ask::<String>(link, "HGET theirs v"), "theirs");
    assert_eq!(store.stats().unwrap().connections, Some(1));
}

fn a_fill_beyond_the_limit() {
    let (_server, port) = redis_server(0, &["--proto-max-bulk-len", "1mb"]);
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    let limit = store.capabilities().max_value_len.unwrap();
    let longer = &vec![7; limit + 1];
    set(session, "key", b"old");
    leases(session).expire(b"key", None).unwrap();
    let (token, _) = lease(session, "key", LONG);
    let options = SetOptions::default();
    failure(leases(session).fill(b"key", longer, &options, &token), "value_too_large");
    assert_eq!(get(session, "key"), None);
    set(session, "key", b"newer");
    failure(leases(session).fill(b"key", longer, &options, &token), "value_too_large");
    assert_eq!(get(session, "key"), Some(b"newer".to_vec()), "the token was void");
    session.delete(b"key").unwrap();
    let (token, _) = lease(session, "key", LONG);
    let flags = SetOptions { flags: 1, ..options };
    failure(leases(session).fill(b"key", b"x", &flags, &token), "unsupported");
    assert!(fills(session, "key", &longer[1..], &token), "the longest value there is");
    assert_eq!(get(session, "key").map(|value| value.len()), Some(limit));
}

fn a_lease_ends_with_its_time() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    let short = Duration::from_millis(20);
    let (late, _) = lease(session, "key", short);
    assert!(ask::<i64>(link, "PTTL key") <= 20, "a lease ends without another request");
    // What renews the TTL of the key does not renew the lease.
    session.touch(b"key", Some(LONG)).unwrap();
    std::thread::sleep(2 * short);
    assert!(!fills(session, "key", b"late", &late), "a fill after the time of the lease");
    assert!(!leases(session).release(b"key", &late).unwrap());
    // No time is too long, and none too short.
    let (token, _) = lease(session, "key", Duration::MAX);
    assert!(fills(session, "key", b"loaded", &token));
    lease(session, "other", Duration::ZERO);
    std::thread::sleep(short);
    lease(session, "other", Duration::ZERO);
    let options = SetOptions { ttl: Some(Duration::MAX), ..SetOptions::default() };
    session.set(b"key", b"v", &options).unwrap();
    assert!(leases(session).expire(b"key", Some(Duration::MAX)).unwrap());
    assert_eq!(stale_value(session, "key"), (b"v".to_vec(), true));
}

fn a_full_server() {
    let large = vec![7; 100_000];
    let (_server, port) =
        redis_server(0, &["--maxmemory", "8mb", "--maxmemory-policy", "noeviction"]);
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    let (token, _) = lease(session, "leased", LONG);
    let full = (0..200).find_map(|i| {
        let key = format!("key:{i}");
        session.set(key.as_bytes(), &large, &SetOptions::default()).err()
    });
    failure(full.map_or(Ok(()), Err), "full");
    assert!(leases(session).expire(b"key:0", Some(LONG)).unwrap());
    assert_eq!(stale_value(session, "key:0"), (large.clone(), true));
    let options = SetOptions::default();
    failure(leases(session).fill(b"leased", &large, &options, &token), "full");
    failure(leases(session).get_or_lease(b"absent", &mut Vec::new(), LONG), "full");
    assert!(leases(session).release(b"leased", &token).unwrap(), "a full server ends leases");
}

fn the_end_of_a_value() {
    for url in ["redis:?ttl_left=on", "redis:?ttl_left=on&compress=lz4:1"] {
        let store = open(url);
        let (mut session, mut value) = (store.session().unwrap(), Vec::new());
        let session = &mut *session;
        let end = |key: &str, value: &[u8], keep| {
            let mut other = store.session().unwrap();
            let (ends, mut ended) = ([End { key: key.as_bytes(), value, keep }], None);
            let mut done = |_, outcome| ended = Some(outcome);
            other.leases().unwrap().end_values(&ends, &mut done).unwrap();
            ended.unwrap().unwrap()
        };
        let (minute, hour) = (Duration::from_mins(1), Duration::from_hours(1));
        let text = b"a text that is long enough to become shorter, shorter, shorter, shorter";
        set(session, "k", text);
        assert!(!end("absent", text, None) && !end("k", b"another", None), "{url}");
        assert!(!end("k", b"another", Some(minute)), "{url}");
        assert_eq!(get(session, "k").as_deref(), Some(&text[..]), "{url}");
        assert!(end("k", text, None), "{url}");
        assert_eq!(get(session, "k"), None, "{url}");
        // It becomes stale for the shorter of both times, and one caller loads it.
        for (ttl, keep) in [(None, minute), (Some(hour), minute), (Some(minute), hour)] {
            let options = SetOptions { ttl, ..SetOptions::default() };
            session.set(b"k", text, &options).unwrap();
            assert!(end("k", text, Some(keep)) && !end("k", text, Some(keep)), "{url}");
            let leased = session.leases().unwrap().get_or_lease(b"k", &mut value, minute);
            let Ok(Leased::Load { stale: Some(meta), .. }) = leased else { panic!("{leased:?}") };
            assert_eq!(value, text, "{url}");
            let Remaining::For(left) = meta.ttl else { panic!("{meta:?}") };
            assert!(left <= minute && left > minute / 2, "{url}: {left:?}");
        }
    }
}
