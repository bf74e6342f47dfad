//! `redis:` as a cluster of real servers.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::session_support::{failure, get, open, set};
use crate::support::{Stranger, ask, nodes, stranger, trial};
use larder_store::{Leased, Ownership, Put, Session, SetOptions, Store};
use larder_testkit::signal;
use libtest_mimic::Trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("keys_are_where_the_cluster_looks_for_them", keys_are_where_the_cluster_looks),
        trial("one_host_is_enough_to_find_a_cluster", one_host_is_enough),
        trial("a_cluster_is_reached_through_relays_only", a_cluster_behind_relays),
        trial("keys_of_one_tag_are_on_one_node", keys_of_one_tag),
        trial("a_slot_is_followed_while_and_after_it_moves", a_slot_is_followed),
        trial("a_lost_node_is_an_error_for_its_keys_only", a_lost_node),
    ]
}

/// Values of a batch of keys, in the order of the keys.
fn get_many(session: &mut dyn Session, keys: &[String]) -> Vec<Option<Vec<u8>>> {
    let mut values = vec![None; keys.len()];
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    session.get_many(&keys, &mut |i, value, _| values[i] = Some(value.to_vec())).unwrap();
    values
}

/// Stores a batch of entries, and removes a key that no test stores.
fn set_many(session: &mut dyn Session, entries: [(&str, &[u8]); 2], absent: &str) {
    let options = SetOptions::default();
    let entries = entries.map(|(key, value)| Put { key: key.as_bytes(), value, options });
    let mut n_stored = 0;
    session
        .set_many(&entries, &mut |_, told| n_stored += usize::from(told.unwrap().is_stored()))
        .unwrap();
    assert_eq!(n_stored, 2);
    let mut n_absent = 0;
    session
        .delete_many(&[absent.as_bytes()], &mut |_, told| n_absent += usize::from(!told.unwrap()))
        .unwrap();
    assert_eq!(n_absent, 1);
}

fn keys_are_where_the_cluster_looks() {
    let store = open("redis:?nodes=3");
    let info = store.info();
    assert_eq!((info.server_pids.len(), &*info.settings["cluster-enabled"]), (3, "yes"));
    let nodes = nodes(&*store);
    assert_eq!(nodes.iter().collect::<HashSet<_>>().len(), 3, "{nodes:?}");
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..600).map(|i| format!("key:{i}")).collect();
    for key in &keys {
        set(session, key, key.as_bytes());
    }
    assert_eq!(store.stats().unwrap().connections, Some(3));
    let values = get_many(session, &[&keys[..], &["absent".into()]].concat());
    assert!(values.last() == Some(&None) && values.len() == 601);
    assert!(keys.iter().zip(&values).all(|(key, value)| value.as_deref() == Some(key.as_bytes())));
    let mut n_keys = 0;
    for node in &nodes {
        let link = &mut stranger(node);
        let on_node: Vec<String> = ask(link, "KEYS *");
        assert!(on_node.len() > 100, "{} keys on {node}", on_node.len());
        n_keys += on_node.len();
        // The node answers for these keys itself, and redirects no client.
        assert!(on_node.iter().all(|key| ask::<String>(link, &format!("GET {key}")) == *key));
    }
    assert_eq!(n_keys, 600);
    assert_eq!(store.stats().unwrap().items, Some(600));
    session.clear().unwrap();
    assert_eq!(store.stats().unwrap().items, Some(0), "clear reaches every node");
}

fn one_host_is_enough() {
    let cluster = open("redis:?nodes=3");
    let addresses = nodes(&*cluster);
    for hosts in [addresses[2].clone(), format!("127.0.0.1:1,{}", addresses[1])] {
        let named = open(&format!("redis://{hosts}"));
        assert_eq!(named.info().ownership, Ownership::External);
        let found: HashSet<String> = nodes(&*named).into_iter().collect();
        assert_eq!(found, addresses.iter().cloned().collect(), "{hosts}");
        let (ours, theirs) = (&mut *cluster.session().unwrap(), &mut *named.session().unwrap());
        for i in 0..50 {
            set(ours, &format!("key:{i}"), hosts.as_bytes());
            assert_eq!(get(theirs, &format!("key:{i}")), Some(hosts.clone().into_bytes()));
        }
        assert!(failure(theirs.clear(), "unsupported").contains("larder did not start"));
    }
}

