//! The open loop: operations are due at planned times, whatever the target does.
//!
//! A busy machine makes everything later, and never earlier. These tests therefore only check that a time is not
//! shorter than planned, or the order of several times.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[path = "support/frozen.rs"]
mod frozen;
mod support;

use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use larder_bench::Plan;
use larder_engines::ENGINES;
use larder_report::{Cell, Finding, Operation, PointValue, Run, Severity};
use larder_testkit::{MEMCACHED, has_program, trial, trial_where};
use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let trials = vec![
        trial(
            "a_target_that_keeps_up_does_each_due_operation_and_waits_in_between",
            a_target_that_keeps_up_does_each_due_operation_and_waits_in_between,
        ),
        trial(
            "a_target_slower_than_the_rate_has_a_latency_that_grows_and_leaves_arrivals_unbegun",
            a_target_slower_than_the_rate_has_a_latency_that_grows_and_leaves_arrivals_unbegun,
        ),
        trial(
            "threads_share_one_schedule_and_mixes_chains_and_requests_of_many_keys_follow_it",
            threads_share_one_schedule_and_mixes_chains_and_requests_of_many_keys_follow_it,
        ),
        trial(
            "a_trace_is_replayed_at_its_own_pace_or_at_another",
            a_trace_is_replayed_at_its_own_pace_or_at_another,
        ),
        trial(
            "rates_sweep_and_plans_that_cannot_be_paced_are_refused_in_one_line",
            rates_sweep_and_plans_that_cannot_be_paced_are_refused_in_one_line,
        ),
        trial(
            "at_a_rate_targets_are_ranked_by_the_p99_from_plan",
            at_a_rate_targets_are_ranked_by_the_p99_from_plan,
        ),
        trial_where(
            memcached,
            "a_server_that_stands_still_delays_every_operation_that_is_due_meanwhile",
            a_server_that_stands_still_delays_every_operation_that_is_due_meanwhile,
        ),
        trial(
            "the_highest_rate_within_a_bound_is_found_for_a_target_with_a_known_rate",
            the_highest_rate_within_a_bound_is_found_for_a_target_with_a_known_rate,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn memcached() -> Result<(), String> {
    has_program(&MEMCACHED)
}

fn paced(run: &Run, url: &str, operation: Operation) -> Cell {
    let cell = support::cell(run, url, operation).clone();
    assert!(cell.reason.is_none(), "{:?}", cell.reason);
    assert!(cell.paced.is_some(), "{url} {operation} was not paced");
    cell
}

fn a_target_that_keeps_up_does_each_due_operation_and_waits_in_between() {
    let began = Instant::now();
    let run =
        support::run(&ENGINES, &["moka:"], "rounds = 1\nkeys = 500\nrate = '2k'\nrequests = 1000");
    // 500 sets and 1000 gets take three quarters of a second.
    assert!(began.elapsed() > Duration::from_millis(700), "{:?}", began.elapsed());
    for (operation, ops) in [(Operation::Set, 500), (Operation::Get, 1000)] {
        let cell = paced(&run, "moka:", operation);
        assert_eq!(cell.counts.ops, ops);
        let (rate, pace) = (cell.ops_per_s.unwrap(), cell.paced.clone().unwrap());
        assert!(rate < 2010.0, "{rate}");
        assert!((pace.offered_per_s - 2000.0).abs() < 1.0, "{}", pace.offered_per_s);
        assert_eq!(pace.not_started, 0);
        let (planned, service) = (cell.latency_ns.unwrap(), pace.service_ns.unwrap());
        // Time without a waiting operation is in no latency: 500 µs lie between two operations.
        assert!(service.min < 250_000, "{service:?}");
        for (from_plan, from_begin) in
            [(planned.p50, service.p50), (planned.p99, service.p99), (planned.max, service.max)]
        {
            assert!(from_plan >= from_begin, "{planned:?} and {service:?}");
        }
        assert!(pace.schedule_lag_ns.unwrap().min < 1_000_000, "{:?}", pace.schedule_lag_ns);
        assert_eq!(cell.point["rate"], PointValue::Number(2000));
    }
}

fn a_target_slower_than_the_rate_has_a_latency_that_grows_and_leaves_arrivals_unbegun() {
    let workload = |rest: &str| {
        format!(
            "rounds = 1\nkeys = 200\nrate = '1k'\non-miss = 'fill'\nload-time = '5ms'\nkey-pattern = 'seq'\n{rest}"
        )
    };
    let run = support::run(&ENGINES, &["moka:"], &workload("requests = 200"));
    // Each of 200 misses takes 5 ms, and one miss is due each millisecond: the last waits 0.8 s.
    let cell = paced(&run, "moka:", Operation::GetOrSet);
    let (planned, pace) = (cell.latency_ns.unwrap(), cell.paced.clone().unwrap());
    assert_eq!(cell.counts.ops, 200);
    assert!(planned.max > 700_000_000 && planned.p50 > 300_000_000, "{planned:?}");
    assert!(pace.service_ns.unwrap().p50 * 4 < planned.p50, "{pace:?}");
    assert!(pace.queued >= 190, "{}", pace.queued);
    assert_eq!(cell.kept_up(), Some(false));
    let bins = &cell.samples[0].timeline.as_ref().unwrap().max_ns;
    let seen: Vec<u64> = bins.iter().copied().filter(|ns| *ns > 0).collect();
    assert!(seen.first() < seen.last(), "{seen:?}");

    // A phase that ends by time reports the operations that had not begun.
    let run = support::run(&ENGINES, &["moka:"], &workload("duration = '200ms'"));
    let cell = paced(&run, "moka:", Operation::GetOrSet);
    let pace = cell.paced.clone().unwrap();
    assert_eq!(cell.counts.ops + pace.not_started, 200, "{cell:?}");
    assert!(pace.not_started > 120, "{}", pace.not_started);
    // Unbegun operations wait until the end, so the median wait of all due operations is above that of the completed
    // operations.
    let (planned, service) = (cell.latency_ns.unwrap(), pace.service_ns.unwrap());
    assert!(planned.p50 > 60_000_000 && planned.max > 130_000_000, "{planned:?}");
    assert!(service.p50 < planned.p50, "{service:?} and {planned:?}");
    assert!((60e6..200e6).contains(&planned.mean), "{planned:?}");
    assert!((pace.offered_per_s - 1000.0).abs() < 1.0, "{}", pace.offered_per_s);
    assert!(cell.ops_per_s.unwrap() < 300.0);
}

fn threads_share_one_schedule_and_mixes_chains_and_requests_of_many_keys_follow_it() {
    let rate_of = |run: &Run, operation| support::cell(run, "moka:", operation).ops_per_s.unwrap();
    let run = support::run(
        &ENGINES,
        &["moka:"],
        "rounds = 1\nkeys = 400\nthreads = 4\nrate = '4k'\nratio = '1:3'\nrequests = 2000\narrivals = 'exponential'",
    );
    let (sets, gets) = (rate_of(&run, Operation::Set), rate_of(&run, Operation::Get));
    assert!(sets + gets < 4300.0, "{sets} and {gets}");
    assert!((2.5..3.5).contains(&(gets / sets)), "{sets} and {gets}");
    let due = |operation| paced(&run, "moka:", operation).paced.unwrap().offered_per_s;
    let all = due(Operation::Set) + due(Operation::Get);
    // The number of independent arrivals varies by a few percent.
    assert!((3700.0..4300.0).contains(&all), "{all}");

    for (workload, operation) in [
        ("operations = 'set+get'", Operation::Get),
        ("operations = 'get'\nmultiget = 10", Operation::GetMany),
        ("operations = 'get_each'\ngroup = 10", Operation::GetEach),
        ("operations = 'delete'", Operation::Delete),
    ] {
        let run = support::run(
            &ENGINES,
            &["moka:"],
            &format!("rounds = 1\nkeys = 400\nthreads = 2\nrate = '4k'\n{workload}"),
        );
        let cell = paced(&run, "moka:", operation);
        let (rate, due) = (cell.ops_per_s.unwrap(), cell.paced.unwrap().offered_per_s);
        let share = if operation == Operation::Get { 0.5 } else { 1.0 };
        assert!(rate / share < 4050.0, "{operation}: {rate}");
        assert!((due / share - 4000.0).abs() < 2.0, "{operation}: {due}");
    }
}

fn a_trace_is_replayed_at_its_own_pace_or_at_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recorded.csv");
    // 100 gets in the first 100 ms, and 100 in the next; one is 500 ms after the first.
    let mut text = "time,key\n".to_owned();
    for (second, count) in [("10.0", 100), ("10.1", 100), ("10.5", 1)] {
        for key in 0..count {
            writeln!(text, "{second},k{key}").unwrap();
        }
    }
    std::fs::write(&path, text).unwrap();
    let trace = format!("rounds = 1\nkey-pattern = 'trace:{}'\n", path.display());
    let recorded = support::run(&ENGINES, &["moka:"], &format!("{trace}replay = '1x'\n"));
    let cell = paced(&recorded, "moka:", Operation::Get);
    assert_eq!(cell.counts.ops, 201);
    // The recording clock ticks every 100 ms, and its last tick counts.
    let wall_s = cell.wall_s.unwrap();
    assert!(wall_s > 0.59, "{wall_s}");
    let bins = cell.samples[0].timeline.as_ref().unwrap();
    // No more gets than were due by then, and those of the bin that reaches beyond 100 ms.
    let early: u64 = bins
        .ops
        .iter()
        .zip(0..)
        .filter(|(_, n)| n * bins.bin_ns < 100_000_000)
        .map(|(ops, _)| ops)
        .sum();
    assert!(early <= 130, "{early} in the first 100 ms");
    // Twice as fast, as a speed or as a rate.
    for faster in ["replay = '2x'\n", "arrivals = 'trace'\nrate = 670\n"] {
        let run = support::run(&ENGINES, &["moka:"], &format!("{trace}{faster}"));
        let faster_s = paced(&run, "moka:", Operation::Get).wall_s.unwrap();
        assert!(faster_s > 0.29 && faster_s < wall_s, "{faster_s} and {wall_s}");
    }
}

fn rates_sweep_and_plans_that_cannot_be_paced_are_refused_in_one_line() {
    let points = |workload: &str| {
        let plan = Plan::new(&support::scenario(&["moka:"], workload), true, &ENGINES).unwrap();
        plan.points.iter().map(|point| point.point["rate"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(points("rate = '1k,2k'"), ["1000", "2000"]);
    assert_eq!(points("scan = '1k:2k:500'"), ["1000", "1500", "2000"]);
    let refused = |workload: &str| {
        let plan = Plan::new(&support::scenario(&["moka:"], workload), true, &ENGINES);
        plan.unwrap_err().to_string()
    };
    for (workload, why) in [
        ("arrivals = 'exponential'", "add a --rate"),
        ("arrivals = 'trace'\nrate = 10", "add --keys-from trace:FILE"),
        ("arrivals = 'trace'", "add a --rate, or take --replay 1x"),
        ("replay = '10x'", "--replay 10x: no trace is replayed; add --keys-from trace:FILE"),
        ("replay = '1x'\nrate = 10", "--replay 1x sets the pace of the trace: leave out --rate"),
        ("search = 'p99:1ms'", "take --operations get, or --ratio 1:10"),
        ("operations = 'get'\nsearch = 'p99:1ms'\nrate = 10", "leave out --rate and --scan"),
        ("scan = '1:2:1'\nrate = 10", "leave out one of them"),
    ] {
        let error = refused(workload);
        assert!(error.contains(why) && error.lines().count() == 1, "{error}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.csv");
    std::fs::write(&path, "key\na\nb\n").unwrap();
    for paced in ["arrivals = 'trace'\nrate = 10", "replay = '1x'"] {
        let error = refused(&format!("key-pattern = 'trace:{}'\n{paced}", path.display()));
        assert!(error.contains("this trace has no times"), "{error}");
    }
}

fn at_a_rate_targets_are_ranked_by_the_p99_from_plan() {
    let run = support::run(
        &ENGINES,
        &["moka:?name=near", "moka:?name=far"],
        "rounds = 6\nkeys = 100\nrate = '2k'\noperations = 'get'",
    );
    assert!(run.comparisons.len() == 1, "{:?}", run.comparisons);
    let [near, far] =
        ["moka:?name=near", "moka:?name=far"].map(|url| paced(&run, url, Operation::Get));
    let ratio = near.speed().unwrap() / far.speed().unwrap();
    assert!(
        (run.comparisons[0].ratio / ratio - 1.0).abs() < 1e-9,
        "{ratio}, {:?}",
        run.comparisons
    );
    assert!(support::findings(&run, "ERR-AS-OP").is_empty());
    let said = larder_report::sentences(&run);
    let all: Vec<String> = said.iter().map(ToString::to_string).collect();
    let kept_up = near.kept_up() == Some(true) && far.kept_up() == Some(true);
    let told = if kept_up { "all kept up with 2.00 k/s" } else { " of 2.00 k/s were done" };
    assert!(all.iter().any(|said| said.contains(told)), "{all:#?}");
}

fn a_server_that_stands_still_delays_every_operation_that_is_due_meanwhile() {
    let run = frozen::run("requests = 2500\nrate = '1k'");
    let cell = paced(&run, &run.cells[0].target, Operation::Get);
    let (planned, pace) = (cell.latency_ns.unwrap(), cell.paced.clone().unwrap());
    // Four fifths of the operations are due while the server is stopped, and one of them is under way.
    assert!(planned.p999 > 1_000_000_000 && planned.p50 > 100_000_000, "{planned:?}");
    assert!(pace.service_ns.unwrap().p999 < planned.p999, "{pace:?}");
    assert!(pace.queued > 1000, "{}", pace.queued);
    let stalls = cell.samples[0].stalls.unwrap();
    assert!(stalls.count >= 1 && stalls.ns > 1_500_000_000, "{stalls:?}");
    let found = support::findings(&run, "EXCLUDED-TIME");
    let told = " operations waited behind others; p99 ";
    // Of 2500 operations, too few lie beyond the p99.9.
    let is_note = |found: &Finding| found.severity == Severity::Note && found.text.contains(told);
    assert!(found.iter().copied().any(is_note), "{found:#?}");

    let run = frozen::run("duration = '4s'");
    let cell = support::cell(&run, &run.cells[0].target, Operation::Get);
    let stalls = cell.samples[0].stalls.unwrap();
    // Thousands of operations would have been due meanwhile; a closed loop has one under way. Each stall takes more
    // than a tenth of a second, so few others fit into the phase, however busy the machine is.
    let at_least = Duration::from_millis(100) * u32::try_from(stalls.count).unwrap();
    assert!(at_least.as_secs_f64() <= cell.wall_s.unwrap(), "{stalls:?}");
    assert!(stalls.ns > 1_500_000_000, "{stalls:?}");
    let (measured, corrected) = (cell.latency_ns.unwrap(), cell.corrected_ns.unwrap());
    assert!(corrected.p999 > 1_000_000_000, "{corrected:?}");
    assert!(measured.p999 < corrected.p999, "{measured:?} and {corrected:?}");
}

fn the_highest_rate_within_a_bound_is_found_for_a_target_with_a_known_rate() {
    // Each miss takes 2 ms, so one thread can do 500 a second, and a queue grows at higher rates.
    let workload = "rounds = 2\nkeys = 2000\nrequests = 100\non-miss = 'fill'\nload-time = '2ms'\nkey-pattern = 'seq'\n\
                    search = 'p50:20ms'";
    let run = support::run(&ENGINES, &["moka:"], workload);
    let [search] = &run.searches[..] else { panic!("{:#?}", run.searches) };
    assert_eq!((search.quantile, search.bound_ns), (0.5, 20_000_000));
    assert_eq!(search.operations, [Operation::GetOrSet]);
    assert_eq!(search.rates.len(), 2, "{search:#?}");
    let rate = search.rate.unwrap();
    assert!(rate > 0.0 && rate < 560.0, "{search:#?}");
    for round in 1..=2 {
        let steps: Vec<_> = search.steps.iter().filter(|step| step.round == round).collect();
        let rates = |within| {
            let tried = steps.iter().filter(move |step| step.within == within);
            tried.map(|step| step.offered_per_s)
        };
        let best = rates(true).fold(0.0, f64::max);
        assert!((best - search.rates[round as usize - 1]).abs() < 1e-9, "{steps:#?}");
        // The span between the best rate and the next failed rate is as narrow as promised.
        let above = rates(false).filter(|rate| *rate > best).fold(f64::INFINITY, f64::min);
        assert!(above.is_infinite() || above <= best * 1.05, "{steps:#?}");
        assert!(steps.len() <= 24, "{steps:#?}");
    }
    // The cells come from the closed loop.
    assert!(support::cell(&run, "moka:", Operation::GetOrSet).paced.is_none());
    let said = larder_report::render(
        &run,
        larder_report::Format::MARKDOWN,
        larder_report::Style { colour: false, width: 120 },
    );
    assert!(said.contains("### The highest rate within a bound"), "{said}");
    assert!(said.contains("- **get_or_set, p50 ≤ 20.0 ms**: moka: "), "{said}");

    // A bound that no rate keeps is reported, and is not a rate of 0.
    let run = support::run(
        &ENGINES,
        &["moka:"],
        &workload.replace("20ms", "1us").replace("rounds = 2", "rounds = 1"),
    );
    let [search] = &run.searches[..] else { panic!("{:#?}", run.searches) };
    assert_eq!((search.rate, search.rates.len()), (None, 0));
    assert!(
        search.reason.as_ref().unwrap().contains("in 1 of 1 round p50 was longer than"),
        "{search:?}"
    );
}
