//! Caches in the memory of their programs, with room for all entries and with too little.

use larder_report::{Cell, Floor};
use larder_testkit::trial_where;
use libtest_mimic::Trial;

use super::{CATALOG, cells, java, opens, pymemcache, run, support};

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let lru = || opens("go+lru:");
    trials.push(trial_where(lru, "an_exact_lru_of_go_hits_as_the_model_does", || {
        exact_lru("go+lru:", "data-size = 'uniform:50-900'");
    }));
    trials.push(trial_where(lru, "a_garbage_collector_is_told", collector));
    let unbounded =
        ["map", "caffeine", "guava", "ehcache", "hazelcast"].map(|it| format!("java+{it}:"));
    trials.push(trial_where(java, "caches_of_java_with_room_agree_exactly_with_moka", move || {
        caches_agree("moka:", &unbounded, "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'");
    }));
    trials.push(trial_where(java, "full_caches_of_java_tell_what_they_drop", || {
        full(
            &[
                "java+caffeine:?executor=caller",
                "java+ehcache:",
                "java+ehcache:?tier=offheap",
                "java+hazelcast:",
                "java+hazelcast:?near=on&near_entries=100&members=2",
            ],
            &["java+guava:?concurrency=1"],
        );
    }));
    let packages = || {
        pymemcache()?;
        opens("python+cachetools:").and_then(|()| opens("python+cachebox:"))
    };
    let roomy = ["dict", "cachetools", "lru_cache", "cachebox"].map(|it| format!("python+{it}:"));
    trials.push(trial_where(
        packages,
        "caches_of_python_with_room_agree_exactly_with_moka",
        move || {
            caches_agree("moka:", &roomy, "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'");
        },
    ));
    trials.push(trial_where(packages, "full_caches_of_python_tell_what_they_drop", || {
        full(&["python+cachebox:?policy=lfu"], &["python+cachetools:", "python+cachebox:"]);
    }));
    trials.push(trial_where(packages, "lru_cache_reaches_the_ratio_of_an_exact_lru", || {
        // It has room for a number of entries, which is that of the model where all have one size.
        exact_lru("python+lru_cache:", "data-size = '1k'");
    }));
    let node = || opens("node+lru-cache:");
    let unbounded = ["map", "lru-cache", "node-cache", "keyv"].map(|it| format!("node+{it}:"));
    trials.push(trial_where(node, "caches_in_the_memory_of_node_agree_exactly", move || {
        caches_agree("moka:", &unbounded, "on-miss = 'fill'\nkey-pattern = 'zipf:0.9'\nttl = '1h'");
    }));
    trials.push(trial_where(node, "lru_cache_hits_as_often_as_an_exact_lru", || {
        exact_lru("node+lru-cache:", "data-size = 'uniform:50-900'");
    }));
    let apcu = || opens("php+apcu:");
    trials.push(trial_where(apcu, "processes_share_apcu_and_its_evictions_are_told", wiped));
    let dict = || opens("python+dict:");
    trials.push(trial_where(dict, "memory_is_without_that_of_the_floor", own_memory));
    trials.push(trial_where(dict, "memory_that_no_other_process_has_is_a_reason", private));
    trials
}

/// Caches with room for everything have the outcomes of a native cache, and drop nothing.
fn caches_agree(native: &str, guests: &[String], workload: &str) {
    let targets: Vec<&str> = guests.iter().map(String::as_str).chain([native]).collect();
    let run = run(&targets, &format!("keys = 500\n{workload}"));
    let told = |target: &str| -> Vec<_> {
        let counted = |cell: &&Cell| {
            let counts = cell.counts;
            let outcomes = (counts.ops, counts.hits, counts.misses, counts.wrong, counts.errors);
            // A cache without a bound does not count what it never does.
            let dropped = counts.evictions.unwrap_or(0);
            (cell.operation, outcomes, dropped, cell.bytes, cell.reason.clone())
        };
        cells(&run, target).iter().map(counted).collect()
    };
    let expected = told(native);
    assert!(expected.iter().all(|(_, (ops, ..), dropped, ..)| *ops > 0 && *dropped == 0));
    for guest in guests {
        assert_eq!(told(guest), expected, "{guest}");
    }
    let languages = run.targets.iter().filter_map(|target| target.language.as_deref());
    for language in languages {
        let floor = run.floors.iter().find(|floor| floor.language.as_deref() == Some(language));
        assert!(floor.is_some_and(|floor| floor.ns_per_op > 0.0), "{:#?}", run.floors);
    }
}

/// Caches with little room count the entries that they drop, so that nothing is missing in silence. An LRU with an overhead
/// of some bytes an entry hits about as often as the model of one.
fn full(guests: &[&str], lrus: &[&str]) {
    let targets: Vec<&str> = guests.iter().chain(lrus).copied().collect();
    let run = run(
        &targets,
        "keys = 1000\ndata-size = '8k'\nrequests = 4000\nkey-pattern = 'zipf:0.8'\non-miss = 'fill'\ncapacity = '40%'",
    );
    let silent = run.checks.iter().filter(|check| check.id == "SILENT-DROP");
    assert_eq!(silent.count(), 0, "{:#?}", run.checks);
    let [curve] = &run.hit_curves[..] else { panic!("{:?}", run.hit_curves) };
    for target in targets {
        let (cell, model) = (cells(&run, target)[0], curve.capacities[0]);
        let counts = cell.counts;
        assert_eq!((&cell.reason, counts.errors, counts.wrong), (&None, 0, 0), "{cell:#?}");
        assert!(counts.evictions > Some(0) && counts.hits > 0, "{cell:#?}");
        let ratio = cell.hit_ratio().unwrap();
        let is_lru = lrus.contains(&target);
        assert!(!is_lru || (ratio - model.lru).abs() < 0.02, "{target}: {ratio} {model:?}");
    }
}

