//! `redis:` without waiting: refusals, malformed answers, and a cluster whose slots move.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use larder_store::{Answer, Delta, Pipeline, Session, SetOptions};
use larder_testkit::{PATIENCE, signal, trial as without_server};
use libtest_mimic::Trial;

use crate::peer::{answering, bulk};
use crate::session_support::{failure, open, set};
use crate::support::{Stranger, ask, nodes, redis_server, stranger, trial, try_ask};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        without_server("a_pipelined_refusal_is_that_of_its_request_alone", a_refusal_is_of_one),
        without_server("nothing_is_read_behind_a_pipelined_answer_that_cannot_be", malformed),
        without_server("a_pipelined_login_that_is_refused_is_told_at_once", a_refused_login),
        trial("a_pipelined_request_of_a_moved_slot_is_busy_once", a_moved_slot),
        trial("a_lost_node_ends_the_pipelined_requests_of_its_keys_only", a_lost_node),
        trial("a_pipelined_count_is_busy_once_where_the_server_forgot_its_script", a_lost_script),
        trial("a_pipelined_get_of_a_stale_entry_says_how_to_read_it", a_stale_entry),
    ]
}

/// The answers to all outstanding requests: each with its number, as text.
fn answers(pipeline: &mut dyn Pipeline) -> Vec<(usize, String)> {
    let (mut told, mut room) = (Vec::new(), vec![0; 1 << 16]);
    while pipeline.n_outstanding() > 0 {
        pipeline.wait(&mut room, &mut |id, answer| {
            let text = match answer {
                Answer::Hit { value, .. } => String::from_utf8_lossy(value).into_owned(),
                Answer::Entry { place, .. } => format!("entry {place}"),
                Answer::Outcome { place, outcome: Ok(_) } => format!("stored {place}"),
                Answer::Failed(error) | Answer::Outcome { outcome: Err(error), .. } => {
                    format!("{}: {error}", error.kind())
                }
                other => format!("{other:?}"),
            };
            told.push((id, text));
        });
    }
    told
}

fn get(session: &mut dyn Session, key: &str) -> String {
    let pipeline = session.pipeline().unwrap();
    pipeline.get(0, key.as_bytes()).unwrap();
    answers(pipeline).remove(0).1
}

/// A session at a peer that answers `bad` keys so, and other keys with their names.
fn session_at(bad: &str) -> Box<dyn Session> {
    let bad = bad.to_owned().into_bytes();
    let peer = answering(move |words| match (words[0].as_str(), words.last()) {
        ("INFO" | "CONFIG", _) | (_, None) => Vec::new(),
        (_, Some(key)) if key == "bad" => bad.clone(),
        (_, Some(key)) => bulk(key),
    });
    let url = format!("redis://127.0.0.1:{}?timeout={}ms", peer.port(), PATIENCE.as_millis());
    open(&url).session().unwrap()
}

fn a_refusal_is_of_one() {
    for (line, needle) in [
        ("ERR unknown command", "protocol: "),
        ("WRONGTYPE Operation against", "calls that wait read stale entries"),
        ("OOM command not allowed", "full: "),
        ("LOADING Redis is loading the dataset", "busy: "),
        ("TRYAGAIN Multiple keys", "busy: "),
        ("NOAUTH Authentication required.", "asks for a password"),
        ("CLUSTERDOWN The cluster is down", "unavailable: "),
        ("MOVED 1 127.0.0.1:1", "the server does not tell its cluster's slots"),
    ] {
        let session = &mut *session_at(&format!("-{line}\r\n"));
        let pipeline = session.pipeline().unwrap();
        pipeline.get(0, b"one").unwrap();
        pipeline.get(1, b"bad").unwrap();
        pipeline.get_many(2, &[b"good", b"bad"]).unwrap();
        pipeline.set(3, b"key", b"bad", &SetOptions::default()).unwrap();
        pipeline.delete(4, b"bad").unwrap();
        pipeline.get(5, b"two").unwrap();
        let told = answers(pipeline);
        let ids: Vec<usize> = told.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4, 5], "{told:?}");
        assert_eq!((&*told[0].1, &*told[5].1), ("one", "two"));
        for (_, text) in &told[1..5] {
            assert!(text.contains(needle), "{line}: {text}");
        }
    }
}

