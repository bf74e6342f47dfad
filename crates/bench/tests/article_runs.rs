//! The scenarios of the articles show what they must, on the real caches and servers, with few rounds and requests.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "other tests ask for more")]
mod support;

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use larder_bench::workload::WorkloadSpec;
use larder_bench::{BUILT_IN, Permissions, Plan, Scenario, Silent, compare, guest};
use larder_engines::ENGINES;
use larder_report::{ArticleForm, Cell, Check, Operation, PointValue, ReasonKind, Run, Severity};
use larder_store::Catalog;
use larder_testkit::{has_perl_modules, has_program, trial_where};
use libtest_mimic::Arguments;
use support::findings;

const CATALOG: Catalog = ENGINES.with_guests(guest::ENGINES);

fn main() -> ExitCode {
    larder_host::relay::serve_if_asked();
    let trials = vec![
        trial_where(|| Ok(()), "all_forms_of_all_scenarios_can_be_planned", forms),
        trial_where(databases, "a001_shows_what_is_refused_and_what_is_evicted", a001),
        trial_where(installed, "a002_as_published_never_hits_and_always_connects", a002_published),
        trial_where(installed, "a002_corrected_hits_as_predicted", a002_corrected),
        trial_where(installed, "a003_as_published_pays_for_a_dead_tier", a003_published),
        trial_where(engines, "a004_as_published_cuts_values_without_a_word", a004_published),
        trial_where(engines, "a004_corrected_keeps_values_whole_and_stalls_in", a004_corrected),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Whether what A001 is about is there.
fn databases() -> Result<(), String> {
    let recipe = |engine| has_program(&ENGINES.find(engine).unwrap().recipes[0]);
    recipe("postgresql")?;
    recipe("memcached")
}

/// Whether what A004 is about is there.
fn engines() -> Result<(), String> {
    let recipes = ["memcached", "bdb"].map(|engine| ENGINES.find(engine).unwrap().recipes);
    recipes.into_iter().flatten().try_for_each(has_program)
}

/// Whether what A002 and A003 are about is there.
fn installed() -> Result<(), String> {
    let modules = ["Cache::FileCache", "Cache::Mmap", "Cache::FastMmap", "Cache::Memcached::Fast"];
    has_perl_modules(&modules)?;
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Runs a scenario in a form, with other fields of its workload.
fn run(name: &str, form: ArticleForm, workload: &str) -> Run {
    let run = carried_out(name, form, workload);
    for cell in &run.cells {
        let reason = cell.reason.as_deref().filter(|_| cell.counts.hits > 0);
        assert_eq!(reason, None, "{cell:#?}");
        assert_eq!((cell.counts.errors, cell.counts.wrong), (0, 0), "{cell:#?}");
    }
    run
}

/// The same, whatever became of it.
fn carried_out(name: &str, form: ArticleForm, workload: &str) -> Run {
    let workload: WorkloadSpec = toml::from_str(workload).unwrap();
    let scenario = Scenario::find(name).unwrap().resolve(form, false).unwrap();
    let plan = Plan::new(&scenario.with_workload(&workload), false, &CATALOG).unwrap();
    let stop = AtomicBool::new(false);
    compare(&plan, &CATALOG, Vec::new(), Permissions::default(), &Silent, &stop).unwrap().run
}

/// The targets, by their names, that a check speaks of.
fn named<'a>(run: &'a Run, id: &str) -> Vec<&'a str> {
    let found = findings(run, id);
    let urls: Vec<_> = found.iter().filter_map(|finding| finding.target.as_deref()).collect();
    let named = run.targets.iter().filter(|target| urls.contains(&target.url.as_str()));
    named.map(|target| target.name.as_str()).collect()
}

/// The cells of a target, by its name.
fn cells<'a>(run: &'a Run, name: &str) -> Vec<&'a Cell> {
    let target = run.targets.iter().find(|target| target.name == name).unwrap();
    run.cells.iter().filter(|cell| cell.target == target.url).collect()
}

fn forms() {
    for (name, _) in BUILT_IN {
        let scenario = Scenario::find(name).unwrap();
        for (form, full, is_there) in [
            (ArticleForm::Corrected, false, true),
            (ArticleForm::Corrected, true, scenario.full.is_some()),
            (ArticleForm::Published, false, scenario.published.is_some()),
            (
                ArticleForm::Published,
                true,
                scenario.published.iter().any(|form| form.full.is_some()),
            ),
        ] {
            let resolved = scenario.clone().resolve(form, full);
            assert_eq!(resolved.is_ok(), is_there, "{name}, {form}, full: {full}");
            if let Ok(resolved) = resolved {
                let plan = Plan::new(&resolved, false, &CATALOG).unwrap();
                assert_eq!(plan.targets.len(), resolved.targets.len());
                assert!(plan.turns() > 0, "{name}, {form}, full: {full}");
            }
        }
        assert!(scenario.article.is_none() || scenario.full.is_some(), "{name} has no long form");
    }
}

