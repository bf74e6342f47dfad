//! The machine as a whole: its use, and the share of it that has nothing to do with the run.

use std::collections::BTreeMap;
use std::fs;
use std::mem;

use larder_host::cgroup;
use larder_report::MachineUsage;

use super::ledger::Ledger;
use super::process::{Table, kib, number, page_size, ticks_s};
use super::reading::{Reading, shortened};

/// The most other processes that are named.
const NAMED: usize = 5;
/// The least share of a processor, over the whole run, for which another process is named.
const WORTH_A_NAME: f64 = 0.01;

/// The account of the machine.
#[derive(Debug)]
pub(super) struct Machine {
    /// The processors that this process may use.
    processors: Vec<usize>,
    /// This process, all that it started, and servers that it did not start.
    ours: Ledger,
    /// CPU time of each other process when it was last seen.
    others: BTreeMap<(u32, u64), f64>,
    /// The use of other processes since the first look, by name; `None` before that look.
    by_name: Option<BTreeMap<String, f64>>,
}

/// One look at the machine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    pub(super) reading: Reading,
    idle_s: Option<f64>,
    interrupts_s: Option<f64>,
    stolen_s: Option<f64>,
    others_s: Option<f64>,
    available_bytes: Option<u64>,
    swapped_in_bytes: Option<u64>,
    throttled_s: Option<f64>,
    cpu_pressure_s: Option<f64>,
    memory_pressure_s: Option<f64>,
    io_pressure_s: Option<f64>,
}

/// The time of the processors since the machine was started.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[expect(clippy::struct_field_names, reason = "the unit")]
struct Processors {
    user_s: f64,
    system_s: f64,
    idle_s: f64,
    interrupts_s: f64,
    stolen_s: f64,
}

impl Machine {
    /// `servers` are the servers that this process did not start.
    pub(super) fn new(servers: impl Iterator<Item = u32>) -> Self {
        let ours = std::iter::once(std::process::id()).chain(servers);
        Self {
            processors: usable_processors(),
            ours: Ledger::of_time(ours.collect()),
            others: BTreeMap::new(),
            by_name: None,
        }
    }

    /// Reads the machine, with the processes of this table.
    pub(super) fn look(&mut self, table: &Table) -> Look {
        self.ours.look(table);
        self.name_others(table);
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let pages = fs::read_to_string("/proc/vmstat").unwrap_or_default();
        let cpu = Processors::parse(&stat, &self.processors);
        let kernels = table.iter().filter(|process| process.is_kernels);
        let kernels_s: f64 = kernels.map(|process| process.own.cpu_s()).sum();
        let ours_s = self.ours.reading().cpu_s().unwrap_or(0.0);
        let (received, sent) = on_the_wire().unzip();
        let available = kib(&memory, "MemAvailable:");
        let swap = kib(&memory, "SwapTotal:").zip(kib(&memory, "SwapFree:"));
        let faults = number(&pages, "pgfault").zip(number(&pages, "pgmajfault"));
        let pressure =
            |of: &str| pressure_s(&fs::read_to_string(format!("/proc/pressure/{of}")).ok()?);
        Look {
            reading: Reading {
                cpu_user_s: cpu.map(|cpu| cpu.user_s),
                cpu_system_s: cpu.map(|cpu| cpu.system_s),
                rss_bytes: kib(&memory, "MemTotal:")
                    .zip(available)
                    .map(|(all, free)| all.saturating_sub(free)),
                shared_bytes: kib(&memory, "Shmem:"),
                swap_bytes: swap.map(|(all, free)| all.saturating_sub(free)),
                minor_faults: faults.map(|(all, major)| all.saturating_sub(major)),
                major_faults: faults.map(|(_, major)| major),
                disk_read_bytes: kib(&pages, "pgpgin"),
                disk_written_bytes: kib(&pages, "pgpgout"),
                wire_received_bytes: received,
                wire_sent_bytes: sent,
                ..Reading::default()
            },
            idle_s: cpu.map(|cpu| cpu.idle_s),
            interrupts_s: cpu.map(|cpu| cpu.interrupts_s),
            stolen_s: cpu.map(|cpu| cpu.stolen_s),
            others_s: cpu.map(|cpu| cpu.user_s + cpu.system_s - kernels_s - ours_s),
            available_bytes: available,
            swapped_in_bytes: number(&pages, "pswpin").map(|pages| pages * page_size()),
            throttled_s: cgroup::throttled().map(|time| time.as_secs_f64()),
            cpu_pressure_s: pressure("cpu"),
            memory_pressure_s: pressure("memory"),
            io_pressure_s: pressure("io"),
        }
    }

    /// Records, by name, the use of other processes since the look before.
    fn name_others(&mut self, table: &Table) {
        let before = mem::take(&mut self.others);
        for process in table.iter().filter(|process| !process.is_kernels) {
            let id = (process.pid, process.started);
            if self.ours.has(id) {
                continue;
            }
            let now = process.own.cpu_s();
            if let Some(by_name) = &mut self.by_name {
                let used = now - before.get(&id).copied().unwrap_or(0.0);
                if used > 0.0 {
                    *by_name.entry(process.name.clone()).or_default() += used;
                }
            }
            self.others.insert(id, now);
        }
        self.by_name.get_or_insert_default();
    }