fn malformed() {
    for (bad, needle) in [
        ("HTTP/1.1 400 Bad Request\r\n", "not an answer of this protocol: HTTP/1.1 400"),
        (":5\r\n", "not an answer to GET: Integer(5)"),
        ("*1\r\n$1\r\nx\r\n", "not an answer to GET: Array(1)"),
        ("$3\r\nabcd\r\n", "not an answer of this protocol"),
    ] {
        let session = &mut *session_at(bad);
        let pipeline = session.pipeline().unwrap();
        for (id, key) in ["one", "bad", "two", "three"].iter().enumerate() {
            pipeline.get(id, key.as_bytes()).unwrap();
        }
        let told = answers(pipeline);
        assert_eq!((told.len(), &*told[0].1), (4, "one"));
        assert!(told[1].1.starts_with("protocol: ") && told[1].1.contains(needle), "{told:?}");
        for (_, lost) in &told[2..] {
            assert!(lost.starts_with("unavailable: ") && lost.contains("lost behind"), "{lost}");
        }
        assert_eq!(get(session, "four"), "four");
    }
    let session = &mut *session_at("*1\r\n$1\r\nx\r\n");
    let pipeline = session.pipeline().unwrap();
    pipeline.get_many(0, &[b"good", b"bad"]).unwrap();
    let told = answers(pipeline).remove(0).1;
    assert!(told.contains("not an answer to MGET: Array(1)"), "{told}");
}

fn a_refused_login() {
    let is_refused = Arc::new(AtomicBool::new(false));
    let refuses = Arc::clone(&is_refused);
    let peer = answering(move |words| match words[0].as_str() {
        "AUTH" if refuses.load(Ordering::SeqCst) => b"-WRONGPASS invalid pair\r\n".to_vec(),
        "AUTH" | "SELECT" => b"+OK\r\n".to_vec(),
        "INFO" | "CONFIG" => Vec::new(),
        _ => bulk(&words.join(" ")),
    });
    let store = open(&format!("redis://me:secret@127.0.0.1:{}/3", peer.port()));
    assert_eq!(get(&mut *store.session().unwrap(), "key"), "GET key");
    is_refused.store(true, Ordering::SeqCst);
    let session = &mut *store.session().unwrap();
    let pipeline = session.pipeline().unwrap();
    let message = failure(pipeline.get(0, b"key"), "unavailable");
    assert!(message.contains("refused the user or the password"), "{message}");
    assert_eq!(pipeline.n_outstanding(), 0);
    is_refused.store(false, Ordering::SeqCst);
    assert_eq!(get(session, "key"), "GET key");
}

fn a_lost_script() {
    let (_server, port) = redis_server(0, &[]);
    let store = open(&format!("redis://127.0.0.1:{port}"));
    let session = &mut *store.session().unwrap();
    set(session, "n", b"5");
    let mut count = || {
        let pipeline = session.pipeline().unwrap();
        pipeline.incr(0, b"n", Delta::Up(1), None).unwrap();
        answers(pipeline).remove(0).1
    };
    assert_eq!(count(), "Counted(Some(Counted { number: 6, version: None }))");
    ask::<()>(&mut stranger(&format!("127.0.0.1:{port}")), "SCRIPT FLUSH");
    let told = count();
    assert!(told.starts_with("busy: ") && told.contains("forgotten a script"), "{told}");
    assert_eq!(count(), "Counted(Some(Counted { number: 7, version: None }))");
}

