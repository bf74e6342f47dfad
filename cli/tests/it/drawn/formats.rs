//! A drawn trace in each format that is read: it tells what Larder's own CSV tells of the same facts, and a replay into a cache with
//! room for everything hits as often as the LRU of `larder trace info` does.

use std::fmt::Write;
use std::ops::ControlFlow;

use larder_report::{CurvePolicy, DistributionOf, Operation, TraceFile, TraceInfo};
use larder_workload::trace::{About, Journal, Row, TraceSource, read_rows};
use serde_json::Value;

use super::{Drawn, ROUNDING, answered, drawn, info, native, seeds, shown};
use crate::scene::Scene;
use crate::{Case, NOTHING};

pub(super) const CASES: &[Case] =
    &[(NOTHING, "a_drawn_trace_tells_the_same_in_every_format", same_in_every_format)];

/// The facts of a trace that a format has room for.
#[derive(Debug, Clone, Copy)]
struct Facts {
    times: Times,
    operations: Operations,
    sizes: Sizes,
    /// Whether keys are texts, which have a length.
    has_names: bool,
    has_ttls: bool,
    results: Results,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Times {
    Millis,
    Seconds,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Operations {
    All,
    /// All but touches, and `gat` is a get.
    NoRenewals,
    /// Reads, and nothing else.
    Gets,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Sizes {
    /// Those of what is stored.
    Stored,
    /// Of each value that is sent: also of what a read found.
    Sent,
    /// Of each operation.
    All,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Results {
    /// What was answered is always seen.
    Always,
    /// In a recording that has them.
    Perhaps,
    None,
}

/// A format, the facts that it has room for, and how a file of it is made.
struct Format {
    name: &'static str,
    facts: Facts,
    make: fn(&Scene, &[Drawn], &str),
}

const ALL: Facts = Facts {
    times: Times::Millis,
    operations: Operations::All,
    sizes: Sizes::Stored,
    has_names: true,
    has_ttls: true,
    results: Results::Perhaps,
};

/// What a line of Twitter's, and of Meta's, has.
const LINES: Facts = Facts { times: Times::Seconds, results: Results::None, ..ALL };

/// What a key alone has.
const KEYS: Facts = Facts {
    times: Times::None,
    operations: Operations::Gets,
    sizes: Sizes::None,
    has_names: false,
    has_ttls: false,
    results: Results::None,
};

#[rustfmt::skip]
const FORMATS: &[Format] = &[
    // A name by which the format is recognised; the facts; the writer.
    Format { name: "a.parquet", facts: ALL, make: converted },
    Format { name: "b.csv", facts: ALL, make: converted },
    Format { name: "c.journal", facts: ALL, make: journal },
    Format { name: "from-pcap.parquet", facts: Facts { sizes: Sizes::Sent, results: Results::Always, ..ALL }, make: super::capture::recorded },
    Format { name: "d.twitter", facts: Facts { operations: Operations::NoRenewals, ..LINES }, make: converted },
    Format { name: "twitter.trace", facts: Facts { operations: Operations::NoRenewals, ..LINES }, make: twitter },
    Format { name: "kvcache.csv", facts: Facts { sizes: Sizes::Sent, ..LINES }, make: kvcache },
    Format { name: "e.oracleGeneral", facts: Facts { times: Times::Seconds, sizes: Sizes::All, ..KEYS }, make: converted },
    Format { name: "f.oracleGeneral", facts: Facts { times: Times::Seconds, sizes: Sizes::All, ..KEYS }, make: oracle_general },
    Format { name: "g.lis", facts: KEYS, make: arc },
    Format { name: "h.trc", facts: KEYS, make: lirs },
    Format { name: "i.trace", facts: KEYS, make: |scene, rows, file| numbers(scene, rows, file, |key| (u32::try_from(key).unwrap()).to_be_bytes()) },
    Format { name: "j.trace", facts: KEYS, make: |scene, rows, file| numbers(scene, rows, file, u64::to_be_bytes) },
    Format { name: "k.trace", facts: KEYS, make: |scene, rows, file| numbers(scene, rows, file, u64::to_le_bytes) },
    Format { name: "l?format=keys", facts: Facts { has_names: true, ..KEYS }, make: keys },
];

/// The trace with these facts only.
fn with(rows: &[Drawn], facts: Facts) -> Vec<Drawn> {
    let mut kept = Vec::new();
    for row in rows {
        let mut row = *row;
        let reads = ["get", "gat"].contains(&row.operation);
        let is_left_out = match facts.operations {
            Operations::All => false,
            Operations::NoRenewals => row.operation == "touch",
            Operations::Gets => !reads,
        };
        if is_left_out {
            continue;
        }
        if facts.operations != Operations::All && reads {
            (row.operation, row.ttl) = ("get", None);
        }
        let is_sent =
            reads && row.result != Some("miss") || ["replace", "cas"].contains(&row.operation);
        row.size = match facts.sizes {
            Sizes::Sent if is_sent => Some(row.found),
            Sizes::Stored | Sizes::Sent => row.size,
            Sizes::All => Some(row.found),
            Sizes::None => None,
        };
        row.ttl = row.ttl.filter(|_| facts.has_ttls);
        row.result = row.result.filter(|_| facts.results != Results::None);
        row.ms = match facts.times {
            Times::Millis => row.ms,
            Times::Seconds => row.ms / 1000 * 1000,
            Times::None => 0,
        };
        kept.push(row);
    }
    kept
}

/// Larder's own CSV of the trace with these facts.
fn own(rows: &[Drawn], facts: Facts) -> String {
    let csv = native(rows);
    let without = |csv: &str, column: usize| -> String {
        let line = |line: &str| {
            let fields = line.split(',').enumerate().filter(|(number, _)| *number != column);
            fields.map(|(_, field)| field).collect::<Vec<_>>().join(",") + "\n"
        };
        csv.lines().map(line).collect::<Vec<_>>().concat()
    };
    let csv =
        if facts.has_names { csv } else { csv.replace(",k", ",").replace(",ey,", ",key_hash,") };
    if facts.times == Times::None { without(&csv, 0) } else { csv }
}

/// What is told of a trace, without its name and its format, and without what only recordings tell: connections and latencies.
fn told(mut info: TraceInfo) -> Value {
    info.trace = TraceFile::default();
    (info.connections, info.began_us) = (0, None);
    info.distributions.retain(|distribution| distribution.of != DistributionOf::Latencies);
    for key in info.hottest.iter_mut().flat_map(|hottest| &mut hottest.keys) {
        (key.key, key.hash) = (None, String::new());
    }
    serde_json::to_value(info).unwrap()
}

/// The first place in which two answers differ.
fn difference(one: &Value, other: &Value) -> Option<String> {
    let within = |name: &dyn std::fmt::Display, one, other| {
        difference(one, other).map(|found| format!("{name}.{found}"))
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.len() == other.len() => {
            one.iter().find_map(|(name, one)| within(name, one, &other[name]))
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            (0..one.len()).find_map(|at| within(&at, &one[at], &other[at]))
        }
        (one, other) => (one != other).then(|| format!(" {one} and not {other}")),
    }
}

fn same_in_every_format() {
    for seed in seeds(2, 60) {
        let scene = Scene::new();
        for format in FORMATS {
            let has_answers = format.facts.results == Results::Always;
            let rows = if has_answers { answered(seed) } else { drawn(seed) };
            let rows = with(&rows, format.facts);
            scene.write("own.csv", own(&rows, format.facts));
            let file = format.name.split('?').next().unwrap();
            (format.make)(&scene, &rows, file);
            let (expected, read) = (info(&scene, "own.csv"), info(&scene, format.name));
            let what = format!("seed {seed}: {} is {:?}", format.name, read.trace.format);
            let everything = read.curves[0].capacities.last().unwrap();
            let everything = everything.of(CurvePolicy::Lru).unwrap().hit_ratio;
            assert_eq!(difference(&told(read), &told(expected)), None, "{what}");
            for name in ["own.csv", format.name] {
                as_the_model(&scene, name, everything, &what);
            }
        }
    }
}

/// A replay into a cache with room for everything hits as often as the model of an LRU with such a room.
fn as_the_model(scene: &Scene, name: &str, everything: f64, what: &str) {
    let from = format!("trace:{name}");
    let work =
        ["compare", "moka:", "-q", "-r", "1", "-o", "out", "--on-miss", "fill", "--keys-from"];
    scene.larder(&[&work[..], &[&from]].concat()).ends_with(0);
    let run = scene.run_json();
    let cell = run.cells.iter().find(|cell| cell.operation == Operation::GetOrSet).unwrap();
    let ratio = cell.hit_ratio().unwrap();
    assert!((ratio - everything).abs() < ROUNDING, "{what}: {name}: {ratio} of {everything}");
}

/// `larder trace convert` writes the file.
fn converted(scene: &Scene, _: &[Drawn], file: &str) {
    let told = scene.larder(&["trace", "convert", "--overwrite", "own.csv", file]);
    assert!(!told.ends_with(0).err.contains("left out"), "{file}: {}", told.err);
}

/// The file that a recording that was killed leaves.
fn journal(scene: &Scene, _: &[Drawn], file: &str) {
    let mut journal = Journal::create(&scene.path(file), &About::default()).unwrap();
    let mut push = |row: &Row<'_>| {
        journal.push(row).unwrap();
        ControlFlow::Continue(())
    };
    read_rows(&TraceSource::from(&*scene.path("own.csv")), &mut push).unwrap();
    journal.flush().unwrap();
}

/// Lines as Twitter has published them: what is missing is 0.
fn twitter(scene: &Scene, rows: &[Drawn], file: &str) {
    let mut text = String::new();
    for Drawn { ms, key, operation, size, ttl, .. } in rows {
        let (name, size, ttl) = (format!("k{key}"), size.unwrap_or(0), ttl.unwrap_or(0));
        writeln!(text, "{},{name},{},{size},7,{operation},{ttl}", ms / 1000, name.len()).unwrap();
    }
    scene.write(file, text);
}

/// Lines as Meta has published them: operations on one key at one time are one line, a miss and a delete have 0 bytes.
fn kvcache(scene: &Scene, rows: &[Drawn], file: &str) {
    let mut text = "op_time,key,key_size,op,op_count,size,ttl\n".to_owned();
    for same in rows.chunk_by(|one, other| one == other) {
        let Drawn { ms, key, operation, size, ttl, .. } = same[0];
        let (name, operation) = (format!("k{key}"), operation.to_uppercase());
        let (len, count, size) = (name.len(), same.len(), size.unwrap_or(0));
        let (seconds, ttl) = (ms / 1000, shown(ttl));
        writeln!(text, "{seconds},{name},{len},{operation},{count},{size},{ttl}").unwrap();
    }
    scene.write(file, text);
}

/// Records as libCacheSim has them. Nobody reads the place of the next access.
fn oracle_general(scene: &Scene, rows: &[Drawn], file: &str) {
    let mut bytes = Vec::new();
    for row in rows {
        bytes.extend(u32::try_from(row.ms / 1000).unwrap().to_le_bytes());
        bytes.extend((row.key as u64).to_le_bytes());
        bytes.extend(u32::try_from(row.size.unwrap()).unwrap().to_le_bytes());
        bytes.extend((-1_i64).to_le_bytes());
    }
    scene.write(file, bytes);
}

/// Requests for several blocks, each behind the one before, are one line.
fn arc(scene: &Scene, rows: &[Drawn], file: &str) {
    let mut text = String::new();
    let requests = rows.chunk_by(|one, other| one.key + 1 == other.key);
    for (number, blocks) in requests.enumerate() {
        writeln!(text, "{} {} 0 {number}", blocks[0].key, blocks.len()).unwrap();
    }
    scene.write(file, text);
}

fn lirs(scene: &Scene, rows: &[Drawn], file: &str) {
    let line = |row: &Drawn| format!("{}\n", row.key);
    let lines = rows.iter().map(line).collect::<Vec<_>>().concat();
    scene.write(file, format!("*\n{lines}*\n"));
}

fn numbers<const N: usize>(scene: &Scene, rows: &[Drawn], file: &str, bytes: fn(u64) -> [u8; N]) {
    scene.write(file, rows.iter().flat_map(|row| bytes(row.key as u64)).collect::<Vec<u8>>());
}

fn keys(scene: &Scene, rows: &[Drawn], file: &str) {
    let line = |row: &Drawn| format!("k{}\n", row.key);
    scene.write(file, rows.iter().map(line).collect::<Vec<_>>().concat());
}
