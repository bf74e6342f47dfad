//! Bytes pass whatever they are, in bounded memory, on many connections.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use larder_testkit::{Memcached, PATIENCE, Peer, Random, within};

use crate::setup::{Kept, Running, Start, ask_in_pieces};
use crate::{Case, NOTHING, WITH_MEMCACHED};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "bytes_that_mean_nothing_pass_unchanged", noise),
    (NOTHING, "a_slow_reader_slows_its_server_and_takes_no_memory", slow_reader),
    (NOTHING, "a_slow_server_slows_its_application_and_takes_no_memory", slow_server),
    (WITH_MEMCACHED, "many_connections_keep_apart_on_several_threads", many),
];

/// A peer that sends back what it gets.
fn echo() -> Peer {
    Peer::listening(|mut client, _| {
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(n @ 1..) = client.read(&mut buffer) {
                if client.write_all(&buffer[..n]).is_err() {
                    return;
                }
            }
        });
    })
}

fn noise() {
    let peer = echo();
    for scheme in ["memcached", "redis"] {
        let (proxy, _) = Running::before(&format!("{scheme}://127.0.0.1:{}", peer.port()));
        for seed in 0..8 {
            let mut random = Random::new(seed);
            let bytes: Vec<u8> =
                (0..200_000).map(|_| u8::try_from(random.next_u64() & 0xff).unwrap()).collect();
            let client = proxy.connect();
            let ends = client.try_clone().unwrap();
            let pieces = bytes.chunks(1 + usize::try_from(seed).unwrap() * 997);
            let last = std::iter::once_with(|| {
                ends.shutdown(Shutdown::Write).unwrap();
                &b""[..]
            });
            assert!(ask_in_pieces(client, pieces.chain(last)) == bytes, "{scheme} {seed}");
        }
        let (seen, _) = proxy.end();
        // Any line is a command of memcached, if an unknown one.
        let is_lost = seen.n_lost > 0;
        assert_eq!((seen.counts.operations, is_lost), (0, scheme == "redis"), "{scheme}");
    }
}

/// Bytes that the two sockets of the system and the proxy may hold between two peers.
const HELD: usize = 64 << 20;

/// Waits until a counter stands still, and returns it.
fn rest(counter: impl Fn() -> usize) -> usize {
    let mut last = usize::MAX;
    let mut is_still = || {
        thread::sleep(Duration::from_millis(300));
        let now = counter();
        std::mem::replace(&mut last, now) == now && now > 0
    };
    assert!(within(PATIENCE, &mut is_still));
    counter()
}

fn slow_reader() {
    // A value without an end.
    let peer = Peer::listening(|mut client, sent| {
        thread::spawn(move || {
            let _ = client.read(&mut [0; 100]);
            let _ = client.write_all(b"VALUE a 0 1073741824\r\n");
            while client.write_all(&vec![b'v'; 1 << 16]).is_ok() {
                sent.fetch_add(1 << 16, Ordering::SeqCst);
            }
        });
    });
    let (proxy, _) = Running::before(&format!("memcached://127.0.0.1:{}", peer.port()));
    let mut client = proxy.connect();
    client.write_all(b"get a\r\n").unwrap();
    let held = rest(|| peer.n_requests());
    assert!(held < HELD, "{held} bytes were taken");
    // Another connection is served meanwhile, and this one goes on once it is read.
    assert_eq!(proxy.watch.totals().n_open, 1);
    let mut read = 0;
    let mut buffer = vec![0; 1 << 16];
    while read < 2 * HELD {
        read += client.read(&mut buffer).unwrap();
    }
}

fn slow_server() {
    let taken = Arc::new(AtomicUsize::new(0));
    // It reads nothing before it is told to.
    let may_read = Arc::new(AtomicUsize::new(0));
    let (counter, gate) = (Arc::clone(&taken), Arc::clone(&may_read));
    let peer = Peer::listening(move |mut client, _| {
        let (counter, gate) = (Arc::clone(&counter), Arc::clone(&gate));
        thread::spawn(move || {
            while gate.load(Ordering::SeqCst) == 0 {
                thread::sleep(Duration::from_millis(10));
            }
            let mut buffer = vec![0; 1 << 16];
            while let Ok(n @ 1..) = client.read(&mut buffer) {
                counter.fetch_add(n, Ordering::SeqCst);
            }
        });
    });
    let (proxy, _) = Running::before(&format!("memcached://127.0.0.1:{}", peer.port()));
    let client = proxy.connect();
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    const ALL: usize = 2 * HELD;
    let sender = thread::spawn(move || {
        let mut client = client;
        client.write_all(format!("set a 0 0 {ALL}\r\n").as_bytes()).unwrap();
        while counter.load(Ordering::SeqCst) < ALL {
            client.write_all(&vec![b'v'; 1 << 16]).unwrap();
            counter.fetch_add(1 << 16, Ordering::SeqCst);
        }
    });
    let held = rest(|| sent.load(Ordering::SeqCst));
    assert!(held < HELD, "{held} bytes were taken");
    may_read.store(1, Ordering::SeqCst);
    sender.join().unwrap();
    assert!(within(PATIENCE, || taken.load(Ordering::SeqCst) > ALL));
}

fn many() {
    const CONNECTIONS: usize = 60;
    let server = Memcached::start();
    let upstream = format!("memcached://{}", server.address());
    let kept = Kept::default();
    let proxy = Running::start(&upstream, Start { threads: 3, ..Start::default() }, kept.clone());
    let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| proxy.connect()).collect();
    for turn in 0..20 {
        for (number, client) in clients.iter_mut().enumerate() {
            let value = format!("{number}:{turn}");
            let set = format!("set k{number} 0 0 {}\r\n{value}\r\nget k{number}\r\n", value.len());
            client.write_all(set.as_bytes()).unwrap();
        }
        for (number, client) in clients.iter_mut().enumerate() {
            let value = format!("{number}:{turn}");
            let expected =
                format!("STORED\r\nVALUE k{number} 0 {}\r\n{value}\r\nEND\r\n", value.len());
            let mut answer = vec![0; expected.len()];
            client.read_exact(&mut answer).unwrap();
            assert_eq!(String::from_utf8(answer).unwrap(), expected);
        }
    }
    drop(clients);
    let (seen, _) = proxy.end();
    assert_eq!((seen.n_connections, seen.counts.operations), (60, 60 * 40));
    let rows = kept.rows();
    // Each key was used on one connection, and no two requests have one number.
    let mut of_key = std::collections::HashMap::new();
    let mut numbers = std::collections::HashSet::new();
    for row in &rows {
        assert_eq!(*of_key.entry(row.key.clone()).or_insert(row.connection), row.connection);
        assert!(numbers.insert(row.request));
    }
    assert_eq!(of_key.len(), CONNECTIONS);
}
