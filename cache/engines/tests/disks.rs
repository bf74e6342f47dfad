//! Engines with files on a full or read-only disk.
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

#[expect(dead_code, unused_imports, reason = "the rest of what embedded engines are tried by")]
mod embedded;

use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use embedded::{TestDir, key, open, open_session, url};
use larder_engines::ENGINES;
use larder_store::{Engine, Error, SetOptions};
use larder_testkit::{PATIENCE, has_program, is_root, may_mount, nightly_if, trial_where};
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let trials = [
        trial("lmdb", "a_full_disk_costs_nothing_that_was_acknowledged", full_disk),
        trial("lmdb", "a_store_cannot_be_made_on_a_full_disk", store_on_a_full_disk),
        trial("lmdb", "a_read_only_disk_is_named", a_read_only_disk_is_named),
        trial("lmdb", "entries_can_be_deleted_on_a_full_disk", deleting_on_a_full_disk),
        trial("lmdb", "a_store_goes_on_where_a_checkpoint_has_no_room", without_a_checkpoint),
        trial("bdb", "a_full_disk_is_told", a_full_disk_is_told),
        trial("sqlite", "a_full_disk_costs_nothing_that_was_acknowledged", full_disk),
        trial("sqlite", "a_store_cannot_be_made_on_a_full_disk", store_on_a_full_disk),
        trial("sqlite", "a_read_only_disk_is_named", a_read_only_disk_is_named),
        trial("redb", "a_full_disk_is_told", a_full_disk_is_told),
        trial("redb", "a_store_cannot_be_made_on_a_full_disk", store_on_a_full_disk),
        trial("redb", "a_read_only_disk_is_named", a_read_only_disk_is_named),
        trial("fjall", "a_full_disk_is_told", a_full_disk_is_told),
        trial("fjall", "a_store_cannot_be_made_on_a_full_disk", store_on_a_full_disk),
        trial("fjall", "a_read_only_disk_is_named", a_read_only_disk_is_named),
    ];
    let trials = trials.into_iter().flatten().collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A trial of an engine, if this build has it.
fn trial(scheme: &'static str, name: &str, run: fn(&str)) -> Option<Trial> {
    let Engine { recipes, .. } = ENGINES.find(scheme).ok().filter(|engine| engine.is_built())?;
    let needs = move || recipes.iter().try_for_each(has_program).and_then(|()| mounts());
    let trial = trial_where(needs, &format!("{scheme}::{name}"), move || run(scheme));
    Some(nightly_if(!recipes.is_empty(), trial))
}

/// Fills a disk of 8 MiB. The refusal is `Full`, the acknowledged entries are there, and with room the store goes on.
fn full_disk(scheme: &str) {
    let disk = SmallDisk::mount("8m");
    let url = url(scheme, disk.path(), "");
    let mut session = open_session(&url);
    let mut stored = 0;
    let refused = loop {
        assert!(stored < 2000, "2000 values fitted on a disk of 8 MiB");
        match session.set(&key(stored), &[7; 16 << 10], &SetOptions::default()) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Full { .. }), "{refused}");
    assert!(!refused.to_string().contains('\n'), "{refused}");
    assert!(stored > 100, "only {stored} values of 16 KiB fitted on a disk of 8 MiB");
    let mut found = Vec::new();
    for i in 0..stored {
        assert!(session.get(&key(i), &mut found).unwrap().is_some(), "key {i} is gone");
        assert!(found == [7; 16 << 10], "key {i} is not whole");
    }
    disk.grow("16m");
    session.set(b"small", b"value", &SetOptions::default()).unwrap();
    session.get(b"small", &mut found).unwrap();
    assert_eq!(found, b"value");
    drop(session);
    open_session(&url).get(b"small", &mut found).unwrap();
    assert_eq!(found, b"value", "after opening it again");
}

