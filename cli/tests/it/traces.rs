//! A recorded trace on every engine: the same operations and hits, equal to a separate count in this test.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

use larder_report::Operation;
use larder_testkit::Random;
use liblzma::write::XzEncoder;

use crate::scene::{Scene, assert_contains};
use crate::{Case, MEMCACHED, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_trace_hits_alike_on_every_embedded_engine", embedded),
    (NOTHING, "a_trace_is_told_as_it_was_recorded", told_as_recorded),
    (NOTHING, "a_trace_that_finds_nothing_says_why", finds_nothing),
    (NOTHING, "a_converted_trace_hits_as_its_original", converted),
    (MEMCACHED, "a_trace_hits_alike_on_servers_too", servers),
    (MEMCACHED, "a_recording_is_replayed_as_it_was_over_many_connections", recording),
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
    // The product of two draws is usually small: some keys return, and some keys come once.
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

/// Runs a trace and returns the printed report.
fn run(scene: &Scene, csv: &str, more: &[&str]) -> String {
    scene.write("t.csv", csv);
    let work = ["compare", "moka:", "-q", "--keys-from", "trace:t.csv", "-r", "1", "-o", "out"];
    scene.larder(&[&work[..], more].concat()).ends_with(0).out.clone()
}

fn told_as_recorded() {
    let scene = Scene::new();
    let lines = |size: fn(u32) -> u32| -> String {
        let line = |key: u32| format!("k{key:05},get,{}\n", size(key));
        (0..40).map(|n| line(n % 20)).collect()
    };
    let one_size = format!("key,op,size\n{}", lines(|_| 100));
    let out = run(&scene, &one_size, &["--on-miss", "fill", "--format", "markdown"]);
    assert_contains(&out, &["recorded ones (100 B) were not tried", "recorded (40 get)"]);
    let told = scene.run_json();
    assert_eq!(told.workload["data-size"], "recorded (100 B)");
    // The keys are as long as their text, and their memory follows from that.
    assert_eq!(told.workload["key-size"], "recorded (6 B)");
    let dry = ["compare", "moka:", "--keys-from", "trace:t.csv", "--on-miss", "fill", "--capacity"];
    scene.larder(&[&dry[..], &["50%", "-r", "1", "-q", "-o", "out"]].concat());
    let capacity = scene.run_json().cells[0].point["capacity"].to_string();
    assert_eq!(capacity, (20 * 106 / 2).to_string());

    let sizes = format!("key,op,size\n{}", lines(|key| if key == 7 { 5000 } else { 100 + key }));
    run(&scene, &sizes, &["--on-miss", "fill"]);
    let told = scene.run_json().workload;
    assert_eq!(told["data-size"], "recorded (100 B to 4.9 KiB, median 111 B)");
    // Typed options override recorded sizes; missing sizes are reported too.
    run(&scene, &sizes, &["--on-miss", "fill", "-d", "2k", "--key-size", "50"]);
    let told = scene.run_json().workload;
    assert_eq!((told["data-size"].as_str(), told["key-size"].as_str()), ("2k", "50"));
    run(&scene, "key,op,size,key_size\na,get,10,20\nb,get,,\n", &[]);
    let told = scene.run_json().workload;
    assert_eq!(told["data-size"], "recorded (10 B; 1k for 1 of 2 keys)");
    assert_eq!(told["key-size"], "recorded (20 B; 32 for 1 of 2 keys)");
}

fn finds_nothing() {
    let scene = Scene::new();
    let deletes = (0..100).map(|n| format!("k{n},delete\n")).collect::<Vec<_>>().concat();
    let note = "replayed on an empty store: 100 of its 100 operations find nothing";
    run(&scene, &format!("key,op\n{deletes}"), &[]);
    assert_contains(&scene.run_json().notes.join("\n"), &[note]);
    assert_eq!(scene.run_json().workload["operations"], "recorded (100 delete)");
    // The written keys differ from the read keys.
    let other = (0..50).map(|n| format!("a{n},set\nb{n},get\n")).collect::<Vec<_>>().concat();
    run(&scene, &format!("key,op\n{other}"), &[]);
    let told = scene.run_json();
    assert_contains(&told.notes.join("\n"), &["empty store: 50 of its 100 operations"]);
    assert_eq!(told.workload["operations"], "recorded (50 get, 50 set)");
    run(&scene, "key,op\na,set\na,get\na,delete\n", &[]);
    assert!(!scene.run_json().notes.join("\n").contains("empty store"));
}

fn recording() {
    let scene = Scene::new();
    let mut csv = "op_time,key,op,size,ttl,request\n".to_owned();
    for n in 0..400 {
        let (key, size) = (n % 40, 20 + n % 7 * 300);
        let at = n / 100;
        writeln!(csv, "{at},k{key},set,{size},3600,{n}").unwrap();
        for other in 0..4 {
            writeln!(csv, "{at},k{},get,,,{}", (key + other) % 40, 1000 + n).unwrap();
        }
    }
    scene.write("made.csv", &csv);
    let parquet = ["trace", "convert", "made.csv", "made.parquet"];
    assert_contains(&scene.larder(&parquet).ends_with(0).err, &["2000 operations are in"]);
    let work = ["compare", "memcached:", "-q", "--keys-from", "trace:made.parquet", "-r", "1"];
    let many = ["--connections", "4", "--pipeline", "3", "-t", "2", "-o", "out"];
    scene.larder(&[&work[..], &many].concat()).ends_with(0);
    let run = scene.run_json();
    let of = |operation| {
        let cell = run.cells.iter().find(|cell| cell.operation == operation).unwrap();
        assert_eq!((cell.counts.wrong, cell.counts.errors), (0, 0), "{operation}");
        (cell.counts, cell.latency_count.unwrap())
    };
    let (sets, times) = of(Operation::Set);
    assert_eq!((sets.ops, times), (400, 400));
    // Four keys a request. One whose keys no other connection has set yet has no time.
    let (reads, times) = of(Operation::GetMany);
    assert_eq!(reads.ops, 1600);
    assert!(times <= 400 && times * 4 >= reads.hits && reads.hits > 0, "{times}, {reads:?}");
    // Four seconds at forty times the pace: an hour lasts 90 seconds, which memcached counts exactly.
    let paced = ["--replay", "40x", "-o", "out"];
    scene.larder(&[&work[..], &paced].concat()).ends_with(0);
    let run = scene.run_json();
    assert!(run.cells.iter().all(|cell| cell.wall_s.unwrap() > 0.09), "{:?}", run.cells[0].wall_s);
    assert!(!run.notes.join("\n").contains("steps of 1s"), "{:?}", run.notes);
    let odd = ["--replay", "7x", "-o", "out"];
    scene.larder(&[&work[..], &odd].concat()).ends_with(0);
    let notes = scene.run_json().notes.join("\n");
    assert_contains(&notes, &["memcached: counts TTLs in steps of 1s: 400 of 400 recorded TTLs"]);
}

fn converted() {
    let scene = Scene::new();
    let keys: Vec<u32> = (0..900).map(|n| n * n % 257).collect();
    let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_be_bytes()).collect();
    scene.write("made.trace", &bytes);
    let hits = |file: &str| {
        let from = format!("trace:{file}");
        let work = ["compare", "moka:", "-q", "--keys-from", &from, "--on-miss", "fill"];
        scene.larder(&[&work[..], &["-d", "100", "-r", "1", "-o", "out"]].concat()).ends_with(0);
        scene.run_json().cells[0].counts.hits
    };
    let expected = hits("made.trace");
    assert!(expected > 0);
    let formats =
        ["made.csv", "made.parquet", "made.oracleGeneral", "made.twitter", "b?format=parquet"];
    for to in formats {
        let told = scene.larder(&["trace", "convert", "made.trace", to]).ends_with(0).err.clone();
        let (path, _) = to.split_once('?').unwrap_or((to, ""));
        assert_contains(&told, &["900 operations are in", path]);
        assert!(!told.contains("left out"), "{told}");
        assert_eq!(hits(path), expected, "{to}");
    }
    let half = ["trace", "convert", "made.csv", "half.csv", "--requests", "450"];
    assert_contains(&scene.larder(&half).ends_with(0).err, &["450 operations are in"]);
    // Keys in clear are hidden where asked, and what a format lacks is told.
    scene.write("clear.csv", "key,op,ttl\nuser:1,set,60\nuser:1,get,\nuser:1,touch,60\n");
    let hidden = ["trace", "convert", "clear.csv", "hidden.csv", "--hash-keys"];
    assert_contains(&scene.larder(&hidden).ends_with(0).err, &["3 operations are in"]);
    assert!(!fs::read_to_string(scene.path("hidden.csv")).unwrap().contains("user"));
    let lacking = ["trace", "convert", "clear.csv", "lacking.oracleGeneral"];
    let told = scene.larder(&lacking).ends_with(0).err.clone();
    assert_contains(&told, &["2 operations are in", "oracleGeneral has no place for"]);
    assert_contains(&told, &["1 row with touch", "the TTL of 1 row", "the operation of 1 row"]);
    // And what changes without it.
    scene.write("told.csv", "key,op,ttl,result\na,get,,miss\na,set,60,stored\n");
    for (to, parts) in [
        (
            "told.twitter",
            &["the result of 2 rows (without it, a miss that nobody filled is not known"][..],
        ),
        (
            "told.oracleGeneral",
            &["the TTL of 1 row (without it, no entry expires: more reads can hit)"],
        ),
    ] {
        let told = scene.larder(&["trace", "convert", "told.csv", to]).ends_with(0).err.clone();
        assert_contains(&told, parts);
    }
    let nothing = ["trace", "convert", "made.csv", "none.csv", "--requests", "0"];
    scene
        .larder(&nothing)
        .ends_with(2)
        .complains(&["--requests", "`0` is not a whole number from 1"]);
    // A broken trace leaves the existing file, and nothing beside it.
    scene.write("broken.trace", &bytes[..bytes.len() - 1]);
    let refused = ["trace", "convert", "made.trace", "half.csv"];
    assert_contains(&scene.larder(&refused).ends_with(2).err, &["half.csv exists", "--overwrite"]);
    let broken = ["trace", "convert", "broken.trace", "half.csv", "--overwrite"];
    assert_contains(&scene.larder(&broken).ends_with(2).err, &["broken.trace", "cut off?"]);
    assert!(hits("half.csv") > 0);
    let again = ["trace", "convert", "made.trace", "half.csv", "--overwrite"];
    assert_contains(&scene.larder(&again).ends_with(0).err, &["900 operations are in"]);
    let unknown = ["trace", "convert", "made.csv", "made.bin"];
    assert_contains(&scene.larder(&unknown).ends_with(2).err, &["names no format"]);
    scene.assert_nothing_left();
}
