//! Differences that make two targets hard to compare: the place of their files, the promise of their acknowledgements,
//! their reach, and the server that answers.

use std::path::{Path, PathBuf};

use larder_host::disk::file_system;
use larder_report::{Run, Severity, groups};
use larder_testkit::trial_where;
use libtest_mimic::Trial;

use crate::case::{Case, NOTHING, memcached, real, server};

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "FS-KIND",
        severity: Severity::Note,
        fires_on: "files in memory",
        trips: || files(&[MEMORY]),
        words: &["files lie on tmpfs"],
        silent_on: "files on a disk",
        silent: || files(&[&on_disk().unwrap()]),
        needs: two_file_systems,
    },
    Case {
        id: "FS-KIND",
        severity: Severity::Note,
        fires_on: "files on two file systems",
        trips: || files(&[MEMORY, &on_disk().unwrap()]),
        words: &["on tmpfs", ", while file:"],
        silent_on: "two stores on one disk",
        silent: || {
            let folder = format!("file:{}", on_disk().unwrap());
            real(&[&folder, &format!("{folder}?name=b")], FEW)
        },
        needs: two_file_systems,
    },
    Case {
        id: "STAND-IN",
        severity: Severity::Warn,
        fires_on: "a server that answers in MongoDB's place",
        trips: || real(&["mongodb:?server=stand-in"], FEW),
        words: &["mongo-java-server 1.", "a stand-in: says nothing of MongoDB's speed"],
        silent_on: "a store of its own name",
        silent: || real(&["moka:"], FEW),
        needs: stand_in,
    },
    Case {
        id: "ACK-PARITY",
        severity: Severity::Note,
        fires_on: "a sync beside memory",
        trips: || real(&["lmdb:?sync=each", "moka:"], "keys = 20"),
        words: &["writes are fsync-each, those of moka: are volatile"],
        silent_on: "one class of durability",
        silent: || real(&["lmdb:", "lmdb:?name=b"], "keys = 20"),
        needs: NOTHING,
    },
    Case {
        id: "REACH-PARITY",
        severity: Severity::Note,
        fires_on: "a server beside a map",
        trips: || real(&["moka:", "memcached:"], FEW),
        words: &["entries are for a process, those of "],
        silent_on: "two maps",
        silent: || real(&["moka:", "moka:?name=b"], FEW),
        needs: memcached,
    },
];

pub(crate) fn of_a_stand_in() -> Trial {
    let name = "STAND-IN: a stand-in is neither compared nor ranked";
    trial_where(stand_in, name, a_stand_in_is_not_ranked)
}

const FEW: &str = "keys = 100";

const MEMORY: &str = "/dev/shm";

/// A folder on a disk: the temporary folder is often in memory, the build folder seldom.
fn on_disk() -> Option<String> {
    let folders: [PathBuf; 2] = [std::env::temp_dir(), env!("CARGO_TARGET_TMPDIR").into()];
    let on_disk = |folder: &PathBuf| file_system(folder).is_ok_and(|kind| !kind.is_memory());
    folders.into_iter().find(on_disk).map(|folder| folder.display().to_string())
}

fn two_file_systems() -> Result<(), String> {
    if !file_system(Path::new(MEMORY)).is_ok_and(|kind| kind.is_memory()) {
        return Err(format!("{MEMORY} is not in memory here"));
    }
    on_disk().map(drop).ok_or_else(|| "no folder on a disk".into())
}

/// One store of files in each folder.
fn files(folders: &[&str]) -> Run {
    let targets: Vec<String> = folders.iter().map(|folder| format!("file:{folder}")).collect();
    real(&targets.iter().map(String::as_str).collect::<Vec<_>>(), FEW)
}

fn stand_in() -> Result<(), String> {
    server("mongodb", "stand-in")
}

/// A stand-in for MongoDB is neither compared with other targets nor ranked among them.
fn a_stand_in_is_not_ranked() {
    let mixed = real(&["mongodb:?server=stand-in", "moka:"], FEW);
    assert!(mixed.comparisons.is_empty(), "{:#?}", mixed.comparisons);
    let ranked: Vec<&str> = groups(&mixed)
        .iter()
        .flat_map(|group| group.ranked().map(|row| row.name).collect::<Vec<_>>())
        .collect();
    assert!(!ranked.is_empty() && ranked.iter().all(|name| *name == "moka:"), "{ranked:?}");
}
