//! The work of a target's servers while another target has its turn. Deferred work is missing in the target's own
//! figures, and slows down the others.

use std::time::{Duration, Instant};

use larder_store::Ownership;

use super::TargetSlot;
use crate::usage::{Table, cpu_ns};

/// A turn that has begun.
pub(super) struct Watch {
    /// The place of the target whose turn it is, and when the turn began.
    own: (usize, Instant),
    /// The places of the other targets, when they were looked at, and the CPU time of their servers until then in
    /// nanoseconds.
    others: Vec<(usize, Instant, u64)>,
}

impl Watch {
    /// A turn of the target in this place begins. Servers that the target shares with others are not watched. Where the
    /// target's servers are not known, as behind a proxy, any other server may work for it, and no server is watched.
    pub(super) fn begin(slots: &[TargetSlot], turn: usize) -> Self {
        let own = pids(&slots[turn]);
        let is_known = slots[turn]
            .open()
            .is_some_and(|target| !own.is_empty() || target.info.ownership != Ownership::External);
        let others = slots.iter().enumerate().filter(|(place, slot)| {
            is_known && *place != turn && !pids(slot).iter().any(|pid| own.contains(pid))
        });
        let table = Table::read();
        let looked = |(place, slot)| Some((place, Instant::now(), cpu_ns(&table, pids(slot))?));
        let others = others.filter_map(looked).collect();
        Self { own: (turn, Instant::now()), others }
    }

    /// The turn is over: adds the work of the other targets' servers meanwhile.
    pub(super) fn end(self, slots: &mut [TargetSlot]) {
        let (own, began) = self.own;
        if let Some(target) = slots[own].open_mut() {
            target.beside.own_turns += began.elapsed();
        }
        let table = Table::read();
        for (place, began, before) in self.others {
            let Some(target) = slots[place].open_mut() else { continue };
            let Some(now) = cpu_ns(&table, &target.info.server_pids) else { continue };
            target.beside.cpu += Duration::from_nanos(now.saturating_sub(before));
            target.beside.turns += began.elapsed();
        }
    }
}

/// The servers of a target, as far as they are on this machine.
fn pids(slot: &TargetSlot) -> &[u32] {
    slot.open().map_or(&[], |target| &target.info.server_pids)
}
