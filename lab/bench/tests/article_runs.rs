//! The scenarios of the articles show the expected results, on the real caches and servers, with few rounds and
//! requests.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "other tests ask for more")]
mod support;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use larder_analysis::check::CHECKS;
use larder_bench::{BUILT_IN, Permissions, Plan, Scenario, Silent, compare, guest};
use larder_engines::ENGINES;
use larder_report::{ArticleForm, Cell, Finding, Operation, PointValue, ReasonKind, Run, Severity};
use larder_store::Catalog;
use larder_testkit::{has_perl_modules, has_php_extensions, has_program, may_mount, trial_where};
use larder_workload::WorkloadSpec;
use libtest_mimic::{Arguments, Trial};
use support::findings;

const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    if std::env::var_os(OWN_PROGRAM).is_none() {
        // SAFETY: no other thread runs yet.
        unsafe { std::env::set_var(OWN_PROGRAM, larder_of_this_build()) };
    }
    let mut trials = vec![
        trial_where(|| Ok(()), "all_forms_of_all_scenarios_can_be_planned", forms),
        trial_where(php, "a000_as_published_drops_refuses_and_fills", a000_published),
        trial_where(php, "a000_corrected_has_room_for_all", a000_corrected),
        trial_where(java, "a001_as_published_refuses_and_evicts", a001_published),
        trial_where(databases, "a001_shows_what_is_refused_and_what_is_evicted", a001),
        trial_where(installed, "a002_as_published_never_hits_and_always_connects", a002_published),
        trial_where(installed, "a002_corrected_hits_as_predicted", a002_corrected),
        trial_where(installed, "a003_as_published_pays_for_a_dead_tier", a003_published),
        trial_where(installed, "a003_corrected_has_only_tiers_that_answer", a003_corrected),
        trial_where(engines, "a004_as_published_cuts_values_without_a_word", a004_published),
        trial_where(engines, "a004_corrected_keeps_values_whole_and_stalls_in", a004_corrected),
    ];
    trials.extend(ARTICLES.iter().flat_map(whole));
    libtest_mimic::run(&Arguments::from_args(), larder_testkit::nightly(trials).collect())
        .exit_code()
}