fn a_cluster_behind_relays() {
    let cluster = open("redis:?nodes=3&via=delay:20ms");
    let (nodes, relays) = (nodes(&*cluster), cluster.info().addresses);
    assert_eq!(nodes.iter().chain(&relays).collect::<HashSet<_>>().len(), 6, "{relays:?}");
    assert_eq!(cluster.info().settings["via"], "delay:20ms");
    // A store that names one node learns of the other nodes from it.
    let named = open(&format!("redis://{}?via=delay:20ms", nodes[1]));
    for store in [&cluster, &named] {
        let session = &mut *store.session().unwrap();
        for key in ["key:0", "key:1", "key:2", "key:3", "key:4", "key:5"] {
            set(session, key, b"value");
            let start = Instant::now();
            assert_eq!(get(session, key), Some(b"value".to_vec()));
            assert!(start.elapsed() >= Duration::from_millis(19), "{:?}", start.elapsed());
        }
        assert!(store.stats().unwrap().connections > Some(1), "the keys are on several nodes");
    }
}

fn keys_of_one_tag() {
    let store = open("redis:?nodes=2");
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..50).map(|i| format!("{{user}}:{i}")).collect();
    for key in &keys {
        set(session, key, key.as_bytes());
    }
    assert!(get_many(session, &keys).iter().all(Option::is_some));
    let sizes = nodes(&*store).into_iter().map(|node| ask::<u64>(&mut stranger(&node), "DBSIZE"));
    let mut sizes: Vec<u64> = sizes.collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [0, 50]);
}

/// Moves the slot of a tag from one node to another step by step, as an operator would.
fn a_slot_is_followed() {
    let cluster = open("redis:?nodes=3");
    // With a connection for each operation, each new connection must follow the redirection by itself.
    let node = nodes(&*cluster).remove(0);
    let reopening = open(&format!("redis://{node}?connect=operation"));
    let far = open(&format!("redis://{node}?via=delay:100us"));
    for (store, tag) in [(&cluster, "tag"), (&reopening, "other"), (&far, "far")] {
        follow_a_slot(&**store, tag);
    }
}

