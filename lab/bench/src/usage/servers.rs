//! The processes of this machine that serve a target: the servers that its engine names, and the processes that listen
//! at its addresses.

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};

use larder_store::{Ownership, StoreInfo};

use super::process::{Process, Table};
use super::sockets::{inodes_of, listening};

/// The first process of the system, which holds the sockets of services that it has not started yet.
const INIT: u32 = 1;
/// `__SO_ACCEPTCON` of `linux/net.h`, as `/proc/net/unix` writes it: a socket that waits for connections.
const ACCEPTS: &str = "00010000";

/// Programs that hold a port only to forward its traffic, by the names of their processes. The server is behind them,
/// here or elsewhere, and their use is not the server's.
const FORWARDERS: [&str; 16] = [
    "docker-proxy",
    "envoy",
    "haproxy",
    "kubectl",
    "mcrouter",
    "nginx",
    "nutcracker",
    "pasta",
    "pgbouncer",
    "proxysql",
    "rootlessport",
    "slirp4netns",
    "socat",
    "ssh",
    "sshd",
    "stunnel",
];

/// Adds the servers on this machine that a store does not name to its info. Returns why no server is known of a target
/// that has servers.
pub(crate) fn complete(info: &mut StoreInfo) -> Option<String> {
    if info.ownership != Ownership::External || info.addresses.is_empty() {
        return None;
    }
    let table = Table::read();
    let own = std::process::id();
    let program = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    // Our own relay, which is this very program, listens in the place of a server.
    let is_ours = |pid: u32| pid == own || program(pid) == program(own);
    let ours = table.tree(&[own]).into_iter().map(|process| process.pid);
    let told = table.tree(&info.server_pids).into_iter().map(|process| process.pid);
    let known: BTreeSet<u32> = ours.filter(|pid| is_ours(*pid)).chain(told).collect();
    let places: Vec<Place> = info.addresses.iter().map(|address| Place::of(address)).collect();
    let holders = holders(&places, &table);
    let forwarders: Vec<&Process> = table
        .iter()
        .filter(|process| holders.contains(&process.pid))
        .filter(|process| FORWARDERS.contains(&process.name.as_str()))
        .collect();
    let passes_on = |pid: u32| forwarders.iter().any(|process| process.pid == pid);
    let is_found = |pid: &u32| !known.contains(pid) && !passes_on(*pid);
    let found: Vec<u32> = holders.iter().copied().filter(is_found).collect();
    info.server_pids.extend(found);
    if !info.server_pids.is_empty() {
        return None;
    }
    let addresses = info.addresses.join(", ");
    Some(if let Some(Process { name, pid, .. }) = forwarders.first() {
        format!(
            "{name} (process {pid}) listens at {addresses} and forwards requests: its server stands behind it"
        )
    } else if places.iter().all(|place| matches!(place, Place::Elsewhere)) {
        format!("{addresses} is not on this machine")
    } else if holders.is_empty() {
        format!("the process that listens at {addresses} cannot be seen from here")
    } else {
        format!(
            "a relay stands before its server, which does not tell its process id ({addresses})"
        )
    })
}

/// Where a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// At one of these addresses, all on this machine.
    Here(Vec<SocketAddr>),
    Socket(String),
    Elsewhere,
}

impl Place {
    /// `host:port`, or the path of a socket.
    fn of(address: &str) -> Self {
        if let Some(at) = address.find('/') {
            return Self::Socket(address[at..].to_owned());
        }
        let resolved = address.to_socket_addrs().into_iter().flatten();
        let here: Vec<SocketAddr> = resolved.filter(is_here).collect();
        if here.is_empty() { Self::Elsewhere } else { Self::Here(here) }
    }
}

/// Whether an address belongs to this machine: no socket can be bound to an address of another machine.
fn is_here(address: &SocketAddr) -> bool {
    UdpSocket::bind((address.ip(), 0)).is_ok()
}

/// The processes that listen at these places; of several processes that share a socket, their ancestor.
fn holders(places: &[Place], table: &Table) -> Vec<u32> {
    let wanted = inodes_at(places);
    if wanted.is_empty() {
        return Vec::new();
    }
    let listens = |pid: u32| {
        inodes_of([pid]).is_some_and(|inodes| inodes.iter().any(|inode| wanted.contains(inode)))
    };
    let processes = table.iter().filter(|process| !process.is_kernels && process.pid != INIT);
    let holders: Vec<_> = processes.filter(|process| listens(process.pid)).collect();
    let has_parent = |parent: u32| holders.iter().any(|holder| holder.pid == parent);
    holders.iter().filter(|holder| !has_parent(holder.parent)).map(|holder| holder.pid).collect()
}

