//! Values to 64 MiB.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use larder_testkit::Random;

use crate::server::Server;

const LARGEST: usize = 64 << 20;
const SIZE: u64 = 320 << 20;

/// Bytes that no other value has: a block of its own again and again, each time with its number.
fn value(random: &mut Random, len: usize) -> Vec<u8> {
    let mut block: Vec<u8> = (0..4096).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
    let mut value = Vec::with_capacity(len);
    for number in 0..=len / block.len() {
        block[..8].copy_from_slice(&number.to_le_bytes());
        value.extend_from_slice(&block[..block.len().min(len - value.len())]);
    }
    value
}

/// Values are set, read, appended to and replaced, alone and together, more than the store has room for. What is there is whole.
pub(crate) fn values(options: &str) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("lmdb:{}?{options}&size={SIZE}", folder.path().join("store").display());
    let log = folder.path().join("log");
    let server = Server::start(&url, &log, &["-I", "64m", "--waiting", "1g", "-t", "2"]);
    let mut random = Random::new(7);
    let mut stored = BTreeMap::new();
    let mut after_some = 0;
    for round in 0..6 {
        for key in 0..3 {
            let name = format!("key{round}-{key}");
            let len =
                [LARGEST, LARGEST / 2 + random.below(LARGEST / 2), 1 + random.below(LARGEST)][key];
            let mut bytes = value(&mut random, len);
            assert_eq!(server.store("set", &name, &bytes), "STORED\r\n");
            assert_eq!(server.get(&name).as_ref(), Some(&bytes), "{name}");
            if key == 2 {
                let more = value(&mut random, (LARGEST - len).min(3 << 20));
                assert_eq!(server.store("append", &name, &more), "STORED\r\n");
                bytes.extend(more);
                assert_eq!(server.get(&name).as_ref(), Some(&bytes), "{name}");
            }
            stored.insert(name, bytes);
        }
        assert!(server.stat("bytes") <= SIZE);
        if round == 2 {
            after_some = server.own_bytes();
        }
    }
    let at_end = server.own_bytes();
    assert!(at_end < after_some + LARGEST as u64, "{after_some} bytes of memory became {at_end}");
    assert!(at_end < 256 << 20, "{at_end} bytes of memory");
    together(&server, &mut stored, &mut random);
    let too_large = server.store("append", "key5-0", b"x");
    assert_eq!(too_large, "SERVER_ERROR object too large for cache\r\n");
    let there = stored.iter().filter(|(name, bytes)| {
        let found = server.get(name);
        assert!(found.as_ref().is_none_or(|found| found == *bytes), "{name} is not whole");
        found.is_some()
    });
    assert!(there.count() > 2);
    assert!(server.stat("evictions") > 10 && server.stat("bytes") <= SIZE);
    server.end();
}

/// Large and small values are sent together, and read together.
fn together(server: &Server, stored: &mut BTreeMap<String, Vec<u8>>, random: &mut Random) {
    let lens = [20 << 20, 100, LARGEST / 2, 5 << 20];
    let batch: Vec<_> = (0..4).map(|n| (format!("batch{n}"), value(random, lens[n]))).collect();
    let (mut sets, mut wanted) = (Vec::new(), b"STORED\r\n".repeat(batch.len()));
    for (name, bytes) in &batch {
        sets.extend(format!("set {name} 0 0 {}\r\n", bytes.len()).bytes());
        sets.extend(bytes);
        sets.extend(b"\r\n");
        wanted.extend(format!("VALUE {name} 0 {}\r\n", bytes.len()).bytes());
        wanted.extend(bytes);
        wanted.extend(b"\r\n");
    }
    wanted.extend(b"END\r\n");
    let names: Vec<_> = batch.iter().map(|(name, _)| name.as_str()).collect();
    sets.extend(format!("get {}\r\n", names.join(" ")).bytes());
    let mut socket = server.connect();
    let mut answers = vec![0; wanted.len()];
    std::thread::scope(|scope| {
        let mut to = socket.try_clone().unwrap();
        scope.spawn(move || to.write_all(&sets).unwrap());
        socket.read_exact(&mut answers).unwrap();
    });
    assert!(answers == wanted, "the answers to a batch are not whole");
    stored.extend(batch);
}
