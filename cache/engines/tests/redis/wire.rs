//! `redis:` and faults on the wire: answers in pieces, late answers, wrong answers and silence.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use larder_store::{Delta, Fill, Initial, Leased, Put, Session, SetMode, SetOptions};
use larder_testkit::{PATIENCE, Peer, trial as without_server};
use libtest_mimic::Trial;

use crate::peer::{answering, bulk};
use crate::session_support::{failure, get, open, set, try_open};
use crate::support::{redis_server, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("an_answer_may_come_byte_by_byte", an_answer_may_come_byte_by_byte),
        trial("a_panic_in_mid_batch_leaves_the_session_in_step", a_panic_in_mid_batch),
        without_server("every_error_of_a_server_is_named", every_error_of_a_server_is_named),
        without_server("a_malformed_answer_is_shown", a_malformed_answer_is_shown),
        without_server("silence_is_a_timeout", silence_is_a_timeout),
        without_server(
            "a_late_answer_is_not_taken_for_another",
            a_late_answer_is_not_taken_for_another,
        ),
        without_server("a_batch_is_one_request_a_node", a_batch_is_one_request_a_node),
        without_server(
            "a_batch_of_writes_is_one_request_a_node",
            a_batch_of_writes_is_one_request_a_node,
        ),
        without_server(
            "a_batch_of_leases_is_one_request_a_node",
            a_batch_of_leases_is_one_request_a_node,
        ),
        without_server("a_cluster_that_sends_in_circles_is_an_error", in_circles),
        without_server("a_refusal_says_nothing_of_the_slots", a_refusal_says_nothing_of_the_slots),
        without_server("a_silent_node_is_asked_for_the_slots_last", a_silent_node_is_asked_last),
        without_server("asking_for_the_slots_holds_up_no_other_session", asking_for_the_slots),
        without_server("an_old_server_tells_less", an_old_server_tells_less),
        without_server("an_old_server_knows_no_users", an_old_server_knows_no_users),
        without_server("a_refused_greeting_is_named", a_refused_greeting_is_named),
        without_server("what_a_lost_call_left_is_no_answer_to_another", a_lost_call),
    ]
}

fn an_answer_may_come_byte_by_byte() {
    let (_server, port) = redis_server(0, &[]);
    for piece in [1, 2, 7, 1000] {
        let relay = Peer::relaying(port, piece);
        let store = open(&format!("redis://127.0.0.1:{}", relay.port()));
        let session = &mut *store.session().unwrap();
        let large = vec![b'\n'; 200 * piece.min(100) + 20];
        set(session, "large", &large);
        set(session, "small", b"7");
        assert_eq!(get(session, "large"), Some(large.clone()), "{piece}");
        assert_eq!(get(session, "absent"), None);
        assert_eq!(
            session.incr(b"small", Delta::Up(34), None).unwrap().map(|n| n.number),
            Some(41)
        );
        let initial = Some(Initial { number: 12, ttl: Some(Duration::from_secs(100)) });
        for wanted in [12, 11] {
            let counted = session.incr(b"fresh", Delta::Down(1), initial).unwrap();
            assert_eq!(counted.map(|counted| counted.number), Some(wanted));
        }
        assert!(session.delete(b"fresh").unwrap());
        let looked = session.look(b"large").unwrap().map(|facts| facts.value_len);
        assert_eq!(looked, Some(large.len()));
        let mut value = Vec::new();
        session.get_and_touch(b"large", None, &mut value).unwrap().unwrap();
        assert_eq!(value, large, "{piece}");
        let mode = |mode| SetOptions { mode, ..SetOptions::default() };
        let entries = [
            Put { key: b"small", value: b"4", options: SetOptions::default() },
            Put { key: b"small", value: b"5", options: mode(SetMode::Add) },
            Put { key: b"small", value: b"1", options: mode(SetMode::Append) },
        ];
        let mut stored = Vec::new();
        session.set_many(&entries, &mut |_, told| stored.push(told.unwrap().is_stored())).unwrap();
        assert_eq!(stored, [true, false, true], "{piece}");
        let mut hits = Vec::new();
        let keys: [&[u8]; 4] = [b"large", b"absent", b"small", b"large"];
        session.get_many(&keys, &mut |i, value, _| hits.push((i, value.to_vec()))).unwrap();
        assert_eq!(hits, [(0, large.clone()), (2, b"41".to_vec()), (3, large)], "{piece}");
        assert!(session.touch(b"small", None).unwrap() && session.delete(b"small").unwrap());
    }
}

