//! Whole comparisons: the counts, the results, and the traces of a failing target in the run.

mod support;

use std::sync::atomic::AtomicBool;

use larder_bench::{Permissions, Plan, Silent, compare, write};
use larder_engines::ENGINES;
use larder_report::{Cell, Operation, ReasonKind};
use larder_testkit::stores;
use support::{cell, findings, outcome, run, scenario};

#[test]
fn by_default_every_key_is_set_and_then_read() {
    let run = run(&ENGINES, &["moka:", "null:"], "keys = 500\nrounds = 2");
    for target in ["moka:", "null:"] {
        let set = cell(&run, target, Operation::Set);
        assert_eq!((set.counts.ops, set.counts.errors, set.rounds), (1000, 0, 2));
        assert_eq!(set.counts.distinct_keys, 500);
        let get = cell(&run, target, Operation::Get);
        assert_eq!((get.counts.ops, get.counts.hits, get.counts.wrong), (1000, 1000, 0));
        assert!(get.ops_per_s.unwrap() > 0.0 && get.latency_ns.unwrap().p50 > 0);
    }
    assert_eq!(cell(&run, "moka:", Operation::Set).counts.read_back, 1000);
    assert_eq!(cell(&run, "moka:", Operation::Set).counts.read_back_absent, 0);
    assert!(findings(&run, "SILENT-DROP").is_empty(), "{:#?}", run.checks);
    assert_eq!(run.floors.len(), 2, "one for each operation");
}

/// Other tests of this program take memory too, so the bounds are wide. Without the exemption, 200 threads would add
/// some 100 MB.
#[test]
fn threads_and_their_measuring_buffers_are_not_the_memory_of_a_cache() {
    const MIB: u64 = 1 << 20;
    let run = run(&ENGINES, &["moka:", "null:"], "keys = 4000\nrounds = 3\nthreads = [1, 200]");
    for cell in run.cells.iter().filter(|cell| cell.target == "moka:") {
        let bytes = cell.rss_bytes.unwrap();
        // 4.1 MiB of keys and values, and some hundred bytes for each.
        assert!((4 * MIB..24 * MIB).contains(&bytes), "{bytes}: {:?}", cell.point);
    }
    assert_eq!(run.floors.len(), 4);
    for floor in &run.floors {
        assert!(floor.rss_bytes.is_some_and(|bytes| bytes < 16 * MIB), "{floor:?}");
    }
}

#[test]
fn a_sweep_has_a_cell_for_each_point() {
    let workload =
        "keys = 100\nrounds = 1\ndata-size = '100,1k'\nkey-size = '16,40'\nthreads = [1, 3]";
    let run = run(&ENGINES, &["moka:"], workload);
    assert_eq!(run.cells.len(), 2 * 2 * 2 * 2);
    assert_eq!(run.swept(), ["data_size", "key_size", "threads"]);
    for cell in &run.cells {
        assert_eq!((cell.counts.ops, cell.counts.errors + cell.counts.wrong), (100, 0), "{cell:?}");
    }
}

#[test]
fn a_sweep_over_keys_has_as_many_operations_as_keys_at_each_point() {
    let workload = "keys = [20, 100]\nrounds = 2\noperations = 'set,get'\nkey-pattern = 'seq'";
    let run = run(&ENGINES, &["moka:"], workload);
    assert_eq!((run.swept(), run.workload["keys"].as_str()), (vec!["keys"], "20,100"));
    let done = |cell: &Cell| (cell.point["keys"].to_string(), cell.counts.ops, cell.counts.hits);
    let reads = run.cells.iter().filter(|cell| cell.operation == Operation::Get).map(done);
    assert_eq!(reads.collect::<Vec<_>>(), [("20".into(), 40, 40), ("100".into(), 200, 200)]);
    for cell in &run.cells {
        let keys = cell.counts.ops / 2;
        assert_eq!(
            (cell.counts.distinct_keys, cell.point["keys"].to_string()),
            (keys, keys.to_string())
        );
    }
}

#[test]
fn a_mix_keeps_its_ratio_and_every_value_is_right_with_many_threads() {
    let workload = "keys = 200\nrounds = 2\nratio = '1:3:1'\nrequests = 20000\nthreads = 4";
    let run = run(&stores::ENGINES, &["map:"], workload);
    let [set, get, delete] = [Operation::Set, Operation::Get, Operation::Delete]
        .map(|operation| cell(&run, "map:", operation).counts);
    assert_eq!(set.ops + get.ops + delete.ops, 40_000);
    assert!(
        (7000..9000).contains(&set.ops) && (23_000..25_000).contains(&get.ops),
        "{set:?} {get:?}"
    );
    assert_eq!((get.wrong, get.hits + get.misses), (0, get.ops));
    assert!(delete.misses > 0, "a key deleted twice was not there the second time");
}

