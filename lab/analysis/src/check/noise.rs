//! NOISE: other activity of the machine during the run.

use larder_report::{MachineUsage, Run, Severity, Usage, UsageOf};
use larder_store::ByteSize;

use super::{About, Check, Needs, Report};

/// A shorter run has too few samples: the kernel counts processor time in hundredths of a second.
const SEEN_S: f64 = 0.5;
/// Other processes disturb from this share of a processor on; any system uses less by itself.
const BUSY: f64 = 0.1;
/// While this much of a processor was also idle, every thread that wanted a processor had one.
const LEFT: f64 = 0.5;
/// The share of disturbed time from which the figures show it: a median does not leave out a tenth of the time.
const OFTEN: f64 = 0.1;
/// A processor may be gone for this share of its time, to other machines or behind a quota, before percentiles show it.
const GONE: f64 = 0.02;
/// Swap-ins are reported from this many bytes on. Any machine that has swapped once reads back a page here and there.
const SWAPPED: u64 = 1 << 20;
/// From this many bytes on, swapping of the run's own memory is an error: its times are then those of a disk.
const SWAPPED_MUCH: u64 = 64 << 20;

/// Its name.
pub const ID: &str = "NOISE";

pub(super) struct Noise;

impl Check for Noise {
    fn about(&self) -> &'static About {
        &About {
            id: ID,
            severities: &[Severity::Error, Severity::Warn, Severity::Note],
            sees: "other work of the machine: other processes on all processors, a hypervisor or a quota that took \
                   processors away, swapping, a processor whose speed changes",
            seen_in: "A000: 2 GB of memory for two RAM disks of 1 GB and two servers; A003: one processor for client and server",
            advice: "end the other processes, or measure on a machine with more processors and memory than the run \
                     needs",
            needs: Needs::WholeRun,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        if let Some(governor) = &run.environment.governor
            && governor != "performance"
        {
            let text = format!(
                "the processors' speed follows their load (governor {governor}, not performance): a client that idles \
                 more is measured at a lower speed"
            );
            report.run(Severity::Note, text);
        }
        for (severity, text) in disturbances(run) {
            report.run(severity, text);
        }
    }
}

/// Whether the machine kept processors or memory from the run, so that the machine may be the cause of a drift.
pub(super) fn is_disturbed(run: &Run) -> bool {
    !disturbances(run).is_empty()
}

fn disturbances(run: &Run) -> Vec<(Severity, String)> {
    let Some((usage, machine)) = machine(run) else { return Vec::new() };
    let Some(length) = length_s(usage).filter(|length| *length >= SEEN_S) else {
        return Vec::new();
    };
    let warnings =
        [others(run, usage, machine, length), stolen(machine, length), throttled(machine, length)];
    let warnings = warnings.into_iter().flatten().map(|text| (Severity::Warn, text));
    warnings.chain(swapped(run, machine)).collect()
}

fn machine(run: &Run) -> Option<(&Usage, &MachineUsage)> {
    let usage = run.usage.iter().find(|usage| usage.of == UsageOf::Machine)?;
    Some((usage, usage.machine.as_ref()?))
}

fn length_s(usage: &Usage) -> Option<f64> {
    Some(usage.at_s.last()? - usage.at_s.first()?)
}

/// The sentence about other processes that worked while no processor was idle.
fn others(run: &Run, usage: &Usage, machine: &MachineUsage, length: f64) -> Option<String> {
    let (mut disturbed_s, mut taken_s) = (0.0, 0.0);
    for at in 1..usage.at_s.len() {
        let length = usage.at_s[at] - usage.at_s[at - 1];
        let grown = |of: &[Option<f64>]| Some(of.get(at).copied()?? - of.get(at - 1).copied()??);
        let (Some(others), Some(idle)) = (grown(&machine.others_s), grown(&machine.idle_s)) else {
            continue;
        };
        if others > length * BUSY && idle < length * LEFT {
            disturbed_s += length;
            taken_s += others;
        }
    }
    if disturbed_s < length * OFTEN {
        return None;
    }
    let (taken, processors) = (taken_s / disturbed_s, machine.processors);
    let mut text = format!(
        "other processes used {taken:.2} of {processors} processors for {disturbed_s:.1} of {length:.1} s, \
         and no processor was free"
    );
    let mut named: Vec<(&String, &f64)> = machine.others.iter().collect();
    named.sort_by(|a, b| b.1.total_cmp(a.1));
    let named: Vec<String> =
        named.iter().take(3).map(|(name, used)| format!("{name} {used:.1} s")).collect();
    if !named.is_empty() {
        text = format!("{text}: {}", named.join(", "));
    }
    if let Some(waited) = waited(run) {
        // Threads beside the timed threads wait too, such as those of a client's library.
        text = if waited < 1.0 {
            format!("{text}; the client waited for a processor {:.0} % of its time", waited * 100.0)
        } else {
            format!(
                "{text}; the client's threads waited for a processor {waited:.1} times the measured time"
            )
        };
    }
    Some(text)
}

/// The share of their time in which the client's threads were ready to run and had no processor.
fn waited(run: &Run) -> Option<f64> {
    let samples = run.cells.iter().flat_map(|cell| {
        let workers = f64::from(cell.workers);
        cell.samples
            .iter()
            .map(move |sample| Some((sample.client_wait_s?, sample.wall_s * workers)))
    });
    let (waited, all) =
        samples.flatten().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (waited > 0.0 && all > 0.0).then(|| waited / all)
}

fn stolen(machine: &MachineUsage, length: f64) -> Option<String> {
    let stolen = machine.stolen_s.last().copied()??;
    let share = stolen / (length * f64::from(machine.processors.max(1)));
    (share > GONE).then(|| {
        format!(
            "the hypervisor gave {:.1} % of the processors' time to other machines ({stolen:.2} s in {length:.1} s)",
            share * 100.0
        )
    })
}

fn throttled(machine: &MachineUsage, length: f64) -> Option<String> {
    let throttled = machine.throttled_s.last().copied()??;
    (throttled > length * GONE).then(|| {
        format!("a quota of its control group kept the run from the processors for {throttled:.2} of {length:.1} s")
    })
}

fn swapped(run: &Run, machine: &MachineUsage) -> Option<(Severity, String)> {
    let bytes = machine.swapped_in_bytes.last().copied()??;
    if bytes < SWAPPED {
        return None;
    }
    let ours = run.usage.iter().filter(|usage| usage.of != UsageOf::Machine);
    let most = ours.flat_map(|usage| usage.swap_bytes.iter().flatten()).max().copied().unwrap_or(0);
    let mut text = format!("{} came back from swap space during the run", ByteSize(bytes));
    let much = bytes >= SWAPPED_MUCH && most > 0;
    if most > 0 {
        text = format!("{text}; up to {} of client or servers were swapped out", ByteSize(most));
    }
    if much {
        text.push_str(": these times are a disk's");
    }
    Some((if much { Severity::Error } else { Severity::Warn }, text))
}