/// The sockets that listen at these places.
fn inodes_at(places: &[Place]) -> BTreeSet<u32> {
    let mut inodes = BTreeSet::new();
    if places.iter().any(|place| matches!(place, Place::Here(_))) {
        let sockets = listening().unwrap_or_default();
        let is_wanted = |at: &SocketAddr| {
            let mut wanted = places.iter().filter_map(|place| match place {
                Place::Here(addresses) => Some(addresses),
                _ => None,
            });
            wanted.any(|addresses| addresses.iter().any(|address| is_reached(at, address)))
        };
        inodes.extend(
            sockets.iter().filter(|socket| is_wanted(&socket.local)).map(|socket| socket.inode),
        );
    }
    if places.iter().any(|place| matches!(place, Place::Socket(_))) {
        let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
        let paths: Vec<&str> = places
            .iter()
            .filter_map(|place| match place {
                Place::Socket(path) => Some(path.as_str()),
                _ => None,
            })
            .collect();
        inodes.extend(sockets.lines().filter_map(listening_at).filter_map(|(inode, path)| {
            let reached = |wanted: &&str| *wanted == path || is_in_folder(path, wanted);
            paths.iter().any(reached).then_some(inode)
        }));
    }
    inodes
}

/// Whether a socket that listens at `at` is reached by this address: at exactly this address, or at all of the
/// machine.
fn is_reached(at: &SocketAddr, address: &SocketAddr) -> bool {
    at.port() == address.port()
        && (at.ip().is_unspecified() || at.ip().to_canonical() == address.ip().to_canonical())
}

/// Whether a socket is PostgreSQL's in this folder; an address of PostgreSQL names only the folder.
fn is_in_folder(path: &str, folder: &str) -> bool {
    let file = path.strip_prefix(folder.trim_end_matches('/'));
    file.is_some_and(|file| file.starts_with("/.s.PGSQL."))
}

/// A line of `/proc/net/unix`, of a socket that listens: its number and its path.
fn listening_at(line: &str) -> Option<(u32, &str)> {
    let mut fields = line.split_ascii_whitespace();
    (fields.nth(3)? == ACCEPTS).then_some(())?;
    let inode = fields.nth(2)?.parse().ok()?;
    Some((inode, fields.next()?))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn found(addresses: &[String]) -> Vec<u32> {
        let places: Vec<Place> = addresses.iter().map(|address| Place::of(address)).collect();
        holders(&places, &Table::read())
    }

    #[test]
    fn a_listening_process_is_found_by_its_port_or_its_path() {
        let own = vec![std::process::id()];
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(found(&[format!("localhost:{port}")]), own);
        assert_eq!(found(&[format!("127.0.0.2:{port}")]), [] as [u32; 0]);
        let everywhere = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = everywhere.local_addr().unwrap().port();
        assert_eq!(found(&[format!("127.0.0.2:{port}")]), own);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _socket = UnixListener::bind(&path).unwrap();
        assert_eq!(found(&[path.display().to_string()]), own);
    }

    #[test]
    fn the_processes_of_a_server_on_another_machine_are_unknown() {
        let info = |ownership, addresses: &[&str]| StoreInfo {
            ownership,
            addresses: addresses.iter().map(|&address| address.to_owned()).collect(),
            ..StoreInfo::default()
        };
        let mut remote = info(Ownership::External, &["192.0.2.1:11211"]);
        assert_eq!(
            complete(&mut remote).as_deref(),
            Some("192.0.2.1:11211 is not on this machine")
        );
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap().to_string();
        // A socket on which this process itself listens is no external server's.
        let mut relayed = info(Ownership::External, &[&here]);
        assert!(complete(&mut relayed).unwrap().starts_with("a relay stands before"));
        assert_eq!(relayed.server_pids, [] as [u32; 0]);
        assert_eq!(complete(&mut info(Ownership::Managed, &[&here])), None);
        assert_eq!(complete(&mut info(Ownership::Embedded, &[])), None);
    }
}