fn a001() {
    // A little more than 64 MiB of the values that memcached takes at most.
    let run = run("a001", ArticleForm::Corrected, "rounds = 1\nkeys = 70\nrequests = 70");
    let at = |name: &str, operation, bytes| {
        let mut cells = cells(&run, name).into_iter();
        let size = PointValue::Number(bytes);
        let here = |cell: &&Cell| cell.operation == operation && cell.point["data_size"] == size;
        cells.find(here).unwrap()
    };
    for name in ["memcached", "memcached of 64 MiB", "2 memcacheds", "4 memcacheds"] {
        let cell = at(name, Operation::Set, 1 << 20);
        assert_eq!(cell.reason_kind, Some(ReasonKind::Oversize), "{cell:#?}");
        assert_eq!(cell.reason.as_deref(), Some("value 1 MiB > item limit 1 MiB"));
        assert_eq!(cell.ops_per_s, None);
    }
    for name in ["memcached of larger items", "PostgreSQL"] {
        let cell = at(name, Operation::Get, 1 << 20);
        assert_eq!((cell.reason.as_ref(), cell.hit_ratio()), (None, Some(1.0)), "{cell:#?}");
    }
    let evicting = at("memcached of 64 MiB", Operation::Get, 1000 << 10);
    assert!(evicting.hit_ratio().is_some_and(|ratio| ratio < 0.95), "{evicting:#?}");
    let said = findings(&run, "CAPACITY");
    let url = &evicting.target;
    let measures = |text: &str| text.contains("> capacity 64 MiB: this measures eviction; ");
    let of_it = |check: &&&Check| check.target.as_ref() == Some(url) && measures(&check.text);
    assert_eq!(said.iter().filter(of_it).count(), 1, "{said:#?}");
    assert!(named(&run, "CAPACITY").contains(&"memcached of 64 MiB"));
    assert!(!named(&run, "CAPACITY").contains(&"memcached"));

    let durability = |name: &str| {
        let target = run.targets.iter().find(|target| target.name == name).unwrap();
        target.durability.as_deref().unwrap()
    };
    let waiting = "PostgreSQL not waiting for the disk";
    let all = ["PostgreSQL", waiting, "PostgreSQL unlogged", "memcached"].map(durability);
    assert_eq!(all, ["fsync-each", "fsync-batch", "volatile", "volatile"]);
    let article = run.article.as_ref().unwrap();
    let peak = &article.figures[0];
    assert!(peak.peak && peak.here.is_some() && peak.at.contains_key("key_size"), "{peak:#?}");
}

fn a002_published() {
    let run = run("a002", ArticleForm::Published, "rounds = 2\nrequests = 300");
    for cell in &run.cells {
        assert_eq!((cell.counts.ops, cell.counts.hits, cell.counts.misses), (600, 0, 600));
    }
    let all: Vec<&str> = run.targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(named(&run, "NEVER-HITS"), all);
    assert_eq!(named(&run, "RECONNECT"), all[1..], "the two that connect");
    for name in &all[1..] {
        assert!(cells(&run, name)[0].counts.connections >= Some(600));
    }
}

fn a002_corrected() {
    let run = run("a002", ArticleForm::Corrected, "rounds = 2\nkeys = 300\nrequests = 600");
    for cell in &run.cells {
        assert_eq!((cell.counts.hits, cell.counts.misses), (600, 600), "{cell:#?}");
        assert_eq!(cell.predicted_hit_ratio, Some(0.5));
    }
    let errors: Vec<_> =
        run.checks.iter().filter(|check| check.severity == Severity::Error).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert!(named(&run, "NEVER-HITS").is_empty() && named(&run, "RECONNECT").is_empty());
}

fn a003_published() {
    let run = run("a003", ArticleForm::Published, "rounds = 2\nrequests = 100");
    for cell in &run.cells {
        assert_eq!(cell.counts.misses, 0, "all is stored before it is read: {cell:#?}");
    }
    assert_eq!(named(&run, "TIER-DEAD"), ["dead local over remote"]);
    // What a read takes at least: a busy machine makes each longer, and none shorter.
    let read_us = |name: &str| {
        let cell = cells(&run, name).into_iter().find(|cell| cell.operation == Operation::GetOrSet);
        Duration::from_nanos(cell.unwrap().latency_ns.unwrap().p50).as_secs_f64() * 1e6
    };
    let (remote, local) = (read_us("remote memcached"), read_us("local memcached"));
    let (dead, live) = (read_us("dead local over remote"), read_us("local over remote"));
    assert!(local * 2.0 < remote && live * 2.0 < dead, "{local}, {remote}, {live}, {dead} µs");
    let both = remote + local;
    assert!(dead > remote && (0.8..1.6).contains(&(dead / both)), "{dead} µs, not {both} µs");
}

fn a004_published() {
    let workload = "rounds = 1\nkeys = 200\nrequests = 300";
    let run = carried_out("a004", ArticleForm::Published, workload);
    assert_eq!(named(&run, "TRUNCATED"), ["InnoDB at first flush 1"]);
    for target in &run.targets {
        assert_eq!(target.reason, None, "{target:#?}");
        for cell in cells(&run, &target.name) {
            let (counts, cuts) = (cell.counts, target.name == "InnoDB at first flush 1");
            assert_eq!(counts.errors, 0, "all was acknowledged: {cell:#?}");
            if cell.operation == Operation::Get {
                assert_eq!((counts.wrong > 0, counts.truncated), (cuts, counts.wrong), "{cell:#?}");
            }
        }
    }
    assert!(findings(&run, "TRUNCATED").iter().all(|check| check.severity == Severity::Error));
}

fn a004_corrected() {
    let run = run("a004", ArticleForm::Corrected, "rounds = 1\nkeys = 200\nrequests = 300");
    for cell in &run.cells {
        assert_eq!(cell.reason, None, "{cell:#?}");
        let all = cell.latency_to.last().unwrap();
        let latency = cell.latency_ns.unwrap();
        assert_eq!((all.quantile.to_string(), all.max), ("1".into(), latency.max));
    }
    assert!(named(&run, "TRUNCATED").is_empty());
    for (id, beside) in [("REACH-PARITY", "LMDB"), ("ACK-PARITY", "InnoDB flush 1")] {
        assert!(!findings(&run, id).is_empty(), "{id} says something of {beside}");
    }
    assert!(run.article.as_ref().is_some_and(|article| article.percentiles));
}
