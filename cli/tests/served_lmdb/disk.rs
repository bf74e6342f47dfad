//! A disk that is full and then has room again.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use larder_engines::ENGINES;
use larder_store::StoreUrl;

use crate::server::{Server, wait_for};

const KEYS: usize = 100;

fn name(key: usize) -> String {
    format!("key{key}")
}

fn value(key: usize) -> Vec<u8> {
    vec![u8::try_from(key).unwrap(); 16 << 10]
}

/// The keys in a checkpoint, each of which has its whole value.
fn keys_in(checkpoint: &[u8]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("data.mdb"), checkpoint).unwrap();
    let url = format!("lmdb:{}?checkpoint=0", folder.path().display());
    let store = ENGINES.open(&StoreUrl::parse(&url).unwrap()).unwrap();
    let (mut session, mut found) = (store.session().unwrap(), Vec::new());
    let is_whole = |key: &usize| {
        let is_there = session.get(name(*key).as_bytes(), &mut found).unwrap().is_some();
        assert!(!is_there || found == value(*key), "key {key} is not whole");
        is_there
    };
    (0..KEYS).filter(is_whole).count()
}

/// Takes all the room that is left.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
}

pub(crate) fn full(options: &str) {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let log = folder.path().join("log");
    let url = format!("lmdb:{}?{options}", disk.join("store").display());
    let server = Server::start_on(&disk, "24m", &url, &log);
    for key in 0..KEYS {
        assert_eq!(server.store("set", &name(key), &value(key)), "STORED\r\n");
    }
    let checkpoint = server.path(&disk.join("store/checkpoint.mdb"));
    let has_checkpoints = options.contains("checkpoint");
    if has_checkpoints {
        wait_for("a checkpoint with all keys", || {
            let bytes = fs::read(&checkpoint).ok()?;
            (keys_in(&bytes) == KEYS).then_some(())
        });
    }
    let filling = server.path(&disk.join("filling"));
    fill(&filling);
    // Pages that are free in the file take some sets yet.
    let refused = (0..1000).find_map(|n| {
        let answer = server.store("set", &format!("more{n}"), &[b'm'; 16 << 10]);
        (answer != "STORED\r\n").then_some(answer)
    });
    let refused = refused.expect("1000 sets found room on a full disk");
    let words = "SERVER_ERROR out of memory storing object: using ";
    assert!(refused.starts_with(words) && refused.matches('\n').count() == 1, "{refused}");
    assert!(refused.trim_end().ends_with("no room left on the device"), "{refused}");
    let all_are_whole = || {
        for key in 0..KEYS - 1 {
            assert_eq!(server.get(&name(key)), Some(value(key)), "key {key}");
        }
    };
    // A delete needs no room, and is a change that a checkpoint would keep.
    let delete = format!("delete {}\r\n", name(KEYS - 1));
    assert_eq!(server.ask(delete.as_bytes()), b"DELETED\r\n");
    all_are_whole();
    if has_checkpoints {
        let words = "no room left on the device; no checkpoint was made, the last one stays";
        let told = wait_for("a message on the checkpoint", || {
            let told = server.told();
            told.contains(words).then_some(told)
        });
        let lines: Vec<_> = told.lines().filter(|line| line.contains("checkpoint was")).collect();
        assert_eq!(lines.len(), 1, "{told}");
        assert_eq!(keys_in(&fs::read(&checkpoint).unwrap()), KEYS);
    }
    fs::remove_file(&filling).unwrap();
    assert_eq!(server.store("set", "later", &vec![b'l'; 500_000]), "STORED\r\n");
    assert_eq!(server.get("later").map(|value| value.len()), Some(500_000));
    all_are_whole();
    if has_checkpoints {
        wait_for("a new checkpoint", || {
            (keys_in(&fs::read(&checkpoint).ok()?) == KEYS - 1).then_some(())
        });
    }
    server.end();
}
