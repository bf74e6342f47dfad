//! Groups of keys, read one by one, by one request for their keys, and by their tag: three ways to do the same work.

mod support;

use larder_bench::Plan;
use larder_engines::ENGINES;
use larder_report::{Operation, ReasonKind, Run};
use larder_testkit::stores;
use support::{cell, findings, run, scenario};

const WAYS: [Operation; 3] = [Operation::GetEach, Operation::GetMany, Operation::GetTag];
const PAGES: &str = "group = 30\noperations = 'get_each,get_many,get_tag'";

/// Every operation has one of these outcomes.
fn adds_up(run: &Run, target: &str, operation: Operation) {
    let counts = cell(run, target, operation).counts;
    let sum = counts.hits + counts.misses + counts.wrong + counts.errors;
    assert_eq!(sum, counts.ops, "{target} {operation}: {counts:?}");
}

#[test]
fn a_group_is_read_in_three_ways_and_counted_in_keys() {
    for workload in ["threads = 1", "threads = 3", "key-pattern = 'seq'", "key-size = '8;40'"] {
        let workload = format!("keys = 600\nrounds = 1\n{PAGES}\n{workload}");
        let run = run(&ENGINES, &["lmdb:", "null:"], &workload);
        for (cell, operation) in run
            .cells
            .iter()
            .filter(|cell| cell.target == "lmdb:")
            .flat_map(|cell| WAYS.map(|way| (cell, way)))
            .filter(|(cell, way)| cell.operation == *way)
        {
            assert_eq!((cell.counts.ops, cell.counts.hits), (600, 600), "{operation} {workload}");
            assert_eq!(cell.counts.distinct_keys % 30, 0, "whole groups");
            assert_eq!(cell.predicted_hit_ratio, Some(1.0));
            // A latency is that of a group, so there are 20.
            let (latency, wall_s) = (cell.latency_ns.unwrap(), cell.wall_s.unwrap());
            assert!(latency.mean > 0.0 && wall_s > 0.0);
        }
        let points = run.cells.len() / (2 * WAYS.len());
        assert_eq!(run.floors.len(), WAYS.len() * points, "each way has a floor");
        assert!(findings(&run, "SILENT-DROP").is_empty(), "{:#?}", run.checks);
    }
}

#[test]
fn by_one_request_and_by_tag_the_same_keys_are_asked_for() {
    let workload = "keys = 3000\nrounds = 1\nrequests = 300\ngroup = 30\nmultiget = 30\n\
                    operations = 'get,get_each,get_tag'";
    let run = run(&ENGINES, &["lmdb:"], workload);
    for operation in WAYS {
        let counts = cell(&run, "lmdb:", operation).counts;
        assert_eq!((counts.ops, counts.hits, counts.distinct_keys % 30), (300, 300, 0));
    }
}

#[test]
fn requests_are_rounded_up_to_whole_groups() {
    let workload = format!("keys = 90\nrounds = 2\nrequests = 31\n{PAGES}");
    let run = run(&stores::ENGINES, &["map:"], &workload);
    for operation in WAYS {
        assert_eq!(cell(&run, "map:", operation).counts.hits, 2 * 60);
    }
}

#[test]
fn only_the_cell_of_a_missing_operation_is_empty() {
    let run = run(&ENGINES, &["moka:", "lmdb:"], &format!("keys = 90\nrounds = 2\n{PAGES}"));
    let lacking = cell(&run, "moka:", Operation::GetTag);
    assert_eq!(lacking.reason.as_deref(), Some("no reads by tag"));
    assert_eq!(lacking.reason_kind, Some(ReasonKind::Unsupported));
    assert_eq!((lacking.counts.ops, lacking.ops_per_s), (0, None));
    for operation in [Operation::GetEach, Operation::GetMany] {
        let measured = cell(&run, "moka:", operation);
        assert_eq!((&measured.reason, measured.counts.hits), (&None, 180), "{measured:?}");
    }
    assert!(cell(&run, "lmdb:", Operation::GetTag).reason.is_none());
}

#[test]
fn a_target_that_lacks_all_that_is_measured_is_not_loaded() {
    let workload = "keys = 90\nrounds = 1\ngroup = 30\noperations = 'get_tag'";
    let run = run(&ENGINES, &["moka:"], workload);
    let cell = cell(&run, "moka:", Operation::GetTag);
    assert_eq!(cell.reason.as_deref(), Some("no reads by tag"));
    assert!(cell.samples.is_empty());
}

