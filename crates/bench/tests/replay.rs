//! Replays of recordings: sizes that change, TTLs on a scaled clock, and keys that were asked for together.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "other tests ask for more")]
mod support;

use std::fmt::Write;
use std::path::PathBuf;

use larder_engines::ENGINES;
use larder_report::{Operation, Run};
use larder_store::StoreUrl;
use support::cell;
use tempfile::TempDir;

/// A trace in a folder of its own.
struct Recorded {
    _folder: TempDir,
    path: PathBuf,
}

impl Recorded {
    fn new(csv: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recorded.csv");
        std::fs::write(&path, csv).unwrap();
        Self { _folder: folder, path }
    }

    /// The run of a replay of one round.
    fn run(&self, targets: &[&str], more: &str) -> Run {
        let path = self.path.display();
        let workload = format!("rounds = 1\nkey-pattern = 'trace:{path}'\n{more}");
        support::run(&ENGINES, targets, &workload)
    }
}

#[test]
fn values_have_the_sizes_that_they_had_then() {
    let mut csv = "key,op,size\n".to_owned();
    let mut stored = 0;
    for n in 0..600_u64 {
        // Short values have no header, so every kind of verification is met.
        let size = [5, 5000, 23, 24, 900, 1, 0][usize::try_from(n % 7).unwrap()];
        let key = n % 11;
        // A size of 0 is none, and the last one of the key goes on.
        writeln!(csv, "k{key},set,{size}\nk{key},get,").unwrap();
        stored += size;
    }
    let run = Recorded::new(&csv).run(&["moka:", "lmdb:"], "");
    for target in ["moka:", "lmdb:"] {
        let (sets, gets) = (cell(&run, target, Operation::Set), cell(&run, target, Operation::Get));
        assert_eq!((gets.counts.hits, gets.counts.wrong), (600, 0), "{:?}", gets.wrong_examples);
        assert!(sets.bytes > stored && sets.bytes == gets.bytes, "{} of {stored}", sets.bytes);
        assert!(sets.counts.read_back + gets.counts.read_back > 0);
    }
    assert!(!run.notes.iter().any(|note| note.contains("size")), "{:?}", run.notes);
    // A size that is typed goes for all.
    let typed = Recorded::new(&csv).run(&["moka:"], "data-size = '100'");
    assert_eq!(cell(&typed, "moka:", Operation::Set).bytes, 600 * 100);
    // Fills take the size of the set that was recorded behind them.
    let csv = "key,op,size\na,get,\na,set,700\na,delete,\na,get,\na,set,20\na,get,\n";
    let filled = Recorded::new(csv).run(&["moka:"], "on-miss = 'fill'");
    let reads = cell(&filled, "moka:", Operation::GetOrSet);
    assert_eq!((reads.counts.hits, reads.counts.misses, reads.counts.wrong), (1, 2, 0));
    assert_eq!(reads.bytes, 700 + 20 + 20);
}

#[test]
fn keys_that_were_asked_for_together_are_again() {
    let mut csv = "key,op,request\n".to_owned();
    for key in 0..20 {
        writeln!(csv, "k{key},set,{key}").unwrap();
    }
    // Ten requests of one key, ten of three and ten of eight.
    let mut request = 100;
    for n_keys in [1, 3, 8] {
        for n in 0..10 {
            request += 1;
            for key in 0..n_keys {
                writeln!(csv, "k{},get,{request}", (n + key) % 20).unwrap();
            }
        }
    }
    let recorded = Recorded::new(&csv);
    // With more operations than it has, the trace comes round.
    for (more, rounds) in [("", 1), ("threads = 3", 1), ("requests = 1000", 7)] {
        let run = recorded.run(&["moka:", "sqlite:"], more);
        for target in ["moka:", "sqlite:"] {
            let (alone, together) =
                (cell(&run, target, Operation::Get), cell(&run, target, Operation::GetMany));
            let counts = (alone.counts.ops, together.counts.ops);
            assert_eq!(counts, (rounds * 10, rounds * 110), "{target} {more}");
            assert_eq!(together.counts.wrong + alone.counts.wrong, 0);
            // A time is that of a request.
            assert_eq!(together.latency_count, Some(rounds * 20), "{target} {more}");
        }
        assert_eq!(run.workload["operations"], "recorded (10 get, 110 get_many, 20 set)");
    }
    let only_together = "key,op,request\na,get,1\nb,get,1\nc,get,2\na,get,2\n";
    let run = Recorded::new(only_together).run(&["moka:"], "");
    let read = cell(&run, "moka:", Operation::GetMany);
    assert_eq!((read.counts.hits, read.latency_count), (4, Some(2)));
}

