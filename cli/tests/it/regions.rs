//! Regions that several processes have open: `larder` reports the counts of another process.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;

use larder_engines::ENGINES;
use larder_store::{SetOptions, Store, StoreUrl};
use larder_testkit::{PATIENCE, signal, within};

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "stats_tells_the_counts_of_another_process", stats),
    (NOTHING, "stats_tells_of_a_lock_whose_holder_was_killed", killed),
    (NOTHING, "inspect_draws_a_region_while_a_process_writes_to_it", drawn),
    (NOTHING, "inspect_tells_of_a_process_that_was_stopped_with_a_lock", stopped),
    (NOTHING, "inspect_writes_nothing_and_makes_nothing", only_read),
    (NOTHING, "inspect_refuses_other_stores_and_files_in_one_line", refused),
    (NOTHING, "inspect_draws_a_damaged_region_or_refuses_it", damaged),
];

/// The variable that names a region for this process to write to, until it is killed.
const WRITER: &str = "LARDER_TEST_WRITER";

/// The threads of a writer. While one thread has the lock, another waits for it.
const THREADS: usize = 3;

fn open(url: &str) -> Arc<dyn Store> {
    ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap()
}

/// Writes to a region for ever, where the variable asks this process to.
pub(crate) fn write_if_asked() {
    let Ok(url) = std::env::var(WRITER) else { return };
    let store = open(&url);
    let write = || {
        let (mut session, value) = (store.session().unwrap(), [7; 4000]);
        for key in (0_u64..).map(|i| (i % 3000).to_be_bytes()) {
            // An error after a long stop with the lock is no fault.
            let _ = session.set(&key, &value, &SetOptions::default());
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(write))));
}

/// A process that writes, and is killed when this is dropped.
struct Writer(Child);

impl Writer {
    /// Starts a writer, and waits until it has written some entries.
    fn start(url: &str, store: &dyn Store) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(WRITER, url).stdin(Stdio::null()).stdout(Stdio::null());
        let writer = Self(command.spawn().unwrap());
        let sets = || store.stats().unwrap().sets.unwrap();
        let before = sets();
        assert!(within(PATIENCE, || sets() > before + 1000), "it wrote nothing");
        writer
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A counter of this engine alone, from `larder stats`.
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
    // Other engines have no counters of their own.
    let files = scene.larder(&["stats", "file:.", "--format", "json"]).ends_with(0).json();
    assert_eq!(files["own"], serde_json::json!({}));
}

fn killed() {
    let scene = Scene::new();
    let url = format!("mmap:{}?size=1m", scene.path("region").display());
    // This test keeps the region open, because a process that opens an unused region resets its locks.
    let store = open(&url);
    let mut session = store.session().unwrap();
    let is_repaired = (0..50).any(|_| {
        drop(Writer::start(&url, &*store));
        session.set(b"key", b"value", &SetOptions::default()).unwrap();
        own(&scene, &url, "lock_repairs") > 0
    });
    assert!(is_repaired, "fifty were killed, and none had the lock");
}

fn drawn() {
    let scene = Scene::new();
    let url = format!("mmap:{}?size=1m", scene.path("region").display());
    let store = open(&url);
    let writer = Writer::start(&url, &*store);
    let answer = scene.larder(&["inspect", "mmap:region"]);
    let (page, writing) = (&answer.ends_with(0).out, writer.0.id().to_string());
    let own = std::process::id().to_string();
    assert_contains(page, &["mmap:region\n", "1.00 MiB, 1 partition of ", " state       open\n"]);
    assert_contains(page, &["  open in  ", &format!("{writing} "), &format!("{own} ")]);
    assert_contains(page, &["\nsmall ", "\npartition  small ", "\n        0  ", "\nbegun within "]);
    assert!(page.is_ascii() && !page.contains('\x1b') && answer.err.is_empty(), "{answer:#?}");

    let json = || scene.larder(&["inspect", "mmap:region", "--format", "json"]).ends_with(0).json();
    let told = json();
    assert_eq!((&told["open"], &told["end"]), (&true.into(), &"open".into()));
    let segments = told["partitions"][0]["segments"].as_array().unwrap();
    let sum: u64 = ["alive_bytes", "dead_bytes", "unwritten_bytes"]
        .iter()
        .map(|of| segments.iter().map(|segment| segment[of].as_u64().unwrap()).sum::<u64>())
        .sum();
    assert_eq!(sum, segments.len() as u64 * told["segment_bytes"].as_u64().unwrap());
    drop((writer, store));
    let told = json();
    assert_eq!((&told["open"], &told["end"]), (&false.into(), &"closed".into()));
    assert_eq!(told["processes"], serde_json::json!([]));
}

