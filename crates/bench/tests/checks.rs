//! Every check fires on a case made to trip it, and stays silent on one that is sound.

mod support;

use larder_engines::ENGINES;
use larder_report::{Check, Operation, Run, Severity};
use larder_store::Catalog;
use larder_testkit::stores;
use support::{cell, findings, run};

const SMALL: &str = "keys = 400\nrounds = 2";

/// The check fires with this severity on one run and is silent on the other.
fn fires(id: &str, severity: Severity, tripped: &Run, sound: &Run) {
    let found = findings(tripped, id);
    assert!(!found.is_empty(), "{id} does not fire: {:#?}", tripped.checks);
    assert_eq!(found[0].severity, severity, "{:?}", found[0]);
    assert!(!found[0].text.is_empty() && !found[0].advice.is_empty());
    let silent = findings(sound, id);
    assert!(silent.is_empty(), "{id} fires without cause: {silent:#?}");
}

fn of(catalog: &Catalog, targets: &[&str]) -> Run {
    run(catalog, targets, SMALL)
}

#[test]
fn never_hits() {
    let deaf = of(&stores::ENGINES, &["misses:"]);
    fires("NEVER-HITS", Severity::Error, &deaf, &of(&stores::ENGINES, &["map:"]));
    assert!(deaf.comparisons.is_empty());
}

#[test]
fn never_hits_warns_where_fewer_hit_than_predicted() {
    let lossy = of(&stores::ENGINES, &["drops:?every=2"]);
    let found = findings(&lossy, "NEVER-HITS");
    assert_eq!(found[0].severity, Severity::Warn, "{found:#?}");
    // Where entries had to make room, CAPACITY explains it.
    let small = run(&ENGINES, &["moka:?size=100k"], "keys = 1000\nrounds = 2");
    assert!(findings(&small, "NEVER-HITS").is_empty() && !findings(&small, "CAPACITY").is_empty());
}

#[test]
fn silent_drop() {
    let (tripped, sound) = (of(&stores::ENGINES, &["drops:"]), of(&stores::ENGINES, &["map:"]));
    fires("SILENT-DROP", Severity::Error, &tripped, &sound);
    let counts = cell(&tripped, "drops:", Operation::Set).counts;
    assert!(counts.read_back_absent > 0 && counts.errors == 0, "{counts:?}");
}

#[test]
fn evictions_explain_what_is_absent() {
    let run = run(&ENGINES, &["moka:?size=100k"], "keys = 1000\nrounds = 2");
    assert!(findings(&run, "SILENT-DROP").is_empty(), "{:#?}", run.checks);
    assert!(cell(&run, "moka:?size=100k", Operation::Set).counts.read_back_absent > 0);
}

#[test]
fn truncated() {
    let large = "keys = 200\nrounds = 2\ndata-size = '2k'";
    let tripped = run(&stores::ENGINES, &["truncates:"], large);
    let sound = run(&stores::ENGINES, &["truncates:"], "keys = 200\nrounds = 2\ndata-size = '1k'");
    fires("TRUNCATED", Severity::Error, &tripped, &sound);
    let counts = cell(&tripped, "truncates:", Operation::Get).counts;
    assert_eq!((counts.truncated, counts.hits), (counts.ops, 0));
    assert_eq!(tripped.targets[0].limits.max_value_len, Some(1024), "the probe finds it too");
}

#[test]
fn a_swapped_value_of_the_same_length_is_seen() {
    let run = of(&stores::ENGINES, &["swaps:"]);
    let counts = cell(&run, "swaps:", Operation::Get).counts;
    assert!(counts.wrong > 0 && counts.truncated == 0, "{counts:?}");
    assert_eq!(findings(&run, "TRUNCATED")[0].severity, Severity::Error);
}

#[test]
fn err_as_op() {
    let (tripped, sound) =
        (of(&stores::ENGINES, &["fails:?every=50"]), of(&stores::ENGINES, &["map:"]));
    fires("ERR-AS-OP", Severity::Error, &tripped, &sound);
}

#[test]
fn cpu_wall() {
    // One waits long and works little, the other works all the time and is done sooner.
    let targets = ["sleeps:?micros=300&name=who waits", "spins:?micros=60&name=who works"];
    let tripped = run(&stores::ENGINES, &targets, "keys = 300\nrounds = 2");
    let sound = of(&stores::ENGINES, &["spins:?micros=20", "spins:?micros=60"]);
    fires("CPU-WALL", Severity::Warn, &tripped, &sound);
    let text = &findings(&tripped, "CPU-WALL")[0].text;
    assert!(text.starts_with("by wall clock who works is "), "{text}");
    assert!(
        text.contains(" faster than who waits; by client CPU it is the other way round"),
        "{text}"
    );
    assert!(text.ends_with(" of the time of who waits is not the client's CPU"), "{text}");
}

