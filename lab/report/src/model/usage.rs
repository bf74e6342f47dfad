//! The use of the machine by processes over the run, a sample a second.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The party whose use of the machine a series shows.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum UsageOf {
    /// This process: the client, with every embedded engine.
    #[default]
    Client,
    /// The servers of a target, with all their descendants.
    Servers,
    /// The program of a guest, with the processes that it forked.
    Guest,
    /// The whole machine, with processes that are not Larder's.
    Machine,
}

impl UsageOf {
    /// The name in `run.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Servers => "servers",
            Self::Guest => "guest",
            Self::Machine => "machine",
        }
    }
}

/// The use of the machine by one party over the run. Every list is as long as `at_s`. Counters are totals since the
/// first sample, so that the difference of two samples is the use between them. An unknown figure is `null`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// The party.
    pub of: UsageOf,
    /// The `url` of the target, for servers and guests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The reason why nothing is known, as of a server on another machine; `null` if figures are known.
    #[serde(default, alias = "unknown", skip_serializing_if = "Option::is_none")]
    pub unknown_reason: Option<String>,
    /// The time of each sample, in seconds from the start of the run.
    pub at_s: Vec<f64>,
    /// The target whose turn it was, by its place in `targets`; `null` between turns.
    #[serde(default, alias = "turn_of", skip_serializing_if = "Vec::is_empty")]
    pub turn_target: Vec<Option<u32>>,
    /// CPU time in user mode, in seconds.
    pub cpu_user_s: Vec<Option<f64>>,
    /// CPU time in the kernel, in seconds.
    pub cpu_system_s: Vec<Option<f64>>,
    /// Resident memory, in bytes. Memory that processes of one tree share is counted once. For the machine, all memory
    /// in use.
    pub rss_bytes: Vec<Option<u64>>,
    /// Of `rss_bytes`: memory shared with other processes, or with files.
    pub shared_bytes: Vec<Option<u64>>,
    /// Memory swapped out, in bytes.
    pub swap_bytes: Vec<Option<u64>>,
    /// Page faults that needed no disk.
    pub minor_faults: Vec<Option<u64>>,
    /// Page faults that needed a disk.
    pub major_faults: Vec<Option<u64>>,
    /// Context switches because a thread waited.
    pub voluntary_switches: Vec<Option<u64>>,
    /// Context switches in favour of another thread.
    pub involuntary_switches: Vec<Option<u64>>,
    /// Bytes read from disks.
    pub disk_read_bytes: Vec<Option<u64>>,
    /// Bytes written to disks.
    pub disk_written_bytes: Vec<Option<u64>>,
    /// Bytes received over the network, loopback included. For processes, bytes over TCP, as far as their connections
    /// were seen; for the machine, bytes of all interfaces.
    pub wire_received_bytes: Vec<Option<u64>>,
    /// Bytes sent over the network, loopback included.
    pub wire_sent_bytes: Vec<Option<u64>>,
    /// The figures of the machine as a whole; `null` for other parties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineUsage>,
}

/// The work of the machine as a whole. Every list is as long as the `at_s` beside it. Counters are totals since the
/// first sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineUsage {
    /// The processors that this process may use. All other CPU times of the machine are of these processors.
    pub processors: u32,
    /// Idle processor time, in seconds.
    pub idle_s: Vec<Option<f64>>,
    /// Processor time of interrupts, which belongs to no process, in seconds.
    pub interrupts_s: Vec<Option<f64>>,
    /// Processor time that a hypervisor gave to other machines, in seconds.
    pub stolen_s: Vec<Option<f64>>,
    /// Processor time of processes outside the run, in seconds: those other than the client, the servers, the guests
    /// and the kernel's own threads.
    pub others_s: Vec<Option<f64>>,
    /// The busiest of these processes by name, with their processor time over the run, in seconds.
    pub others: BTreeMap<String, f64>,
    /// Memory that is available without swapping, in bytes.
    pub available_bytes: Vec<Option<u64>>,
    /// Bytes that were read back from swap space.
    pub swapped_in_bytes: Vec<Option<u64>>,
    /// Time for which a quota kept the client and its children from the processors, in seconds.
    pub throttled_s: Vec<Option<f64>>,
    /// Time in which at least one thread waited for a processor, in seconds.
    pub cpu_pressure_s: Vec<Option<f64>>,
    /// Time in which at least one thread waited for memory, in seconds.
    pub memory_pressure_s: Vec<Option<f64>>,
    /// Time in which at least one thread waited for a disk, in seconds.
    pub io_pressure_s: Vec<Option<f64>>,
}

/// Every `step`th sample of a list, and the last.
fn thin<T: Copy>(list: &[T], step: usize) -> Vec<T> {
    let last = list.len().saturating_sub(1);
    let kept = list.iter().enumerate().filter(|(at, _)| at % step == 0 || *at == last);
    kept.map(|(_, sample)| *sample).collect()
}

impl Usage {
    /// The same use with every `step`th sample and the last. Totals lose nothing between samples.
    pub(crate) fn thinned(&self, step: usize) -> Self {
        Self {
            of: self.of,
            target: self.target.clone(),
            unknown_reason: self.unknown_reason.clone(),
            at_s: thin(&self.at_s, step),
            turn_target: thin(&self.turn_target, step),
            cpu_user_s: thin(&self.cpu_user_s, step),
            cpu_system_s: thin(&self.cpu_system_s, step),
            rss_bytes: thin(&self.rss_bytes, step),
            shared_bytes: thin(&self.shared_bytes, step),
            swap_bytes: thin(&self.swap_bytes, step),
            minor_faults: thin(&self.minor_faults, step),
            major_faults: thin(&self.major_faults, step),
            voluntary_switches: thin(&self.voluntary_switches, step),
            involuntary_switches: thin(&self.involuntary_switches, step),
            disk_read_bytes: thin(&self.disk_read_bytes, step),
            disk_written_bytes: thin(&self.disk_written_bytes, step),
            wire_received_bytes: thin(&self.wire_received_bytes, step),
            wire_sent_bytes: thin(&self.wire_sent_bytes, step),
            machine: self.machine.as_ref().map(|machine| machine.thinned(step)),
        }
    }
}

impl MachineUsage {
    fn thinned(&self, step: usize) -> Self {
        Self {
            processors: self.processors,
            idle_s: thin(&self.idle_s, step),
            interrupts_s: thin(&self.interrupts_s, step),
            stolen_s: thin(&self.stolen_s, step),
            others_s: thin(&self.others_s, step),
            others: self.others.clone(),
            available_bytes: thin(&self.available_bytes, step),
            swapped_in_bytes: thin(&self.swapped_in_bytes, step),
            throttled_s: thin(&self.throttled_s, step),
            cpu_pressure_s: thin(&self.cpu_pressure_s, step),
            memory_pressure_s: thin(&self.memory_pressure_s, step),
            io_pressure_s: thin(&self.io_pressure_s, step),
        }
    }
}
