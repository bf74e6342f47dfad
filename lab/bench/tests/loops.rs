//! The loops that articles timed: set and get of one key, a fill under the wrong key, a second pass that hits.

mod support;

use larder_bench::Plan;
use larder_engines::ENGINES;
use larder_report::{Operation, Severity};
use larder_testkit::stores;
use support::{cell, findings, run, scenario};

#[test]
fn a_get_behind_its_own_set_returns_the_value_just_set() {
    for (keys, threads, requests) in [(1_u64, 1, 1000), (300, 1, 1000), (300, 4, 1000), (7, 1, 999)]
    {
        let workload = format!(
            "keys = {keys}\nthreads = {threads}\nrequests = {requests}\nrounds = 2\noperations = 'set+get'"
        );
        let run = run(&stores::ENGINES, &["map:"], &workload);
        let set = cell(&run, "map:", Operation::Set);
        let get = cell(&run, "map:", Operation::Get);
        // The last key has a set and a get, too.
        assert_eq!((set.counts.ops, get.counts.ops), (1000, 1000), "{workload}");
        assert_eq!((get.counts.hits, get.predicted_hit_ratio), (1000, Some(1.0)), "{workload}");
        assert_eq!((set.counts.read_back_absent, set.counts.read_back_wrong), (0, 0));
        assert!(set.counts.distinct_keys <= keys);
    }
}

#[test]
fn a_get_that_returns_the_set_before_the_last_is_wrong() {
    let workload = "keys = 1\nrequests = 1000\nrounds = 1\noperations = 'set+get'";
    let run = run(&stores::ENGINES, &["faulty:?fault=keep-old-value"], workload);
    let get = cell(&run, "faulty:?fault=keep-old-value", Operation::Get).counts;
    assert!(get.wrong > 0 && get.wrong + get.hits == 500, "{get:?}");
}

#[test]
fn sets_that_time_cut_off_are_not_expected_later() {
    // Time ends the first phase within a block, whose last sets never happen.
    for threads in [1, 3] {
        let workload = format!(
            "keys = 5000\nthreads = {threads}\nduration = '30ms'\nrounds = 2\noperations = 'set+touch,get'"
        );
        let run = run(&stores::ENGINES, &["map:"], &workload);
        let get = cell(&run, "map:", Operation::Get).counts;
        assert!(get.hits > 0 && get.wrong == 0, "{workload}: {get:?}");
    }
}

#[test]
fn a_set_that_failed_is_not_asked_for_in_the_next_phase() {
    let workload = "keys = 300\nrounds = 1\noperations = 'set+touch,get'";
    let get = cell(
        &run(&stores::ENGINES, &["faulty:?fault=fail"], workload),
        "faulty:?fault=fail",
        Operation::Get,
    )
    .counts;
    assert!(get.wrong == 0 && get.hits > 0, "{get:?}");
}

#[test]
fn a_value_that_comes_back_after_its_delete_is_wrong() {
    for workload in [
        "keys = 300\nrounds = 1\noperations = 'set+delete+get'",
        "keys = 300\nrounds = 1\nthreads = 3\noperations = 'set+delete+get'",
        "keys = 300\nrounds = 1\nrequests = 3000\nratio = '1:4:1'",
        // Shorter than the header of a value.
        "keys = 300\nrounds = 1\ndata-size = '5'\noperations = 'set+delete+get'",
    ] {
        let get = |target: &str| {
            cell(&run(&stores::ENGINES, &[target], workload), target, Operation::Get).counts
        };
        let (undead, sound) = (get("faulty:?fault=keep-deleted&every=7"), get("map:"));
        assert!(undead.wrong > 0, "{workload}: {undead:?}");
        assert_eq!(sound.wrong, 0, "{workload}");
    }
    // Where a delete fails, its value may be there.
    let workload = "keys = 300\nrounds = 1\noperations = 'set+delete+get'";
    let get = cell(
        &run(&stores::ENGINES, &["faulty:?fault=fail"], workload),
        "faulty:?fault=fail",
        Operation::Get,
    )
    .counts;
    assert!(get.wrong == 0 && get.hits > 0, "{get:?}");
    // A value that a get-or-set has stored again may be there, too.
    let workload = "keys = 50\nrounds = 1\nrequests = 3000\nratio = '1:4:1'\non-miss = 'fill'";
    let fills = run(&stores::ENGINES, &["map:"], workload);
    assert_eq!(cell(&fills, "map:", Operation::GetOrSet).counts.wrong, 0);
}

