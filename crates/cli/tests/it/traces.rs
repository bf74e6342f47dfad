//! A recorded trace on every engine: the same operations and hits, equal to what is counted here by another way.

use std::collections::HashSet;
use std::io::Write;

use larder_report::Operation;
use larder_testkit::Random;
use liblzma::write::XzEncoder;

use crate::scene::Scene;
use crate::{Case, MEMCACHED, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_trace_hits_alike_on_every_embedded_engine", embedded),
    (MEMCACHED, "a_trace_hits_alike_on_servers_too", servers),
];

const ROUNDS: u64 = 2;

fn embedded() {
    replay(&["moka:", "file:", "lmdb:", "sqlite:"]);
}

fn servers() {
    replay(&["moka:", "memcached:", "memcached:?nodes=2&protocol=text"]);
}

fn replay(targets: &[&str]) {
    let mut random = Random::new(7);
    // The product of two draws is small more often than not: some keys come back, others come once.
    let keys: Vec<u32> = (0..1500)
        .map(|_| {
            let draw = random.next_u64();
            u32::try_from((draw & 0xff) * (draw >> 32 & 0xff)).unwrap()
        })
        .collect();
    let mut seen = HashSet::new();
    let hits = ROUNDS * keys.iter().filter(|key| !seen.insert(**key)).count() as u64;
    let ops = ROUNDS * keys.len() as u64;
    assert!(hits > 0 && hits < ops);

    let scene = Scene::new();
    let mut packed = XzEncoder::new(Vec::new(), 6);
    packed.write_all(&keys.iter().flat_map(|key| key.to_be_bytes()).collect::<Vec<u8>>()).unwrap();
    scene.write("made.trace.xz", packed.finish().unwrap());
    let rounds = ROUNDS.to_string();
    let work =
        ["--keys-from", "trace:made.trace.xz", "--on-miss", "fill", "-d", "100", "-r", &rounds];
    scene.larder(&[&["compare", "-o", "out"], targets, &work].concat()).ends_with(0);
    let run = scene.run_json();
    assert_eq!(run.cells.len(), targets.len());
    for (cell, target) in run.cells.iter().zip(targets) {
        assert_eq!((cell.target.as_str(), cell.operation), (*target, Operation::GetOrSet));
        let counts = cell.counts;
        assert_eq!((counts.ops, counts.hits, counts.misses), (ops, hits, ops - hits), "{target}");
        assert_eq!((counts.wrong, counts.errors, counts.failed_fills), (0, 0, 0), "{target}");
        assert_eq!(counts.distinct_keys, seen.len() as u64, "{target}");
    }
    scene.assert_nothing_left();
}