#[test]
fn an_old_value_is_seen_to_be_wrong_in_a_mix() {
    let workload = "keys = 50\nrounds = 1\nratio = '1:1'\nrequests = 5000";
    let run = run(&stores::ENGINES, &["faulty:?fault=keep-old-value"], workload);
    assert!(cell(&run, "faulty:?fault=keep-old-value", Operation::Get).counts.wrong > 0);
}

#[test]
fn a_multiget_is_counted_in_keys() {
    let run = run(&ENGINES, &["moka:"], "keys = 1000\nrounds = 1\nmultiget = 16");
    let cell = cell(&run, "moka:", Operation::GetMany);
    assert_eq!((cell.counts.ops, cell.counts.hits), (1000, 1000));
}

#[test]
fn sets_of_many_keys_are_counted_in_keys_and_read_back() {
    let workload = "keys = 1000\nrounds = 2\noperations = 'set,get'\nmultiset = 16\nthreads = 2";
    let targets = ["map:", "faulty:?fault=drop", "faulty:?fault=truncate&keep=50"];
    let run = run(&stores::ENGINES, &targets, workload);
    let of = |target| cell(&run, target, Operation::SetMany);
    let counts = of("map:").counts;
    assert_eq!((counts.ops, counts.errors, counts.read_back_absent), (2000, 0, 0));
    assert!(of("faulty:?fault=drop").counts.read_back_absent > 0);
    assert!(!findings(&run, "SILENT-DROP").is_empty() && !findings(&run, "TRUNCATED").is_empty());
    assert_eq!(cell(&run, "map:", Operation::Get).counts.hits, 2000);
}

#[test]
fn a_store_that_fails_some_sets_of_many_fails_those_keys_alone() {
    // Each request has a failure, and there are more requests than failures after which a target is given up.
    let workload = "keys = 3000\nrounds = 1\noperations = 'set'\nmultiset = 10";
    let run = run(&stores::ENGINES, &["faulty:?fault=fail&every=7"], workload);
    let counts = cell(&run, "faulty:?fault=fail&every=7", Operation::SetMany).counts;
    assert!((300..600).contains(&counts.errors), "{counts:?}");
    assert_eq!((counts.ops, counts.read_back_absent), (3000, 0));
    assert!(counts.read_back > 2000, "{counts:?}");
}

#[test]
fn touches_and_deletes_are_phases_of_their_own() {
    let workload = "keys = 300\nrounds = 1\nttl = '1h'\noperations = 'touch,delete,get'";
    let run = run(&stores::ENGINES, &["map:"], workload);
    assert_eq!(cell(&run, "map:", Operation::Touch).counts.misses, 0);
    assert_eq!(cell(&run, "map:", Operation::Delete).counts.misses, 0);
    assert_eq!(cell(&run, "map:", Operation::Get).counts.misses, 300);
}

#[test]
fn time_ends_a_phase_where_no_number_does() {
    let run = run(&ENGINES, &["moka:"], "keys = 100\nrounds = 1\nduration = '100ms'");
    let wall = cell(&run, "moka:", Operation::Get).wall_s.unwrap();
    assert!((0.09..2.0).contains(&wall), "{wall}");
}

#[test]
fn a_trace_gives_every_target_the_same_operations_and_hits() {
    let file = tempfile::Builder::new().suffix(".trace").tempfile().unwrap();
    let keys = [7_u32, 8, 7, 9, 7, 8, 10, 10, 7, 11];
    std::fs::write(file.path(), keys.map(u32::to_be_bytes).concat()).unwrap();
    let trace =
        format!("keys-from = 'trace:{}'\non-miss = 'fill'\nrounds = 3", file.path().display());
    let run = run(&stores::ENGINES, &["map:", "faulty:?fault=sleep", "faulty:?fault=spin"], &trace);
    for target in ["map:", "faulty:?fault=sleep", "faulty:?fault=spin"] {
        let cell = cell(&run, target, Operation::GetOrSet);
        // There are 5 different keys: of 10 operations, the first of each key misses.
        assert_eq!((cell.counts.ops, cell.counts.hits, cell.counts.misses), (30, 15, 15));
        assert_eq!(cell.predicted_hit_ratio, Some(0.5));
    }
}

