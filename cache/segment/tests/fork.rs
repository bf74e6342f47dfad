//! A region that forked processes share, or processes that got its descriptor.

mod support;

use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use larder_segment::{Cache, Options, Set};
use support::{Child, folder};

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };

fn eventually(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_mins(5), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_child_shares_what_its_parent_opened_and_neither_takes_itself_for_the_last() {
    let folder = folder();
    let path = folder.path().join("cache");
    let cache = Cache::open(&path, &SMALL).unwrap();
    let set = |cache: &std::sync::Arc<Cache>, key: &[u8]| {
        cache.session().set(key, b"value", &Set::default()).unwrap();
    };
    let has = |cache: &std::sync::Arc<Cache>, key: &[u8]| {
        cache.session().get(key, &mut Vec::new()).is_some()
    };
    // A child that closes the region and ends.
    let first = Child::fork(|| {
        set(&cache, b"first");
        // SAFETY: as if the child owned it; the parent's value lives in another process.
        drop(unsafe { std::ptr::read(&raw const cache) });
    });
    assert_eq!(first.wait(), 0);
    assert!(has(&cache, b"first"));
    // A child that goes on when its parent has closed the region.
    let second = Child::fork(|| {
        set(&cache, b"second");
        eventually(|| has(&cache, b"stop"));
        set(&cache, b"stopped");
    });
    eventually(|| has(&cache, b"second"));
    drop(cache);
    // No process waits for the child, and none takes itself for alone: the child still has the region.
    let began = Instant::now();
    let survey = larder_segment::Survey::of_file(&path).unwrap().unwrap();
    assert_eq!((survey.is_open, survey.end), (Some(true), larder_segment::End::Open));
    let again = Cache::existing(&path).unwrap().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    set(&again, b"stop");
    eventually(|| has(&again, b"stopped"));
    drop((again, second));
    drop(Cache::existing(&path).unwrap().unwrap());
    let survey = larder_segment::Survey::of_file(&path).unwrap().unwrap();
    assert_eq!((survey.is_open, survey.end), (Some(false), larder_segment::End::Closed));
}

#[test]
fn a_region_without_a_name_is_shared_by_its_descriptor() {
    let cache = Cache::shared(&SMALL).unwrap();
    let descriptor = cache.descriptor().unwrap();
    cache.session().set(b"key", b"value", &Set::default()).unwrap();
    let mut found = Vec::new();
    let other = Cache::of_descriptor(descriptor).unwrap();
    assert!(other.session().get(b"key", &mut found).is_some());
    // Another process would open it by this path.
    let path = format!("/proc/{}/fd/{}", std::process::id(), descriptor.as_raw_fd());
    let third = Cache::existing(path.as_ref()).unwrap().unwrap();
    third.session().delete(b"key").unwrap();
    assert!(cache.session().get(b"key", &mut found).is_none());
    // SAFETY: of a file that this process has open.
    let cut = unsafe { libc::ftruncate(descriptor.as_raw_fd(), 4096) };
    assert_eq!(cut, -1, "whoever has it would be killed by what is missing");
    assert!(Cache::private(&SMALL).unwrap().descriptor().is_none());
    let notes = std::fs::File::open("/dev/null").unwrap();
    assert!(Cache::of_descriptor(notes.as_fd()).is_err());
}