/// The model follows the same reads, so the hits are the same to the last one.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn exact_lru(url: &str, sizes: &str) {
    let workload = "keys = 500\nrequests = 4000\non-miss = 'fill'\nkey-pattern = 'zipf:0.9'\ncapacity = '10%,30%'";
    let run = run(&[url], &format!("{workload}\n{sizes}"));
    let found = cells(&run, url);
    let [curve] = &run.hit_curves[..] else { panic!("{:#?}", run.hit_curves) };
    assert_eq!((found.len(), curve.capacities.len()), (2, 2), "{curve:#?}");
    for (cell, of_model) in found.iter().zip(&curve.capacities) {
        let [hits, ops] = [cell.counts.hits, cell.counts.ops].map(|count| count as f64);
        assert!((hits / ops - of_model.lru).abs() < 1e-9, "{of_model:?} {cell:#?}");
        assert!(cell.counts.evictions.is_some_and(|evictions| evictions > 0), "{cell:#?}");
        assert_eq!((cell.counts.wrong, cell.counts.errors), (0, 0), "{cell:#?}");
    }
}

/// The client makes each value that it reads, 100 MB in a round. All of them are garbage at once.
fn collector() {
    let url = "go+memcached:";
    let workload = "keys = 100\nrequests = 1000\ndata-size = '100k'\noperations = 'get'";
    let run = run(&[url], workload);
    let cell = cells(&run, url)[0];
    let told = cell.collector.unwrap();
    assert!(told.cycles > 0 && told.longest_pause_ns > 0, "{cell:#?}");
    assert!(told.pause_ns >= told.longest_pause_ns && told.cpu_s > 0.0, "{cell:#?}");
    assert!(run.notes.iter().any(|note| note.contains("garbage collector")), "{:?}", run.notes);
    assert_eq!(run.targets[0].settings["GOGC"], "100");
}

/// A full APCu drops all its entries, so absent entries count as evictions and not as silent drops.
fn wiped() {
    let (small, roomy) = ("php+apcu:?shm_size=4m", "php+apcu:");
    let workload = "keys = 200\ndata-size = '100k'\nprocesses = 2\noperations = ['set', 'get']";
    let run = run(&[small, roomy], workload);
    let [set, get] = cells(&run, small)[..] else { panic!("{:#?}", run.cells) };
    assert_eq!((set.counts.errors, set.counts.wrong, get.counts.wrong), (0, 0, 0), "{set:#?}");
    let (absent, evictions) = (set.counts.read_back_absent, set.counts.evictions.unwrap());
    assert!(absent > 0 && evictions >= absent, "{absent} are absent, and {evictions} dropped");
    assert!(get.counts.misses > get.counts.hits, "{get:#?}");
    let silent = run.checks.iter().any(|check| check.id == "SILENT-DROP");
    assert!(!silent, "{:#?}", run.checks);
    let [set, get] = cells(&run, roomy)[..] else { panic!("{:#?}", run.cells) };
    assert_eq!((set.counts.evictions, set.counts.read_back_absent), (Some(0), 0), "{set:#?}");
    assert_eq!(get.counts.hits, get.counts.ops, "{get:#?}");
}

/// The growth of the program on the null cache does not count for the cache. This growth has 4 MB of prepared values
/// and the memory of the operations.
fn own_memory() {
    let run = run(&["python+dict:"], "keys = 4000\nrequests = 20000\noperations = ['set', 'get']");
    for cell in cells(&run, "python+dict:") {
        let of = |floor: &&Floor| floor.operation == cell.operation;
        let own = run.floors.iter().find(of).unwrap().rss_bytes;
        assert!(own.is_some_and(|own| own > 0), "{own:?}");
        // 4000 values of 1 KiB and their keys. The allocator of the program takes more than these need.
        let left = cell.rss_bytes.unwrap_or(0);
        assert!(left < 20 << 20, "{left} of {own:?}");
    }
}

/// Entries in the memory of one process cannot be shared with another process.
fn private() {
    let url = "python+dict:";
    let workload = "keys = 50\nthreads = [1, 2]\noperations = ['set', 'get']";
    let run = support::run(&CATALOG, &[url], workload);
    let cells = cells(&run, url);
    let [_, get, others @ ..] = &cells[..] else { panic!("{cells:#?}") };
    assert_eq!((get.workers, get.counts.hits, &get.reason), (1, get.counts.ops, &None));
    let words = "in the memory of one process: 2 processes would have 2 caches";
    assert!(!others.is_empty(), "{cells:#?}");
    assert!(others.iter().all(|cell| cell.reason.as_deref() == Some(words)), "{others:#?}");
}