#[test]
fn keys_that_were_asked_for_together_are_filled_one_by_one() {
    // Five requests of four keys, of which the last two find all of them.
    let csv = "key,op,request\na,get,1\nb,get,1\nc,get,1\nd,get,1\na,get,2\ne,get,2\nf,get,2\nb,get,2\n\
               a,delete,3\na,get,4\nc,get,4\ng,get,4\nh,get,4\ne,get,5\nf,get,5\ng,get,5\nh,get,5\n\
               a,get,6\nb,get,6\nc,get,6\nd,get,6\n";
    let recorded = Recorded::new(csv);
    for (more, requests) in [("", 5), ("threads = 1\nrequests = 210", 50)] {
        let run = recorded.run(&["moka:", "sqlite:"], &format!("on-miss = 'fill'\n{more}"));
        for target in ["moka:", "sqlite:"] {
            let filled = cell(&run, target, Operation::GetOrSet);
            let counts = filled.counts;
            assert_eq!((counts.ops, counts.wrong), (requests * 4, 0), "{target}");
            assert_eq!((filled.latency_count, counts.errors), (Some(requests), 0), "{target}");
            // The delete takes one key away each time.
            let missed = 9 + (requests / 5 - 1);
            assert_eq!((counts.misses, counts.hits), (missed, counts.ops - missed), "{target}");
            assert_eq!(counts.failed_fills, 0, "{target}");
        }
    }
}

#[test]
fn recorded_ttls_are_on_the_clock_of_the_replay() {
    // At ten times the pace, a TTL of 5 s lasts half a second, and one of an hour is beyond the end.
    let csv = "time,key,op,size,ttl\n0,short,set,100,5\n0,long,set,100,3600\n0,ever,set,100,\n0,touched,set,100,5\n\
               1,touched,touch,,3600\n9,short,get,,\n9,long,get,,\n9,ever,get,,\n9,touched,get,,\n";
    let recorded = Recorded::new(csv);
    let run = recorded.run(&["moka:", "file:"], "replay = '10x'");
    for target in ["moka:", "file:"] {
        let gets = cell(&run, target, Operation::Get).counts;
        assert_eq!((gets.hits, gets.misses, gets.wrong, gets.outlived), (3, 1, 0, 0), "{target}");
    }
    assert_eq!(run.workload["replay"], "10x");
    assert!(!run.notes.iter().any(|note| note.contains("TTL")), "{:?}", run.notes);
    // As fast as a target answers there is no clock.
    let run = recorded.run(&["moka:"], "replay = 'asap'");
    assert_eq!(cell(&run, "moka:", Operation::Get).counts.hits, 4);
    let note = "recorded TTLs are not replayed as fast as targets answer";
    assert!(run.notes.iter().any(|told| told.starts_with(note)), "{:?}", run.notes);
}

/// What memcached itself would answer: `add` stores what is absent, the others what is present.
#[test]
fn stores_with_a_condition_are_carried_out_where_it_holds() {
    let csv = "key,op,size\n\
               a,add,100\na,add,200\na,get,\na,replace,300\na,get,\n\
               b,replace,100\nb,get,\nb,append,10\nb,incr,1\nb,cas,50\nb,get,\n\
               c,set,100\nc,incr,1\nc,delete,\nc,decr,1\nc,get,\nc,add,70\nc,get,\n";
    let recorded = Recorded::new(csv);
    let mut targets = vec!["moka:", "memory:", "sqlite:"];
    let mut loads = vec![];
    if ENGINES.open(&StoreUrl::parse("memcached:").unwrap()).is_ok() {
        targets.push("memcached:");
        loads.push((&["memcached:"][..], "connections = 1"));
    }
    for (targets, more) in [(&targets[..], "")].into_iter().chain(loads) {
        let run = recorded.run(targets, more);
        assert_eq!(run.notes.iter().filter(|note| note.contains("condition")).count(), 1);
        for target in targets {
            let of = |operation| cell(&run, target, operation).counts;
            let (sets, gets) = (of(Operation::Set), of(Operation::Get));
            assert_eq!((sets.ops, sets.misses, sets.errors), (11, 6, 0), "{target} {more}");
            assert_eq!((gets.hits, gets.misses, gets.wrong), (3, 3, 0), "{target} {more}");
        }
    }
    // The store is no longer empty when the trace comes round.
    let again = recorded.run(&["moka:"], "requests = 180");
    let of = |operation| cell(&again, "moka:", operation).counts;
    assert_eq!((of(Operation::Set).ops, of(Operation::Get).wrong), (110, 0));
}
