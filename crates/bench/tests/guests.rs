//! Guests carry out the same plan as the engines of this process: the counts agree to the last operation.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "other tests ask for more")]
mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use larder_bench::{Permissions, Plan, Silent, compare, guest};
use larder_engines::ENGINES;
use larder_report::{Cell, Floor, ReasonKind, Run};
use larder_store::{Catalog, SetOptions, Source, Store, StoreUrl};
use larder_testkit::{has_perl_modules, has_program, is_root, may_mount, trial_where};
use libtest_mimic::{Arguments, Trial};

const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

fn main() -> ExitCode {
    larder_host::relay::serve_if_asked();
    let mut trials = agreeing();
    trials.extend(in_memory());
    let languages = || {
        memcached().and_then(|()| pymemcache()).and_then(|()| java())?;
        ["php+memcached:", "go+memcached:", "ruby+dalli:"].into_iter().try_for_each(opens)
    };
    trials.push(trial_where(languages, "guests_of_one_plan_agree_exactly", all_languages));
    let apcu = || opens("php+apcu:");
    trials.push(trial_where(apcu, "processes_share_apcu_and_its_evictions_are_told", wiped));
    trials.push(trial_where(memcached, "a_tier_answers_the_entries_it_holds", tiers));
    trials.push(trial_where(memcached, "an_external_server_behind_a_tier_is_guarded", guarded));
    trials.push(trial_where(memcached, "entries_left_on_an_external_server_expire", safety));
    trials.push(trial_where(memcached, "settings_of_tiers_are_told_apart", settings));
    trials.push(trial_where(perl, "processes_share_the_work_of_a_plan", processes));
    trials.push(trial_where(perl, "processes_without_work_are_no_reason", idle));
    trials.push(trial_where(perl, "a_guest_has_as_many_processes_as_others_have_threads", threads));
    trials.push(trial_where(perl, "more_operations_than_memory_are_refused", too_much));
    trials.push(trial_where(perl, "time_ends_a_phase", duration));
    let mmap = || has_perl_modules(&["Cache::Mmap"]);
    trials.push(trial_where(mmap, "a_ttl_that_a_guest_has_not_is_a_reason", no_ttl));
    trials.push(trial_where(mounts, "a_file_system_is_mounted_for_a_guest", mounted));
    trials.push(trial_where(
        mounts,
        "a_program_ends_before_its_file_system_is_unmounted",
        ends_first,
    ));
    trials.push(trial_where(perl, "ways_to_read_that_a_guest_has_not_are_reasons", ways));
    trials.push(trial_where(perl, "values_that_take_time_to_make_are_a_reason", load_time));
    trials.push(trial_where(perl, "a_floor_is_that_of_the_targets_language", floors));
    trials.push(trial_where(
        perl,
        "each_interpreter_of_a_language_has_its_own_floor",
        interpreters,
    ));
    trials.push(trial_where(perl, "an_interpreter_that_is_not_there_is_a_reason", no_interpreter));
    let dict = || has_program(&CATALOG.find("python+dict").unwrap().recipes[0]);
    trials.push(trial_where(dict, "memory_is_without_that_of_the_floor", own_memory));
    trials.push(trial_where(dict, "memory_that_no_other_process_has_is_a_reason", private));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Each client and each guest without a bound against the engine of this process that has the same entries.
fn agreeing() -> Vec<Trial> {
    let workloads = [
        ("sets_and_gets", "operations = ['set', 'get']\nkey-pattern = 'zipf:0.9'"),
        ("a_mix", "ratio = '1:3'\nkey-size = 'uniform:20-60'\ndata-size = 'uniform:3-3000'"),
        ("a_mix_with_deletes", "ratio = '1:3:1'"),
        ("fills", "on-miss = 'fill'\nkey-pattern = 'zipf:0.9'\nrequests = 3000"),
        ("fills_under_the_next_key", "on-miss = 'fill-next'\nkey-pattern = 'seq'"),
        ("chains", "operations = ['set+get', 'delete']"),
        ("many_keys_a_request", "multiget = 7"),
        (
            "all_keys_by_each",
            "operations = 'get'\nkey-pattern = 'seq'\neach-thread = 'all:2'\nthreads = 4",
        ),
        ("groups_of_keys", "operations = ['get_many', 'get']\ngroup = 25"),
        ("touches", "operations = ['set', 'touch', 'get']\nttl = '1h'"),
    ];
    let mut trials: Vec<_> = workloads
        .into_iter()
        .map(|(name, workload)| {
            let name = format!("{name}_agree_exactly_with_memcached");
            trial_where(memcached, &name, move || agree("memcached:", "perl+memcached:", workload))
        })
        .collect();
    let groups = "operations = ['set', 'get', 'get_many']\ngroup = 25";
    let each = "operations = 'get'\nkey-pattern = 'seq'\neach-thread = 'all:2'\nthreads = 4";
    for (work, native, guest, workload) in [
        ("", "memcached:", "java+memcached:", format!("{groups}\ndata-size = 'uniform:3-3000'")),
        ("", "postgresql:", "java+postgresql:", format!("{groups}\nttl = '1h'")),
        ("_at_all_keys_by_each", "memcached:", "java+memcached:", each.to_owned()),
        ("_by_lettuce", "redis:", "java+lettuce:", format!("{groups}\nttl = '1h'")),
        ("_by_jedis", "redis:", "java+jedis:", "ratio = '1:3:1'".to_owned()),
    ] {
        let name = format!("java_agrees_exactly_with_{}{work}", native.trim_end_matches(':'));
        trials.push(trial_where(java, &name, move || agree(native, guest, &workload)));
    }
    let telling = ["a_mix_with_deletes", "fills", "many_keys_a_request", "touches"];
    for (name, workload) in workloads.into_iter().filter(|(name, _)| telling.contains(name)) {
        let name = format!("{name}_of_python_agree_exactly_with_memcached");
        let agrees = move || agree("memcached:", "python+memcached:", workload);
        trials.push(trial_where(pymemcache, &name, agrees));
    }
    for (name, native, guest, workload) in [
        ("a_mix", "memcached:", "python+pylibmc:", "ratio = '1:3:1'"),
        ("touches", "redis:", "python+redis:", "operations = ['set', 'touch', 'get']\nttl = '1h'"),
        ("fills", "memcached:", "php+memcached:", "on-miss = 'fill'\nkey-pattern = 'zipf:0.9'"),
        ("many_keys_a_request", "memcached:", "php+memcache:", "multiget = 7"),
        ("a_mix", "memcached:", "node+memjs:", "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'"),
        ("keys_of_all_by_each", "memcached:", "go+memcached:", each),
        ("many_keys_a_request", "memcached:", "go+memcached:", "multiget = 7\nttl = '1h'"),
        ("a_mix", "redis:", "go+redis:", "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'"),
        ("a_mix", "moka:", "go+map:", "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'"),
        ("fills", "redis:", "node+ioredis:", "on-miss = 'fill'\nkey-pattern = 'zipf:0.9'"),
        ("fills", "memcached:", "ruby+dalli:", "on-miss = 'fill'\nkey-pattern = 'zipf:0.9'"),
        ("many_keys_a_request", "memcached:", "ruby+dalli:", "multiget = 7"),
        ("a_mix", "memcached:", "ruby+hash:", "ratio = '1:3:1'\nttl = '1h'"),
        ("a_mix", "redis:", "php+redis:", "ratio = '1:3:1'\nttl = '1h'"),
        ("a_mix", "mongodb:", "php+mongodb:?w=0", "ratio = '1:3:1'\ndata-size = 'uniform:3-3000'"),
    ] {
        let name = format!("{name}_of_{}_agree_exactly", guest.trim_end_matches(':'));
        trials.push(trial_where(|| opens(guest), &name, move || agree(native, guest, workload)));
    }
    trials
}

/// Caches in the memory of their programs, with room for all entries and with too little.
fn in_memory() -> Vec<Trial> {
    let mut trials = Vec::new();
    let lru = || opens("go+lru:");
    trials.push(trial_where(lru, "an_exact_lru_of_go_hits_as_the_model_does", move || {
        exact_lru("go+lru:");
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
    trials.push(trial_where(packages, "lru_cache_reaches_the_ratio_of_an_exact_lru", exact));
    let node = || opens("node+lru-cache:");
    trials.push(trial_where(node, "caches_in_the_memory_of_node_agree_exactly", node_in_memory));
    trials.push(trial_where(node, "lru_cache_hits_as_often_as_an_exact_lru", || {
        exact_lru("node+lru-cache:");
    }));
    trials
}

/// Needs these modules of Perl.
fn perl() -> Result<(), String> {
    has_perl_modules(&["Cache::FastMmap"])
}

/// Needs the right to mount for a cache in files.
fn mounts() -> Result<(), String> {
    has_perl_modules(&["Cache::FileCache", "Cache::FastMmap"])?;
    if is_root() { may_mount() } else { Err("may not mount: not root".into()) }
}

fn memcached() -> Result<(), String> {
    has_perl_modules(&["Cache::FastMmap", "Cache::Memcached::Fast"])?;
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Needs all programs of Java's guests and of their servers.
fn java() -> Result<(), String> {
    let recipes = ["memcached", "postgresql", "redis"].map(|it| CATALOG.find(it).unwrap().recipes);
    let guests = CATALOG.iter().filter(|engine| engine.scheme.starts_with("java+"));
    let all = recipes.into_iter().map(|recipes| &recipes[..1]).chain(guests.map(|it| it.recipes));
    let mut others = all.flatten().filter(|recipe| recipe.source != Source::Own);
    others.try_for_each(has_program)
}

/// Needs Python's client of memcached, and memcached.
fn pymemcache() -> Result<(), String> {
    let environment = CATALOG.find("python+memcached").unwrap().recipes[0];
    has_program(&environment)?;
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Whether a target can be opened here.
fn opens(url: &str) -> Result<(), String> {
    CATALOG.open(&StoreUrl::parse(url).unwrap()).map(drop).map_err(|error| error.to_string())
}

fn run(targets: &[&str], workload: &str) -> Run {
    let run = support::run(&CATALOG, targets, &format!("rounds = 2\n{workload}"));
    assert!(run.targets.iter().all(|target| target.reason.is_none()), "{:#?}", run.targets);
    run
}

fn cells<'a>(run: &'a Run, target: &str) -> Vec<&'a Cell> {
    run.cells.iter().filter(|cell| cell.target == target).collect()
}

fn agree(native: &str, guest: &str, workload: &str) {
    let run = run(&[native, guest], &format!("keys = 500\n{workload}"));
    // The entries in a program's memory end with it, so none of them is looked for when they are removed.
    let ends = guest.ends_with("+hash:") || guest.ends_with("+map:");
    let (natives, guests) = (cells(&run, native), cells(&run, guest));
    assert_eq!(natives.len(), guests.len());
    for (native, guest) in natives.into_iter().zip(guests) {
        assert!(native.reason.is_none() && guest.reason.is_none(), "{native:#?} {guest:#?}");
        let counted = |cell: &Cell| {
            let mut counts = cell.counts;
            // Traffic over the wire is counted for clients of this process only.
            (counts.connections, counts.wire_requests) = (None, None);
            if ends {
                counts.emptied_checked = 0;
            }
            if workload.contains("fill-next") {
                // Only the program knows which fills were made.
                (counts.read_back, counts.overwritten, counts.emptied_checked) = (0, 0, 0);
            }
            (cell.operation, counts, cell.bytes, cell.rounds)
        };
        assert_eq!(counted(guest), counted(native));
        assert!(guest.counts.wrong == 0 && guest.counts.ops > 0, "{guest:#?}");
        assert!(guest.latency_ns.is_some() || guest.counts.misses == guest.counts.ops);
    }
}

/// Caches with room for everything have the outcomes of a native cache, and drop nothing.
fn caches_agree(native: &str, guests: &[String], workload: &str) {
    let targets: Vec<&str> = guests.iter().map(String::as_str).chain([native]).collect();
    let run = run(&targets, &format!("keys = 500\n{workload}"));
    let told = |target: &str| -> Vec<_> {
        let counted = |cell: &&Cell| {
            let counts = cell.counts;
            let outcomes = (counts.ops, counts.hits, counts.misses, counts.wrong, counts.errors);
            (cell.operation, outcomes, counts.evictions, cell.bytes, cell.reason.clone())
        };
        cells(&run, target).iter().map(counted).collect()
    };
    let expected = told(native);
    assert!(expected.iter().all(|(_, (ops, ..), dropped, ..)| *ops > 0 && *dropped == Some(0)));
    for guest in guests {
        assert_eq!(told(guest), expected, "{guest}");
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

/// Python's `lru_cache` has room for a whole number of entries, and hits as often as the model of an LRU, to the last read.
fn exact() {
    let target = "python+lru_cache:";
    let run = run(
        &[target],
        "keys = 300\nkey-pattern = 'zipf:0.9'\nrequests = 3000\non-miss = 'fill'\ncapacity = '10%,50%'",
    );
    let [curve] = &run.hit_curves[..] else { panic!("{:?}", run.hit_curves) };
    let cells = cells(&run, target);
    assert_eq!((cells.len(), curve.capacities.len()), (2, 2), "{cells:#?}");
    for (cell, model) in cells.into_iter().zip(&curve.capacities) {
        let ratio = cell.hit_ratio().unwrap();
        assert!((ratio - model.lru).abs() < 1e-9, "{ratio} {model:?}");
    }
}

/// All languages side by side have the same outcomes, and refuse the same large values. Each has its own cost of an
/// operation on its null cache.
fn all_languages() {
    let native = "memcached:?item_size=64k";
    let clients = [
        ("perl", "memcached"),
        ("php", "memcached"),
        ("java", "memcached"),
        ("python", "memcached"),
        ("go", "memcached"),
        ("ruby", "dalli"),
    ];
    let guests = clients.map(|(language, client)| format!("{language}+{client}:?item_size=64k"));
    let targets: Vec<&str> = guests.iter().map(String::as_str).chain([native]).collect();
    let run = run(
        &targets,
        "keys = 40\nrequests = 200\non-miss = 'fill'\nkey-pattern = 'zipf:0.9'\ndata-size = ['uniform:3-3k', '150k']",
    );
    let told = |target: &str| -> Vec<_> {
        let counted = |cell: &&Cell| {
            let counts = cell.counts;
            let outcomes = (counts.ops, counts.hits, counts.misses, counts.failed_fills);
            (cell.operation, outcomes, cell.reason_kind)
        };
        cells(&run, target).iter().map(counted).collect()
    };
    let expected = told(native);
    let [(_, (ops, hits, misses, _), None), (.., Some(ReasonKind::Oversize))] = expected[..] else {
        panic!("{expected:#?}")
    };
    assert!(ops == 400 && hits > 0 && misses > 0, "{expected:#?}");
    for guest in &guests {
        assert_eq!(told(guest), expected, "{guest}");
    }
    for (language, _) in clients {
        let of = |floor: &&Floor| floor.language.as_deref() == Some(language);
        let floors: Vec<_> = run.floors.iter().filter(of).collect();
        assert!(
            !floors.is_empty() && floors.iter().all(|floor| floor.ns_per_op > 0.0),
            "{floors:#?}"
        );
    }
}

/// The model follows the same reads, so the hits are the same to the last one.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn exact_lru(url: &str) {
    let workload = "keys = 500\nrequests = 4000\non-miss = 'fill'\nkey-pattern = 'zipf:0.9'\n\
                    data-size = 'uniform:50-900'\ncapacity = '10%,30%'";
    let run = run(&[url], workload);
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

/// Nothing bounds these caches, so they have the same hits. Their floor is that of their language.
fn node_in_memory() {
    let native = "moka:";
    let guests = ["map", "lru-cache", "node-cache", "keyv"].map(|name| format!("node+{name}:"));
    let targets: Vec<&str> = guests.iter().map(String::as_str).chain([native]).collect();
    let workload =
        "keys = 300\nrequests = 2000\non-miss = 'fill'\nkey-pattern = 'zipf:0.9'\nttl = '1h'";
    let run = run(&targets, workload);
    let told = |target: &str| -> Vec<_> {
        let counts = |cell: &&Cell| (cell.counts.ops, cell.counts.hits, cell.counts.misses);
        cells(&run, target).iter().map(counts).collect()
    };
    for guest in &guests {
        assert_eq!(told(guest), told(native), "{guest}");
        assert!(cells(&run, guest).iter().all(|cell| cell.counts.wrong == 0), "{guest}");
    }
    let floor = run.floors.iter().find(|floor| floor.language.as_deref() == Some("node"));
    assert!(floor.is_some_and(|floor| floor.ns_per_op > 0.0), "{:#?}", run.floors);
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

fn mounted() {
    let of_tier = "perl+tiered:filecache:?mount=ramfs:1m|filecache:";
    let run = run(&["perl+filecache:?mount=tmpfs:8m", of_tier], "keys = 100");
    for cell in &run.cells {
        assert!(cell.reason.is_none(), "{cell:#?}");
        assert_eq!(cell.counts.errors + cell.counts.misses, 0, "{cell:#?}");
    }
    let [own, tiered] = &run.targets[..] else { panic!("{:#?}", run.targets) };
    assert_eq!(own.file_system.as_deref(), Some("tmpfs (size 8 MiB)"));
    assert_eq!((own.capacity_bytes, &*own.settings["mount"]), (Some(8 << 20), "tmpfs, size=8 MiB"));
    assert_eq!(tiered.settings["l1.mount"], "ramfs, size=1 MiB is ignored by ramfs");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains("filecache"), "{mounts}");
}

/// The one process that has a file below this folder in memory.
fn user_of(folder: &str) -> String {
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let uses = |process: &PathBuf| {
        fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains(folder))
    };
    let users: Vec<PathBuf> = processes.filter(uses).collect();
    let [user] = &users[..] else { panic!("{users:?}") };
    user.to_str().unwrap().to_owned()
}

/// A file system cannot be unmounted while a program has it open: it would stay until the last attempt, and then be gone
/// before the program.
fn ends_first() {
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let url = StoreUrl::parse("perl+fastmmap:?size=4m&mount=tmpfs:64m").unwrap();
    let store = CATALOG.open(&url).unwrap();
    let mut session = store.session().unwrap();
    session.set(b"key", b"value", &SetOptions::default()).unwrap();
    drop(store);
    let is_ours = |path: &&str| path.contains("-perl+fastmmap-");
    let folder = mounts().split(' ').find(is_ours).unwrap().to_owned();
    let program = user_of(&folder);
    thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while mounts().contains(&folder) {
                thread::yield_now();
            }
            fs::exists(&program).unwrap()
        });
        drop(session);
        assert!(!watcher.join().unwrap(), "{program} ends after {folder} is gone");
    });
}

fn ways() {
    let workload = "keys = 100\ngroup = 10\noperations = 'get_each,get_tag,get_many'";
    let run = run(&["perl+fastmmap:"], workload);
    let [each, tag, many] = cells(&run, "perl+fastmmap:")[..] else { panic!("{:#?}", run.cells) };
    assert_eq!(each.reason.as_deref(), Some("a guest reads no groups one by one"));
    assert_eq!(tag.reason.as_deref(), Some("no reads by tag"));
    assert_eq!((&many.reason, many.counts.hits), (&None, 200));
}

fn tiers() {
    let near = "perl+tiered:fastmmap:?size=16m|memcached:";
    let run = run(&[near], "keys = 300\noperations = ['set', 'get']");
    let [set, get] = cells(&run, near)[..] else { panic!("two cells") };
    assert_eq!(set.counts.ops, 600);
    let [l1, l2] = &get.tiers[..] else { panic!("{:#?}", get.tiers) };
    assert_eq!((l1.name.as_str(), l2.name.as_str()), ("L1 fastmmap:", "L2 memcached:"));
    assert_eq!(l1.hits + l2.hits, get.counts.ops, "{:#?}", get.tiers);
    assert!(l1.hits > 0 && l2.lookups() == l1.misses, "{:#?}", get.tiers);
}

/// A memcached that the comparisons treat as an external server, and its address.
fn somebodys() -> (Arc<dyn Store>, String) {
    let store = ENGINES.open(&StoreUrl::parse("memcached:?m=64").unwrap()).unwrap();
    let address = store.info().addresses[0].clone();
    (store, address)
}

fn guarded() {
    let (_server, address) = somebodys();
    let large = "keys = 1000\ndata-size = '10k'";
    for target in [
        format!("perl+tiered:fastmmap:|memcached://{address}"),
        format!("perl+tiered:memcached://{address}|fastmmap:"),
    ] {
        let plan = Plan::new(&support::scenario(&[&target], large), true, &CATALOG).unwrap();
        let stop = AtomicBool::new(false);
        let refused = compare(&plan, &CATALOG, vec![], Permissions::default(), &Silent, &stop);
        let refused = refused.unwrap_err().to_string();
        let words = "of a server with 64 MiB that Larder did not start, more than a tenth";
        assert!(refused.contains(words), "{refused}");
    }
}

/// A tier in front has no TTL, and still no entry stays on the server for ever when the run is killed.
fn safety() {
    let (_server, address) = somebodys();
    let target = format!("perl+tiered:mmap:?size=1m|memcached://{address}");
    let over = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let seen = scope.spawn(|| {
            let mut seen = Vec::new();
            while !over.load(Ordering::Relaxed) {
                seen.extend(expiries(&address));
            }
            seen
        });
        run(&[&target], "keys = 200\nrequests = 2000\noperations = ['set', 'get']");
        over.store(true, Ordering::Relaxed);
        seen.join().unwrap()
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let for_ever = seen.iter().filter(|end| end.is_none_or(|end| end > now + 86_400)).count();
    assert!(seen.len() > 100 && for_ever == 0, "{for_ever} of {} stay", seen.len());
}

/// The time at which each entry of a memcached expires, in seconds since 1970; `None` for never.
fn expiries(address: &str) -> Vec<Option<u64>> {
    let mut server = TcpStream::connect(address).unwrap();
    server.write_all(b"lru_crawler metadump all\r\n").unwrap();
    let lines = BufReader::new(server).lines().map(Result::unwrap);
    let entries = lines.take_while(|line| line.starts_with("key="));
    let end = |line: String| line.split(" exp=").nth(1)?.split(' ').next()?.parse().ok();
    entries.map(end).collect()
}

fn settings() {
    let target = "perl+tiered:memcached:?item_size=16k|memcached:?via=delay:1ms";
    let run = run(&[target], "keys = 20\noperations = 'set'");
    let settings = &run.targets[0].settings;
    let of = |name: &str| settings.get(name).map(String::as_str);
    assert_eq!((of("l1.via"), of("l2.via")), (None, Some("delay:1ms")), "{settings:#?}");
    let sizes = (of("l1.item_size_max"), of("l2.item_size_max"));
    assert_eq!(sizes, (Some("16384"), Some("1048576")), "{settings:#?}");
    let unplaced: Vec<_> = settings
        .keys()
        .filter(|name| !name.starts_with("l1.") && !name.starts_with("l2."))
        .collect();
    assert!(unplaced.is_empty(), "{unplaced:?}");
}

fn processes() {
    let url = "perl+fastmmap:";
    let run = run(&[url], "keys = 400\nprocesses = 3\nratio = '1:4'\nrequests = 1000");
    let cells = cells(&run, url);
    assert_eq!(cells.iter().map(|cell| cell.counts.ops).sum::<u64>(), 2000);
    for cell in cells {
        assert_eq!((cell.counts.wrong, cell.counts.errors), (0, 0), "{cell:#?}");
        assert!(cell.reason.is_none(), "{cell:#?}");
    }
}

/// There are more processes than keys and requests: a process without work is no reason.
fn idle() {
    let url = "perl+fastmmap:";
    let run = run(&[url], "keys = 4\nprocesses = 7\nrequests = 5\noperations = 'get'");
    let cell = cells(&run, url)[0];
    let counts = cell.counts;
    assert_eq!((counts.ops, counts.hits, cell.reason.as_deref()), (10, 10, None), "{cell:#?}");
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

fn threads() {
    let url = "perl+fastmmap:";
    let workload = "keys = 50\nthreads = [1, 4]\noperations = 'set'\nrounds = 6";
    let workers = |run: &Run, url: &str| {
        let cells = cells(run, url);
        cells.iter().map(|cell| (cell.workers, cell.reason.clone())).collect::<Vec<_>>()
    };
    let alike = support::run(&CATALOG, &[url, "moka:"], workload);
    assert_eq!(workers(&alike, url), [(1, None), (4, None)]);
    assert_eq!((alike.comparisons.len(), alike.notes.len()), (2, 0), "{:?}", alike.notes);
    // The option `processes` fixes their number, and the ranking then compares only the point with as many threads.
    let told = support::run(&CATALOG, &[url, "moka:"], &format!("{workload}\nprocesses = 4"));
    assert_eq!(workers(&told, url), [(4, None), (4, None)]);
    let compared: Vec<_> =
        told.comparisons.iter().map(|pair| pair.point["threads"].to_string()).collect();
    assert_eq!(compared, ["4"]);
    assert!(told.notes[0].contains("guests work with 4 processes"), "{:?}", told.notes);
}

fn no_ttl() {
    let url = "perl+mmap:";
    let run = run(&[url], "keys = 50\nttl = '1m'\noperations = 'set'");
    assert_eq!(cells(&run, url)[0].reason.as_deref(), Some("has no TTL"));
}

/// The plan writes all operations of a guest down, so they must fit into memory.
fn too_much() {
    let scenario =
        |target| support::scenario(&[target], "keys = 100\nrequests = '4000m'\nratio = '1:0'");
    let stop = AtomicBool::new(false);
    let refused = Plan::new(&scenario("perl+fastmmap:"), true, &CATALOG)
        .and_then(|plan| compare(&plan, &CATALOG, vec![], Permissions::default(), &Silent, &stop));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("a guest's operations are written down before"), "{refused}");
    assert!(refused.contains("use fewer --requests"), "{refused}");
}

fn duration() {
    let url = "perl+fastmmap:";
    let run = run(&[url], "keys = 100\nduration = '300ms'\noperations = ['set', 'get']");
    let get = *cells(&run, url).last().unwrap();
    let seconds = get.wall_s.unwrap();
    // Two rounds of 300 ms each, and more where the machine is busy.
    assert!(seconds >= 0.55, "{seconds}");
    assert!(run.notes[0].contains("a guest repeats one list"), "{:?}", run.notes);
    assert_eq!((get.counts.hits, get.counts.distinct_keys), (get.counts.ops, 100), "{get:#?}");
}

/// A guest cannot sleep between a miss and its fill, and says so.
fn load_time() {
    let workload = "keys = 50\nrounds = 1\non-miss = 'fill'\nload-time = '1ms'";
    let run = support::run(&CATALOG, &["perl+filecache:", "moka:"], workload);
    let reason = |engine: &str| {
        let cell = run.cells.iter().find(|cell| cell.target.starts_with(engine)).unwrap();
        cell.reason.clone()
    };
    let said = reason("perl").unwrap();
    assert_eq!(said, "a guest makes its values at once: leave out --load-time");
    assert_eq!(reason("moka"), None);
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

/// The same Perl by its own path stands for another one: which version answers, the report tells of each.
fn interpreters() {
    let (own, named) = ("perl+fastmmap:", "perl+fastmmap:?interpreter=perl");
    let run = run(&[own, named], "keys = 300\noperations = 'set'");
    let [first, second] = &run.targets[..] else { panic!("{:#?}", run.targets) };
    let path = &second.settings["interpreter"];
    assert!(path.ends_with("/perl"), "{path}");
    assert_eq!(first.settings.get("interpreter"), None);
    assert_eq!(first.language.as_deref(), Some("perl"));
    assert_eq!(second.language, Some(format!("perl by {path}")));
    for target in [first, second] {
        let version = target.version.as_deref().unwrap();
        assert!(version.contains("perl 5."), "{version}");
        let is_own = |floor: &&Floor| floor.language == target.language;
        assert_eq!(run.floors.iter().filter(is_own).count(), 1, "{:#?}", run.floors);
        let cell = cells(&run, &target.url)[0];
        assert_eq!((cell.counts.ops, &cell.reason), (600, &None), "{cell:#?}");
    }
}

fn no_interpreter() {
    let targets = [
        "perl+fastmmap:",
        "perl+fastmmap:?interpreter=/no/perl",
        "perl+fastmmap:?interpreter=/bin/true",
    ];
    let run = support::run(&CATALOG, &targets, "rounds = 1\nkeys = 10\noperations = 'set'");
    let reason = |n: usize| run.targets[n].reason.as_deref().unwrap_or_default();
    assert_eq!(reason(0), "");
    let said = "there is no program `/no/perl`; write the path of an existing program";
    assert!(reason(1).ends_with(said), "{}", reason(1));
    assert!(reason(2).contains("ended too early"), "{}", reason(2));
    let of_tier = StoreUrl::parse("perl+tiered:fastmmap:?interpreter=perl|fastmmap:").unwrap();
    let refused = CATALOG.open(&of_tier).map(drop).unwrap_err().to_string();
    let said =
        "one program runs all tiers; write the option behind the last tier, `…|?interpreter=PATH`";
    assert!(refused.contains(said), "{refused}");
}

fn floors() {
    let run = run(&["perl+fastmmap:", "moka:"], "keys = 300\noperations = 'set'");
    let languages: Vec<_> = run.floors.iter().map(|floor| floor.language.as_deref()).collect();
    assert_eq!(languages, [Some("perl"), None]);
    for (target, floor) in run.targets.iter().zip(&run.floors) {
        assert_eq!(target.language, floor.language);
        let cell = cells(&run, &target.url)[0];
        let share = larder_report::floor_share(&run, cell).unwrap();
        let expected = floor.ns_per_op * cell.ops_per_s.unwrap() / 1e9;
        assert!((share - expected).abs() < 1e-9, "{share} is not {expected}");
    }
}