fn a_panic_in_mid_batch() {
    for url in ["redis:", "redis:?nodes=2"] {
        let store = open(url);
        let session = &mut *store.session().unwrap();
        for key in ["a", "b", "c"] {
            set(session, key, key.as_bytes());
        }
        let keys: [&[u8]; 3] = [b"a", b"b", b"c"];
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            // Unlike `panic!`, this prints nothing that looks like a failure.
            session
                .get_many(&keys, &mut |_, _, _| resume_unwind(Box::new("a test panics on purpose")))
        }));
        assert!(panicked.is_err());
        for key in ["a", "b", "c"] {
            assert_eq!(get(session, key), Some(key.as_bytes().to_vec()), "{url}");
        }
    }
}

/// The timeout for a silent peer. Every other peer must answer within this time, too.
const SILENCE: Duration = Duration::from_secs(1);

/// A session of a store at a peer with these answers to each command.
fn session_at(answer: impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static) -> Box<dyn Session> {
    session_within(PATIENCE, answer)
}

/// The same with this timeout for a silent peer.
fn session_within(
    timeout: Duration,
    answer: impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static,
) -> Box<dyn Session> {
    let (port, timeout) = (answering(answer).port(), timeout.as_millis());
    open(&format!("redis://127.0.0.1:{port}?timeout={timeout}ms")).session().unwrap()
}

/// Answers every request, except the requests of an opening store.
fn always(answer: &'static [u8]) -> impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static {
    move |words| match words[0].as_str() {
        "INFO" | "CONFIG" => Vec::new(),
        _ => answer.to_vec(),
    }
}

fn every_error_of_a_server_is_named() {
    for (answer, kind, needle) in [
        ("ERR unknown command", "protocol", "answered: ERR unknown command"),
        ("WRONGTYPE Operation against", "protocol", "answered: WRONGTYPE Operation against"),
        ("OOM command not allowed", "full", "answered: OOM command not allowed; give it more"),
        ("MISCONF Errors writing: No space left on device", "full", "No space left on device"),
        ("MISCONF is configured to save", "protocol", "answered: MISCONF is configured to save"),
        ("LOADING Redis is loading the dataset", "busy", "LOADING Redis is loading the dataset"),
        ("BUSY Redis is busy running a script", "busy", "BUSY Redis is busy running a script"),
        ("TRYAGAIN Multiple keys", "busy", "TRYAGAIN Multiple keys"),
        ("ERR max number of clients reached", "busy", "max number of clients reached"),
        ("READONLY You can't write", "protocol", "READONLY You can't write; name its primary"),
        ("NOAUTH Authentication required.", "unavailable", "asks for a password; write redis://"),
        ("WRONGPASS invalid pair", "unavailable", "refused the user or the password"),
        ("NOPERM this user has no permissions", "protocol", "answered: NOPERM this user"),
        ("CLUSTERDOWN The cluster is down", "unavailable", "CLUSTERDOWN The cluster is down"),
        ("MASTERDOWN Link is down", "unavailable", "MASTERDOWN Link is down"),
        ("MOVED 1 127.0.0.1:1", "protocol", "MOVED 1 127.0.0.1:1; the server does not tell"),
        ("FIRE in the\tserver room", "protocol", "answered: FIRE in the server room"),
    ] {
        let line: &'static [u8] = format!("-{answer}\r\n").leak().as_bytes();
        let session = &mut *session_at(always(line));
        for message in [
            failure(session.get(b"key", &mut Vec::new()), kind),
            failure(session.get_many(&[b"key"], &mut |_, _, _| {}), kind),
            failure(session.set(b"key", b"value", &SetOptions::default()), kind),
            failure(session.touch(b"key", None), kind),
            failure(session.touch(b"key", Some(Duration::from_secs(1))), kind),
            failure(session.delete(b"key"), kind),
            failure(session.incr(b"key", Delta::Up(1), None), kind),
        ] {
            assert!(message.contains(needle), "{answer}: {message}");
            assert!(message.contains("127.0.0.1:"), "{message}");
        }
    }
}

