//! Servers of Larder's own that Larder starts for itself: `memcached:?server=larder`.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use larder_engines::ENGINES;
use larder_host::scratch::ScratchDir;
use larder_store::{Durability, Engine, Ownership, SetOptions, Store, StoreUrl};
use larder_testkit::{Holder, hold_if_asked, trial_where};
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("LARDER_PROGRAM", env!("CARGO_BIN_EXE_larder")) };
    larder_host::delay_proxy::serve_if_asked();
    hold_if_asked(&ENGINES);
    let trials = vec![
        trial("nothing_is_left_after_kill_9", nothing_is_left),
        trial("a_store_without_a_path_vanishes_with_its_server", a_store_without_a_path),
        trial("a_store_at_a_path_stays_unless_a_comparison_has_it", a_store_at_a_path),
        trial("a_comparison_leaves_the_files_at_a_path_alone", a_comparison_at_a_path),
        trial("the_server_tells_of_itself_and_its_store", the_server_tells),
        trial("a_store_that_lacks_an_ability_is_found_out", a_store_that_lacks),
        trial("a_server_that_cannot_serve_says_why", a_server_that_cannot_serve),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A trial that needs the client of `memcached:` in this build.
fn trial(name: &str, run: fn()) -> Trial {
    let is_built = || ENGINES.find("memcached").is_ok_and(Engine::is_built);
    let needs = move || if is_built() { Ok(()) } else { Err("no memcached: in this build".into()) };
    trial_where(needs, name, run)
}

fn parsed(options: &str) -> StoreUrl {
    StoreUrl::parse(&format!("memcached:?server=larder{options}")).unwrap()
}

fn open(options: &str) -> Arc<dyn Store> {
    ENGINES.open(&parsed(options)).unwrap()
}

fn set(store: &dyn Store, value: &[u8]) {
    let outcome = store.session().unwrap().set(b"key", value, &SetOptions::default()).unwrap();
    assert!(outcome.is_stored());
}

fn get(store: &dyn Store) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    store.session().unwrap().get(b"key", &mut value).unwrap().map(|_| value)
}

fn nothing_is_left() {
    // A store of files has a folder beside that of its server.
    for (options, n_servers, n_folders) in
        [("&nodes=2", 2, 2), ("&store=lmdb", 1, 2), ("&store=mmap", 1, 1)]
    {
        let holder = Holder::start(&format!("memcached:?server=larder{options}"));
        assert_eq!(holder.left(), (n_servers, n_folders), "{options}");
        // A file of `mmap:` lies in shared memory, in a folder that has the number of its process.
        let parent = fs::read_to_string(format!("/proc/{}/stat", holder.pids()[0])).unwrap();
        let parent = parent.split_whitespace().nth(3).unwrap().to_owned();
        let shared = move || {
            let files = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
            let name = format!("larder-{parent}-");
            files.filter(|file| file.file_name().to_string_lossy().starts_with(&name)).count()
        };
        let is_shared = options == "&store=mmap" && Path::new("/dev/shm").is_dir();
        assert_eq!(shared(), usize::from(is_shared), "{options}");
        holder.kill(shared);
    }
}

fn a_store_without_a_path() {
    for scheme in ["mmap", "lmdb", "file", "sqlite"] {
        let store = open(&format!("&store={scheme}"));
        set(&*store, b"value");
        let info = store.info();
        let [path] = &info.data_paths[..] else { panic!("{info:?}") };
        assert!(path.is_dir() && info.file_system.is_some(), "{scheme}");
        assert!(info.settings["larder_store"].starts_with(&format!("{scheme}:")), "{info:?}");
        store.close().unwrap();
        drop(store);
        assert!(!path.exists(), "{scheme}: {} is left", path.display());
    }
}