#[test]
fn joined_operations_may_stand_in_a_list_and_contain_a_delete() {
    let workload = "keys = 50\nrounds = 1\noperations = 'set+get,delete'";
    let mixed = run(&stores::ENGINES, &["map:"], workload);
    let ops = |operation| cell(&mixed, "map:", operation).counts.ops;
    assert_eq!([Operation::Set, Operation::Get, Operation::Delete].map(ops), [50, 50, 50]);

    let workload = "keys = 50\nrounds = 1\nkey-pattern = 'seq'\noperations = 'set+delete+get'";
    let run = run(&stores::ENGINES, &["map:"], workload);
    let (get, delete) = (cell(&run, "map:", Operation::Get), cell(&run, "map:", Operation::Delete));
    assert_eq!((get.counts.misses, get.predicted_hit_ratio), (50, Some(0.0)));
    assert_eq!(delete.counts.misses, 0);
}

#[test]
fn the_pattern_first_takes_one_key_and_a_fill_makes_all_but_its_first_read_hit() {
    let workload = "keys = 9\nrequests = 500\nrounds = 2\nkey-pattern = 'first'\non-miss = 'fill'";
    let run = run(&stores::ENGINES, &["map:"], workload);
    let cell = cell(&run, "map:", Operation::GetOrSet);
    assert_eq!((cell.counts.distinct_keys, cell.counts.top_key_ops), (1, 500));
    assert_eq!((cell.counts.hits, cell.predicted_hit_ratio), (998, Some(0.998)));
}

#[test]
fn a_fill_under_the_next_key_never_hits_and_is_there_all_the_same() {
    let workload = "keys = 2\nrequests = 500\nrounds = 2\nkey-pattern = 'first'\non-miss = 'fill-next'\n\
                    ttl = '600s'\ndata-size = 5";
    let run = run(&stores::ENGINES, &["map:"], workload);
    let cell = cell(&run, "map:", Operation::GetOrSet);
    assert_eq!((cell.counts.misses, cell.counts.wrong, cell.counts.errors), (1000, 0, 0));
    assert_eq!((cell.predicted_hit_ratio, cell.counts.failed_fills), (Some(0.0), 0));
    assert!(cell.ops_per_s.is_some(), "a miss and its fill are an operation that was carried out");
    let found = findings(&run, "NEVER-HITS");
    assert!(found.iter().all(|check| check.severity == Severity::Error) && found.len() == 1);
}

#[test]
fn a_fill_under_the_next_key_counts_round_and_stores_that_keys_own_value() {
    // In order, every second read finds the entry that the read before it stored, and the value must be that key's.
    let workload = "keys = 10\nrequests = 10\nrounds = 1\nkey-pattern = 'seq'\non-miss = 'fill-next'\n\
                    data-size = 'uniform:30-900'";
    let run = run(&stores::ENGINES, &["map:"], workload);
    let filled = cell(&run, "map:", Operation::GetOrSet);
    assert_eq!((filled.counts.hits, filled.counts.misses, filled.counts.wrong), (5, 5, 0));
    assert_eq!(filled.counts.read_back, 5);
    assert_eq!((filled.counts.read_back_absent, filled.counts.read_back_wrong), (0, 0));

    let workload = "keys = 1\nrequests = 10\nrounds = 1\non-miss = 'fill-next'";
    let run = support::run(&stores::ENGINES, &["map:"], workload);
    let alone = cell(&run, "map:", Operation::GetOrSet);
    assert_eq!((alone.counts.hits, alone.predicted_hit_ratio), (9, Some(0.9)), "next is itself");
}

#[test]
fn the_second_pass_over_keys_in_order_hits_as_the_plan_predicts() {
    for (requests, hits) in [(400, 200), (500, 300), (150, 0)] {
        let workload = format!(
            "keys = 200\nrequests = {requests}\nrounds = 1\nkey-pattern = 'seq'\non-miss = 'fill'"
        );
        let run = run(&stores::ENGINES, &["map:"], &workload);
        let cell = cell(&run, "map:", Operation::GetOrSet);
        assert_eq!(cell.counts.hits, hits);
        let share = f64::from(u32::try_from(hits).unwrap()) / f64::from(requests);
        assert_eq!(cell.predicted_hit_ratio, Some(share));
    }
}

