//! The disk that is replayed, tried with small journals.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use larder_testkit::{Random, trial};
use libtest_mimic::Trial;

use crate::disk::Disk;
use crate::image::Image;
use crate::journal::Event;

/// The inode of the file in these journals.
const FILE: u64 = 7;

const NEW: Event<'_> = Event::Create { file: FILE, name: "a" };
const BEGIN: Event<'_> = Event::SyncBegin { id: 1 };
const END: Event<'_> = Event::SyncEnd { file: FILE, id: 1, is_folder: false };
const FOLDER_BEGIN: Event<'_> = Event::SyncBegin { id: 2 };
const FOLDER_END: Event<'_> = Event::SyncEnd { file: 1, id: 2, is_folder: true };
const RENAME: Event<'_> = Event::Rename { from: "a", to: "b", is_exchange: false };

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("a_synced_write_stays", synced_write_stays),
        trial("an_unsynced_write_may_be_lost_or_torn", unsynced_write),
        trial("a_write_during_a_sync_is_not_safe", write_during_a_sync),
        trial("a_write_with_dsync_is_safe_alone", write_with_dsync),
        trial("writes_of_one_place_keep_their_order", order_of_one_place),
        trial("bytes_behind_a_lost_cut_are_lost", lost_cut),
        trial("a_file_that_names_the_present_start_names_another", another_start),
        trial("a_rename_is_safe_once_the_folder_is_synced", renames),
    ]
}

const fn write(offset: u64, bytes: &'static [u8]) -> Event<'static> {
    Event::Write { file: FILE, offset, bytes, id: offset }
}

/// All outcomes of a loss of power at the end of these records: each file as `name=bytes`.
fn outcomes(events: &[Event<'_>]) -> BTreeSet<String> {
    let mut disk = Disk::new(false);
    events.iter().enumerate().for_each(|(at, event)| disk.apply(at, event));
    let cut = |seed| disk.cut(&mut Random::new(seed), 512);
    (0..500).map(|seed| told(&cut(seed))).collect()
}

/// The first byte of each piece of each file.
fn told(image: &Image) -> String {
    let files = image.files().map(|(name, bytes)| {
        let ends = bytes.chunks(512).map(|piece| piece[0]);
        let shown: String = ends.map(|byte| if byte == 0 { '.' } else { byte.into() }).collect();
        format!("{name}={shown}")
    });
    files.collect::<Vec<_>>().join(" ")
}

fn set(outcomes: &[&str]) -> BTreeSet<String> {
    outcomes.iter().map(|outcome| (*outcome).into()).collect()
}

fn synced_write_stays() {
    assert_eq!(outcomes(&[NEW, write(0, b"x"), BEGIN, END]), set(&["a=x"]));
}

fn unsynced_write() {
    let found = outcomes(&[NEW, BEGIN, END, write(0, &[b'x'; 1024])]);
    assert_eq!(found, set(&["a=", "a=xx", "a=x", "a=x.", "a=.x", "a=.."]));
    // Not even the name is safe.
    assert!(outcomes(&[NEW, write(0, b"x")]).contains(""));
}

fn write_during_a_sync() {
    let found = outcomes(&[NEW, write(0, b"x"), BEGIN, write(512, b"y"), END]);
    assert_eq!(found, set(&["a=x", "a=xy", "a=x."]));
}

fn write_with_dsync() {
    let other = write(8192, b"y");
    let found = outcomes(&[NEW, other, write(0, b"x"), Event::Written { id: 0 }]);
    assert!(found.iter().all(|files| files.starts_with("a=x")), "{found:?}");
    assert!(found.iter().any(|files| files.contains('y')), "{found:?}");
    assert!(found.contains("a=x"), "{found:?}");
}

fn order_of_one_place() {
    let found = outcomes(&[NEW, BEGIN, END, write(0, b"x"), write(0, b"y")]);
    assert_eq!(found, set(&["a=", "a=x", "a=y", "a=."]));
    let found = outcomes(&[NEW, BEGIN, END, write(0, b"x"), write(1, b"y")]);
    assert!(!found.contains("a=.y"), "{found:?}");
}

fn lost_cut() {
    let cut = Event::Truncate { file: FILE, len: 0 };
    let found = outcomes(&[NEW, write(0, b"x"), BEGIN, END, cut, write(0, b"y")]);
    assert_eq!(found, set(&["a=x", "a=", "a=y", "a=."]));
}

fn renames() {
    let synced = [NEW, write(0, b"x"), BEGIN, END, RENAME];
    assert_eq!(outcomes(&synced), set(&["a=x", "b=x"]));
    let found = outcomes(&[&synced[..], &[FOLDER_BEGIN, FOLDER_END]].concat());
    assert_eq!(found, set(&["b=x"]));
    // The name may be safe before the contents are.
    let found = outcomes(&[NEW, write(0, b"x"), RENAME, FOLDER_BEGIN, FOLDER_END]);
    assert_eq!(found, set(&["b=x", "b=", "b=."]));
}

fn another_start() {
    let now = fs::read("/proc/sys/kernel/random/boot_id").unwrap();
    let files = ["store/running", "store/data"].map(|name| (name.to_owned(), now.clone()));
    let image = Image::new(files.into(), Vec::new()).after_another_start();
    let told: BTreeMap<_, _> = image.files().collect();
    assert_eq!(told[&"store/data".to_owned()], &now);
    let running = told[&"store/running".to_owned()];
    assert!(running != &now && running.len() == now.len(), "{running:?}");
}
