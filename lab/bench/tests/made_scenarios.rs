//! Scenarios that are made from an argument: every possible argument gives a scenario like any other.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::sync::atomic::AtomicBool;

use larder_bench::{GENERATED, Named, Permissions, Plan, Scenario, Silent, compare, guest};
use larder_engines::ENGINES;
use larder_report::{ArticleForm, Operation, Run};
use larder_store::Catalog;
use larder_workload::{Count, WorkloadSpec};

/// The engines and guests of the binary.
const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

/// Runs this many operations of a scenario on one target.
fn run(name: &str, target: &str, requests: u32) -> Run {
    let workload = WorkloadSpec {
        requests: Some(Count(requests)),
        rounds: Some(Count(1)),
        ..WorkloadSpec::default()
    };
    let mut scenario =
        Scenario::find(name).unwrap().resolve(ArticleForm::Corrected, false).unwrap();
    scenario.targets = vec![target.into()];
    let plan = Plan::new(&scenario.with_workload(&workload), false, &ENGINES).unwrap();
    let stop = AtomicBool::new(false);
    compare(&plan, &ENGINES, Vec::new(), Permissions::default(), &Silent, &stop).unwrap().run
}

/// The first form and the full form.
fn forms(name: &str) -> [Scenario; 2] {
    let scenario = Scenario::find(name).unwrap();
    [false, true].map(|full| scenario.clone().resolve(ArticleForm::Corrected, full).unwrap())
}

#[test]
fn every_cluster_that_has_figures_makes_a_plan_in_both_forms() {
    let with_figures = (1..=54).filter(|number| *number != 5);
    for number in with_figures {
        let name = format!("twitter:{number}");
        let [short, full] = forms(&name);
        let keys = |scenario: &Scenario| scenario.workload.keys.clone().unwrap()[0];
        assert!(keys(&short) <= Count(20_000) && keys(&full) >= keys(&short), "{name}");
        let plan = Plan::new(&short, false, &ENGINES).unwrap();
        assert_eq!(plan.scenario, format!("twitter-{number}"));
        let point = &plan.points[0];
        assert!(point.working_set_bytes < 80 << 20, "{name}: {}", point.working_set_bytes);
        assert!(point.keys.count() >= 990, "{name}");
        // One of these clusters has many keys, the other large values.
        if [15, 50].contains(&number) {
            let point = &Plan::new(&full, false, &ENGINES).unwrap().points[0];
            assert!(point.working_set_bytes < 5 << 28, "{name}: {}", point.working_set_bytes);
        }
    }
}

#[test]
fn a_twin_has_the_sizes_the_mix_and_the_skew_that_are_published() {
    let twin = Scenario::find("twitter:14").unwrap().workload;
    assert_eq!(twin.key_size.unwrap().to_string(), "96");
    assert_eq!(twin.key_pattern.unwrap().to_string(), "zipf:1.2959");
    assert_eq!(twin.ratio.unwrap().to_string(), "13 set : 65 get : 22 delete");
    assert_eq!(twin.ttl.unwrap().to_string(), "24h");
    // The standard deviation of exponential sizes equals their mean, so the mean of 40,000 sizes deviates by a
    // two-hundredth of it.
    let [sizes] = &twin.data_size.unwrap()[..] else { panic!("one distribution") };
    let n = 40_000;
    let total: f64 = (0..n).map(|index| f64::from(sizes.size_of(7, index))).sum();
    let mean = total / 40_000.0;
    assert!((mean - 414.0).abs() < 3.0 * 414.0 / 200.0, "{mean}");
    let below = (0..n).filter(|index| sizes.size_of(7, *index) < 414).count();
    assert!((24_900..25_700).contains(&below), "1 - 1/e of 40,000 are 25,285: {below}");

    let workload = |name| Scenario::find(name).unwrap().workload;
    assert_eq!(workload("twitter:10").key_pattern.unwrap().to_string(), "uniform", "alpha 0");
    assert_eq!(workload("twitter:43").key_pattern.unwrap().to_string(), "zipf:0.99", "no alpha");
    assert_eq!(workload("twitter:21").data_size.unwrap().to_string(), "1");
    let counted = Scenario::find("twitter:11").unwrap();
    assert_eq!(counted.workload.ratio.unwrap().to_string(), "3 set : 97 get");
    let said = "(add counts as set, gets counts as get, cas counts as set)";
    assert!(counted.summary.ends_with(said), "{}", counted.summary);
}