#[test]
fn a_typed_target_that_cannot_run_is_a_reason_and_a_failure() {
    let targets = ["moka:", "memcached://127.0.0.1:1"];
    let outcome = outcome(&ENGINES, &targets, "keys = 10\nrounds = 1");
    assert!(outcome.failed);
    let cell = cell(&outcome.run, targets[1], Operation::Get);
    assert_eq!((cell.reason_kind, cell.ops_per_s), (Some(ReasonKind::Unavailable), None));
    assert!(cell.reason.as_ref().unwrap().contains("127.0.0.1:1 refused"), "{cell:?}");
    assert!(support::cell(&outcome.run, "moka:", Operation::Get).reason.is_none());
}

#[test]
fn a_target_that_is_written_wrongly_is_refused_before_anything_runs() {
    let scenario = scenario(&["map:", "map:?bogus=1"], "keys = 10\nrounds = 1");
    let plan = Plan::new(&scenario, false, &stores::ENGINES).unwrap();
    let (stop, permissions) = (AtomicBool::new(false), Permissions::default());
    let error = compare(&plan, &stores::ENGINES, Vec::new(), permissions, &Silent, &stop);
    let error = error.map(|_| ()).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("bogus"), "{error}");
}

#[test]
fn a_target_that_fails_too_often_is_given_up_with_its_errors_counted() {
    let outcome =
        outcome(&stores::ENGINES, &["faulty:?fault=full", "map:"], "keys = 4000\nrounds = 3");
    assert!(outcome.failed);
    let cell = cell(&outcome.run, "faulty:?fault=full", Operation::Set);
    assert_eq!((cell.reason_kind, cell.ops_per_s), (Some(ReasonKind::Lost), None));
    assert!(cell.counts.errors >= 100 && cell.counts.errors < 4000, "{:?}", cell.counts);
    let of_map = support::cell(&outcome.run, "map:", Operation::Set);
    assert_eq!((of_map.counts.errors, of_map.rounds), (0, 3));
}

#[test]
fn a_part_of_the_rounds_is_not_ranked_at_any_point_of_a_lost_target() {
    let workload = "keys = 4000\nrounds = 3\ndata-size = [10, 100]";
    let run = run(&stores::ENGINES, &["faulty:?fault=full", "map:"], workload);
    let of_lost: Vec<_> =
        run.cells.iter().filter(|cell| cell.target == "faulty:?fault=full").collect();
    assert_eq!(of_lost.len(), 4);
    for cell in of_lost {
        let reason = cell.reason.as_deref().unwrap_or_default();
        let said = ["lost in the first round: ", "lost after 1 of 3 rounds: "];
        assert!(said.iter().any(|said| reason.starts_with(said)), "{reason}");
        assert_eq!((cell.reason_kind, cell.ops_per_s), (Some(ReasonKind::Lost), None));
    }
    assert!(run.comparisons.is_empty());
    let sentences: Vec<String> =
        larder_report::sentences(&run).iter().map(ToString::to_string).collect();
    assert!(
        sentences.iter().any(|said| said.starts_with("lost: faulty:?fault=full: was lost ")),
        "{sentences:?}"
    );
}

#[test]
fn a_point_without_room_does_not_lose_a_target_that_has_room_for_others() {
    // There is room for two points of three, and for the sets that the read-back of the first point repeats.
    let workload = "keys = 400\nrounds = 2\noperations = 'get'\ndata-size = [10, 100, 200]";
    let outcome = outcome(&stores::ENGINES, &["faulty:?fault=full&after=1100"], workload);
    let kinds: Vec<_> = outcome.run.cells.iter().map(|cell| cell.reason_kind).collect();
    // The second round has no room left for any point.
    assert!(
        outcome.failed && kinds.iter().all(|kind| *kind == Some(ReasonKind::Lost)),
        "{kinds:?}"
    );
    let workload = "keys = 400\nrounds = 1\noperations = 'get'\ndata-size = [10, 100, 200]";
    let outcome = support::outcome(&stores::ENGINES, &["faulty:?fault=full&after=1100"], workload);
    let kinds: Vec<_> = outcome.run.cells.iter().map(|cell| cell.reason_kind).collect();
    assert_eq!((outcome.failed, kinds), (false, vec![None, None, Some(ReasonKind::Full)]));
    let reason = outcome.run.cells[2].reason.as_deref().unwrap();
    assert!(reason.starts_with("no room: faulty: full: no room after 1100 sets"), "{reason}");
}