fn stopped() {
    let scene = Scene::new();
    let url = format!("mmap:{}?size=1m", scene.path("region").display());
    let store = open(&url);
    let writer = Writer::start(&url, &*store);
    let writing = writer.0.id();
    // Soon a stop hits the writer while one of its threads has the lock.
    let is_told = (0..50).any(|_| {
        signal(writing, libc::SIGSTOP);
        let told = scene.larder(&["inspect", "mmap:region"]).ends_with(0).out.clone();
        signal(writing, libc::SIGCONT);
        let line = told.lines().find(|line| line.starts_with("  locks "));
        line.is_some_and(|line| {
            line.contains("partition 0 held by thread ") && line.ends_with(", stopped)")
        })
    });
    assert!(is_told, "it was never stopped with the lock");
}

fn only_read() {
    let scene = Scene::new();
    let store = open(&format!("mmap:{}?size=1m", scene.path("region").display()));
    let mut session = store.session().unwrap();
    session.set(b"key", &[7; 1000], &SetOptions::default()).unwrap();
    let before = fs::read(scene.path("region")).unwrap();
    // No process has this copy open, and its last user left it open, so opening it as a store would reset its locks.
    scene.write("left", &before);
    let readable = fs::Permissions::from_mode(0o444);
    fs::set_permissions(scene.path("left"), readable).unwrap();
    for file in ["region", "left"] {
        scene.larder(&["inspect", &format!("mmap:{file}")]).ends_with(0);
        assert!(fs::read(scene.path(file)).unwrap() == before, "{file} was written to");
    }
    let left = scene.larder(&["inspect", "mmap:left"]).out;
    assert_contains(&left, &["left open by processes that were killed", "1003 B of keys"]);
    let missing = scene.larder(&["inspect", "mmap:missing"]);
    missing.ends_with(1).complains(&["mmap:missing: there is nothing at missing"]);
    let mut files = scene.files(".");
    files.sort();
    assert_eq!(files, ["left", "region", "tmp"]);
}

fn refused() {
    let scene = Scene::new();
    for url in ["moka:", "memory:", "memory:?size=1m", "file:.", "tiered:moka:|mmap:region"] {
        let answer = scene.larder(&["inspect", url]);
        answer.ends_with(2).complains(&[url, "only a segment cache", "write mmap:PATH"]);
    }
    scene.larder(&["inspect", "mmap:"]).ends_with(2).complains(&["names no file"]);
    scene.larder(&["inspect", "nothing:"]).ends_with(2).complains(&["unknown engine"]);
    scene.write("notes", "somebody's notes");
    let answer = scene.larder(&["inspect", "mmap:notes"]);
    answer.ends_with(1).complains(&["mmap:notes: the file is not a segment cache"]);
    scene.larder(&["inspect", "mmap:tmp"]).ends_with(1).complains(&["tmp: cannot be read"]);
}

fn damaged() {
    let scene = Scene::new();
    let url = format!("mmap:{}?size=1m", scene.path("region").display());
    let store = open(&url);
    drop(Writer::start(&url, &*store));
    drop(store);
    let sound = fs::read(scene.path("region")).unwrap();
    // The header, the counters, a partition's notes, and the rest.
    for (from, to, code) in [(0, 128, 1), (128, 4096, 0), (4096, 40_000, 0), (40_000, 1 << 20, 0)] {
        for byte in [0, 1, 0x7f, 0xff] {
            let mut bytes = sound.clone();
            bytes[from..to].fill(byte);
            scene.write("region", &bytes);
            for format in ["text", "json"] {
                let answer = scene.larder(&["inspect", "mmap:region", "--format", format]);
                assert!(answer.ends_with(code).out.is_empty() == (code != 0), "{answer:#?}");
            }
        }
    }
    scene.write("region", &sound[..sound.len() / 2]);
    let answer = scene.larder(&["inspect", "mmap:region"]);
    answer.ends_with(1).complains(&["524288 bytes and was made with 1048576"]);
}
