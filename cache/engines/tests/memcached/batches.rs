//! Requests for many keys.

use std::collections::HashSet;

use larder_store::{Put, SetOptions};
use libtest_mimic::Trial;

use super::bytes;
use super::memcached_support::trial;
use super::session_support::{get, open, set};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("a_batch_is_whole_whatever_its_size", a_batch_is_whole_whatever_its_size),
        trial(
            "a_batch_of_writes_is_whole_whatever_its_size",
            a_batch_of_writes_is_whole_whatever_its_size,
        ),
    ]
}

fn a_batch_is_whole_whatever_its_size() {
    for url in ["memcached:?protocol=text", "memcached:?protocol=meta", "memcached:?nodes=3"] {
        let store = open(url);
        let session = &mut *store.session().unwrap();
        // The keys are long, so that the batch takes several requests. Some values are larger than a receive buffer,
        // one is larger than the buffers of a socket.
        let keys: Vec<String> = (0..1000).map(|i| format!("{i:0>200}")).collect();
        let value = |i: usize| {
            bytes(match i % 100 {
                7 => 900_000 * usize::from(i == 7) + 20_000,
                rest => rest * 10,
            })
        };
        let is_there = |i: usize| !i.is_multiple_of(3);
        for (i, key) in keys.iter().enumerate().filter(|(i, _)| is_there(*i)) {
            set(session, key, &value(i));
        }
        let mut batch: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        batch.push(batch[1]);
        let mut hits = HashSet::new();
        session
            .get_many(&batch, &mut |i, found, _| {
                assert!(found == value(if i == 1000 { 1 } else { i }), "value {i} of {url}");
                assert!(hits.insert(i), "key {i} came twice");
            })
            .unwrap();
        let wanted: HashSet<usize> = (0..1000).filter(|i| is_there(*i)).chain([1000]).collect();
        assert_eq!(hits, wanted, "{url}");
        session.get_many(&[], &mut |_, _, _| panic!("a hit of nothing")).unwrap();
    }
}

/// Neither side may wait for the other to read: some batches and some values are larger than all buffers between them.
fn a_batch_of_writes_is_whole_whatever_its_size() {
    for url in [
        "memcached:?protocol=text&m=256m",
        "memcached:?protocol=meta&m=256m",
        "memcached:?nodes=3&m=256m",
        "memcached:?socket=on&m=256m",
        "memcached:?connect=operation&m=256m",
    ] {
        let store = open(url);
        let session = &mut *store.session().unwrap();
        for (n, len) in [(20_000, 10), (1000, 5000), (300, 100_000), (20, 1_000_000)] {
            let keys: Vec<String> = (0..n).map(|i| format!("{n}:{i}")).collect();
            let value = bytes(len);
            let put = |key| Put { key, value: &value, options: SetOptions::default() };
            let batch: Vec<Put<'_>> = keys.iter().map(|key| put(key.as_bytes())).collect();
            let mut places = Vec::new();
            session
                .set_many(&batch, &mut |i, outcome| {
                    assert!(outcome.unwrap().is_stored(), "{i} of {n} in {url}");
                    places.push(i);
                })
                .unwrap();
            assert_eq!(places, (0..n).collect::<Vec<_>>(), "{url}");
            for key in [&keys[0], &keys[n / 2], &keys[n - 1]] {
                assert_eq!(get(session, key), Some(bytes(len)), "{key} in {url}");
            }
            let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
            let mut n_deleted = 0;
            session
                .delete_many(&keys, &mut |i, was_there| {
                    assert_eq!((i, was_there.unwrap()), (n_deleted, true), "{url}");
                    n_deleted += 1;
                })
                .unwrap();
            assert_eq!(n_deleted, n, "{url}");
        }
    }
}