#[test]
fn fills_that_always_fail_are_given_up_too() {
    let workload = "keys = 4000\nrounds = 3\non-miss = 'fill'";
    let outcome = outcome(&stores::ENGINES, &["faulty:?fault=full"], workload);
    let cell = cell(&outcome.run, "faulty:?fault=full", Operation::GetOrSet);
    assert_eq!(cell.reason_kind, Some(ReasonKind::Lost), "{cell:?}");
    assert!((100..4000).contains(&cell.counts.failed_fills), "{:?}", cell.counts);
}

#[test]
fn values_too_short_for_a_header_are_right_however_often_they_were_set() {
    let workload =
        "keys = 3\nrounds = 2\nratio = '1:1'\nrequests = 3000\ndata-size = 10\nthreads = 2";
    for workload in [workload.to_owned(), format!("{workload}\non-miss = 'fill'")] {
        let run = run(&stores::ENGINES, &["map:"], &workload);
        for cell in &run.cells {
            let counts = cell.counts;
            assert_eq!(
                (counts.wrong, counts.read_back_wrong, counts.errors),
                (0, 0, 0),
                "{cell:?}"
            );
        }
    }
}

#[test]
fn keys_in_order_are_shared_out_to_the_threads() {
    let workload = "keys = 300\nrounds = 1\nkey-pattern = 'seq'\nthreads = 3";
    let run = run(&stores::ENGINES, &["map:"], workload);
    assert_eq!(cell(&run, "map:", Operation::Get).counts.distinct_keys, 300);
}

#[test]
fn each_thread_reads_all_keys_or_those_of_its_application_and_every_value_is_right() {
    let reads = |workload: &str| -> Vec<(u64, u64, u64, u64)> {
        let workload = format!("keys = 30\nrounds = 2\nkey-pattern = 'seq'\n{workload}");
        let run = run(&stores::ENGINES, &["map:"], &workload);
        let gets = run.cells.iter().filter(|cell| cell.operation != Operation::Set);
        let counted = |cell: &Cell| {
            let counts = cell.counts;
            (counts.ops, counts.hits, counts.distinct_keys, counts.top_key_ops)
        };
        gets.map(counted).collect()
    };
    // Of the most frequent key, the reads of one round; of the other keys, the reads of both rounds.
    let all = reads("threads = [1, 3]\neach-thread = 'all'");
    assert_eq!(all, [(60, 60, 30, 1), (180, 180, 30, 3)]);
    // As many more as it takes for each thread to read each key equally often.
    let more = reads("threads = 3\nrequests = 100\neach-thread = 'all'\noperations = 'get'");
    assert_eq!(more, [(360, 360, 30, 6)]);
    let applications = reads("threads = [2, 4]\neach-thread = 'all:2'\noperations = 'get'");
    assert_eq!(applications, [(120, 120, 30, 2), (240, 240, 60, 2)]);
    let groups =
        reads("threads = 4\neach-thread = 'all:2'\ngroup = 5\noperations = 'get_many,get'");
    assert_eq!(groups, [(240, 240, 60, 2), (240, 240, 60, 2)]);
}

#[test]
fn threads_that_cannot_each_read_all_keys_are_refused() {
    for (workload, why) in [
        ("each-thread = 'all'", "--each-thread all with --key-pattern uniform"),
        (
            "key-pattern = 'seq'\neach-thread = 'all:3'\nthreads = 4",
            "--each-thread all:3 with --threads 4: 4 are not a whole number of applications",
        ),
        (
            "key-pattern = 'seq'\neach-thread = 'all:2'\nthreads = 2\nprocesses = 4",
            "--each-thread all:2 with --processes 4: guests would be 2 applications",
        ),
        ("key-pattern = 'seq'\neach-thread = 'all'\nratio = '1:1'", "no operation only reads"),
        (
            "key-pattern = 'seq'\neach-thread = 'all:1'\nthreads = 1000\nkeys = '5m'",
            "each of 1000 applications has so many; give at most 4294967",
        ),
    ] {
        let refused = Plan::new(&scenario(&["map:"], workload), true, &stores::ENGINES);
        let text = refused.unwrap_err().to_string();
        assert!(text.contains(why) && !text.contains('\n'), "{text}");
    }
}

