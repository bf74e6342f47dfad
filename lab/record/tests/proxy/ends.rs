//! The ends of connections, of servers and of the proxy itself.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpListener};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use larder_testkit::{Memcached, PATIENCE, Peer, within};
use larder_workload::trace::Outcome;

use crate::setup::{Running, ask};
use crate::{Case, NOTHING, WITH_MEMCACHED};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "an_end_of_one_direction_passes_and_the_other_goes_on", half_closed),
    (NOTHING, "a_connection_that_breaks_off_breaks_off_at_the_other_end", broken_off),
    (NOTHING, "the_last_words_of_a_server_reach_the_application", last_words),
    (WITH_MEMCACHED, "a_server_that_is_down_ends_connections_until_it_is_back", down),
    (WITH_MEMCACHED, "a_server_that_is_killed_ends_its_connections", killed),
    (NOTHING, "the_proxy_ends_once_what_was_asked_is_answered", graceful),
];

fn half_closed() {
    let peer = Peer::listening(|mut client, _| {
        thread::spawn(move || {
            let mut requests = String::new();
            client.read_to_string(&mut requests).unwrap();
            client.write_all(format!("heard {requests}").as_bytes()).unwrap();
        });
    });
    let (proxy, _) = Running::before(&format!("memcached://127.0.0.1:{}", peer.port()));
    let mut client = proxy.connect();
    client.write_all(b"all of it").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert_eq!(answer, "heard all of it");
    assert!(within(PATIENCE, || proxy.watch.totals().n_open == 0));
}

fn broken_off() {
    let peer = Peer::listening(|client, _| {
        let mut client = client;
        let _ = client.read(&mut [0; 10]);
        socket2::SockRef::from(&client).set_linger(Some(Duration::ZERO)).unwrap();
    });
    let (proxy, _) = Running::before(&format!("memcached://127.0.0.1:{}", peer.port()));
    let mut client = proxy.connect();
    client.write_all(b"get a\r\n").unwrap();
    let error = client.read(&mut [0; 10]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

fn last_words() {
    const WORDS: &[u8] = b"ERROR Too many open connections\r\n";
    let peer = Peer::listening(|mut client, _| client.write_all(WORDS).unwrap());
    let (proxy, _) = Running::before(&format!("memcached://127.0.0.1:{}", peer.port()));
    let mut client = proxy.connect();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, WORDS);
    let (seen, _) = proxy.end();
    assert_eq!((seen.n_lost, seen.n_refused), (0, 0));
}

fn down() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (proxy, _) = Running::before(&format!("memcached://127.0.0.1:{port}"));
    for _ in 0..3 {
        let mut client = proxy.connect();
        let end = client.read(&mut [0; 10]);
        assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    }
    proxy.hears("cannot be reached");
    let _server = Memcached::start_on(&port.to_string());
    assert!(ask(proxy.connect(), b"version\r\nquit\r\n").starts_with(b"VERSION"));
    proxy.hears("answers again; 3 connections were closed");
    let (seen, _) = proxy.end();
    assert_eq!(seen.n_refused, 3);
}

fn killed() {
    let server = Memcached::start();
    let (proxy, kept) = Running::before(&format!("memcached://{}", server.address()));
    let mut client = proxy.connect();
    client.write_all(b"get a\r\n").unwrap();
    client.read_exact(&mut [0; 5]).unwrap();
    drop(server);
    let end = client.read(&mut [0; 10]);
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    drop(client);
    assert!(within(PATIENCE, || proxy.watch.totals().n_open == 0));
    proxy.end();
    assert_eq!(kept.rows().len(), 1);
}

fn graceful() {
    // It answers when the test says so.
    let (go, may_answer) = channel::<()>();
    let may_answer = Arc::new(Mutex::new(may_answer));
    let peer = Peer::listening(move |mut client, asked| {
        let may_answer = Arc::clone(&may_answer);
        thread::spawn(move || {
            if client.read(&mut [0; 100]).is_ok_and(|n| n > 0) {
                asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                may_answer.lock().unwrap().recv().unwrap();
                let _ = client.write_all(b"END\r\n");
                let _ = client.read(&mut [0; 100]);
            }
        });
    });
    let (proxy, kept) = Running::before(&format!("memcached://127.0.0.1:{}", peer.port()));
    let (mut asks, mut idle) = (proxy.connect(), proxy.connect());
    asks.write_all(b"get a\r\n").unwrap();
    assert!(within(PATIENCE, || peer.n_requests() == 1 && proxy.watch.totals().n_open == 2));
    let port = proxy.port();
    proxy.tell_to_end();
    // The idle connection ends at once, nobody connects any more, and the other one waits for its answer.
    assert!(matches!(idle.read(&mut [0; 10]), Ok(0) | Err(_)));
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    assert_eq!(proxy.watch.totals().n_open, 1);
    go.send(()).unwrap();
    let mut answer = [0; 5];
    asks.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"END\r\n");
    assert!(matches!(asks.read(&mut [0; 10]), Ok(0) | Err(_)));
    let (seen, _) = proxy.end();
    assert_eq!((seen.n_open, seen.counts.misses), (0, 1));
    assert_eq!(kept.rows()[0].result, Some(Outcome::Miss));
}
