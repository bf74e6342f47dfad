//! The sampler's knowledge of a target, and the notices that a turn gives it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use larder_report::UsageOf;

use super::ledger::Ledger;
use super::process::Table;
use super::sockets::Bytes;
use super::wire::{Connections, Snapshot, WireLedger, clients};

/// The processes that work for a target, and whether it has its turn.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// The `url` of the target.
    pub(super) url: String,
    /// The servers behind it, as far as they run on this machine.
    pub(super) servers: Vec<u32>,
    /// Which of them this process did not start.
    pub(super) is_external: bool,
    /// Why no server is known of a target that has some.
    pub(super) unknown: Option<String>,
    /// The program of a guest, whose processes come and go with the turns; `None` where it is none.
    guest: Option<Mutex<Ledger>>,
    /// The traffic between its clients and its servers; `None` where it has no wire.
    wire: Option<Mutex<WireLedger>>,
    at_work: AtomicBool,
}

impl Account {
    pub(crate) fn new(url: String, servers: Vec<u32>, is_external: bool) -> Self {
        Self { url, servers, is_external, ..Self::default() }
    }

    /// The same, of a target whose servers are not known.
    pub(crate) fn without_servers(self, unknown: Option<String>) -> Self {
        Self { unknown, ..self }
    }

    /// The same, of a target whose servers are reached at these addresses.
    pub(crate) fn reached_at(self, addresses: &[String]) -> Self {
        Self { wire: WireLedger::new(addresses).map(Mutex::new), ..self }
    }

    /// The same, of a guest.
    pub(crate) fn of_guest(self) -> Self {
        Self { guest: Some(Mutex::new(Ledger::new(Vec::new()))), ..self }
    }

    /// Its turn begins.
    pub(crate) fn begin(&self) {
        self.at_work.store(true, Ordering::Relaxed);
    }

    /// This program works for it from now on.
    pub(crate) fn employ(&self, program: u32) {
        if let Some(mut ledger) = self.guest() {
            ledger.turn_to(vec![program]);
        }
    }

    /// The program is about to end: what it used is taken down while it can be seen.
    pub(crate) fn settle(&self) {
        if let Some(mut ledger) = self.guest() {
            ledger.look(&Table::read());
        }
    }

    /// Its turn is over.
    pub(crate) fn end(&self) {
        self.at_work.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_at_work(&self) -> bool {
        self.at_work.load(Ordering::Relaxed)
    }

    pub(super) fn guest(&self) -> Option<MutexGuard<'_, Ledger>> {
        self.guest.as_ref().map(lock)
    }

    /// The traffic over the wire by now, seen from its clients; `None` where there is no wire or not all is known.
    pub(super) fn wire(&self) -> Option<Bytes> {
        lock(self.wire.as_ref()?).total()
    }

    pub(super) fn has_wire(&self) -> bool {
        self.wire.is_some()
    }

    /// The program that works for it, where it is a guest.
    pub(super) fn program(&self) -> Vec<u32> {
        self.guest().map(|ledger| ledger.roots().to_vec()).unwrap_or_default()
    }

    pub(super) fn is_guest(&self) -> bool {
        self.guest.is_some()
    }

    /// Takes down what has gone over the wire. `program` is that of a guest, where one is at work.
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

    /// The same, where others have read what is needed.
    pub(super) fn look_along(&self, connections: &Connections, clients: &BTreeSet<u32>) {
        if let Some(wire) = &self.wire {
            let _ = lock(wire).look(connections, clients);
        }
    }

    /// Something went over the wire that nobody saw.
    pub(crate) fn lose_wire(&self) {
        if let Some(wire) = &self.wire {
            lock(wire).lose();
        }
    }

    /// Whose series it has.
    pub(super) fn series(&self) -> impl Iterator<Item = UsageOf> {
        let servers = !self.servers.is_empty() || self.unknown.is_some();
        let guest = self.guest.is_some().then_some(UsageOf::Guest);
        servers.then_some(UsageOf::Servers).into_iter().chain(guest)
    }
}

/// A count is as good as it was when somebody died over it.
fn lock<T>(ledger: &Mutex<T>) -> MutexGuard<'_, T> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