/// A scenario, and whether the programs that it needs are there.
type Article = (&'static str, fn() -> Result<(), String>);

const ARTICLES: [Article; 5] = [
    ("a000", php),
    ("a001", databases),
    ("a002", installed),
    ("a003", installed),
    ("a004", engines),
];

/// An article at its short length, in both forms. It takes minutes, so it runs on request only (`just articles`).
fn whole((name, needs): &Article) -> [Trial; 2] {
    let (name, needs) = (*name, *needs);
    [ArticleForm::Published, ArticleForm::Corrected].map(|form| {
        let named = format!("{name}_as_{form}_fires_what_it_should");
        let trial = trial_where(needs, &named, move || {
            let scenario = Scenario::find(name).unwrap().resolve(form, false).unwrap();
            compared(scenario, Beside::Nothing);
        });
        trial.with_ignored_flag(true)
    })
}

/// The other work of the machine.
#[derive(Clone, Copy, PartialEq)]
enum Beside {
    /// Other tests, so that a computing target may no longer be faster than a waiting target. Here a run is small, too,
    /// and only for that reason a finding names few keys.
    Tests,
    /// Nothing.
    Nothing,
}

/// Whether the caches of A000 are there: PHP's caches, their servers, and a user who may mount.
fn php() -> Result<(), String> {
    has_php_extensions(&["apcu", "memcache", "memcached", "mongodb"])?;
    let recipes = ["memcached", "mongodb"].map(|engine| ENGINES.find(engine).unwrap().recipes);
    recipes
        .into_iter()
        .try_for_each(|some| some.iter().map(has_program).reduce(Result::or).unwrap_or(Ok(())))?;
    may_mount()
}

/// Whether the programs of A001 are there.
fn databases() -> Result<(), String> {
    let recipe = |engine| has_program(&ENGINES.find(engine).unwrap().recipes[0]);
    recipe("postgresql")?;
    recipe("memcached")
}

/// Whether Java's clients of the servers of A001 are there, too: as published it is all Java.
fn java() -> Result<(), String> {
    let recipes = ["java+memcached", "java+postgresql"];
    let recipes = recipes.map(|scheme| CATALOG.find(scheme).unwrap().recipes);
    recipes.into_iter().flatten().try_for_each(has_program)?;
    databases()
}

/// The variable that names the program with `larder serve`.
const OWN_PROGRAM: &str = "LARDER_PROGRAM";

/// The program `larder` of the build that this test is of. A run of all tests of the workspace builds it.
fn larder_of_this_build() -> PathBuf {
    let this = std::env::current_exe().unwrap();
    this.ancestors().nth(2).unwrap().join("larder")
}

/// Whether the programs of A004 are there.
fn engines() -> Result<(), String> {
    let recipes = ["memcached", "bdb"].map(|engine| ENGINES.find(engine).unwrap().recipes);
    recipes.into_iter().flatten().try_for_each(has_program)
}

/// Whether the programs of A002 and A003 are there.
fn installed() -> Result<(), String> {
    let modules = ["Cache::FileCache", "Cache::Mmap", "Cache::FastMmap", "Cache::Memcached::Fast"];
    has_perl_modules(&modules)?;
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Runs a scenario in a form, with other fields of its workload.
fn run(name: &str, form: ArticleForm, workload: &str) -> Run {
    let run = carried_out(name, form, workload);
    sound(&run);
    run
}

/// The measured operations had no error and no wrong value.
fn sound(run: &Run) {
    for cell in &run.cells {
        let reason = cell.reason.as_deref().filter(|_| cell.counts.hits > 0);
        assert_eq!(reason, None, "{cell:#?}");
        assert_eq!((cell.counts.errors, cell.counts.wrong), (0, 0), "{cell:#?}");
    }
}

/// The same, whatever became of it.
fn carried_out(name: &str, form: ArticleForm, workload: &str) -> Run {
    let workload: WorkloadSpec = toml::from_str(workload).unwrap();
    let scenario = Scenario::find(name).unwrap().resolve(form, false).unwrap();
    compared(scenario.with_workload(&workload), Beside::Tests)
}

/// Runs a scenario and checks its findings. As published, every check on its list fires, and no other check whose
/// finding follows from the plan. Corrected, no check says that a figure is no result.
fn compared(mut scenario: Scenario, beside: Beside) -> Run {
    // The list holds in the small as well.
    scenario.changed.clear();
    let plan = Plan::new(&scenario, false, &CATALOG).unwrap();
    let stop = AtomicBool::new(false);
    let outcome = compare(&plan, &CATALOG, Vec::new(), Permissions::default(), &Silent, &stop);
    let run = outcome.unwrap().run;
    let checks = run.article.as_ref().unwrap().checks.clone();
    if scenario.form == ArticleForm::Published {
        let mut checks = checks.unwrap();
        if beside == Beside::Tests {
            let repeats = |id: &str| CHECKS.iter().any(|c| c.about().id == id && c.about().repeats);
            checks.silent.retain(|id| repeats(id));
            checks.unexpected.retain(|id| id != "ONE-KEY");
        }
        assert!(checks.as_listed(), "{checks:?}: {:#?}", run.checks);
    } else {
        assert_eq!(checks, None);
        let errors = run.checks.iter().filter(|check| check.severity == Severity::Error);
        assert_eq!(errors.collect::<Vec<_>>(), Vec::<&Finding>::new());
    }
    run
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
                // With capacities a target has a store for each.
                let names: BTreeSet<_> = plan.targets.iter().map(|target| &target.name).collect();
                assert_eq!(names.len(), resolved.targets.len());
                assert!(plan.turns() > 0, "{name}, {form}, full: {full}");
            }
        }
        assert!(scenario.article.is_none() || scenario.full.is_some(), "{name} has no long form");
    }
}