fn a_malformed_answer_is_shown() {
    for (answer, needle) in [
        (&b"HTTP/1.1 400 Bad Request\r\n"[..], "not an answer of this protocol"),
        (b":5\r\n", "not an answer to GET: Integer(5)"),
        (b"*1\r\n$1\r\nx\r\n", "not an answer to GET: "),
        (b"$3\r\nabcd\r\n", "not an answer of this protocol"),
    ] {
        let session = &mut *session_at(always(answer));
        let message = failure(session.get(b"key", &mut Vec::new()), "protocol");
        assert!(message.contains(needle) && message.contains("127.0.0.1:"), "{message}");
        assert!(message.len() < 300, "{message}");
    }
    for (answer, needle) in [
        (&b"$2\r\nOK\r\n"[..], "not an answer to MGET"),
        (b"*2\r\n$1\r\na\r\n$1\r\nb\r\n", "not an answer to MGET"),
        (b"*1\r\n:5\r\n", "not an answer to MGET: Integer(5)"),
    ] {
        let session = &mut *session_at(always(answer));
        let many = session.get_many(&[b"key"], &mut |_, _, _| panic!("a hit"));
        assert!(failure(many, "protocol").contains(needle));
    }
    let set = session_at(always(b"$1\r\nx\r\n")).set(b"key", b"value", &SetOptions::default());
    assert!(failure(set, "protocol").contains("not an answer to SET"));
    assert!(failure(session_at(always(b"+OK\r\n")).delete(b"key"), "protocol").contains("DEL"));
}

fn silence_is_a_timeout() {
    let session = &mut *session_within(SILENCE, |words| match words.get(1).map(String::as_str) {
        Some("half") => b"$10\r\nabc".to_vec(),
        Some("key") => b"$-1\r\n".to_vec(),
        _ => Vec::new(),
    });
    for key in ["silent", "half"] {
        let start = Instant::now();
        let message = failure(session.get(key.as_bytes(), &mut Vec::new()), "timeout");
        assert!(message.contains("no answer within 1000 ms from 127.0.0.1:"), "{message}");
        // The kernel's clocks are coarse.
        assert!(start.elapsed() > SILENCE * 9 / 10, "{:?}", start.elapsed());
        assert_eq!(get(session, "key"), None, "the session works on after `{key}`");
    }
    // A peer that accepts and stays silent is no server.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for url in [format!("redis://{address}"), format!("redis://:secret@{address}")] {
        let message = failure(try_open(&format!("{url}?timeout=100ms")), "timeout");
        assert!(message.contains("no answer within 100 ms"), "{message}");
    }
}

fn a_late_answer_is_not_taken_for_another() {
    let has_given_up = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&has_given_up);
    let session =
        &mut *session_within(SILENCE, move |words| match words.get(1).map(String::as_str) {
            Some("slow") => {
                while !gate.load(Ordering::SeqCst) {
                    sleep(Duration::from_millis(1));
                }
                bulk("slow")
            }
            Some("quick") => bulk("quick"),
            _ => Vec::new(),
        });
    failure(session.get(b"slow", &mut Vec::new()), "timeout");
    has_given_up.store(true, Ordering::SeqCst);
    for _ in 0..5 {
        assert_eq!(get(session, "quick"), Some(b"quick".to_vec()));
        sleep(Duration::from_millis(20));
    }
}

/// Two peers that claim to be a cluster, each with half of the slots, and that give these answers to all other
/// requests.
fn two_nodes(answer: impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static) -> (String, [Peer; 2]) {
    two_nodes_where(|| {}, answer)
}

/// The same, with a call of `before_slots` before each answer about the slots.
fn two_nodes_where(
    before_slots: impl Fn() + Send + Sync + 'static,
    answer: impl Fn(&[String]) -> Vec<u8> + Send + Sync + 'static,
) -> (String, [Peer; 2]) {
    let before_slots = Arc::new(before_slots);
    let ports: Arc<OnceLock<[u16; 2]>> = Arc::default();
    let answer = Arc::new(answer);
    let peers = [(); 2].map(|()| {
        let (ports, answer) = (Arc::clone(&ports), Arc::clone(&answer));
        let before_slots = Arc::clone(&before_slots);
        answering(move |words| match words[0].as_str() {
            "INFO" => bulk("cluster_enabled:1\r\n"),
            "CONFIG" => Vec::new(),
            "CLUSTER" => {
                before_slots();
                let [one, two] = ports.get().unwrap();
                let range = |first: u16, last: u16, port: &u16| {
                    format!("*3\r\n:{first}\r\n:{last}\r\n*2\r\n$9\r\n127.0.0.1\r\n:{port}\r\n")
                };
                format!("*2\r\n{}{}", range(0, 8191, one), range(8192, 16383, two)).into_bytes()
            }
            _ => answer(words),
        })
    });
    let [one, two] = peers.each_ref().map(Peer::port);
    ports.set([one, two]).unwrap();
    (format!("redis://127.0.0.1:{one}?timeout=10s"), peers)
}

