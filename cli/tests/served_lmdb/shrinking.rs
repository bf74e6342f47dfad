//! A file that shrinks when the server starts anew.

use crate::server::Server;

/// One of this many keys is kept.
const KEPT: usize = 10;

fn value(key: usize) -> Vec<u8> {
    vec![u8::try_from(key % 256).unwrap(); 10_000]
}

pub(crate) fn at_a_restart(options: &str) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("lmdb:{}?{options}&compact=on", folder.path().join("store").display());
    let log = folder.path().join("log");
    let len = || folder.path().join("store/data.mdb").metadata().unwrap().len();
    let server = Server::start(&url, &log, &[]);
    for key in 0..300 {
        assert_eq!(server.store("set", &format!("key{key}"), &value(key)), "STORED\r\n");
    }
    let removed = (0..300).filter(|key| key % KEPT != 0);
    let deletes: Vec<String> = removed.map(|key| format!("delete key{key}\r\n")).collect();
    assert_eq!(server.ask(deletes.concat().as_bytes()), b"DELETED\r\n".repeat(270));
    server.end();
    let before = len();
    let server = Server::start(&url, &log, &[]);
    assert!(len() < before / 3, "{before} bytes became {}", len());
    for key in (0..300).step_by(KEPT) {
        assert_eq!(server.get(&format!("key{key}")), Some(value(key)), "key {key}");
    }
    assert_eq!(server.store("set", "later", b"value"), "STORED\r\n");
    server.end();
}