/// APCu, memcached and the two file systems in memory get more than they hold. There is one point of each
/// part, and a smaller tmpfs in proportion.
fn a000_published() {
    let mut scenario =
        Scenario::find("a000").unwrap().resolve(ArticleForm::Published, false).unwrap();
    for url in &mut scenario.targets {
        *url = url.replace("mount=tmpfs:1g", "mount=tmpfs:64m");
        *url = url.replace("mount=tmpfs:512m", "mount=tmpfs:32m");
    }
    let workloads = ["keys = 500\ndata-size = '144k'", "keys = 40\ndata-size = '2.12m'"];
    for (part, workload) in scenario.parts.iter_mut().zip(workloads) {
        part.workload = toml::from_str(workload).unwrap();
    }
    scenario.workload = toml::from_str("rounds = 1\nkey-pattern = 'seq'").unwrap();
    let run = compared(scenario, Beside::Tests);
    let at = |name: &str, part: &str, operation| {
        let part = PointValue::Text(part.into());
        let mut cells = cells(&run, name).into_iter();
        cells.find(|cell| cell.operation == operation && cell.point["part"] == part).unwrap()
    };
    let share = |name: &str| at(name, "small", Operation::Get).hit_ratio().unwrap();
    // APCu acknowledges all, and empties itself again and again.
    let apc = at("APC", "small", Operation::Set);
    assert_eq!((apc.counts.ops, apc.counts.errors), (500, 0), "{apc:#?}");
    assert!((0.01..0.3).contains(&share("APC")), "{}", share("APC"));
    // memcached drops the oldest, which a reader in the same order comes to first.
    assert!(share("MemCache") < 0.95 && share("MemCache by libmemcached") < 0.95);
    for name in ["APC", "MemCache", "MemCache by libmemcached", "TmpFS"] {
        assert!(named(&run, "CAPACITY").contains(&name), "{:#?}", findings(&run, "CAPACITY"));
    }
    for name in ["MemCache", "MemCache by libmemcached"] {
        let refused = at(name, "large", Operation::Set);
        assert_eq!(refused.reason.as_deref(), Some("value 2.1 MiB > item limit 1 MiB"));
        assert_eq!(refused.ops_per_s, None, "and not a time of 0");
    }
    // A tmpfs says that it is full, a ramfs never is.
    let full = at("TmpFS with checked writes", "large", Operation::Set);
    assert_eq!((full.counts.errors, full.counts.read_back_absent), (10, 0), "{full:#?}");
    let said = full.samples[0].first_error.as_deref().unwrap();
    assert!(said.contains("No space left on device"), "{said}");
    // A program that does not listen has files without bytes, and one with a part of its value.
    let unheard = at("TmpFS", "large", Operation::Set);
    assert_eq!((unheard.counts.errors, unheard.counts.ops), (0, 40), "{unheard:#?}");
    for (name, misses) in [("TmpFS", 9), ("TmpFS of 512 MB", 24)] {
        let read = at(name, "large", Operation::Get);
        assert_eq!((read.counts.misses, read.counts.wrong), (misses, 1), "{read:#?}");
    }
    for id in ["SILENT-DROP", "NEVER-HITS"] {
        let fired: BTreeSet<_> = named(&run, id).into_iter().collect();
        assert!(fired.contains("TmpFS") && fired.contains("TmpFS of 512 MB"), "{id}: {fired:?}");
        assert!(!fired.contains("TmpFS with checked writes"), "{:#?}", findings(&run, id));
        assert!(!fired.contains("RamFS"), "{:#?}", findings(&run, id));
    }
    let endless = at("RamFS", "small", Operation::Get);
    assert_eq!((endless.counts.hits, share("RamFS")), (500, 1.0));
    let warned = findings(&run, "FS-KIND");
    assert!(warned.iter().any(|check| check.severity == Severity::Warn), "{warned:#?}");
    // Writes to MongoDB, or to its stand-in, are not waited for.
    let target = |name: &str| run.targets.iter().find(|target| target.name == name).unwrap();
    assert_eq!(target("Mongo").durability.as_deref(), Some("unacknowledged"));
    assert!(!findings(&run, "ACK-PARITY").is_empty());
    assert_eq!(at("Mongo", "small", Operation::Get).hit_ratio(), Some(1.0));
    assert_eq!(target("Mongo").stand_in().is_some(), named(&run, "STAND-IN").contains(&"Mongo"));
}

/// A point of each part, with all its targets.
fn a000_corrected() {
    let mut scenario =
        Scenario::find("a000").unwrap().resolve(ArticleForm::Corrected, false).unwrap();
    let workloads = [
        "keys = 20\ndata-size = '72k'",
        "keys = 5\ndata-size = '2.12m'",
        "operations = 'set,get'\nkey-pattern = 'zipf:0.99'\nkeys = 40\nrequests = 200\ndata-size = '4k'",
        "operations = 'get,get_many'\ngroup = 30\nkeys = 60\ndata-size = '1k'",
    ];
    for (part, workload) in scenario.parts.iter_mut().zip(workloads) {
        part.workload = toml::from_str(workload).unwrap();
    }
    scenario.workload.rounds = toml::from_str::<WorkloadSpec>("rounds = 1").unwrap().rounds;
    let run = compared(scenario, Beside::Tests);
    assert!(named(&run, "CAPACITY").is_empty() && named(&run, "OVERSIZE").is_empty());
    let small = |cell: &&Cell| cell.operation == Operation::Get && cell.reason.is_none();
    assert!(run.cells.iter().filter(small).all(|cell| cell.hit_ratio() == Some(1.0)));
}