fn a_batch_is_one_request_a_node() {
    const N_KEYS: usize = 100;
    let n_asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_asked);
    let (url, nodes) = two_nodes(move |words| {
        assert_eq!(words[0], "MGET");
        counter.fetch_add(words.len() - 1, Ordering::SeqCst);
        // A node answers only after the other has been asked too, so a client that asks them one after the other times
        // out.
        let deadline = Instant::now() + PATIENCE;
        while counter.load(Ordering::SeqCst) < 2 && Instant::now() < deadline {
            sleep(Duration::from_millis(1));
        }
        format!("*{}\r\n{}", words.len() - 1, "$-1\r\n".repeat(words.len() - 1)).into_bytes()
    });
    let store = open(&url);
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..N_KEYS).map(|i| format!("key:{i}")).collect();
    let batch: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    for n_batches in 1..=2 {
        let before = nodes.each_ref().map(Peer::n_requests);
        session.get_many(&batch, &mut |_, _, _| panic!("a hit")).unwrap();
        assert_eq!(n_asked.load(Ordering::SeqCst), n_batches * N_KEYS);
        let after = nodes.each_ref().map(Peer::n_requests);
        assert_eq!([after[0] - before[0], after[1] - before[1]], [1, 1]);
    }
}

fn a_batch_of_writes_is_one_request_a_node() {
    let (url, nodes) = two_nodes(|words| match words[0].as_str() {
        "SET" => b"+OK\r\n".to_vec(),
        "DEL" => b":1\r\n".to_vec(),
        other => panic!("{other}"),
    });
    let store = open(&url);
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..100).map(|i| format!("key:{i}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let put = |key| Put { key, value: b"value", options: SetOptions::default() };
    let entries: Vec<_> = keys.iter().map(|key| put(*key)).collect();
    for _ in 0..2 {
        let before = nodes.each_ref().map(Peer::n_requests);
        let mut n_done = 0;
        session.set_many(&entries, &mut |_, told| n_done += usize::from(told.is_ok())).unwrap();
        session.delete_many(&keys, &mut |_, told| n_done += usize::from(told.is_ok())).unwrap();
        assert_eq!(n_done, 200);
        let after = nodes.each_ref().map(Peer::n_requests);
        assert_eq!([after[0] - before[0], after[1] - before[1]], [2, 2]);
    }
}

fn a_batch_of_leases_is_one_request_a_node() {
    let n_texts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_texts);
    let (url, nodes) = two_nodes(move |words| {
        counter.fetch_add(usize::from(words[0] == "EVAL"), Ordering::SeqCst);
        // The command, the script, the number of keys and the key come before the arguments.
        match words.len() - 4 {
            1 => b":1\r\n".to_vec(),
            2 => b"+OK\r\n".to_vec(),
            4 => b"*3\r\n:1\r\n$-1\r\n:-1\r\n".to_vec(),
            other => panic!("{other} arguments: {words:?}"),
        }
    });
    let store = open(&url);
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..100).map(|i| format!("key:{i}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let put = |key| Put { key, value: b"value", options: SetOptions::default() };
    for n_batches in 1..=2 {
        let before = nodes.each_ref().map(Peer::n_requests);
        let (mut held, time) = (Vec::new(), Duration::from_mins(1));
        let leases = session.leases().unwrap();
        let lease = &mut |i: usize, _: &[u8], leased| match leased {
            Ok(Leased::Load { token, stale: None }) => held.push((keys[i], token)),
            other => panic!("{other:?}"),
        };
        leases.get_or_lease_many(&keys, time, Duration::ZERO, lease).unwrap();
        let fills: Vec<_> =
            held.iter().map(|(key, token)| Fill { put: put(*key), token: *token }).collect();
        let mut n_done = 0;
        leases
            .fill_many(&fills, &mut |_, told| n_done += usize::from(told.unwrap().is_stored()))
            .unwrap();
        leases.release_many(&held, &mut |_, told| n_done += usize::from(told.unwrap())).unwrap();
        assert_eq!(n_done, 200);
        let after = nodes.each_ref().map(Peer::n_requests);
        assert_eq!([after[0] - before[0], after[1] - before[1]], [3, 3]);
        // The first command of each request brings the text of the script.
        assert_eq!(n_texts.load(Ordering::SeqCst), n_batches * 6);
    }
}

fn in_circles() {
    let n_asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_asked);
    let ports: Arc<OnceLock<[u16; 2]>> = Arc::default();
    let known = Arc::clone(&ports);
    let (url, nodes) = two_nodes(move |_| {
        let n = counter.fetch_add(1, Ordering::SeqCst);
        let [one, two] = known.get().unwrap();
        format!("-MOVED 1 127.0.0.1:{}\r\n", if n.is_multiple_of(2) { two } else { one })
            .into_bytes()
    });
    ports.set(nodes.each_ref().map(Peer::port)).unwrap();
    let session = &mut *open(&url).session().unwrap();
    let message = failure(session.get(b"key", &mut Vec::new()), "protocol");
    assert!(message.contains("redirected a request 5 times; no node owns slot 1"), "{message}");
    assert_eq!(n_asked.load(Ordering::SeqCst), 6, "asked once, and sent on five times");
}

