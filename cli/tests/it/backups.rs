//! `larder backup` and `larder restore`, beside a server that goes on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::scene::{LARDER, Scene, assert_contains};
use crate::serve::Serving;
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_store_is_backed_up_and_restored_while_it_is_served", while_served),
    (NOTHING, "a_backup_that_is_not_whole_stores_nothing", not_whole),
    (NOTHING, "a_store_that_cannot_list_its_entries_has_no_backup", no_list),
];

fn while_served() {
    let scene = Scene::new();
    let url = format!("lmdb:{}?sync=group", scene.path("store").display());
    let file = scene.path("backup");
    let file = file.to_str().unwrap();
    let server = Serving::start(LARDER.as_ref(), &["serve", &url, "-p", "0"]);
    let sets: Vec<String> =
        (0..500).map(|key| format!("set key{key} 7 0 5\r\nvalue\r\n")).collect();
    assert_eq!(server.ask(&sets.concat()), "STORED\r\n".repeat(500));
    assert_eq!(server.ask("set short 0 3600 5\r\nvalue\r\n"), "STORED\r\n");
    let large = format!("set large 0 0 60000\r\n{}\r\n", "v".repeat(60_000));
    assert_eq!(server.ask(&large), "STORED\r\n");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut n = 0;
            while !is_over.load(Ordering::Relaxed) {
                n += 1;
                let answer = server.ask(&format!("set other{n} 0 0 5\r\nother\r\n"));
                assert_eq!(answer, "STORED\r\n");
            }
            n
        });
        let out = scene.larder(&["backup", &url, file]);
        is_over.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 0);
        assert_contains(&out.ends_with(0).err, &["entries of", file]);
    });
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let changes = "set key1 0 0 5\r\nlater\r\ndelete key2\r\nset later 0 0 5\r\nlater\r\n";
    assert_eq!(server.ask(changes), "STORED\r\nDELETED\r\nSTORED\r\n");
    scene.larder(&["restore", file, &url]).ends_with(0);
    let there = "VALUE key1 7 5\r\nvalue\r\nVALUE key2 7 5\r\nvalue\r\nEND\r\n";
    assert_eq!(server.ask("get key1 key2\r\n"), there);
    let ttl = server.ask("mg short t\r\n");
    let ttl: u64 = ttl.trim_end().strip_prefix("HD t").unwrap().parse().unwrap();
    assert!((1..=3600).contains(&ttl), "{ttl}");
    assert!(server.ask("get later\r\n").starts_with("VALUE"));
    scene.larder(&["restore", "--clear", file, &url]).ends_with(0);
    assert_eq!(server.ask("get later key1 key2\r\n"), there);
    // Into a store without room for all of it.
    let small = format!("lmdb:{}?size=64k", scene.path("small").display());
    let out = scene.larder(&["restore", file, &small]);
    assert_contains(&out.ends_with(0).err, &["were stored in", "entries of the store made room"]);
    // Into a store of another kind.
    let database = format!("sqlite:{}", scene.path("database").display());
    scene.larder(&["restore", file, &database]).ends_with(0);
    assert_eq!(scene.larder(&["get", &database, "key3"]).ends_with(0).out, "value");
}

fn not_whole() {
    let scene = Scene::new();
    let [from, to] = ["from", "to"].map(|name| format!("lmdb:{}", scene.path(name).display()));
    let file = scene.path("backup");
    let name = file.to_str().unwrap();
    scene.larder(&["set", &from, "key", "value"]).ends_with(0);
    scene.larder(&["backup", &from, name]).ends_with(0);
    let whole = fs::read(&file).unwrap();
    for (bytes, needle) in [
        (&whole[..whole.len() - 1], "it was cut off"),
        (b"something else, and long enough", "it is no backup of larder"),
    ] {
        fs::write(&file, bytes).unwrap();
        let out = scene.larder(&["restore", name, &to]);
        assert_contains(&out.ends_with(1).err, &[name, needle]);
        assert!(!scene.path("to").exists());
    }
    // A file of other origin stays, and an earlier backup is replaced.
    let refused = scene.larder(&["backup", &from, name]);
    refused.ends_with(2).complains(&[name, "exists, and is no backup of larder; name another"]);
    assert_eq!(fs::read(&file).unwrap(), b"something else, and long enough");
    fs::write(&file, &whole).unwrap();
    scene.larder(&["backup", &from, name]).ends_with(0);
}

fn no_list() {
    let scene = Scene::new();
    let url = format!("file:{}", scene.path("store").display());
    scene.larder(&["set", &url, "key", "value"]).ends_with(0);
    let file = scene.path("backup");
    let out = scene.larder(&["backup", &url, file.to_str().unwrap()]);
    assert_contains(&out.ends_with(1).err, &["cannot list its entries"]);
    assert!(!file.exists());
}
