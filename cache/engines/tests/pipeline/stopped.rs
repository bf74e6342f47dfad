//! Servers that are silent, because they are stopped.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use larder_host::managed::Server;
use larder_testkit::{PATIENCE, signal_group};

use crate::Kind;
use crate::client::{Outcome, PipelineClient};
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
fn silence(client: &mut PipelineClient, server: &Server, fail: impl Fn(&mut PipelineClient)) {
    assert_eq!(client.eventually(|client| client.set("own", b"value")), Outcome::Done);
    for _ in 0..2 {
        stop(server);
        let begun = Instant::now();
        let asked = client.ask_all_kinds(REQUESTS);
        fail(client);
        // The kernel's clocks are coarse.
        assert!(begun.elapsed() >= TIMEOUT * 9 / 10, "{:?}", begun.elapsed());
        for request in asked {
            assert_eq!(*client.outcome(request), Outcome::Failed("timeout"));
        }
        assert_eq!(client.pipeline().unsent_bytes(), 0);
        go_on(server);
        assert_eq!(client.eventually(|client| client.set("own", b"value")), Outcome::Done);
        let value = Outcome::Hit(b"value".to_vec());
        assert_eq!(client.eventually(|client| client.get("own")), value);
    }
}

pub(crate) fn a_stopped_server_ends_every_request_by_expire(kind: Kind) {
    let (server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &["timeout=1s"]));
    let [_, mut watched] = PipelineClient::both(&*store);
    silence(&mut watched, &server, |client| {
        let begun = Instant::now();
        while client.n_open() > 0 {
            sleep(TIMEOUT / 10);
            // No socket says anything, so only this call can end the requests.
            client.expire();
            assert!(begun.elapsed() < PATIENCE, "{} requests are left", client.n_open());
        }
    });
}

pub(crate) fn a_stopped_server_ends_every_request_by_wait(kind: Kind) {
    let (server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &["timeout=1s"]));
    let [mut waiting, _] = PipelineClient::both(&*store);
    silence(&mut waiting, &server, PipelineClient::finish);
}