fn follow_a_slot(store: &dyn Store, tag: &str) {
    let mut links: Vec<Stranger> = nodes(store).iter().map(|node| stranger(node)).collect();
    let mut sessions: Vec<Box<dyn Session>> = (0..4).map(|_| store.session().unwrap()).collect();
    let (old, new) = (format!("{{{tag}}}:old"), format!("{{{tag}}}:new"));
    for session in &mut sessions {
        set(&mut **session, &old, b"old");
    }
    let slot: u64 = ask(&mut links[0], &format!("CLUSTER KEYSLOT {tag}"));
    let keys_on = |link: &mut Stranger| -> Vec<String> { ask(link, &format!("KEYS {{{tag}}}:*")) };
    let source = links.iter_mut().position(|link| keys_on(link) == [old.clone()]).unwrap();
    let target = (source + 1) % 3;
    let ids: Vec<String> = links.iter_mut().map(|link| ask(link, "CLUSTER MYID")).collect();
    let importing = format!("CLUSTER SETSLOT {slot} IMPORTING {}", ids[source]);
    ask::<()>(&mut links[target], &importing);
    let migrating = format!("CLUSTER SETSLOT {slot} MIGRATING {}", ids[target]);
    ask::<()>(&mut links[source], &migrating);

    let both = [old.clone(), new.clone()];
    // The source node redirects the set of a large value in the middle of its request.
    let large = vec![b'n'; 200_000];
    let absent = format!("{{{tag}}}:absent");
    for session in &mut sessions[..2] {
        set(&mut **session, &new, &large);
        set_many(&mut **session, [(&new, b"short"), (&old, b"short")], &absent);
        set_many(&mut **session, [(&old, b"old"), (&new, &large)], &absent);
        assert_eq!(get(&mut **session, &old), Some(b"old".to_vec()));
        assert_eq!(get(&mut **session, &new), Some(large.clone()));
        let values = get_many(&mut **session, &both);
        assert_eq!(values, [Some(b"old".to_vec()), Some(large.clone())]);
    }
    assert_eq!(keys_on(&mut links[target]), std::slice::from_ref(&new));

    let (_, port) =
        nodes(store)[target].rsplit_once(':').map(|(h, p)| (h.to_owned(), p.to_owned())).unwrap();
    ask::<()>(&mut links[source], &format!("MIGRATE 127.0.0.1 {port} {old} 0 1000"));
    for link in &mut links {
        ask::<()>(link, &format!("CLUSTER SETSLOT {slot} NODE {}", ids[target]));
    }
    // One session follows the move for a single key, one for a batch of reads, and one for a batch of writes. One has not
    // heard of the move.
    assert_eq!(get(&mut *sessions[0], &old), Some(b"old".to_vec()));
    set_many(&mut *sessions[3], [(&old, b"old"), (&new, &large)], &absent);
    for session in &mut sessions[1..] {
        let values = get_many(&mut **session, &both);
        assert_eq!(values, [Some(b"old".to_vec()), Some(large.clone())]);
    }
    for session in &mut sessions {
        assert!(session.delete(old.as_bytes()).unwrap());
        set(&mut **session, &old, b"old");
    }
    assert!(keys_on(&mut links[source]).is_empty());
}

fn a_lost_node() {
    let store = open("redis:?nodes=3");
    let session = &mut *store.session().unwrap();
    let keys: Vec<String> = (0..60).map(|i| format!("key:{i}")).collect();
    for key in &keys {
        set(session, key, b"value");
    }
    let lost = nodes(&*store).remove(0);
    signal(store.info().server_pids[0], libc::SIGKILL);
    let mut n_errors = 0;
    for key in &keys {
        match session.get(key.as_bytes(), &mut Vec::new()) {
            Ok(hit) => assert!(hit.is_some()),
            error => {
                assert!(failure(error, "unavailable").contains(&lost), "not {lost}");
                n_errors += 1;
            }
        }
    }
    assert!((10..50).contains(&n_errors), "{n_errors} of 60 keys are on the lost node");
    let batch: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let options = SetOptions::default();
    let many = session.get_many(&batch, &mut |_, _, _| {});
    assert!(failure(many, "unavailable").contains(&lost));
    let mut n_answers = 0;
    let many = session.leases().unwrap().get_or_lease_many(
        &batch,
        Duration::from_mins(1),
        Duration::ZERO,
        &mut |_, value, leased| {
            assert!(matches!(leased, Ok(Leased::Hit(_))) && value == b"value", "{leased:?}");
            n_answers += 1;
        },
    );
    assert!(failure(many, "unavailable").contains(&lost));
    assert_eq!(n_answers, 60 - n_errors, "a batch of leases");
    let entries: Vec<_> = batch.iter().map(|key| Put { key, value: b"new", options }).collect();
    let mut n_stored = 0;
    let many = session.set_many(&entries, &mut |_, outcome| {
        n_stored += usize::from(outcome.unwrap().is_stored());
    });
    assert!(failure(many, "unavailable").contains(&lost));
    assert_eq!(n_stored, 60 - n_errors, "a batch of writes");
    let alive: Vec<&String> =
        keys.iter().filter(|key| session.get(key.as_bytes(), &mut Vec::new()).is_ok()).collect();
    assert_eq!(alive.len(), 60 - n_errors, "the session works on");
}
