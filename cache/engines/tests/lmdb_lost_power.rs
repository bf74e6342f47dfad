//! Folders of `lmdb:` as a loss of power leaves them, made by hand. `power` cuts the power at any place.
#![cfg(feature = "lmdb")]
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

#[expect(dead_code, unused_imports, reason = "the rest of what embedded engines are tried by")]
mod embedded;

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use embedded::{TestDir, open, url};
use larder_store::{SetOptions, Store};

const SCHEME: &str = "lmdb";

/// The folder of a store in a directory.
fn folder(directory: &TestDir) -> PathBuf {
    directory.path().join("store")
}

/// A copy of a store's folder as a loss of power may leave it where nothing was synced but checkpoints: of the file some pages
/// are lost. The machine has another boot then.
fn after_a_loss_of_power(directory: &TestDir) -> TestDir {
    let copy = TestDir::create();
    let to = folder(&copy);
    fs::create_dir(&to).unwrap();
    for entry in fs::read_dir(folder(directory)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
    let mut data = fs::read(to.join("data.mdb")).unwrap();
    data.chunks_mut(4096).skip(2).step_by(3).for_each(|page| page.fill(0));
    fs::write(to.join("data.mdb"), data).unwrap();
    let mark = to.join("running");
    if fs::metadata(&mark).unwrap().len() > 0 {
        fs::write(mark, "another boot").unwrap();
    }
    copy
}

fn set_all(store: &dyn Store, keys: Range<u32>) {
    let mut session = store.session().unwrap();
    for key in keys {
        session.set(&key.to_be_bytes(), &[7; 500], &SetOptions::default()).unwrap();
    }
}

fn version_of(store: &dyn Store, key: u32) -> Option<u64> {
    let mut session = store.session().unwrap();
    session.get(&key.to_be_bytes(), &mut Vec::new()).unwrap()?.version
}

/// The number of keys that are there, in a folder that also takes new writes.
fn n_there(directory: &TestDir, query: &str) -> usize {
    let store = open(&url(SCHEME, directory.path(), query)).unwrap();
    let mut session = store.session().unwrap();
    let n_there = (0..1000_u32)
        .filter(|key| session.get(&key.to_be_bytes(), &mut Vec::new()).unwrap().is_some())
        .count();
    set_all(&*store, 0..10);
    n_there
}

#[test]
fn a_loss_of_power_costs_an_unsynced_store_what_came_after_its_checkpoint() {
    let directory = TestDir::create();
    let query = "sync=nosync&checkpoint=20ms";
    let store = open(&url(SCHEME, directory.path(), query)).unwrap();
    set_all(&*store, 0..100);
    let checkpoint = folder(&directory).join("checkpoint.mdb");
    let keys_in = |path: &Path| {
        let copy = TestDir::create();
        fs::create_dir(folder(&copy)).unwrap();
        fs::copy(path, folder(&copy).join("data.mdb")).unwrap();
        open(&url(SCHEME, copy.path(), "checkpoint=0")).unwrap().stats().unwrap().items.unwrap()
    };
    let until = Instant::now() + Duration::from_mins(1);
    while !checkpoint.exists() || keys_in(&checkpoint) < 100 {
        assert!(Instant::now() < until, "no checkpoint has all keys");
        sleep(Duration::from_millis(20));
    }
    let lost = after_a_loss_of_power(&directory);
    set_all(&*store, 100..110);
    let last = version_of(&*store, 109).unwrap();
    for _ in 0..2 {
        assert_eq!(n_there(&lost, query), 100);
    }
    // No version repeats, not even one that was lost.
    let again = open(&url(SCHEME, lost.path(), query)).unwrap();
    set_all(&*again, 109..110);
    assert!(version_of(&*again, 109) > Some(last));
    drop(again);
    // At an orderly end all is synced, so nothing is lost.
    drop(store);
    assert_eq!(fs::metadata(folder(&directory).join("running")).unwrap().len(), 0);
    assert_eq!(n_there(&directory, query), 110);
}

#[test]
fn an_unsynced_store_without_checkpoints_begins_empty_after_a_loss_of_power() {
    let directory = TestDir::create();
    let store = open(&url(SCHEME, directory.path(), "sync=nosync&checkpoint=0")).unwrap();
    set_all(&*store, 0..100);
    let lost = after_a_loss_of_power(&directory);
    assert_eq!(n_there(&lost, "sync=each"), 0);
}

#[test]
fn what_was_synced_is_in_a_checkpoint_before_the_first_unsynced_write() {
    let directory = TestDir::create();
    set_all(&*open(&url(SCHEME, directory.path(), "sync=group")).unwrap(), 0..100);
    let store = open(&url(SCHEME, directory.path(), "sync=nosync&checkpoint=1d")).unwrap();
    set_all(&*store, 100..110);
    let lost = after_a_loss_of_power(&directory);
    assert_eq!(n_there(&lost, "sync=group"), 100);
}
