//! The sampler's knowledge of a target, and the notices of its turns.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use larder_report::UsageOf;

use super::ledger::Ledger;
use super::process::Table;
use super::sockets::Bytes;
use super::wire::{Connections, Snapshot, WireLedger, clients};

/// The processes that work for a target, and whether the target has its turn.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// The `url` of the target.
    pub(super) url: String,
    /// The servers of the target, as far as they run on this machine.
    pub(super) servers: Vec<u32>,
    /// Whether this process did not start these servers.
    pub(super) is_external: bool,
    /// The reason why no server is known of a target that has servers.
    pub(super) unknown: Option<String>,
    /// The program of a guest, whose processes come and go with the turns; `None` for other targets.
    guest: Option<Mutex<Ledger>>,
    /// The traffic between the target's clients and servers; `None` for a target without a wire.
    wire: Option<Mutex<WireLedger>>,
    at_work: AtomicBool,
}

impl Account {
    pub(crate) fn new(url: String, servers: Vec<u32>, is_external: bool) -> Self {
        Self { url, servers, is_external, ..Self::default() }
    }

    /// The account of a target whose servers are not known.
    pub(crate) fn without_servers(self, unknown: Option<String>) -> Self {
        Self { unknown, ..self }
    }

    /// The account of a target whose servers are reached at these addresses.
    pub(crate) fn reached_at(self, addresses: &[String]) -> Self {
        Self { wire: WireLedger::new(addresses).map(Mutex::new), ..self }
    }

    /// The account of a guest.
    pub(crate) fn of_guest(self) -> Self {
        Self { guest: Some(Mutex::new(Ledger::new(Vec::new()))), ..self }
    }

    /// The target's turn begins.
    pub(crate) fn begin(&self) {
        self.at_work.store(true, Ordering::Relaxed);
    }

    /// This program works for the target from now on.
    pub(crate) fn employ(&self, program: u32) {
        if let Some(mut ledger) = self.guest() {
            ledger.turn_to(vec![program]);
        }
    }

    /// The program is about to end: its use is recorded while it can be seen.
    pub(crate) fn settle(&self) {
        if let Some(mut ledger) = self.guest() {
            ledger.look(&Table::read());
        }
    }

    /// The target's turn is over.
    pub(crate) fn end(&self) {
        self.at_work.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_at_work(&self) -> bool {
        self.at_work.load(Ordering::Relaxed)
    }

    pub(super) fn guest(&self) -> Option<MutexGuard<'_, Ledger>> {
        self.guest.as_ref().map(lock)
    }

    /// The traffic over the wire by now, seen from the clients; `None` without a wire, or where some traffic is
    /// unknown.
    pub(super) fn wire(&self) -> Option<Bytes> {
        lock(self.wire.as_ref()?).total()
    }

    pub(super) fn has_wire(&self) -> bool {
        self.wire.is_some()
    }

    /// The program of a guest; empty for other targets.
    pub(super) fn program(&self) -> Vec<u32> {
        self.guest().map(|ledger| ledger.roots().to_vec()).unwrap_or_default()
    }

    pub(super) fn is_guest(&self) -> bool {
        self.guest.is_some()
    }

    /// Records the traffic over the wire so far. `program` is the program of a guest, where a guest is at work.
    pub(crate) fn look_at_wire(&self, program: Option<u32>) -> Option<Snapshot> {
        let wire = self.wire.as_ref()?;
        let clients = match program {
            Some(program) => {
                let table = Table::read();
                let pids = table.tree(&[program]).into_iter().map(|process| process.pid);
                clients(&pids.collect::<Vec<_>>())
            }
            None => clients(&[std::process::id()]),
        };
        let connections = Connections::read()?;
        lock(wire).look(&connections, &clients?)
    }

    /// Records the traffic over the wire from connections that the caller has read.
    pub(super) fn look_along(&self, connections: &Connections, clients: &BTreeSet<u32>) {
        if let Some(wire) = &self.wire {
            let _ = lock(wire).look(connections, clients);
        }
    }

    /// Notes that some traffic over the wire went unseen.
    pub(crate) fn lose_wire(&self) {
        if let Some(wire) = &self.wire {
            lock(wire).lose();
        }
    }

    /// The users of resources for which the target has a series.
    pub(super) fn series(&self) -> impl Iterator<Item = UsageOf> {
        let servers = !self.servers.is_empty() || self.unknown.is_some();
        let guest = self.guest.is_some().then_some(UsageOf::Guest);
        servers.then_some(UsageOf::Servers).into_iter().chain(guest)
    }
}

/// A count stays valid when a thread panics with the lock.
fn lock<T>(ledger: &Mutex<T>) -> MutexGuard<'_, T> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