/// Lets a database commit on a disk that others keep busy: that takes longer than its usual limit of 5 s then, and is not what
/// these tests judge.
fn let_databases_wait(scenario: &mut Scenario) {
    for url in scenario.targets.iter_mut().filter(|url| url.contains("postgresql:?")) {
        url.push_str("&timeout=2m");
    }
}

/// Two points of its sweep of sizes: memcached drops some values of the smaller size, and refuses the larger size.
fn a001_published() {
    let mut scenario =
        Scenario::find("a001").unwrap().resolve(ArticleForm::Published, false).unwrap();
    let_databases_wait(&mut scenario);
    scenario.parts.retain(|part| part.name == "value-size");
    let workload = "rounds = 1\nkeys = 70\nrequests = 70\ndata-size = ['1000k', '1m']";
    let run = compared(scenario.with_workload(&toml::from_str(workload).unwrap()), Beside::Tests);
    // On a busy machine a memcached evicts some although there is room: it moves some entries to other pages too late.
    // The run reports that too, in other words.
    let too_small = findings(&run, "CAPACITY")
        .into_iter()
        .filter(|found| found.text.contains("> capacity 64 MiB"));
    let too_small: BTreeSet<_> = too_small.filter_map(|found| found.target.as_deref()).collect();
    let memcached = "java+memcached:?m=64m&name=memcached";
    assert_eq!(Vec::from_iter(too_small), [memcached], "{:#?}", run.checks);
    assert!(named(&run, "OVERSIZE").contains(&"memcached"), "{:#?}", run.checks);
}