#[test]
fn a_twin_runs_and_every_operation_of_its_mix_has_its_share() {
    let run = run("twitter:14", "moka:", 20_000);
    assert_eq!(run.scenario, "twitter-14");
    let ops = |operation| {
        let cell = run.cells.iter().find(|cell| cell.operation == operation).unwrap();
        assert_eq!(cell.counts.wrong + cell.counts.errors, 0, "{:?}", cell.counts);
        cell.counts.ops
    };
    for (operation, expected) in
        [(Operation::Set, 2600_u64), (Operation::Get, 13_000), (Operation::Delete, 4400)]
    {
        assert!(ops(operation).abs_diff(expected) < 300, "{operation}: {}", ops(operation));
    }
}

#[test]
fn the_other_workloads_of_today_run_and_every_value_is_right() {
    for (name, operations) in [
        ("kvcache", vec![Operation::GetOrSet]),
        ("session", vec![Operation::Set, Operation::Get, Operation::Touch]),
    ] {
        let run = run(name, "moka:", 3000);
        for operation in operations {
            let mut cells = run.cells.iter().filter(|cell| cell.operation == operation);
            let counts = cells.next().unwrap().counts;
            assert!(counts.ops > 0 && counts.wrong + counts.errors == 0, "{name}: {counts:?}");
        }
    }
}

#[test]
fn servers_take_the_keys_of_the_key_value_cache() {
    let kvcache = Scenario::find("kvcache").unwrap().workload;
    let [lengths] = &kvcache.key_size.unwrap()[..] else { panic!("one distribution") };
    assert_eq!(lengths.max(), 250, "memcached takes no longer ones");
}

/// Accesses of a web site: few pages often, and many pages once.
fn trace(folder: &std::path::Path) -> String {
    let path = folder.join("a \"page\".trace");
    let pages = (0..4000_u32).map(|at| if at % 2 == 0 { at % 32 } else { at });
    std::fs::write(&path, pages.flat_map(u32::to_be_bytes).collect::<Vec<u8>>()).unwrap();
    format!("web:{}", path.display())
}

#[test]
fn a_web_site_is_replayed_from_the_trace_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let name = trace(folder.path());
    for scenario in forms(&name) {
        let plan = Plan::new(&scenario, false, &CATALOG).unwrap();
        assert_eq!(plan.points[0].keys.count(), 2000 + 16);
        assert!(!plan.points[0].values.are_recorded());
    }
    let hits = |target: &str| {
        let run = run(&name, target, 4000);
        let counts = run.cells[0].counts;
        assert_eq!((counts.ops, counts.hits + counts.misses), (4000, 4000), "{counts:?}");
        counts.hits
    };
    let all = hits("moka:");
    assert_eq!(all, 2000 - 16);
    // The cache holds a sixteenth of the pages, and the frequent pages are a tenth of those.
    let some = hits("moka:?size=1m&policy=lru");
    assert!(some <= all && some > 1000, "{some} of {all}");
}

#[test]
fn recorded_sizes_win_over_made_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.csv");
    std::fs::write(&path, "key,size\na,100\nb,200\na,100\n").unwrap();
    let scenario = Scenario::find(&format!("web:{}", path.display())).unwrap();
    let plan = Plan::new(&scenario, false, &CATALOG).unwrap();
    assert_eq!(plan.points[0].values.len_of(1), 200);
}

#[test]
fn a_made_scenario_is_printed_as_a_file_that_gives_the_same_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("printed.toml");
    for made in GENERATED {
        let name = format!("{}:{}", made.name, made.example);
        std::fs::write(&path, &*Named::text(&name).unwrap()).unwrap();
        assert_eq!(Scenario::find(path.to_str().unwrap()).unwrap(), Scenario::find(&name).unwrap());
    }
}

#[test]
fn a_wrong_argument_gets_one_line_with_the_right_form() {
    for (name, needle) in [
        ("twitter", "write twitter:N, N from 1 to 54"),
        ("twitter:", "write twitter:N"),
        ("twitter:0", "`twitter:0`: give the number of a cluster, 1 to 54"),
        ("twitter:55", "give the number of a cluster, 1 to 54"),
        ("twitter:a", "give the number of a cluster, 1 to 54"),
        ("twitter:5", "no statistics of this cluster are published; take another cluster"),
        ("web", "write web:FILE, a trace: web07.trace.xz and web12.trace.xz of https://"),
        ("web:x?format=what", "no trace format `what`"),
        ("twiter:1", "no scenario `twiter:1`; built in: quick, page"),
        ("quick:1", "web:FILE, twitter:N"),
    ] {
        let error = Scenario::find(name).unwrap_err().to_string();
        assert!(error.contains(needle) && !error.contains('\n'), "{name}: {error}");
    }
    let missing = Scenario::find("web:/nowhere/x.trace").unwrap();
    let error = Plan::new(&missing, false, &CATALOG).unwrap_err().to_string();
    assert!(error.contains("/nowhere/x.trace") && !error.contains('\n'), "{error}");
}
