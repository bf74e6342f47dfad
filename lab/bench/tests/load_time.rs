//! Values that take time to make: the threads that wait, and the threads that make the same value.

#[expect(dead_code, reason = "other tests ask for more")]
mod support;

use larder_bench::{Plan, Scenario};
use larder_engines::ENGINES;
use larder_report::{ArticleForm, Operation, sentences};
use support::{cell, run, scenario};

#[test]
fn a_thread_alone_makes_each_value_once_and_waits_for_it() {
    let workload = "keys = 10\nkey-pattern = 'seq'\nrequests = 40\nrounds = 1\non-miss = 'fill'\nload-time = '5ms'";
    let run = run(&ENGINES, &["moka:"], workload);
    let cell = cell(&run, "moka:", Operation::GetOrSet);
    let counts = cell.counts;
    assert_eq!((counts.misses, counts.hits, counts.repeated_loads), (10, 30, 0), "{counts:?}");
    assert!(cell.wall_s.unwrap() >= 0.05, "{:?}", cell.wall_s);
    let latency = cell.latency_ns.unwrap();
    assert!(latency.max >= 5_000_000 && latency.p50 < 5_000_000, "{latency:?}");
    assert_eq!(run.workload["load-time"], "5ms");
}

#[test]
fn threads_that_miss_the_same_value_all_make_it_and_each_of_them_is_right() {
    let workload = "keys = 1\nthreads = 6\nrequests = 600\nrounds = 1\non-miss = 'fill'\n\
                    load-time = '100ms'\nttl = '10m'";
    let run = run(&ENGINES, &["moka:"], workload);
    let counts = cell(&run, "moka:", Operation::GetOrSet).counts;
    assert_eq!((counts.wrong, counts.errors, counts.failed_fills), (0, 0, 0), "{counts:?}");
    // Six threads begin within the tenth of a second that the first load takes.
    assert!((2..=6).contains(&counts.misses), "{counts:?}");
    assert_eq!(counts.repeated_loads, counts.misses - 1, "one of them was the first");
    assert!(
        sentences(&run).iter().any(|sentence| sentence.text.contains("missing value was loaded")),
        "{:#?}",
        sentences(&run)
    );
}

#[test]
fn expired_values_are_made_again() {
    let workload = "keys = 2\nthreads = 4\nrequests = 8000\nrounds = 1\non-miss = 'fill'\n\
                    load-time = '5ms'\nttl = '2ms'";
    let run = run(&ENGINES, &["moka:"], workload);
    let counts = cell(&run, "moka:", Operation::GetOrSet).counts;
    let values = counts.misses - counts.repeated_loads;
    // Each of two keys is loaded once at first, and then at most once per TTL.
    let seconds = cell(&run, "moka:", Operation::GetOrSet).wall_s.unwrap();
    #[expect(clippy::cast_precision_loss, reason = "few")]
    let expiries = (values as f64 - 2.0) / 2.0;
    assert!(expiries > 0.0 && expiries <= seconds / 0.002, "{seconds} s, {counts:?}");
    assert!(counts.repeated_loads > 0 && counts.wrong == 0, "{counts:?}");
}

#[test]
fn a_time_to_make_values_belongs_to_fills() {
    let refused = |workload: &str| {
        let error = Plan::new(&scenario(&["moka:"], workload), true, &ENGINES).unwrap_err();
        error.to_string()
    };
    for (workload, needle) in [
        ("load-time = '20ms'", "--load-time 20ms: no miss is filled; add --on-miss fill"),
        ("load-time = '20ms'\nratio = '1:9'", "no miss is filled"),
        ("load-time = '0s'\non-miss = 'fill'", "--load-time 0s: give it a time"),
    ] {
        let error = refused(workload);
        assert!(error.contains(needle) && !error.contains('\n'), "{error}");
    }
    for workload in ["operations = 'get_or_set'", "on-miss = 'fill'\nratio = '1:9'"] {
        let workload = format!("load-time = '20ms'\n{workload}");
        Plan::new(&scenario(&["moka:"], &workload), true, &ENGINES).unwrap();
    }
}

#[test]
fn the_stampede_sweeps_threads_over_values_that_expire() {
    let stampede = Scenario::find("stampede").unwrap();
    let stampede = stampede.resolve(ArticleForm::Corrected, false).unwrap();
    let plan = Plan::new(&stampede, false, &ENGINES).unwrap();
    let threads: Vec<u32> = plan.points.iter().map(|point| point.threads).collect();
    assert_eq!(threads, [1, 4, 32]);
    assert!(plan.points.iter().all(|point| point.load_time.is_some()));
}