fn a001() {
    // A little more than 64 MiB of the values that memcached takes at most.
    let mut scenario =
        Scenario::find("a001").unwrap().resolve(ArticleForm::Corrected, false).unwrap();
    let_databases_wait(&mut scenario);
    for part in &mut scenario.parts {
        // The most threads are enough here, and so are the ends of the other sweep.
        let fewer = match part.name.as_str() {
            "threads" => "threads = 80",
            "key-length" => "key-size = [10, 256]",
            _ => continue,
        };
        let fewer: WorkloadSpec = toml::from_str(fewer).unwrap();
        part.workload = fewer.or(std::mem::take(&mut part.workload));
    }
    let workload = toml::from_str("rounds = 1\nkeys = 70\nrequests = 70").unwrap();
    let run = compared(scenario.with_workload(&workload), Beside::Tests);
    sound(&run);
    let at = |name: &str, operation, bytes| {
        let mut cells = cells(&run, name).into_iter();
        let size = PointValue::Number(bytes);
        let here = |cell: &&Cell| cell.operation == operation && cell.point["data_size"] == size;
        cells.find(here).unwrap()
    };
    for name in ["memcached", "memcached of 64 MiB", "2 memcacheds", "4 memcacheds"] {
        let cell = at(name, Operation::Set, 1 << 20);
        assert_eq!(cell.reason_kind, Some(ReasonKind::Oversize), "{cell:#?}");
        let reason = cell.reason.as_deref().unwrap();
        assert!(reason.starts_with("value 1048576 B > item limit 1048"), "{reason}");
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
    let of_it = |check: &&&Finding| check.target.as_ref() == Some(url) && measures(&check.text);
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
    // Nothing stands on the floor of a language where nothing of it is measured.
    let of_java = run.floors.iter().filter(|floor| floor.language.as_deref() == Some("java"));
    assert!(of_java.clone().all(|floor| floor.point["part"] == PointValue::Text("client".into())));
    let measured = |name: &str| cells(&run, name).iter().any(|cell| cell.ops_per_s.is_some());
    assert_eq!(of_java.count() > 0, measured("memcached from Java"), "{:#?}", run.floors);

    // Its keys are no longer than 250 characters, and not than 256.
    let long = PointValue::Number(256);
    let mut beyond = run.cells.iter().filter(|cell| cell.point["key_size"] == long);
    let refused = beyond.find(|cell| cell.target.starts_with("memcached:?name")).unwrap();
    assert_eq!(refused.reason.as_deref(), Some("key 256 B > key limit 250 B"), "{refused:#?}");
    // The 70 requests become as many as 80 threads need to read each of 70 keys.
    let read = |part: &str, threads, name: &str| {
        let (part, threads) = (PointValue::Text(part.into()), PointValue::Number(threads));
        let mut cells = cells(&run, name).into_iter();
        let here = |cell: &&Cell| {
            cell.point["part"] == part
                && cell.point["threads"] == threads
                && cell.operation == Operation::Get
        };
        let counts = cells.find(here).unwrap().counts;
        (counts.ops, counts.distinct_keys, counts.top_key_ops)
    };
    assert_eq!(read("threads", 80, "memcached"), (5600, 70, 80));
    // Two applications have keys of their own.
    assert_eq!(read("applications", 16, "memcached"), (1120, 70, 16));
    assert_eq!(read("applications", 32, "memcached"), (2240, 140, 16));

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
    assert_eq!(named(&run, "RECONNECT"), all[2..], "the two that connect");
    for name in &all[2..] {
        assert!(cells(&run, name)[0].counts.connections >= Some(600));
    }
}

fn a002_corrected() {
    let run = run("a002", ArticleForm::Corrected, "rounds = 2\nkeys = 300\nrequests = 600");
    for cell in &run.cells {
        assert_eq!((cell.counts.hits, cell.counts.misses), (600, 600), "{cell:#?}");
        assert_eq!(cell.predicted_hit_ratio, Some(0.5));
    }
    assert!(named(&run, "NEVER-HITS").is_empty() && named(&run, "RECONNECT").is_empty());
}

fn a003_published() {
    let run = run("a003", ArticleForm::Published, "rounds = 2\nrequests = 100");
    let expires = |cell: &&Cell| cell.point["part"] == PointValue::Text("expiring".into());
    for cell in run.cells.iter().filter(|cell| !expires(cell)) {
        assert_eq!(cell.counts.misses, 0, "all is stored before it is read: {cell:#?}");
    }
    assert_eq!(named(&run, "TIER-DEAD"), ["blank local over remote"]);
    // It has every value, and is filled again with each.
    let blank = cells(&run, "blank local over remote");
    for cell in blank.iter().filter(|cell| !expires(cell) && !cell.tiers.is_empty()) {
        let [near, far] = &cell.tiers[..] else { panic!("{cell:#?}") };
        assert_eq!((near.hits, near.dropped, near.fills), (0, near.misses, far.hits), "{cell:#?}");
    }
    // Stacks of other tiers are no versions of each other.
    let versions = findings(&run, "VERSION-PARITY");
    assert!(!versions.iter().any(|check| check.text.contains("tiered")), "{versions:#?}");
    // The fastest read of each target: a busy machine makes reads longer, but none shorter than its round trips.
    let fastest = |name: &str| {
        let cell = cells(&run, name).into_iter().find(|cell| cell.operation == Operation::GetOrSet);
        Duration::from_nanos(cell.unwrap().latency_ns.unwrap().min)
    };
    let (remote, local) = (fastest("remote memcached"), fastest("local memcached"));
    let (dead, live) = (fastest("blank local over remote"), fastest("local over remote"));
    assert!(local * 2 < remote && live * 2 < dead, "{local:?}, {remote:?}, {live:?}, {dead:?}");
    // That its nearer tier answers nothing spares it no round trip to the farther one.
    assert!(dead >= Duration::from_micros(550), "{dead:?}");
}

/// Keys come again: all but the first look-up of each is for the nearest tier to answer.
fn a003_corrected() {
    let run = run("a003", ArticleForm::Corrected, "rounds = 1\nkeys = 20\nrequests = 100");
    let stacks = run.cells.iter().filter(|cell| !cell.tiers.is_empty());
    let nearest: Vec<_> = stacks.filter(|cell| cell.tiers[0].lookups() > 0).collect();
    assert!(!nearest.is_empty() && nearest.iter().all(|cell| cell.tiers[0].hits > 0));
    assert!(named(&run, "TIER-DEAD").is_empty());
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
    let retested = run.targets.iter().find(|target| target.name == "InnoDB as retested").unwrap();
    assert_eq!(retested.settings["innodb_support_xa"], "OFF");
    assert_eq!(retested.settings["innodb_buffer_pool_size"], "512 MiB");
    let used = run.article.as_ref().unwrap().figures[0].here;
    assert!(used.is_some_and(|bytes| bytes > 64e6), "{used:?}");
    for (id, beside) in [("REACH-PARITY", "LMDB"), ("ACK-PARITY", "InnoDB flush 1")] {
        assert!(!findings(&run, id).is_empty(), "{id} says something of {beside}");
    }
    assert!(run.article.as_ref().is_some_and(|article| article.percentiles));
}
