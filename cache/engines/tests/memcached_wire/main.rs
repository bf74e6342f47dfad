//! `memcached:` and faults on the wire: answers in pieces, late answers, wrong answers and silence.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod leases;
#[path = "../memcached_support/mod.rs"]
mod memcached_support;
mod pipeline;
#[path = "../session_support/mod.rs"]
mod session_support;

use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use larder_store::{Delta, Initial, Put, Session, SetOptions};
use larder_testkit::{PATIENCE, Peer, trial as without_server};
use libtest_mimic::Arguments;
use memcached_support::{memcached, trial};
use session_support::{failure, get, open, set, try_open};

fn main() -> ExitCode {
    let trials = vec![
        trial("an_answer_may_come_byte_by_byte", an_answer_may_come_byte_by_byte),
        trial("a_batch_is_one_request_a_node", a_batch_is_one_request_a_node),
        trial("a_batch_of_leases_is_one_request_a_node", leases::one_request_a_node),
        trial("a_batch_of_stale_entries_takes_three_requests_a_node", leases::stale_entries),
        trial("a_lost_node_fails_the_leases_of_its_keys_only", leases::lost_node),
        trial("leases_of_large_values_come_in_pieces_of_any_length", leases::large_values),
        trial("a_panic_in_mid_batch_leaves_the_session_in_step", a_panic_in_mid_batch),
        without_server("every_error_of_a_server_is_named", every_error_of_a_server_is_named),
        without_server("a_malformed_answer_is_shown", a_malformed_answer_is_shown),
        without_server("silence_is_a_timeout", silence_is_a_timeout),
        without_server(
            "a_late_answer_is_not_taken_for_another",
            a_late_answer_is_not_taken_for_another,
        ),
        without_server("an_old_server_is_spoken_to_in_text", an_old_server),
        without_server("a_server_without_settings_has_no_known_limit", without_settings),
        trial("pipelined_answers_may_come_byte_by_byte", pipeline::byte_by_byte),
        without_server(
            "a_pipelined_refusal_that_may_be_a_part_loses_those_behind",
            pipeline::refusals,
        ),
        without_server("a_pipelined_batch_may_come_in_any_order", pipeline::any_order),
        without_server("a_pipelined_count_that_is_overtaken_is_busy", pipeline::overtaken_count),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn an_answer_may_come_byte_by_byte() {
    let (_server, port) = memcached(0, &[]);
    for piece in [1, 2, 7, 1000] {
        let relay = Peer::relaying(port, piece);
        for protocol in ["text", "meta"] {
            let store =
                open(&format!("memcached://127.0.0.1:{}?protocol={protocol}", relay.port()));
            let session = &mut *store.session().unwrap();
            let large = vec![b'\n'; 200 * piece.min(100) + 20];
            set(session, "large", &large);
            set(session, "small", b"7");
            assert_eq!(get(session, "large"), Some(large.clone()), "{protocol}, {piece}");
            assert_eq!(get(session, "absent"), None);
            assert_eq!(
                session.incr(b"small", Delta::Up(34), None).unwrap().map(|n| n.number),
                Some(41)
            );
            let initial = Some(Initial { number: 12, ttl: None });
            for wanted in [12, 11] {
                let counted = session.incr(b"fresh", Delta::Down(1), initial).unwrap();
                assert_eq!(counted.map(|counted| counted.number), Some(wanted));
            }
            assert!(session.delete(b"fresh").unwrap());
            let mut value = Vec::new();
            session.get_and_touch(b"large", None, &mut value).unwrap().unwrap();
            assert_eq!(value, large, "{protocol}, {piece}");
            let looked = session.look(b"large").unwrap().map(|facts| facts.value_len);
            assert_eq!(looked, Some(large.len()));
            let put = |key, value| Put { key, value, options: SetOptions::default() };
            let entries =
                [put(&b"small"[..], &b"7"[..]), put(b"large", &large), put(b"small", b"41")];
            let mut n_stored = 0;
            session
                .set_many(&entries, &mut |_, outcome| {
                    n_stored += usize::from(outcome.unwrap().is_stored());
                })
                .unwrap();
            assert_eq!(n_stored, 3);
            let mut hits = Vec::new();
            let keys: [&[u8]; 4] = [b"large", b"absent", b"small", b"large"];
            session.get_many(&keys, &mut |i, value, _| hits.push((i, value.to_vec()))).unwrap();
            let wanted = [(0, large.clone()), (2, b"41".to_vec()), (3, large)];
            assert_eq!(hits, wanted, "{protocol}, {piece}");
            assert!(session.touch(b"small", None).unwrap() && session.delete(b"small").unwrap());
        }
    }
}

fn a_batch_is_one_request_a_node() {
    let servers = [memcached(0, &[]), memcached(0, &[])];
    let relays = servers.each_ref().map(|(_, port)| Peer::relaying(*port, 1 << 16));
    let [one, two] = relays.each_ref().map(Peer::port);
    for protocol in ["text", "meta"] {
        let store =
            open(&format!("memcached://127.0.0.1:{one},127.0.0.1:{two}?protocol={protocol}"));
        let session = &mut *store.session().unwrap();
        let keys: Vec<String> = (0..200).map(|i| format!("key:{i}")).collect();
        for key in &keys {
            set(session, key, b"value");
        }
        let batch: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let before = relays.each_ref().map(Peer::n_requests);
        let mut n_hits = 0;
        session.get_many(&batch, &mut |_, _, _| n_hits += 1).unwrap();
        let after = relays.each_ref().map(Peer::n_requests);
        assert_eq!(n_hits, 200);
        assert_eq!([after[0] - before[0], after[1] - before[1]], [1, 1], "{protocol}");
        let put = |key| Put { key, value: b"value", options: SetOptions::default() };
        let entries: Vec<_> = batch.iter().map(|key| put(*key)).collect();
        let mut n_done = 0;
        session.set_many(&entries, &mut |_, _| n_done += 1).unwrap();
        session.delete_many(&batch, &mut |_, _| n_done += 1).unwrap();
        let last = relays.each_ref().map(Peer::n_requests);
        assert_eq!(n_done, 400);
        assert_eq!([last[0] - after[0], last[1] - after[1]], [2, 2], "writes by {protocol}");
    }
}

fn a_panic_in_mid_batch() {
    let (_server, port) = memcached(0, &[]);
    let store = open(&format!("memcached://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    for key in ["a", "b", "c"] {
        set(session, key, key.as_bytes());
    }
    let keys: [&[u8]; 3] = [b"a", b"b", b"c"];
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        // Unlike `panic!`, this prints nothing that looks like a failure.
        session.get_many(&keys, &mut |_, _, _| resume_unwind(Box::new("a test panics on purpose")))
    }));
    assert!(panicked.is_err());
    assert_eq!(get(session, "c"), Some(b"c".to_vec()));
}

