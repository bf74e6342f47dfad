//! What the servers of a target do while another one has its turn: work that was put off is not in the target's own figures,
//! and slows down the others.

use std::time::{Duration, Instant};

use super::Slot;
use crate::usage::Servers;

/// A turn that has begun.
pub(super) struct Watch {
    began: Instant,
    /// The places of the other targets, and the CPU time of their servers until then in nanoseconds.
    others: Vec<(usize, u64)>,
}

impl Watch {
    /// A turn of the target in this place begins. Servers that it uses itself are its own.
    pub(super) fn begin(slots: &[Slot], turn: usize) -> Self {
        fn pids(slot: &Slot) -> &[u32] {
            slot.open().map_or(&[], |target| &target.info.server_pids)
        }
        let own = pids(&slots[turn]);
        let others = slots.iter().enumerate().filter(|(place, slot)| {
            *place != turn && !pids(slot).iter().any(|pid| own.contains(pid))
        });
        let cpu_ns = |slot: &Slot| Servers::read(pids(slot)).map(|servers| servers.cpu_ns);
        let others = others.filter_map(|(place, slot)| Some((place, cpu_ns(slot)?))).collect();
        Self { began: Instant::now(), others }
    }

    /// The turn is over.
    pub(super) fn end(self, slots: &mut [Slot]) {
        let turn = self.began.elapsed();
        for (place, before) in self.others {
            let Some(target) = slots[place].open_mut() else { continue };
            let Some(now) = Servers::read(&target.info.server_pids) else { continue };
            target.beside.cpu += Duration::from_nanos(now.cpu_ns.saturating_sub(before));
            target.beside.turns += turn;
        }
    }
}
