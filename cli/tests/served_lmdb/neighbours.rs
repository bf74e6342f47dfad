//! Other processes beside the server.

use std::fmt::Write;
use std::os::unix::fs::MetadataExt;

use larder_engines::ENGINES;
use larder_store::{SetOptions, StoreUrl};

use crate::server::Server;

/// A process with a larger map writes beyond the map of the server, which reads and writes meanwhile.
pub(crate) fn larger(options: &str) {
    let folder = tempfile::tempdir().unwrap();
    let url =
        |more: &str| format!("lmdb:{}?{options}&{more}", folder.path().join("store").display());
    let log = folder.path().join("log");
    let server = Server::start(&url("size=1m&map_size=1m"), &log, &[]);
    let store = ENGINES.open(&StoreUrl::parse(&url("size=64m")).unwrap()).unwrap();
    let mut session = store.session().unwrap();
    for n in 0..300 {
        let (theirs, value) = (format!("theirs{n}"), vec![b'a'; 10_000 + n]);
        session.set(theirs.as_bytes(), &value, &SetOptions::default()).unwrap();
        assert_eq!(server.get(&theirs).as_ref(), Some(&value), "{n}");
        // The server evicts down to its own limit, so it writes once the file is longer.
        if n > 200 && n % 10 == 0 {
            let ours = format!("ours{n}");
            assert_eq!(server.store("set", &ours, b"value"), "STORED\r\n");
            assert_eq!(server.get(&ours).as_deref(), Some(&b"value"[..]));
        }
    }
    assert!(server.stat("curr_items") > 0);
    let file = folder.path().join("store/data.mdb");
    assert!(file.metadata().unwrap().len() > 1 << 20, "the file is still within the map");
}

/// Stores entries in one go.
fn set_all(server: &Server, keys: std::ops::Range<usize>) {
    let n_keys = keys.len();
    let mut requests = String::new();
    for key in keys {
        write!(requests, "set k{key} 0 0 2000\r\n{key:02000}\r\n").unwrap();
    }
    let answers = server.ask(requests.as_bytes());
    assert_eq!(answers, b"STORED\r\n".repeat(n_keys), "{}", String::from_utf8_lossy(&answers));
}

/// A server takes over the map of another while a third, with a larger one, has room beyond it.
pub(crate) fn of_three_sizes(options: &str) {
    let folder = tempfile::tempdir().unwrap();
    let start = |name: &str, more: &str| {
        let url = format!("lmdb:{}?{options}&{more}", folder.path().join("store").display());
        Server::start(&url, &folder.path().join(name), &[])
    };
    let small = start("small", "size=1m&map_size=2m");
    assert_eq!(small.get("k1"), None);
    let medium = start("medium", "size=2900k&map_size=4m");
    set_all(&medium, 0..1400);
    let large = start("large", "size=64m");
    assert_eq!(large.ask(b"delete absent\r\n"), b"NOT_FOUND\r\n");
    let last = Some(format!("{:02000}", 1399).into_bytes());
    assert_eq!(small.get("k1399"), last);
    set_all(&large, 1400..1401);
    // A page without space on the disk would end a server once the disk is full. Some pages are given back before they are
    // written at all.
    let file = folder.path().join("store/data.mdb").metadata().unwrap();
    assert!(512 * file.blocks() + (256 << 10) > file.len(), "{} blocks", file.blocks());
    // Over the end of the medium map.
    set_all(&large, 1401..4000);
    for server in [&small, &medium, &large] {
        assert_eq!(server.get("k1399"), last);
        assert!(server.get("k3999").is_some());
    }
    set_all(&large, 4000..5000);
    // Their maps are smaller than the file again.
    small.end();
    medium.end();
    assert!(large.get("k4999").is_some());
    large.end();
}