/// A disk without room for a new store is an error, not a signal.
fn store_on_a_full_disk(scheme: &str) {
    let disk = SmallDisk::mount("1m");
    disk.fill();
    let error = open(&url(scheme, disk.path(), "")).map(drop).unwrap_err();
    assert!(matches!(error, Error::Full { .. }), "{error}");
}

fn a_read_only_disk_is_named(scheme: &str) {
    let disk = SmallDisk::mount("8m");
    let url = url(scheme, disk.path(), "");
    drop(open(&url).unwrap());
    disk.make_read_only();
    let error = open(&url).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Io { .. }), "{text}");
    assert!(text.contains("store") && !text.contains('\n'), "{text}");
    assert!(text.to_lowercase().contains("read") && text.contains("only"), "{text}");
}

fn deleting_on_a_full_disk(scheme: &str) {
    let disk = SmallDisk::mount("8m");
    let mut session = open_session(&url(scheme, disk.path(), ""));
    let mut set = |i: u64| session.set(&i.to_le_bytes(), &[7; 16 << 10], &SetOptions::default());
    let stored = (0..2000).find(|i| set(*i).is_err()).unwrap();
    for i in 0..stored / 2 {
        assert!(session.delete(&i.to_le_bytes()).unwrap(), "key {i} cannot be deleted");
    }
    session.set(b"room", &[7; 16 << 10], &SetOptions::default()).unwrap();
}

/// The first write after an orderly end makes a checkpoint, which is as large as the entries.
fn without_a_checkpoint(scheme: &str) {
    let disk = SmallDisk::mount("8m");
    let url = url(scheme, disk.path(), "");
    let mut session = open_session(&url);
    for i in 0..250 {
        session.set(&key(i), &[7; 16 << 10], &SetOptions::default()).unwrap();
    }
    drop(session);
    disk.fill();
    disk.grow("10m");
    let file = disk.path().join("store/data.mdb");
    let before = file.metadata().unwrap().len();
    let mut session = open_session(&url);
    for i in 0..100 {
        assert!(session.delete(&key(i)).unwrap(), "key {i} cannot be deleted");
    }
    session.set(b"room", &[7; 16 << 10], &SetOptions::default()).unwrap();
    assert!(file.metadata().unwrap().len() < before + (2 << 20), "the file takes the disk");
}

fn a_full_disk_is_told(scheme: &str) {
    let disk = SmallDisk::mount("32m");
    let mut session = open_session(&url(scheme, disk.path(), ""));
    let mut set = |i: u32| session.set(&i.to_le_bytes(), &[7; 16 << 10], &SetOptions::default());
    let refused = (0..10_000).find_map(|i| set(i).err()).unwrap();
    assert!(matches!(refused, Error::Full { .. }), "{refused}");
    assert!(!refused.to_string().contains('\n'), "{refused}");
}

/// Needs a user who may mount.
fn mounts() -> Result<(), String> {
    if is_root() {
        may_mount()
    } else {
        Err("only root can mount the small disk that this fills".into())
    }
}

/// A small tmpfs, unmounted with its owner.
struct SmallDisk(TestDir);

impl SmallDisk {
    fn mount(size: &str) -> Self {
        let directory = TestDir::create();
        let options = format!("size={size}");
        run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs"], directory.path());
        Self(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn grow(&self, size: &str) {
        run("mount", &["-o", &format!("remount,size={size}")], self.path());
    }

    /// Another trial that starts a program forks this process, and the fork holds its open files until the program starts.
    fn make_read_only(&self) {
        let until = Instant::now() + PATIENCE;
        while !ran("mount", &["-o", "remount,ro"], self.path()) {
            assert!(Instant::now() < until, "a file on {} stays open", self.path().display());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Takes all the remaining room.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.path().join("filling")).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &["--lazy"], self.path());
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) {
    assert!(ran(program, arguments, path), "{program} {arguments:?} {}", path.display());
}

fn ran(program: &str, arguments: &[&str], path: &Path) -> bool {
    Command::new(program).args(arguments).arg(path).status().unwrap().success()
}
