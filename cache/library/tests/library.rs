//! The library as a program uses it: stores, stacks and layers by URL, one load of a key, and a forked child.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use larder::{Error, LoadOptions, Loaded, Origin, SetOptions, Store};
use larder_host::scratch::ScratchDir;
use larder_testkit::{MEMCACHED, Memcached, fork, has_program, has_succeeded, trial, trial_where};
use libtest_mimic::Arguments;

const THREADS: usize = 8;

fn main() -> ExitCode {
    let needs_memcached = || has_program(&MEMCACHED);
    let trials = vec![
        trial("a_layer_of_a_url_is_around_the_store", a_layer_of_a_url_is_around_the_store),
        trial("a_url_that_is_no_stack_has_no_tiers", a_url_that_is_no_stack_has_no_tiers),
        trial_where(
            needs_memcached,
            "of_many_threads_one_loads_into_all_tiers",
            of_many_threads_one_loads_into_all_tiers,
        ),
        trial_where(
            needs_memcached,
            "a_child_goes_on_with_a_file_and_is_refused_a_server",
            a_child_goes_on_with_a_file_and_is_refused_a_server,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn set(store: &dyn Store, key: &[u8], value: &[u8]) {
    let outcome = store.session().unwrap().set(key, value, &SetOptions::default()).unwrap();
    assert!(outcome.is_stored(), "{outcome:?}");
}

fn get(store: &dyn Store, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    let hit = store.session().unwrap().get(key, &mut value).unwrap();
    hit.map(|_| value)
}

fn a_layer_of_a_url_is_around_the_store() {
    let value = vec![b'a'; 64 << 10];
    let bytes = |url| {
        let store = larder::open(url).unwrap();
        set(&*store, b"key", &value);
        assert_eq!(get(&*store, b"key").as_ref(), Some(&value), "{url}");
        store.stats().unwrap().bytes.unwrap()
    };
    let (plain, compressed) = (bytes("memory:?size=4m"), bytes("memory:?size=4m&compress=zstd:1k"));
    assert!(plain > 10 * compressed, "{plain} bytes, and {compressed} compressed");
}

fn a_url_that_is_no_stack_has_no_tiers() {
    for url in ["memory:", "memcached://h1"] {
        let error = larder::open_tiers(url).unwrap_err();
        assert!(matches!(error, Error::InvalidUrl { .. }), "{url}: {error}");
    }
}

fn of_many_threads_one_loads_into_all_tiers() {
    let (server, folder) = (Memcached::start(), ScratchDir::create("library").unwrap());
    let file = format!("mmap:{}?size=1m", folder.path().join("cache").display());
    let url = format!("tiered:{file}|memcached://{}", server.address());
    let stack = larder::open_tiers(&url).unwrap();
    let (n_loads, n_loaders) = (AtomicU32::new(0), AtomicU32::new(0));
    let begin = Barrier::new(THREADS);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let (mut session, mut value) = (stack.open_session().unwrap(), Vec::new());
                begin.wait();
                let options = LoadOptions::default();
                let load = |value: &mut Vec<u8>| {
                    n_loads.fetch_add(1, Ordering::Relaxed);
                    value.extend_from_slice(b"loaded");
                    Ok::<_, Error>(Loaded::Value)
                };
                let answer = session.get_or_load(b"key", &mut value, &options, load).unwrap();
                assert_eq!(value, b"loaded");
                let is_loader = answer.unwrap().origin == Origin::Loader;
                n_loaders.fetch_add(is_loader.into(), Ordering::Relaxed);
            });
        }
    });
    assert_eq!((n_loads.into_inner(), n_loaders.into_inner()), (1, 1));
    // The file has the value as the stack keeps it, so a stack reads it.
    let found = stack.open_session().unwrap().lookup(b"key", &mut Vec::new()).unwrap();
    assert_eq!(found.found.map(|found| found.tier), Some(1));
    let servers = larder::open(&format!("memcached://{}", server.address())).unwrap();
    assert!(get(&*servers, b"key").is_some());
}

fn a_child_goes_on_with_a_file_and_is_refused_a_server() {
    let (server, folder) = (Memcached::start(), ScratchDir::create("library").unwrap());
    let file = larder::open(&format!("mmap:{}?size=1m", folder.path().join("cache").display()));
    let (file, url) = (file.unwrap(), format!("memcached://{}", server.address()));
    let servers = larder::open(&url).unwrap();
    let mut sessions = [file.session().unwrap(), servers.session().unwrap()];
    for session in &mut sessions {
        session.set(b"key", b"of the parent", &SetOptions::default()).unwrap();
    }
    let child = fork(|| {
        let mut value = Vec::new();
        let [file, servers] = &mut sessions;
        assert!(file.get(b"key", &mut value).unwrap().is_some());
        file.set(b"key", b"of the child", &SetOptions::default()).unwrap();
        let error = servers.get(b"key", &mut value).unwrap_err();
        assert!(matches!(error, Error::Forked { .. }), "{error}");
        set(&*larder::open(&url).unwrap(), b"key", b"of the child");
    });
    assert!(has_succeeded(child));
    let mut value = Vec::new();
    for session in &mut sessions {
        assert!(session.get(b"key", &mut value).unwrap().is_some());
        assert_eq!(value, b"of the child");
    }
}