// Of two nodes, the first has the slot of `bar`, 5061, and the second that of `foo`, 12182.

fn a_refusal_says_nothing_of_the_slots() {
    for (answer, n_more) in [
        ("OOM command not allowed", 0),
        // Every get asks once more, by a script, whether a stale entry is there.
        ("WRONGTYPE Operation against", 3),
        ("NOPERM this user has no permissions", 0),
        ("LOADING Redis is loading the dataset", 0),
        // Every operation renews the slots except the first, which has not seen a refusal yet.
        ("CLUSTERDOWN The cluster is down", 8),
    ] {
        let line = format!("-{answer}\r\n").into_bytes();
        let (url, nodes) = two_nodes(move |_| line.clone());
        let session = &mut *open(&url).session().unwrap();
        let n_requests = || nodes.iter().map(Peer::n_requests).sum::<usize>();
        let before = n_requests();
        for _ in 0..3 {
            assert!(session.get(b"foo", &mut Vec::new()).is_err());
            assert!(session.set(b"bar", b"value", &SetOptions::default()).is_err());
            assert!(session.get_many(&[b"foo"], &mut |_, _, _| {}).is_err());
        }
        assert_eq!(n_requests() - before, 9 + n_more, "{answer}");
    }
}

fn a_silent_node_is_asked_last() {
    let (url, nodes) = two_nodes(|words| match words[1].as_str() {
        "bar" => Vec::new(),
        _ => b"$-1\r\n".to_vec(),
    });
    let session = &mut *open(&url.replace("10s", "1s")).session().unwrap();
    for in_batch in [false, true] {
        let answer = if in_batch {
            session.get_many(&[b"bar"], &mut |_, _, _| {})
        } else {
            session.get(b"bar", &mut Vec::new()).map(drop)
        };
        failure(answer, "timeout");
        let before = nodes.each_ref().map(Peer::n_requests);
        // The silent node is the node of the URL, which reported the slots when the store was opened.
        assert_eq!(get(session, "foo"), None);
        let after = nodes.each_ref().map(Peer::n_requests);
        assert_eq!([after[0] - before[0], after[1] - before[1]], [0, 2]);
    }
}

