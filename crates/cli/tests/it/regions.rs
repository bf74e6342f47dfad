//! Regions that several processes have open: what one has counted, `larder` tells of in another.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use larder_engines::ENGINES;
use larder_store::{SetOptions, Store, StoreUrl};

use crate::scene::{SOON, Scene, assert_contains, within};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "stats_tells_what_another_process_counts", stats),
    (NOTHING, "stats_tells_of_a_lock_whose_holder_was_killed", killed),
];

/// The region that this process is to write to until it is killed.
const WRITER: &str = "LARDER_TEST_WRITER";

/// Threads of a writer: the next one waits for the lock that another has.
const THREADS: usize = 3;

fn open(url: &str) -> Arc<dyn Store> {
    ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap()
}

/// Writes to a region for ever where this process was started for that.
pub(crate) fn write_if_asked() {
    let Ok(url) = std::env::var(WRITER) else { return };
    let store = open(&url);
    let write = || {
        let (mut session, value) = (store.session().unwrap(), [7; 4000]);
        for key in (0_u64..).map(|i| (i % 3000).to_be_bytes()) {
            // One that was stopped for long with the lock is no fault.
            let _ = session.set(&key, &value, &SetOptions::default());
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(write))));
}

/// A process that writes, killed at the latest when this is dropped.
struct Writer(Child);

impl Writer {
    /// One that has written some entries.
    fn start(url: &str, store: &dyn Store) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(WRITER, url).stdin(Stdio::null()).stdout(Stdio::null());
        let writer = Self(command.spawn().unwrap());
        let sets = || store.stats().unwrap().sets.unwrap();
        let before = sets();
        assert!(within(SOON, || sets() > before + 1000), "it wrote nothing");
        writer
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// What only this kind of store counts, as `larder stats` tells it.
fn own(scene: &Scene, url: &str, name: &str) -> u64 {
    let told = scene.larder(&["stats", url, "--format", "json"]).ends_with(0).json();
    told["own"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {told:#}"))
}

fn stats() {
    let scene = Scene::new();
    let url = "mmap:region?size=1m&max_value=64k";
    let path = format!("mmap:{}?size=1m&max_value=64k", scene.path("region").display());
    let store = open(&path);
    let too_large = store.session().unwrap().set(b"key", &vec![0; 70_000], &SetOptions::default());
    assert!(too_large.is_err());
    assert_eq!(own(&scene, url, "too_large"), 1);
    assert_eq!(own(&scene, url, "evicted_small"), 0);
    let _writer = Writer::start(&path, &*store);
    assert!(own(&scene, url, "evicted_small") > 100);
    let text = scene.larder(&["stats", url]).ends_with(0).out.clone();
    assert_contains(&text, &["hits  ", "evictions  ", "evicted_small  ", "lock_repairs  "]);
    // Other stores count nothing besides.
    let files = scene.larder(&["stats", "file:.", "--format", "json"]).ends_with(0).json();
    assert_eq!(files["own"], serde_json::json!({}));
}

fn killed() {
    let scene = Scene::new();
    let url = format!("mmap:{}?size=1m", scene.path("region").display());
    // While somebody has it open, nobody makes its locks anew.
    let store = open(&url);
    let mut session = store.session().unwrap();
    let is_repaired = (0..50).any(|_| {
        drop(Writer::start(&url, &*store));
        session.set(b"key", b"value", &SetOptions::default()).unwrap();
        own(&scene, &url, "lock_repairs") > 0
    });
    assert!(is_repaired, "fifty were killed, and none had the lock");
}