#[test]
fn the_built_in_page_is_text_of_thirty_kilobytes_and_works_with_one_key() {
    let workload =
        "keys = 1\nrequests = 200\nrounds = 1\npayload = 'builtin:page'\non-miss = 'fill'";
    let run = run(&stores::ENGINES, &["map:"], workload);
    let cell = cell(&run, "map:", Operation::GetOrSet);
    assert_eq!(
        (cell.counts.hits, cell.counts.wrong, cell.predicted_hit_ratio),
        (199, 0, Some(0.995))
    );
    let len = cell.working_set_bytes;
    assert!((24 << 10..=31 << 10).contains(&len), "{len}");
    assert_eq!(run.workload["payload"], "builtin:page");
}

#[test]
fn entries_that_a_chain_has_stored_are_there_for_the_phase_behind_it() {
    for (operations, pattern, predicted) in [
        ("set+get,get_or_set", "first", Some((40, 1.0))),
        ("set+get,get_or_set", "uniform", None),
        ("set+get+delete,get_or_set", "first", Some((39, 0.975))),
        ("get+delete,get_or_set", "uniform", None),
    ] {
        let workload = format!(
            "keys = 20\nrequests = 40\nrounds = 1\nkey-pattern = '{pattern}'\noperations = '{operations}'"
        );
        let run = run(&stores::ENGINES, &["map:"], &workload);
        let read = cell(&run, "map:", Operation::GetOrSet);
        assert_eq!(read.predicted_hit_ratio, predicted.map(|(_, share)| share), "{workload}");
        let hits = read.counts.hits;
        assert!(predicted.is_none_or(|(predicted, _)| predicted == hits), "{workload}: {hits}");
    }
}

#[test]
fn a_ttl_lasts_where_it_is_long_beside_the_phase() {
    let predicted = |lines: &str| {
        let plan = Plan::new(&scenario(&["map:"], lines), true, &stores::ENGINES).unwrap();
        plan.points[0].phases.last().unwrap().predicted_hit_ratio
    };
    assert_eq!(predicted("duration = '20m'\nttl = '10m'"), None, "it may expire");
    assert_eq!(predicted("duration = '1m'\nttl = '10m'"), Some(1.0));
    assert_eq!(predicted("duration = '1s'\nttl = '30s'"), Some(1.0));
    assert_eq!(predicted("requests = 100\nttl = '30s'"), None, "how long they take is not known");
    assert_eq!(predicted("requests = 100\nttl = '10m'"), Some(1.0));
}

#[test]
fn operations_that_cannot_be_joined_or_verified_are_refused_in_one_line() {
    for (workload, needle) in [
        ("operations = 'set+get'\nmultiget = 8", "--operations set+get one"),
        ("operations = 'get_or_set'\nmultiget = 8", "--multiget 8: no `get` is measured"),
        ("operations = 'set,delete'\nmultiget = 8", "leave it out"),
        ("operations = 'set+get'\nmultiset = 8", "--multiset 8: no `set` by itself is measured"),
        ("operations = 'get'\nmultiset = 8", "leave it out"),
        ("ratio = '1:1'\nmultiset = 8", "--multiset 8 only stores: leave out --ratio"),
        ("on-miss = 'fill-next'\nratio = '1:10'", "--on-miss fill-next only reads and fills"),
        ("on-miss = 'fill-next'\noperations = 'get'", "--on-miss fill-next is an operation"),
        ("keys = 3\nthreads = 4\noperations = 'set+get'", "--threads 4 with --keys 3"),
        ("keys = 3\nthreads = 4\nratio = '1:1'", "give at least 4 keys"),
    ] {
        let error = Plan::new(&scenario(&["moka:"], workload), true, &ENGINES).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(needle) && !error.contains('\n'), "{error}");
    }
    // A plan that only reads needs no key for each thread.
    let reads = scenario(&["moka:"], "keys = 3\nthreads = 4");
    assert!(Plan::new(&reads, true, &ENGINES).is_ok());
}