#[test]
fn processes_without_a_guest_are_refused() {
    let refused = Plan::new(&scenario(&["map:"], "processes = 2"), true, &stores::ENGINES);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("--processes 2: they are a guest's") && !text.contains('\n'), "{text}");
}

#[test]
fn an_interrupted_run_says_so() {
    let plan =
        Plan::new(&scenario(&["map:"], "keys = 10\nrounds = 5"), true, &stores::ENGINES).unwrap();
    let stop = AtomicBool::new(true);
    let permissions = Permissions::default();
    let outcome =
        compare(&plan, &stores::ENGINES, Vec::new(), permissions, &Silent, &stop).unwrap();
    assert!(outcome.run.interrupted);
    assert!(outcome.run.cells.iter().all(|cell| cell.reason.is_some()));
}

#[test]
fn two_targets_that_differ_are_told_apart_and_one_with_itself_is_not_ranked() {
    // A machine with other work needs long to make a round of the second target as slow as one of the first.
    let workload = "keys = 50\nrounds = 8\noperations = 'get'";
    let targets = [
        "faulty:?fault=sleep&micros=4000",
        "faulty:?fault=spin&micros=20",
        "faulty:?fault=spin&micros=20&name=again",
    ];
    let run = run(&stores::ENGINES, &targets, workload);
    let of = |a: &str, b: &str| {
        run.comparisons.iter().find(|comparison| comparison.a == a && comparison.b == b).unwrap()
    };
    assert_eq!(of(targets[0], targets[1]).verdict, larder_report::Verdict::Slower);
    assert!(of(targets[0], targets[1]).ratio < 0.5);
    assert!(of(targets[1], targets[2]).p >= of(targets[0], targets[1]).p);
}

#[test]
fn a_plan_beyond_memory_is_refused_in_one_line() {
    let scenario =
        scenario(&["map:"], "keys = '4000m'\ndata-size = '1k'\nrounds = 1\nrequests = 1");
    let error = Plan::new(&scenario, true, &stores::ENGINES).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("memory") && !error.contains('\n'), "{error}");
}

#[test]
fn results_appear_whole() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = outcome(&ENGINES, &["moka:"], "keys = 50\nrounds = 2");
    write(folder.path(), &outcome).unwrap();
    let json = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let run: larder_report::Run = serde_json::from_str(&json).unwrap();
    assert_eq!(run.cells.len(), 2);
    let samples = std::fs::read_to_string(folder.path().join("samples.csv")).unwrap();
    assert_eq!(samples.lines().count(), 1 + 2 * 2, "a header, then a line a round and operation");
    let logs: Vec<_> = std::fs::read_dir(folder.path().join("hdr")).unwrap().collect();
    assert_eq!(logs.len(), 2);
    let left = std::fs::read_dir(folder.path()).unwrap();
    let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["hdr", "report.html", "report.md", "run.json", "samples.csv", "usage.csv"]);
}

#[test]
fn one_seed_gives_a_slow_and_a_fast_target_the_same_operations() {
    let workload =
        "keys = 50\nrounds = 3\nratio = '1:3:1'\nrequests = 700\nkey-pattern = 'zipf:0.99'";
    let run = run(&stores::ENGINES, &["map:", "faulty:?fault=sleep&micros=100"], workload);
    for operation in [Operation::Set, Operation::Get, Operation::Delete] {
        let of = |target| -> Vec<_> {
            let samples = &cell(&run, target, operation).samples;
            samples.iter().map(|sample| (sample.counts.ops, sample.counts.hits)).collect()
        };
        assert_eq!(of("map:"), of("faulty:?fault=sleep&micros=100"), "{operation}");
    }
}

#[test]
fn a_warm_up_lasts_as_long_as_it_is_told_to() {
    let started = std::time::Instant::now();
    run(&stores::ENGINES, &["map:"], "keys = 20\nrounds = 1\nwarmup = '200ms'");
    assert!(
        started.elapsed() >= std::time::Duration::from_millis(400),
        "200 ms for set and get each"
    );
}

#[test]
fn a_cell_in_which_nothing_succeeded_says_so() {
    let run = run(&stores::ENGINES, &["faulty:?fault=miss"], "keys = 30\nrounds = 1");
    let cell = cell(&run, "faulty:?fault=miss", Operation::Get);
    assert_eq!(cell.reason_kind, Some(ReasonKind::NothingSucceeded));
    assert!(cell.reason.as_ref().unwrap().contains("30 missed"), "{cell:?}");
}
