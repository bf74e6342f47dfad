//! The use of a tree of processes so far, although its processes come and go.
//!
//! When a process ends, its use goes to the parent that waits for it. A ledger counts that, so nothing is lost between
//! two looks. Where no parent waits, the ledger keeps the use that it last saw. So no total ever goes backwards.

use std::collections::BTreeMap;
use std::time::Instant;

use super::process::{Details, Process, Spent, Table, ticks_s};
use super::reading::Reading;

/// A process as it was last seen.
#[derive(Debug)]
struct Seen {
    process: Process,
    details: Details,
    /// The use of ended children that the process inherited since the look before.
    inherited: Spent,
}

/// The use of processes that have ended.
#[derive(Debug)]
struct Gone {
    spent: Spent,
    disk: (u64, u64),
    switches: (u64, u64),
}

/// The account of a tree of processes.
#[derive(Debug)]
pub(crate) struct Ledger {
    roots: Vec<u32>,
    /// Whether only processor time and faults are read.
    is_of_time: bool,
    live: BTreeMap<(u32, u64), Seen>,
    gone: Gone,
    /// When the processes were last read.
    looked: Option<Instant>,
}

impl Ledger {
    /// The account of these processes and all that descend from them.
    pub(crate) fn new(roots: Vec<u32>) -> Self {
        let gone = Gone { spent: Spent::default(), disk: (0, 0), switches: (0, 0) };
        Self { roots, is_of_time: false, live: BTreeMap::new(), gone, looked: None }
    }

    /// An account of processor time and faults only.
    pub(super) fn of_time(roots: Vec<u32>) -> Self {
        Self { is_of_time: true, ..Self::new(roots) }
    }

    /// Whether a process, by its number and its start, belongs to the account.
    pub(super) fn has(&self, id: (u32, u64)) -> bool {
        self.live.contains_key(&id)
    }

    /// The processes from which all others of the account descend.
    pub(super) fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// Makes this the account of other processes from now on; the use of the processes before stays in it.
    pub(crate) fn turn_to(&mut self, roots: Vec<u32>) {
        self.roots = roots;
        self.looked = Some(Instant::now());
        let ended = std::mem::take(&mut self.live);
        self.bury(&ended);
    }

    /// Records the use of the processes until now.
    pub(crate) fn look(&mut self, table: &Table) {
        // Two threads may look at once; a table older than the last is ignored.
        if self.looked.is_some_and(|looked| looked > table.taken) {
            return;
        }
        self.looked = Some(table.taken);
        let mut before = std::mem::take(&mut self.live);
        for process in table.tree(&self.roots) {
            let id = (process.pid, process.started);
            let seen = before.remove(&id);
            let (details, inherited) = match seen {
                // A process that has not run since the look before has nothing new to tell.
                Some(seen) if self.is_of_time || seen.process.own == process.own => {
                    (seen.details, process.reaped.minus(seen.process.reaped))
                }
                Some(seen) => (
                    Details::read(process.pid, Some(&seen.details)),
                    process.reaped.minus(seen.process.reaped),
                ),
                None if self.is_of_time => (Details::default(), process.reaped),
                None => (Details::read(process.pid, None), process.reaped),
            };
            self.live.insert(id, Seen { process: process.clone(), details, inherited });
        }
        self.bury(&before);
    }

    /// Keeps the use of ended processes, as far as no living process inherited it.
    fn bury(&mut self, ended: &BTreeMap<(u32, u64), Seen>) {
        let parents: BTreeMap<u32, u32> =
            ended.values().map(|seen| (seen.process.pid, seen.process.parent)).collect();
        let mut heirs: BTreeMap<u32, Vec<&Seen>> = BTreeMap::new();
        for seen in ended.values() {
            let mut heir = seen.process.parent;
            let mut steps = parents.len();
            while let Some(above) = parents.get(&heir).filter(|_| steps > 0) {
                heir = *above;
                steps -= 1;
            }
            heirs.entry(heir).or_default().push(seen);
        }
        for (heir, left) in heirs {
            let spent =
                left.iter().fold(Spent::default(), |sum, one| sum.plus(one.process.spent()));
            let heir = self.live.values().find(|seen| seen.process.pid == heir);
            let inherited = heir.map_or(Spent::default(), |heir| heir.inherited);
            let lost = spent.minus(inherited);
            // Every process has had faults: a process whose faults were inherited had its bytes inherited, too.
            let is_lost = lost.minor_faults > 0;
            self.gone.spent = self.gone.spent.plus(lost);
            for one in left {
                let (read, written) = one.details.disk.filter(|_| is_lost).unwrap_or_default();
                self.gone.disk = (self.gone.disk.0 + read, self.gone.disk.1 + written);
                let (voluntary, involuntary) = one.details.switches().unwrap_or_default();
                let switches = self.gone.switches;
                self.gone.switches = (switches.0 + voluntary, switches.1 + involuntary);
            }
        }
    }