/// A server that answers each line by `answer`. It answers the requests of an opening store like an old memcached. An
/// empty answer is silence.
fn answering(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Peer {
    let answer = Arc::new(answer);
    Peer::listening(move |client, requests| {
        let answer = Arc::clone(&answer);
        thread::spawn(move || {
            let mut lines = BufReader::new(client.try_clone().unwrap());
            let mut client = client;
            let mut line = String::new();
            while lines.read_line(&mut line).is_ok_and(|len| len > 0) {
                requests.fetch_add(1, Ordering::SeqCst);
                let bytes = match line.trim_end() {
                    "version" => b"VERSION 1.4.39\r\n".to_vec(),
                    "stats" | "stats settings" => b"END\r\n".to_vec(),
                    "mn" => b"ERROR\r\n".to_vec(),
                    line => answer(line),
                };
                if client.write_all(&bytes).is_err() {
                    return;
                }
                line.clear();
            }
        });
    })
}

/// The timeout for a silent peer. Every other peer must answer within this time, too.
const SILENCE: Duration = Duration::from_secs(1);

/// A session of a store at a peer with these answers to each line.
pub(crate) fn session_at(
    answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
) -> Box<dyn Session> {
    session_within(PATIENCE, answer)
}

/// The same with this timeout for a silent peer.
fn session_within(
    timeout: Duration,
    answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
) -> Box<dyn Session> {
    let (port, timeout) = (answering(answer).port(), timeout.as_millis());
    open(&format!("memcached://127.0.0.1:{port}?timeout={timeout}ms")).session().unwrap()
}

fn every_error_of_a_server_is_named() {
    for (answer, kind, needle) in [
        ("ERROR", "protocol", "answered: ERROR: it does not know the command"),
        ("CLIENT_ERROR bad data chunk", "protocol", "answered: CLIENT_ERROR bad data chunk"),
        ("SERVER_ERROR on fire", "protocol", "answered: SERVER_ERROR on fire"),
        ("SERVER_ERROR out of memory storing object", "full", "out of memory storing object"),
        ("SERVER_ERROR object too large for cache", "protocol", "object too large for cache"),
        (
            "CLIENT_ERROR cannot increment or decrement non-numeric value",
            "not_a_number",
            "is not a number",
        ),
    ] {
        let session = &mut *session_at(move |_| format!("{answer}\r\n").into_bytes());
        for message in [
            failure(session.get(b"key", &mut Vec::new()), kind),
            failure(session.get_many(&[b"key"], &mut |_, _, _| {}), kind),
            failure(session.touch(b"key", None), kind),
            failure(session.delete(b"key"), kind),
            failure(session.incr(b"key", Delta::Up(1), None), kind),
        ] {
            assert!(message.contains(needle), "{answer}: {message}");
        }
    }
}

fn a_malformed_answer_is_shown() {
    for (answer, needle) in [
        (&b"HTTP/1.1 400 Bad Request\r\n"[..], "not an answer to `get`: HTTP/1.1 400 Bad Request"),
        (b"VALUE other 0 1 5\r\nx\r\nEND\r\n", "not an answer to `get`: VALUE other 0 1 5"),
        (b"VALUE key 0 1 5\r\nxyEND\r\n\r\n\r\n", "a value without its end"),
        (b"\x01\x02\r\n", "not an answer to `get`: \\x01\\x02"),
        (b"END\r\nEND\r\n", "an answer without a request: END"),
    ] {
        let session = &mut *session_at(move |_| answer.to_vec());
        let first = session.get(b"key", &mut Vec::new());
        let message = match first {
            // The second END answers nothing; the next request must not take it for its own.
            Ok(None) => {
                let set = session.set(b"key", b"value", &SetOptions::default());
                failure(set, "protocol")
            }
            other => failure(other, "protocol"),
        };
        assert!(message.contains(needle) && message.contains("127.0.0.1:"), "{message}");
    }
}

fn silence_is_a_timeout() {
    let session = &mut *session_within(SILENCE, |line| match line {
        "get half" => b"VALUE half 0 10 1\r\nabc".to_vec(),
        "get key" => b"END\r\n".to_vec(),
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
    let opened = try_open(&format!("memcached://{address}?timeout=100ms"));
    let message = failure(opened, "unavailable");
    assert!(message.contains("no answer within 100 ms"), "{message}");
}

fn a_late_answer_is_not_taken_for_another() {
    let has_given_up = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&has_given_up);
    let session = &mut *session_within(SILENCE, move |line| match line {
        "get slow" => {
            while !gate.load(Ordering::SeqCst) {
                sleep(Duration::from_millis(1));
            }
            b"VALUE slow 0 4 1\r\nslow\r\nEND\r\n".to_vec()
        }
        _ => b"VALUE quick 0 5 2\r\nquick\r\nEND\r\n".to_vec(),
    });
    failure(session.get(b"slow", &mut Vec::new()), "timeout");
    has_given_up.store(true, Ordering::SeqCst);
    for _ in 0..5 {
        assert_eq!(get(session, "quick"), Some(b"quick".to_vec()));
        sleep(Duration::from_millis(20));
    }
}

fn an_old_server() {
    let peer = answering(|_| b"END\r\n".to_vec());
    let store = open(&format!("memcached://127.0.0.1:{}", peer.port()));
    assert_eq!(store.info().settings["protocol"], "text");
    assert_eq!(store.info().version.as_deref(), Some("1.4.39"));
    assert!(!store.capabilities().ttl_left);
    assert_eq!(get(&mut *store.session().unwrap(), "key"), None);
}

fn without_settings() {
    let peer = answering(|_| b"SERVER_ERROR object too large for cache\r\n".to_vec());
    let store = open(&format!("memcached://127.0.0.1:{}", peer.port()));
    assert_eq!(store.capabilities().max_value_len, None);
    assert_eq!(store.stats().unwrap().hits, None, "never a false 0");
    // Without a known limit, the error shows the server's own words.
    let set = store.session().unwrap().set(b"key", b"value", &SetOptions::default());
    assert!(failure(set, "protocol").contains("object too large"));
}
