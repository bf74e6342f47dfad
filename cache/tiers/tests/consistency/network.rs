//! Hosts as network namespaces. Each has a link of its own to the namespace of the servers, which can be taken down.
//!
//! A namespace has no name, and ends with the last process in it: nothing is left of a test that is killed.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::panic::resume_unwind;
use std::process::Command;
use std::thread;
use std::time::Duration;

use larder_store::Recipe;
use larder_testkit::{has_program, is_root};

/// The end of each host's link on the host.
const NEAR: &str = "near";

/// The namespaces of some hosts, linked to that of the servers, which is this thread's.
pub(crate) struct Network {
    own: File,
    hosts: Vec<File>,
}

/// The need for the program that makes links.
pub(crate) fn has_programs() -> Result<(), String> {
    has_program(&Recipe::server("ip", "iproute2"))
}

/// The need for namespaces.
pub(crate) fn may_be_made() -> Result<(), String> {
    if !is_root() {
        return Err("network namespaces: not root".into());
    }
    apart(|| Network::of(1).map(drop))?
}

/// Does this work on a thread with a network of its own.
pub(crate) fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| new().map(|()| work()));
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

impl Network {
    /// Makes the namespaces of this many hosts.
    pub(crate) fn of(n_hosts: usize) -> Result<Self, String> {
        let hosts = (0..n_hosts).map(|_| apart(current)?).collect::<Result<_, _>>()?;
        let network = Self { own: current()?, hosts };
        for (host, namespace) in network.hosts.iter().enumerate() {
            let path = format!("/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd());
            let far = far(host);
            ip(&format!("link add {far} type veth peer name {NEAR} netns {path}"))?;
            ip(&format!("address add {}/24 dev {far}", Self::address(host)))?;
            ip(&format!("link set {far} up"))?;
            network.on(host, || {
                ip(&format!("address add 10.77.{host}.2/24 dev {NEAR}"))?;
                ip(&format!("link set {NEAR} up"))
            })?;
        }
        Ok(network)
    }

    /// The address of the servers, as this host sees them.
    pub(crate) fn address(host: usize) -> String {
        format!("10.77.{host}.1")
    }

    /// Does this work on a host: the processes that it starts, and the sockets that it opens, are there.
    pub(crate) fn on<T>(&self, host: usize, work: impl FnOnce() -> T) -> T {
        enter(&self.hosts[host]).expect("the namespace of a host");
        let done = work();
        enter(&self.own).expect("the namespace of the servers");
        done
    }

    /// Takes the link of a host down for a while. What was sent meanwhile is lost, and TCP sends it again: each time it waits for
    /// twice as long. So it may wait for as long again as the link was down, and this returns afterwards.
    pub(crate) fn part(host: usize, time: Duration) {
        ip(&format!("link set {} down", far(host))).expect("the link goes down");
        thread::sleep(time);
        ip(&format!("link set {} up", far(host))).expect("the link comes back");
        thread::sleep(time);
    }
}

/// The end of a host's link beside the servers.
fn far(host: usize) -> String {
    format!("host{host}")
}

/// Gives this thread a network of its own.
fn new() -> Result<(), String> {
    // SAFETY: changes the namespace of this thread, and no memory.
    succeeded(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    ip("link set lo up")
}

/// The namespace of this thread.
fn current() -> Result<File, String> {
    File::open("/proc/thread-self/ns/net").map_err(|error| error.to_string())
}

fn enter(namespace: &File) -> Result<(), String> {
    // SAFETY: changes the namespace of this thread, and no memory.
    succeeded(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })
}

fn succeeded(result: libc::c_int) -> Result<(), String> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error().to_string()) }
}

/// Runs `ip` in the namespace of this thread.
fn ip(words: &str) -> Result<(), String> {
    let run = Command::new("ip").args(words.split(' ')).output();
    let run = run.map_err(|error| format!("ip: {error}"))?;
    let said = String::from_utf8_lossy(&run.stderr);
    if run.status.success() { Ok(()) } else { Err(format!("ip {words}: {}", said.trim())) }
}