fn a_store_at_a_path() {
    let folder = ScratchDir::create("t").unwrap();
    for scheme in ["mmap", "lmdb"] {
        let path = folder.path().join(scheme);
        let options = format!("&store={scheme}:{}?size=4m", path.display());
        let store = open(&options);
        set(&*store, b"kept");
        store.close().unwrap();
        drop(store);
        let compared = ENGINES.open(&parsed(&options).in_scratch()).unwrap();
        assert_eq!(get(&*compared), None, "{scheme}");
        compared.session().unwrap().clear().unwrap();
        drop(compared);
        assert_eq!(get(&*open(&options)).as_deref(), Some(&b"kept"[..]), "{scheme}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the files of the two engines");
}

fn a_comparison_at_a_path() {
    let folder = ScratchDir::create("t").unwrap();
    let (path, results) = (folder.path().join("cache"), folder.path().join("results"));
    let target = format!("memcached:?server=larder&store=lmdb:{}", path.display());
    let store = ENGINES.open(&StoreUrl::parse(&target).unwrap()).unwrap();
    set(&*store, b"kept");
    let compare = ["compare", &target, "-k", "20", "-r", "1", "-q", "-o"];
    let mut larder = Command::new(env!("CARGO_BIN_EXE_larder"));
    let output = larder.args(compare).arg(&results).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(get(&*store).as_deref(), Some(&b"kept"[..]));
    assert_eq!(store.stats().unwrap().items, Some(1));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "the store and the results");
}

fn the_server_tells() {
    let store = open("&m=100&item_size=2m&server_threads=2&nodes=2&max_connections=3000");
    let info = store.info();
    assert_eq!((info.ownership, info.server_pids.len()), (Ownership::Managed, 2));
    assert!(info.version.unwrap().contains("-larder-"));
    for (name, value) in [
        ("maxbytes", "104857600"),
        ("item_size_max", "2097152"),
        ("num_threads", "2"),
        ("maxconns", "3000"),
        ("evictions", "on"),
        ("cas_enabled", "yes"),
        ("protocol", "meta"),
        ("larder_store", "memory:?size=104857600"),
    ] {
        assert_eq!(info.settings[name], value, "{name}");
    }
    assert_eq!(info.durability, Durability::Volatile);
    assert_eq!(open("&store=mmap").info().durability, Durability::OsCache);
    set(&*store, b"value");
    let stats = store.stats().unwrap();
    assert_eq!((stats.items, stats.capacity_bytes), (Some(1), Some(200 << 20)));

    // The same server, when Larder has not started it.
    let other = ENGINES.open(
        &StoreUrl::parse(&format!("memcached://{}", info.settings["nodes"].replace(", ", ",")))
            .unwrap(),
    );
    let other = other.unwrap();
    assert_eq!(other.info().settings["larder_store"], info.settings["larder_store"]);
    assert_eq!(other.info().server_pids, info.server_pids);
    let free = other.external_stats().unwrap()[0].free_bytes;
    assert!(free.is_some_and(|free| free > 100 << 20), "{free:?}");
}

fn a_store_that_lacks() {
    let whole = open("").capabilities();
    assert!(whole.stores && whole.flags && whole.ttl && whole.ttl_left && whole.version);
    let null = open("&store=null").capabilities();
    assert!(whole.evicts && !null.evicts && !null.stores);
    let stack = open("&store=tiered:moka:%7Cmemory:").capabilities();
    assert!(!stack.ttl_left && !stack.version && stack.flags);
    // The trial has removed its entries.
    assert_eq!(open("").stats().unwrap().items, Some(0));
}

fn a_server_that_cannot_serve() {
    let refused = ENGINES.open(&parsed("&store=memory:?size=1k")).unwrap_err().to_string();
    assert!(refused.contains("larder ended at once") && refused.contains("size"), "{refused}");
    assert!(!refused.contains('\n'));
    let folder = ScratchDir::create("t").unwrap();
    let taken = folder.path().join("taken");
    fs::write(&taken, "of somebody").unwrap();
    let url = parsed(&format!("&store=mmap:{}", taken.display()));
    let refused = ENGINES.open(&url).unwrap_err().to_string();
    assert!(refused.contains("the file is not a segment cache"), "{refused}");
    assert_eq!(fs::read(&taken).unwrap(), b"of somebody");
}
