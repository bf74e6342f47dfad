//! Other processes beside the server.

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