    /// The series of these looks, over a time of `length_s`.
    pub(super) fn series(self, looks: &[Look], length_s: f64) -> MachineUsage {
        let first = looks.first().copied().unwrap_or_default();
        let mut usage = MachineUsage {
            processors: u32::try_from(self.processors.len()).unwrap_or(u32::MAX),
            others: busiest(self.by_name.unwrap_or_default(), length_s),
            ..MachineUsage::default()
        };
        let time = |now: Option<f64>, then: Option<f64>| Some(shortened((now? - then?).max(0.0)));
        // Processors are counted in ticks and processes exactly, so that their difference may go back a little.
        let mut most = 0.0_f64;
        for look in looks {
            usage.idle_s.push(time(look.idle_s, first.idle_s));
            usage.interrupts_s.push(time(look.interrupts_s, first.interrupts_s));
            usage.stolen_s.push(time(look.stolen_s, first.stolen_s));
            usage.others_s.push(time(look.others_s, first.others_s).map(|others| {
                most = most.max(others);
                most
            }));
            usage.available_bytes.push(look.available_bytes);
            let swapped = look.swapped_in_bytes.zip(first.swapped_in_bytes);
            usage.swapped_in_bytes.push(swapped.map(|(now, then)| now.saturating_sub(then)));
            usage.throttled_s.push(time(look.throttled_s, first.throttled_s));
            usage.cpu_pressure_s.push(time(look.cpu_pressure_s, first.cpu_pressure_s));
            usage.memory_pressure_s.push(time(look.memory_pressure_s, first.memory_pressure_s));
            usage.io_pressure_s.push(time(look.io_pressure_s, first.io_pressure_s));
        }
        usage
    }
}

fn busiest(by_name: BTreeMap<String, f64>, length_s: f64) -> BTreeMap<String, f64> {
    let mut all: Vec<(String, f64)> =
        by_name.into_iter().filter(|(_, used)| *used >= length_s * WORTH_A_NAME).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.truncate(NAMED);
    all.into_iter().map(|(name, used)| (name, shortened(used))).collect()
}

impl Processors {
    /// From the text of `/proc/stat`: the sum of these processors, or of all where the text names no processor of
    /// these.
    fn parse(stat: &str, processors: &[usize]) -> Option<Self> {
        let mut sum: Option<Self> = None;
        for number in processors {
            if let Some(one) = Self::line(stat, &format!("cpu{number} ")) {
                let Self { user_s, system_s, idle_s, interrupts_s, stolen_s } =
                    sum.unwrap_or_default();
                sum = Some(Self {
                    user_s: user_s + one.user_s,
                    system_s: system_s + one.system_s,
                    idle_s: idle_s + one.idle_s,
                    interrupts_s: interrupts_s + one.interrupts_s,
                    stolen_s: stolen_s + one.stolen_s,
                });
            }
        }
        sum.or_else(|| Self::line(stat, "cpu "))
    }

    /// `cpu0 user nice system idle iowait irq softirq steal …`, in ticks.
    fn line(stat: &str, name: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        let time = |at: usize| ticks_s(ticks.get(at).copied().unwrap_or(0));
        (ticks.len() >= 4).then(|| Self {
            user_s: time(0) + time(1),
            system_s: time(2),
            idle_s: time(3) + time(4),
            interrupts_s: time(5) + time(6),
            stolen_s: time(7),
        })
    }
}

/// Bytes received and sent by all interfaces. Traffic over loopback counts as sent and as received.
fn on_the_wire() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/net/dev").ok()?;
    let one = |line: &str| {
        let mut fields = line.split_once(':')?.1.split_ascii_whitespace();
        let received: u64 = fields.next()?.parse().ok()?;
        Some((received, fields.nth(7)?.parse::<u64>().ok()?))
    };
    let interfaces = text.lines().filter_map(one);
    interfaces.reduce(|sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234`, in microseconds.
#[expect(clippy::cast_precision_loss, reason = "microseconds of years fit a double")]
fn pressure_s(text: &str) -> Option<f64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let total: u64 = some.rsplit_once("total=")?.1.trim().parse().ok()?;
    Some(total as f64 / 1e6)
}

/// The numbers of the processors that this process may use; empty where the kernel does not tell.
fn usable_processors() -> Vec<usize> {
    // SAFETY: a zeroed cpu_set_t is an empty set; the call writes exactly the set that it is given, and CPU_ISSET reads
    // it.
    unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) != 0 {
            return Vec::new();
        }
        (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_processors_that_may_be_used_count() {
        let stat = "cpu  100 10 50 900 7 3 2 1 0 0\ncpu0 60 6 30 400 4 1 1 1 0 0\ncpu1 40 4 20 500 3 2 1 0 0 0\n\
                    cpu10 9 9 9 9 9 9 9 9 0 0\nintr 5\n";
        let tick = ticks_s(1);
        let one = Processors::parse(stat, &[1]).unwrap();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(one.user_s, 44.0 * tick) && close(one.idle_s, 503.0 * tick), "{one:?}");
        let both = Processors::parse(stat, &[0, 1]).unwrap();
        assert!(close(both.user_s, 110.0 * tick) && close(both.stolen_s, tick), "{both:?}");
        assert_eq!(Processors::parse(stat, &[]), Processors::parse(stat, &[77]));
        assert_eq!(Processors::parse("", &[0]), None);
    }

    #[test]
    fn pressure_reads_in_seconds() {
        let text = "some avg10=1.53 avg60=0.40 avg300=0.09 total=2500000\nfull avg10=0 total=1\n";
        assert_eq!(pressure_s(text), Some(2.5));
        assert_eq!(pressure_s(""), None);
    }

    #[test]
    fn the_busiest_are_named_and_the_idle_are_not() {
        let used = [("a", 3.0), ("b", 0.05), ("c", 1.0)].map(|(name, s)| (name.to_owned(), s));
        let named = busiest(used.into_iter().collect(), 10.0);
        assert_eq!(named.keys().collect::<Vec<_>>(), ["a", "c"]);
    }
}