fn asking_for_the_slots() {
    // The opening of a store asks once; the second request for the slots waits here.
    let n_asked = Arc::new(AtomicUsize::new(0));
    let is_told = Arc::new(AtomicBool::new(false));
    let (counter, gate) = (Arc::clone(&n_asked), Arc::clone(&is_told));
    let (url, _nodes) = two_nodes_where(
        move || {
            if counter.fetch_add(1, Ordering::SeqCst) > 0 {
                while !gate.load(Ordering::SeqCst) {
                    sleep(Duration::from_millis(1));
                }
            }
        },
        |words| match words[1].as_str() {
            "bar" => b"-CLUSTERDOWN The cluster is down\r\n".to_vec(),
            _ => bulk("value"),
        },
    );
    let store = open(&url);
    let mut session = store.session().unwrap();
    failure(session.get(b"bar", &mut Vec::new()), "unavailable");
    let asking = spawn(move || get(&mut *session, "foo"));
    while n_asked.load(Ordering::SeqCst) < 2 {
        sleep(Duration::from_millis(1));
    }
    let other = get(&mut *store.session().unwrap(), "foo");
    is_told.store(true, Ordering::SeqCst);
    // The other session got its answer before the slots were told, so it did not wait for them.
    assert_eq!([other, asking.join().unwrap()], [(); 2].map(|()| Some(b"value".to_vec())));
}

fn an_old_server_tells_less() {
    let peer = answering(always(b"$-1\r\n"));
    let store = open(&format!("redis://127.0.0.1:{}", peer.port()));
    assert_eq!(store.info().version.as_deref(), Some("2.8.0"));
    assert_eq!(store.info().settings.get("maxmemory"), None);
    assert!(!store.capabilities().evicts);
    let stats = store.stats().unwrap();
    assert_eq!((stats.hits, stats.bytes, stats.capacity_bytes), (None, None, None));
    assert_eq!(get(&mut *store.session().unwrap(), "key"), None);
}

fn an_old_server_knows_no_users() {
    let has_login = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&has_login);
    let peer = answering(move |words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["AUTH", "secret"] => {
                counter.fetch_add(1, Ordering::SeqCst);
                b"+OK\r\n".to_vec()
            }
            ["AUTH", ..] => b"-ERR wrong number of arguments for 'auth' command\r\n".to_vec(),
            ["SELECT", _] if counter.load(Ordering::SeqCst) == 0 => {
                b"-NOAUTH Authentication required.\r\n".to_vec()
            }
            ["SELECT", "3"] => {
                counter.fetch_sub(1, Ordering::SeqCst);
                b"+OK\r\n".to_vec()
            }
            ["GET", key] => bulk(key),
            _ => Vec::new(),
        }
    });
    let store = open(&format!("redis://me:secret@127.0.0.1:{}/3", peer.port()));
    assert_eq!(get(&mut *store.session().unwrap(), "key"), Some(b"key".to_vec()));
    assert_eq!(has_login.load(Ordering::SeqCst), 0, "each login has its database");
}

fn a_refused_greeting_is_named() {
    for (answer, kind, needle) in [
        ("ERR max number of clients reached", "busy", "max number of clients reached"),
        ("LOADING Redis is loading the dataset", "busy", "LOADING Redis"),
        ("DENIED Redis is running in protected mode", "protocol", "DENIED Redis"),
        ("WRONGPASS invalid pair", "unavailable", "refused the user or the password"),
    ] {
        let line = format!("-{answer}\r\n").into_bytes();
        let peer = answering(move |_| line.clone());
        for resp in [2, 3] {
            let url = format!("redis://me:secret@127.0.0.1:{}?resp={resp}", peer.port());
            let message = failure(try_open(&url), kind);
            assert!(message.contains(needle), "{url}: {message}");
        }
    }
}

/// A node that answers `ASKING` and then says no more leaves half of an answer. The next call has another.
fn a_lost_call() {
    let ports: Arc<OnceLock<[u16; 2]>> = Arc::default();
    let known = Arc::clone(&ports);
    let (url, nodes) = two_nodes(move |words| match (words[0].as_str(), words.get(1)) {
        ("ASKING", _) => b"+OK\r\n".to_vec(),
        // `foo` is on its way from the second node to the first.
        ("GET", Some(key)) if key == "foo" => {
            format!("-ASK 12182 127.0.0.1:{}\r\n", known.get().unwrap()[0]).into_bytes()
        }
        _ => Vec::new(),
    });
    ports.set(nodes.each_ref().map(Peer::port)).unwrap();
    let store = open(&url.replace("10s", "1s"));
    let session = &mut *store.session().unwrap();
    // The first node sends `foo` on to itself, and is silent in the end.
    assert!(session.get(b"foo", &mut Vec::new()).is_err());
    let put = Put { key: b"bar", value: b"value", options: SetOptions::default() };
    let written = session.set_many(&[put], &mut |_, outcome| panic!("{outcome:?}"));
    failure(written, "timeout");
}
