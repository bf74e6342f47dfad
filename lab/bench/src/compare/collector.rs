//! The garbage collectors of guests' languages: their work in a cell, and the note on it.

use larder_report::figures::nanoseconds;
use larder_report::{Cell, Collector, Run};

use super::samples::Entry;

/// The work in all these rounds; `None` where a guest does not tell it.
pub(super) fn of_cell(rounds: &[&Entry]) -> Option<Collector> {
    added(rounds.iter().filter_map(|entry| entry.sample.collector))
}

/// A note on the collectors of all targets that tell their work; `None` where no collector has worked.
pub(super) fn note(run: &Run) -> Option<String> {
    let told = run.targets.iter().filter_map(|target| {
        let own = || run.cells.iter().filter(|cell| cell.target == target.url);
        let all = added(own().filter_map(|cell| cell.collector)).filter(|all| all.cycles > 0)?;
        Some(format!("{} {}", target.name, said(all, own())))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| {
        format!(
            "the garbage collector's cycles, its longest pause, and its share of the client's CPU time: {}",
            told.join("; ")
        )
    })
}

/// The figures of a target with these cells.
fn said<'a>(all: Collector, cells: impl Iterator<Item = &'a Cell>) -> String {
    let told = cells.filter(|cell| cell.collector.is_some());
    let cpu_s: f64 = told.filter_map(|cell| cell.client_cpu_s).sum();
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    let pause = nanoseconds(all.longest_pause_ns as f64);
    let share = if cpu_s > 0.0 { 100.0 * all.cpu_s / cpu_s } else { 0.0 };
    // A collector also works between the measured times, which the client's processor time leaves out.
    let share = if share > 100.0 { "more than 100".into() } else { format!("{share:.0}") };
    format!("{}, {pause}, {share} %", all.cycles)
}

fn added(each: impl Iterator<Item = Collector>) -> Option<Collector> {
    each.reduce(|mut all, more| {
        all.add(&more);
        all
    })
}

#[cfg(test)]
mod tests {
    use larder_report::Target;

    use super::*;

    #[test]
    fn the_collectors_of_all_targets_are_told_in_one_note() {
        let target = |url: &str| Target { url: url.into(), name: url.into(), ..Target::default() };
        let cell = |collector| Cell {
            target: "go+map:".into(),
            client_cpu_s: Some(2.0),
            collector,
            ..Cell::default()
        };
        let work = |longest_pause_ns| {
            let pause_ns = 2 * longest_pause_ns;
            Some(Collector { cycles: 3, pause_ns, longest_pause_ns, cpu_s: 0.5 })
        };
        let run = Run {
            targets: vec![target("moka:"), target("go+map:")],
            cells: vec![cell(work(40_000)), cell(work(90_000)), cell(None)],
            ..Run::default()
        };
        let told = note(&run).unwrap();
        assert!(told.ends_with(": go+map: 6, 90.0 µs, 25 %"), "{told}");
        assert_eq!(note(&Run { cells: vec![cell(None)], ..run }), None);
    }
}
