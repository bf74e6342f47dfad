//! File systems that are mounted for guests.

use std::fs;
use std::path::PathBuf;
use std::thread;

use larder_store::{SetOptions, StoreUrl};
use larder_testkit::{has_perl_modules, is_root, may_mount, trial_where};
use libtest_mimic::Trial;

use super::{CATALOG, run};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial_where(mounts, "a_file_system_is_mounted_for_a_guest", mounted),
        trial_where(mounts, "a_program_ends_before_its_file_system_is_unmounted", ends_first),
    ]
}

/// Needs the right to mount for a cache in files.
fn mounts() -> Result<(), String> {
    has_perl_modules(&["Cache::FileCache", "Cache::FastMmap"])?;
    if is_root() { may_mount() } else { Err("may not mount: not root".into()) }
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
