//! Servers that are silent, because they are stopped.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_host::managed::Server;
use larder_testkit::{PATIENCE, signal_group};

use crate::Kind;
use crate::asker::{Asker, Told};
use crate::session_support::open;

const REQUESTS: usize = 100;

/// The longest silence. The sessions ask again where a busy machine was as silent.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Stops a server, and waits until each of its threads has stopped.
pub(crate) fn stop(server: &Server) {
    signal_group(server.pid(), libc::SIGSTOP);
    let is_stopped = |thread: fs::DirEntry| {
        fs::read_to_string(thread.path().join("stat")).is_ok_and(|stat| stat.contains(") T "))
    };
    let begun = Instant::now();
    loop {
        let threads = fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
        if threads.flatten().all(is_stopped) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the server goes on");
        sleep(Duration::from_millis(1));
    }
}

/// Has a stopped server go on.
pub(crate) fn go_on(server: &Server) {
    signal_group(server.pid(), libc::SIGCONT);
}

/// Sends requests to a stopped server and fails them by `fail`. Afterwards the late answers confuse nobody. The server may
/// still carry the requests out, so these have other keys.
fn silence(asker: &mut Asker, server: &Server, fail: impl Fn(&mut Asker)) {
    assert_eq!(asker.eventually(|asker| asker.set("own", b"value")), Told::Done);
    for _ in 0..2 {
        stop(server);
        let begun = Instant::now();
        let asked = asker.ask_all_kinds(REQUESTS);
        fail(asker);
        // The kernel's clocks are coarse.
        assert!(begun.elapsed() >= TIMEOUT * 9 / 10, "{:?}", begun.elapsed());
        for request in asked {
            assert_eq!(*asker.told(request), Told::Failed("timeout"));
        }
        assert_eq!(asker.pipeline().unsent_bytes(), 0);
        go_on(server);
        assert_eq!(asker.eventually(|asker| asker.set("own", b"value")), Told::Done);
        let value = Told::Hit(b"value".to_vec());
        assert_eq!(asker.eventually(|asker| asker.get("own")), value);
    }
}

pub(crate) fn a_stopped_server_ends_every_request_by_expire(kind: Kind) {
    let (server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &["timeout=1s"]));
    let [_, mut watched] = Asker::both(&*store);
    silence(&mut watched, &server, |asker| {
        let begun = Instant::now();
        while asker.n_open() > 0 {
            sleep(TIMEOUT / 10);
            // No socket says anything, so only this call can end the requests.
            asker.expire();
            assert!(begun.elapsed() < PATIENCE, "{} requests are left", asker.n_open());
        }
    });
}

pub(crate) fn a_stopped_server_ends_every_request_by_wait(kind: Kind) {
    let (server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &["timeout=1s"]));
    let [mut waiting, _] = Asker::both(&*store);
    silence(&mut waiting, &server, Asker::finish);
}
