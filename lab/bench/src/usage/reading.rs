//! Readings of a user's resources until one moment, and the series of such readings.

use std::mem;

use larder_report::Usage;

use super::own_rss_bytes;
use super::process::{disk_of, shared_bytes_of, swap_bytes_of};
use super::sockets::Bytes;

/// Totals and amounts at one moment; `None` where the kernel does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Reading {
    pub(crate) cpu_user_s: Option<f64>,
    pub(crate) cpu_system_s: Option<f64>,
    pub(crate) rss_bytes: Option<u64>,
    pub(crate) shared_bytes: Option<u64>,
    pub(crate) swap_bytes: Option<u64>,
    pub(crate) minor_faults: Option<u64>,
    pub(crate) major_faults: Option<u64>,
    pub(crate) voluntary_switches: Option<u64>,
    pub(crate) involuntary_switches: Option<u64>,
    pub(crate) disk_read_bytes: Option<u64>,
    pub(crate) disk_written_bytes: Option<u64>,
    pub(crate) wire_received_bytes: Option<u64>,
    pub(crate) wire_sent_bytes: Option<u64>,
}

impl Reading {
    /// The reading of this process, its ended threads included.
    pub(crate) fn of_this_process() -> Self {
        // SAFETY: a zeroed rusage is valid, and getrusage writes exactly one.
        let used = unsafe {
            let mut usage: libc::rusage = mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        let count = |figure: libc::c_long| Some(figure.cast_unsigned());
        let disk = disk_of("self");
        Self {
            cpu_user_s: Some(seconds(used.ru_utime)),
            cpu_system_s: Some(seconds(used.ru_stime)),
            rss_bytes: own_rss_bytes(),
            shared_bytes: shared_bytes_of("self"),
            swap_bytes: swap_bytes_of("self"),
            minor_faults: count(used.ru_minflt),
            major_faults: count(used.ru_majflt),
            voluntary_switches: count(used.ru_nvcsw),
            involuntary_switches: count(used.ru_nivcsw),
            disk_read_bytes: disk.map(|(read, _)| read),
            disk_written_bytes: disk.map(|(_, written)| written),
            ..Self::default()
        }
    }

    /// The reading with the traffic over the wire.
    pub(super) fn with_wire(self, wire: Option<Bytes>) -> Self {
        Self {
            wire_received_bytes: wire.map(|wire| wire.received),
            wire_sent_bytes: wire.map(|wire| wire.sent),
            ..self
        }
    }

    pub(crate) fn cpu_s(&self) -> Option<f64> {
        Some(self.cpu_user_s? + self.cpu_system_s?)
    }

    /// Adds the reading to a series whose first reading is `first`: totals count from there.
    pub(super) fn add_to(&self, usage: &mut Usage, first: &Self) {
        let time = |now: Option<f64>, then: Option<f64>| Some(shortened((now? - then?).max(0.0)));
        let count = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        usage.cpu_user_s.push(time(self.cpu_user_s, first.cpu_user_s));
        usage.cpu_system_s.push(time(self.cpu_system_s, first.cpu_system_s));
        usage.rss_bytes.push(self.rss_bytes);
        usage.shared_bytes.push(self.shared_bytes);
        usage.swap_bytes.push(self.swap_bytes);
        usage.minor_faults.push(count(self.minor_faults, first.minor_faults));
        usage.major_faults.push(count(self.major_faults, first.major_faults));
        usage.voluntary_switches.push(count(self.voluntary_switches, first.voluntary_switches));
        usage
            .involuntary_switches
            .push(count(self.involuntary_switches, first.involuntary_switches));
        usage.disk_read_bytes.push(count(self.disk_read_bytes, first.disk_read_bytes));
        usage.disk_written_bytes.push(count(self.disk_written_bytes, first.disk_written_bytes));
        usage.wire_received_bytes.push(count(self.wire_received_bytes, first.wire_received_bytes));
        usage.wire_sent_bytes.push(count(self.wire_sent_bytes, first.wire_sent_bytes));
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// Rounds to the microsecond: CPU time is not known more exactly.
pub(super) fn shortened(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e6
}