#[test]
fn client_cost() {
    // The floor is measured with an engine that keeps nothing; here it stands beside stores of known cost.
    let both = ENGINES.iter().chain(stores::ENGINES.iter()).copied().collect::<Vec<_>>();
    let catalog = Catalog::new(both.leak());
    // Copying and comparing large values is most of what a map takes for them.
    let workload = "keys = 300\nrounds = 3\ndata-size = '64k'";
    let tripped = run_until(&catalog, workload, |found| found.operation.is_some());
    let sound = run(&catalog, &["spins:?micros=200"], "keys = 300\nrounds = 3");
    assert_eq!(tripped.floors.len(), 2);
    fires("CLIENT-COST", Severity::Warn, &tripped, &sound);
}

#[test]
fn client_cost_counts_the_keys_of_a_multiget() {
    let both = ENGINES.iter().chain(stores::ENGINES.iter()).copied().collect::<Vec<_>>();
    let catalog = Catalog::new(both.leak());
    let workload = "keys = 300\nrounds = 3\ndata-size = '64k'\nmultiget = 16";
    run_until(&catalog, workload, |found| found.operation == Some(Operation::GetMany));
}

/// A run of `map:` in which CLIENT-COST found what is `wanted`. Where other work takes the processor from the store alone,
/// the share of the measuring looks small, so that it may take more than one; ten are enough.
fn run_until(catalog: &Catalog, workload: &str, wanted: fn(&Check) -> bool) -> Run {
    let mut ran = (0..10).map(|_| run(catalog, &["map:"], workload));
    let fired = |run: &Run| findings(run, "CLIENT-COST").into_iter().any(wanted);
    ran.find(fired).expect("a run in which it fires")
}

#[test]
fn one_key() {
    let tripped = run(&stores::ENGINES, &["map:"], "keys = 1\nrequests = 500\nrounds = 2");
    fires("ONE-KEY", Severity::Note, &tripped, &of(&stores::ENGINES, &["map:"]));
    assert!(findings(&tripped, "ONE-KEY")[0].text.starts_with("1 different key,"));
}

#[test]
fn capacity() {
    let (tripped, sound) = (of(&ENGINES, &["moka:?size=100k"]), of(&ENGINES, &["moka:"]));
    fires("CAPACITY", Severity::Warn, &tripped, &sound);
}

/// A stack without the capacity that a plan gives, and the catalog that knows it.
fn stacks() -> Catalog {
    let both = ENGINES.iter().chain(stores::ENGINES.iter()).copied().collect::<Vec<_>>();
    Catalog::new(both.leak())
}

#[test]
fn tier_dead() {
    let workload = "keys = 150\nrequests = 600\nrounds = 2";
    let catalog = stacks();
    // The first tier finds nothing that it stores.
    let tripped = run(&catalog, &["tiered:misses:|map:"], workload);
    let sound = run(&catalog, &["tiered:map:|map:"], workload);
    fires("TIER-DEAD", Severity::Error, &tripped, &sound);
    let text = &findings(&tripped, "TIER-DEAD")[0].text;
    assert!(text.starts_with("L1 misses: answered 0 of 1200 reads of"), "{text}");
    assert!(text.ends_with("keys; L2 map: hit 1200: each read costs both"), "{text}");
    let tiers = &cell(&sound, "tiered:map:|map:", Operation::Get).tiers;
    assert_eq!((tiers[0].hits, tiers[1].hits), (1200, 0), "{tiers:?}");
}

#[test]
fn tier_dead_is_silent_where_a_tier_could_not_have_answered() {
    let catalog = stacks();
    // Each key is read once: its first read could not hit.
    let once = run(&catalog, &["tiered:misses:|map:"], "keys = 150\nrounds = 2");
    assert!(findings(&once, "TIER-DEAD").is_empty(), "{:#?}", once.checks);
    // Nothing is there to be found.
    let workload = "keys = 150\nrequests = 600\nrounds = 2";
    let nothing = run(&catalog, &["tiered:map:|misses:"], workload);
    assert!(findings(&nothing, "TIER-DEAD").is_empty(), "{:#?}", nothing.checks);
    // A small tier answers less, and that is no mistake.
    let small = run(&catalog, &["tiered:moka:?size=20k|map:"], workload);
    assert!(findings(&small, "TIER-DEAD").is_empty(), "{:#?}", small.checks);
}

#[test]
fn tier_dead_warns_of_a_tier_that_does_not_take_the_values() {
    let workload = "keys = 150\nrequests = 600\nrounds = 2\ndata-size = 'uniform:100-8k'";
    let run = run(&stacks(), &["tiered:moka:?size=4k|map:"], workload);
    let found = findings(&run, "TIER-DEAD");
    assert!(!found.is_empty(), "{:#?}", run.checks);
    assert!(found[0].text.contains("L1 moka: refused"), "{found:#?}");
}
