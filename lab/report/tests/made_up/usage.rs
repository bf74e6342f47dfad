//! The use of the machine by a made-up run.

#![expect(clippy::cast_precision_loss, reason = "figures that nobody measured")]

use larder_report::{MachineUsage, Run, Usage, UsageOf};
use larder_testkit::Random;

/// This number of samples, one a second: of the client, of the machine, and of a server behind each target. A server
/// works only in its turns of three seconds.
pub(crate) fn usage(run: &Run, samples: usize) -> Vec<Usage> {
    let mut random = Random::new(7);
    let targets = run.targets.len().max(1);
    let turn = |second: usize| second / 3 % targets;
    let mut client = series(&mut random, UsageOf::Client, samples, |_| true);
    client.turn_target = (0..samples).map(|second| u32::try_from(turn(second)).ok()).collect();
    let mut all = vec![client];
    for (n, target) in run.targets.iter().enumerate() {
        let servers = series(&mut random, UsageOf::Servers, samples, |second| turn(second) == n);
        all.push(Usage { target: Some(target.url.clone()), ..servers });
    }
    let mut machine = series(&mut random, UsageOf::Machine, samples, |_| true);
    let seconds = |random: &mut Random| times(&totals(random, samples, 1_000_000, |_| true));
    let bytes = |random: &mut Random| totals(random, samples, 1 << 30, |_| true);
    machine.machine = Some(MachineUsage {
        processors: 2,
        idle_s: seconds(&mut random),
        interrupts_s: seconds(&mut random),
        stolen_s: seconds(&mut random),
        others_s: seconds(&mut random),
        others: [("rustc".to_owned(), 3.25)].into(),
        available_bytes: bytes(&mut random),
        swapped_in_bytes: vec![Some(0); samples],
        throttled_s: vec![None; samples],
        cpu_pressure_s: seconds(&mut random),
        memory_pressure_s: vec![Some(0.0); samples],
        io_pressure_s: seconds(&mut random),
    });
    all.push(machine);
    all
}

fn series(
    random: &mut Random,
    of: UsageOf,
    samples: usize,
    works: impl Fn(usize) -> bool,
) -> Usage {
    let mut total = |most| totals(random, samples, most, &works);
    Usage {
        of,
        at_s: (0..samples).map(|second| second as f64 + 0.000_107).collect(),
        cpu_user_s: times(&total(900_000)),
        cpu_system_s: times(&total(700_000)),
        rss_bytes: total(1 << 20)
            .into_iter()
            .map(|bytes| bytes.map(|bytes| bytes + 5_000_000))
            .collect(),
        shared_bytes: total(4096),
        swap_bytes: vec![Some(0); samples],
        minor_faults: total(3000),
        major_faults: total(2),
        voluntary_switches: total(90_000),
        involuntary_switches: total(400),
        disk_read_bytes: vec![Some(0); samples],
        disk_written_bytes: total(1 << 24),
        wire_received_bytes: total(1 << 26),
        wire_sent_bytes: total(1 << 27),
        ..Usage::default()
    }
}

/// A total that grows by less than `most` in each second of work.
fn totals(
    random: &mut Random,
    samples: usize,
    most: usize,
    works: impl Fn(usize) -> bool,
) -> Vec<Option<u64>> {
    let mut total = 0;
    let grown = |second| {
        total += if works(second) { random.below(most) as u64 } else { 0 };
        Some(total)
    };
    (0..samples).map(grown).collect()
}

fn times(microseconds: &[Option<u64>]) -> Vec<Option<f64>> {
    microseconds.iter().map(|time| time.map(|time| time as f64 / 1e6)).collect()
}