    /// The use so far and the memory now; the memory is unknown where no process runs.
    pub(crate) fn reading(&self) -> Reading {
        let live = || self.live.values();
        let spent = live().fold(self.gone.spent, |sum, seen| sum.plus(seen.process.spent()));
        let sum = |first: (u64, u64), of: fn(&Details) -> Option<(u64, u64)>| {
            live().try_fold(first, |sum, seen| {
                let one = of(&seen.details)?;
                Some((sum.0 + one.0, sum.1 + one.1))
            })
        };
        let disk = sum(self.gone.disk, |details| details.disk);
        let switches = sum(self.gone.switches, Details::switches);
        let swap = live().map(|seen| seen.details.swap_bytes).sum::<Option<u64>>();
        let runs = !self.live.is_empty();
        let shared = live().filter_map(|seen| seen.details.shared_bytes).max();
        let memory = live().map(|seen| (seen.process.rss_bytes, seen.details.shared_bytes));
        Reading {
            cpu_user_s: Some(ticks_s(spent.user_ticks)),
            cpu_system_s: Some(ticks_s(spent.system_ticks)),
            rss_bytes: runs.then(|| resident(memory)),
            shared_bytes: shared,
            swap_bytes: swap.filter(|_| runs),
            minor_faults: Some(spent.minor_faults),
            major_faults: Some(spent.major_faults),
            voluntary_switches: switches.map(|(voluntary, _)| voluntary),
            involuntary_switches: switches.map(|(_, involuntary)| involuntary),
            disk_read_bytes: disk.map(|(read, _)| read),
            disk_written_bytes: disk.map(|(_, written)| written),
            ..Reading::default()
        }
    }
}

/// The resident memory of processes together, each given with its shared part. The shared part counts once, with its
/// largest size in any process.
pub(crate) fn resident(processes: impl Iterator<Item = (u64, Option<u64>)>) -> u64 {
    let (mut own, mut most_shared) = (0, 0);
    for (rss, shared) in processes {
        let shared = shared.unwrap_or(0).min(rss);
        own += rss - shared;
        most_shared = most_shared.max(shared);
    }
    own + most_shared
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that exists on no machine, so that only its `stat` is known.
    fn process(pid: u32, parent: u32, own: u64, reaped: u64) -> Process {
        let spent = |figure| Spent {
            user_ticks: figure,
            system_ticks: 0,
            minor_faults: figure,
            major_faults: 0,
        };
        Process {
            pid: pid + FAR,
            parent: parent + FAR,
            started: 1,
            name: "made up".into(),
            is_kernels: false,
            own: spent(own),
            reaped: spent(reaped),
            rss_bytes: 1000,
        }
    }

    /// Beyond the largest number that Linux gives to a process.
    const FAR: u32 = 1 << 23;

    fn faults(ledger: &mut Ledger, processes: &[Process]) -> u64 {
        ledger.look(&processes.iter().cloned().collect());
        ledger.reading().minor_faults.unwrap()
    }

    #[test]
    fn the_usage_of_an_ended_child_is_counted_once() {
        let mut ledger = Ledger::new(vec![FAR + 1]);
        let parent = |reaped| process(1, 0, 100, reaped);
        assert_eq!(faults(&mut ledger, &[parent(0), process(2, 1, 30, 0)]), 130);
        // The child used 5 more before its parent waited for it.
        assert_eq!(faults(&mut ledger, &[parent(35)]), 135);
        // A child that was born and has ended between two looks.
        assert_eq!(faults(&mut ledger, &[parent(42)]), 142);
    }

    #[test]
    fn a_process_that_is_never_waited_for_keeps_its_last_reading() {
        let mut ledger = Ledger::new(vec![FAR + 1]);
        let parent = process(1, 0, 100, 0);
        let (child, grandchild) = (process(2, 1, 30, 0), process(3, 2, 7, 0));
        assert_eq!(faults(&mut ledger, &[parent.clone(), child, grandchild]), 137);
        assert_eq!(faults(&mut ledger, std::slice::from_ref(&parent)), 137);
        assert_eq!(faults(&mut ledger, &[]), 137);
        assert_eq!(ledger.reading().rss_bytes, None);
        // Another program takes the place of the first.
        ledger.turn_to(vec![FAR + 9]);
        assert_eq!(faults(&mut ledger, &[process(9, 0, 5, 0)]), 142);
    }

    #[test]
    fn the_usage_of_a_grandchild_comes_through_its_parent() {
        let mut ledger = Ledger::new(vec![FAR + 1]);
        let before = [process(1, 0, 100, 0), process(2, 1, 30, 0), process(3, 2, 7, 0)];
        assert_eq!(faults(&mut ledger, &before), 137);
        assert_eq!(faults(&mut ledger, &[process(1, 0, 100, 40)]), 140);
    }

    #[test]
    fn shared_memory_counts_once() {
        assert_eq!(
            resident([(100, Some(80)), (90, Some(85)), (7, None)].into_iter()),
            20 + 5 + 7 + 85
        );
        assert_eq!(resident(std::iter::empty()), 0);
    }
}