#[test]
fn entries_of_other_groups_and_missing_entries_are_seen() {
    // The plan has sets of its own, so failed sets are no reason.
    let ways = "group = 30\noperations = 'set,get_each,get_many,get_tag'";
    let workload = format!("keys = 600\nrounds = 1\ndata-size = '4k'\n{ways}");
    let faulty = [
        "map:",
        "faulty:?fault=short-prefix",
        "faulty:?fault=misplace-entry",
        "faulty:?fault=lose-tag",
        "faulty:?fault=truncate",
        "faulty:?fault=swap-values",
        "faulty:?fault=fail",
        "faulty:?fault=miss",
    ];
    for url in faulty {
        let run = run(&stores::ENGINES, &[url], &workload);
        for operation in WAYS {
            adds_up(&run, url, operation);
        }
        let [each, many, tag] = WAYS.map(|operation| cell(&run, url, operation).counts);
        match url {
            "map:" => assert_eq!([each.hits, many.hits, tag.hits], [600; 3]),
            // Ten groups have tags that begin alike.
            "faulty:?fault=short-prefix" => {
                assert_eq!((each.hits, many.hits, tag.hits), (600, 600, 600));
                assert!(tag.wrong >= 600, "{tag:?}");
            }
            // An entry of another group does not replace the missing entry.
            "faulty:?fault=misplace-entry" => {
                assert_eq!((each.hits, many.hits, tag.hits), (600, 600, 580));
                assert_eq!((tag.misses, tag.wrong, tag.ops), (20, 20, 620), "{tag:?}");
            }
            "faulty:?fault=lose-tag" => {
                assert!(tag.misses > 30 && each.misses + many.misses == 0, "{tag:?}");
            }
            "faulty:?fault=truncate" => assert_eq!([each.wrong, many.wrong, tag.wrong], [600; 3]),
            "faulty:?fault=swap-values" => {
                assert!(each.wrong > 30 && many.wrong > 30, "{each:?} {many:?}");
            }
            // Of keys that are read one by one, only those fail whose read failed.
            "faulty:?fault=fail" => {
                assert_eq!(each.errors, 60, "{each:?}");
                assert!(tag.errors >= 30, "{tag:?}");
            }
            _ => assert_eq!([each.misses, many.misses, tag.misses], [600; 3]),
        }
    }
}

#[test]
fn keys_that_are_never_asked_for_are_not_counted() {
    let workload = "keys = 600\nrounds = 1\ngroup = 300\noperations = 'set,get_each'";
    // The store fails for good while the groups are read: its probe and the sets are fewer operations.
    let target = "faulty:?fault=fail&every=1&after=1000";
    let run = run(&stores::ENGINES, &[target], workload);
    let each = &cell(&run, target, Operation::GetEach).counts;
    assert!(each.hits > 0 && each.errors > 0 && each.errors <= 100, "{each:?}");
    assert_eq!((each.ops, each.misses), (each.hits + each.errors, 0), "{each:?}");
    assert!(each.ops < 600, "{each:?}");
}

#[test]
fn a_plan_that_cannot_read_groups_is_refused_in_one_line() {
    for (workload, needle) in [
        ("operations = 'get_tag'", "get_tag reads groups: give their size with --group"),
        ("operations = 'get_each'", "give their size with --group"),
        ("operations = 'get_many'", "or write get and --multiget"),
        ("group = 30\noperations = 'get_tag'", "--group 30 with --keys 100: groups have"),
        ("group = 1\noperations = 'get_tag'", "2 keys or more"),
        ("group = 10", "add get_each, get_many or get_tag"),
        ("group = 10\nmultiget = 5\noperations = 'get'", "give both the same number"),
        ("group = 10\nratio = '1:1'", "--group 10 only reads"),
        ("group = 10\non-miss = 'fill'", "--group 10 only reads"),
    ] {
        let scenario = scenario(&["moka:"], &format!("keys = 100\n{workload}"));
        let error = Plan::new(&scenario, true, &ENGINES).unwrap_err().to_string();
        assert!(error.contains(needle) && !error.contains('\n'), "{workload}: {error}");
    }
}