fn a_moved_slot() {
    let store = open("redis:?nodes=2");
    let mut links: Vec<Stranger> = nodes(&*store).iter().map(|node| stranger(node)).collect();
    let ids: Vec<String> = links.iter_mut().map(|link| ask(link, "CLUSTER MYID")).collect();
    let session = &mut *store.session().unwrap();
    let keys = ["{tag}:one", "{tag}:two", "other", "another", "{x}", "{y}", "{z}"];
    for key in keys {
        set(session, key, key.as_bytes());
    }
    let slot: u64 = ask(&mut links[0], "CLUSTER KEYSLOT tag");
    let has_slot = |link: &mut Stranger| ask::<u64>(link, "EXISTS {tag}:one");
    let is_owner = |link: &mut Stranger| try_ask::<u64>(link, "EXISTS {tag}:one").is_ok();
    let source = links.iter_mut().position(is_owner).unwrap();
    assert_eq!(has_slot(&mut links[source]), 1);
    let target = 1 - source;
    assert_eq!(get(session, "{tag}:one"), "{tag}:one");

    // While the slot moves, an absent key is at the other node.
    ask::<()>(&mut links[target], &format!("CLUSTER SETSLOT {slot} IMPORTING {}", ids[source]));
    ask::<()>(&mut links[source], &format!("CLUSTER SETSLOT {slot} MIGRATING {}", ids[target]));
    let told = get(session, "{tag}:absent");
    assert!(told.starts_with("busy: ") && told.contains("ASK"), "{told}");
    assert_eq!(get(session, "{tag}:one"), "{tag}:one");

    let port = nodes(&*store)[target].rsplit_once(':').unwrap().1.to_owned();
    for key in ["{tag}:one", "{tag}:two"] {
        ask::<()>(&mut links[source], &format!("MIGRATE 127.0.0.1 {port} {key} 0 1000"));
    }
    for link in &mut links {
        ask::<()>(link, &format!("CLUSTER SETSLOT {slot} NODE {}", ids[target]));
    }
    let pipeline = session.pipeline().unwrap();
    pipeline.get(0, b"{tag}:one").unwrap();
    pipeline.get_many(1, &keys.map(str::as_bytes)).unwrap();
    let told = answers(pipeline);
    let last = |id: usize| &told.iter().rfind(|(told, _)| *told == id).unwrap().1;
    for id in [0, 1] {
        assert!(last(id).starts_with("busy: ") && last(id).contains("MOVED"), "{told:?}");
    }
    // Keys of other slots have their answers.
    let n_entries = told.iter().filter(|(_, text)| text.starts_with("entry")).count();
    assert_eq!(n_entries, 5, "{told:?}");
    assert_eq!(get(session, "{tag}:one"), "{tag}:one");
    let pipeline = session.pipeline().unwrap();
    pipeline.get_many(2, &keys.map(str::as_bytes)).unwrap();
    let told = answers(pipeline);
    assert_eq!((told.len(), &*told[7].1), (8, "End"), "{told:?}");
}

fn a_lost_node() {
    let store = open("redis:?nodes=3");
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..60).map(|i| format!("key:{i}")).collect();
    let pipeline = session.pipeline().unwrap();
    pipeline.connect().unwrap();
    for (id, key) in keys.iter().enumerate() {
        pipeline.set(id, key.as_bytes(), key.as_bytes(), &SetOptions::default()).unwrap();
    }
    let told = answers(pipeline);
    assert!(told.len() == 60 && told.iter().all(|(_, text)| text.contains("Stored")), "{told:?}");
    let lost = nodes(&*store).remove(0);
    signal(store.info().server_pids[0], libc::SIGKILL);
    let mut n_lost = 0;
    for key in &keys {
        let pipeline = session.pipeline().unwrap();
        let told = match pipeline.get(0, key.as_bytes()) {
            Ok(()) => answers(pipeline).remove(0).1,
            Err(error) => format!("{}: {error}", error.kind()),
        };
        if told != *key {
            assert!(told.starts_with("unavailable: ") && told.contains(&lost), "{told}");
            n_lost += 1;
        }
    }
    assert!((10..50).contains(&n_lost), "{n_lost} of 60 keys are on the lost node");
    // A batch that cannot be sent as a whole is not sent at all.
    let batch: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let pipeline = session.pipeline().unwrap();
    assert!(failure(pipeline.get_many(0, &batch), "unavailable").contains(&lost));
    assert_eq!((pipeline.n_outstanding(), pipeline.unsent_bytes()), (0, 0));
}

fn a_stale_entry() {
    let store = open("redis:");
    let session = &mut *store.session().unwrap();
    set(session, "key", b"value");
    assert!(session.leases().unwrap().expire(b"key", None).unwrap());
    let told = get(session, "key");
    assert!(told.contains("calls that wait read stale entries and leases"), "{told}");
    // A batch passes over what is no value, as one that waits does.
    let pipeline = session.pipeline().unwrap();
    pipeline.get_many(0, &[b"key"]).unwrap();
    assert_eq!(answers(pipeline), [(0, "End".to_owned())]);
}
