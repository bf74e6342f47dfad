//! The traffic between clients and the servers of a target, over TCP.
//!
//! The kernel counts the traffic of each connection, and forgets the count with the connection. So the counts are also
//! read at the beginning and the end of each phase. Uncertain traffic is not reported: a connection that was closed
//! meanwhile may have carried anything.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Instant;

use larder_report::Wire;

use super::sockets::{Bytes, Socket, connected, inodes_of};

/// Every connection of the machine at one moment.
#[derive(Debug)]
pub(crate) struct Connections {
    taken: Instant,
    sockets: Vec<Socket>,
}

impl Connections {
    /// `None` where the kernel does not tell the connections.
    pub(crate) fn read() -> Option<Self> {
        let taken = Instant::now();
        Some(Self { taken, sockets: connected().ok()? })
    }
}

/// The connections of the clients of one target at one moment: the traffic of each, by its cookie.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<u64, Bytes>);

impl Snapshot {
    /// The traffic over the wire since an earlier reading. `opened` is the number of connections opened since then,
    /// where that is known. `None` where a connection was closed in between, because its count is lost.
    pub(crate) fn since(&self, earlier: &Self, opened: Option<u64>) -> Option<Wire> {
        let new = self.0.keys().filter(|cookie| !earlier.0.contains_key(cookie)).count();
        let stayed = self.0.len() - new;
        if stayed < earlier.0.len() || opened.is_some_and(|opened| opened > new as u64) {
            return None;
        }
        let (now, then) = (self.sum(), earlier.sum());
        Some(Wire {
            sent_bytes: now.sent.saturating_sub(then.sent),
            received_bytes: now.received.saturating_sub(then.received),
        })
    }

    fn sum(&self) -> Bytes {
        self.0.values().fold(Bytes::default(), plus)
    }
}

fn plus(sum: Bytes, one: &Bytes) -> Bytes {
    Bytes { sent: sum.sent + one.sent, received: sum.received + one.received }
}

/// The account of the wire between one target's servers and its clients.
#[derive(Debug)]
pub(super) struct WireLedger {
    /// The addresses of the servers.
    servers: BTreeSet<SocketAddr>,
    looked: Option<Instant>,
    open: Snapshot,
    /// The traffic of connections that are closed, as far as it was seen.
    closed: Bytes,
    /// Whether some traffic went unseen.
    has_lost: bool,
}

impl WireLedger {
    /// `None` where a server is not reached over TCP.
    pub(super) fn new(addresses: &[String]) -> Option<Self> {
        let mut servers = BTreeSet::new();
        for address in addresses {
            let mut resolved = address.to_socket_addrs().ok()?.peekable();
            resolved.peek()?;
            servers.extend(resolved.map(|at| SocketAddr::new(at.ip().to_canonical(), at.port())));
        }
        (!servers.is_empty()).then(|| Self {
            servers,
            looked: None,
            open: Snapshot::default(),
            closed: Bytes::default(),
            has_lost: false,
        })
    }

    /// Records the bytes that these clients have sent and received; `None` where the kernel does not count them.
    pub(super) fn look(
        &mut self,
        connections: &Connections,
        clients: &BTreeSet<u32>,
    ) -> Option<Snapshot> {
        let to_servers = connections.sockets.iter().filter(|socket| {
            self.servers.contains(&socket.remote) && clients.contains(&socket.inode)
        });
        let now: Option<BTreeMap<u64, Bytes>> =
            to_servers.map(|socket| Some((socket.cookie, socket.bytes?))).collect();
        let now = Snapshot(now?);
        // Two threads may look at once; a reading older than the last is ignored.
        if self.looked.is_none_or(|looked| looked <= connections.taken) {
            self.looked = Some(connections.taken);
            let closed = self.open.0.iter().filter(|(cookie, _)| !now.0.contains_key(cookie));
            self.closed = closed.map(|(_, bytes)| bytes).fold(self.closed, plus);
            self.open = now.clone();
        }
        Some(now)
    }

    /// Notes that some traffic went unseen: from now on the total is unknown.
    pub(super) fn lose(&mut self) {
        self.has_lost = true;
    }

    /// The bytes that clients have sent and received so far.
    pub(super) fn total(&self) -> Option<Bytes> {
        (!self.has_lost).then(|| plus(self.closed, &self.open.sum()))
    }
}

/// The connections that these processes have open.
pub(crate) fn clients(pids: &[u32]) -> Option<BTreeSet<u32>> {
    inodes_of(pids.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(connections: &[(u64, u64)]) -> Snapshot {
        let bytes = |sent| Bytes { sent, received: 2 * sent };
        Snapshot(connections.iter().map(|(cookie, sent)| (*cookie, bytes(*sent))).collect())
    }

    #[test]
    fn a_connection_that_was_closed_meanwhile_makes_it_unknown() {
        let before = snapshot(&[(1, 100), (2, 50)]);
        let wire = |after: &[(u64, u64)], opened| {
            snapshot(after)
                .since(&before, opened)
                .map(|wire| (wire.sent_bytes, wire.received_bytes))
        };
        assert_eq!(wire(&[(1, 130), (2, 50)], Some(0)), Some((30, 60)));
        assert_eq!(wire(&[(1, 130), (2, 50), (3, 7)], Some(1)), Some((37, 74)));
        assert_eq!(wire(&[(1, 130), (2, 50), (3, 7)], None), Some((37, 74)));
        assert_eq!(wire(&[(1, 130), (3, 7)], Some(1)), None);
        assert_eq!(wire(&[(1, 130), (2, 50), (3, 7)], Some(2)), None);
    }

    #[test]
    fn only_a_server_reached_over_tcp_has_an_account() {
        let ledger = |addresses: &[&str]| {
            let addresses: Vec<String> = addresses.iter().map(|&one| one.to_owned()).collect();
            WireLedger::new(&addresses).map(|ledger| ledger.servers.len())
        };
        assert_eq!(ledger(&["127.0.0.1:5", "[::ffff:127.0.0.1]:5", "127.0.0.1:6"]), Some(2));
        assert_eq!(ledger(&["127.0.0.1:5", "/run/socket"]), None);
        assert_eq!(ledger(&[]), None);
    }
}
