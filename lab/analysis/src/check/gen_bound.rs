//! GEN-BOUND: figures of the load generator instead of the target.

use larder_report::figures::{nanoseconds, percent, significant};
use larder_report::{Cell, Run, Severity, Target};

use super::{About, Check, Needs, Report, measured};
use crate::statistics::median;

/// The schedule's own lateness may be up to this share of the latency's p99.
const TOLERABLE_LAG: f64 = 0.1;
/// From this share on, a p99 measures the schedule more than the target.
const MOST: f64 = 0.5;
/// A worker that has the processor for a greater share of its time hardly waits for the target.
const BUSY: f64 = 0.8;

pub(super) struct GenBound;

impl Check for GenBound {
    fn about(&self) -> &'static About {
        &About {
            id: "GEN-BOUND",
            severities: &[Severity::Warn],
            sees: "a load generator that is itself the limit: it begins operations late, or works nearly all the time while a server waits",
            seen_in: "none of the articles: redis-benchmark has one thread, and measures itself before it measures a \
                      server",
            advice: "use more --threads, fewer --connections, a lower --rate, or a separate machine for the client",
            needs: Needs::WholeRun,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let Some(target) = run.target(&cell.target) else { continue };
            if target.stores != Some(true) {
                continue;
            }
            let is_busy = || busiest(cell).or_else(|| busy(cell));
            let is_limit = || is_behind_a_server(target) && !is_at_its_limit(run, target, cell);
            let idle = || servers(cell).unwrap_or_default();
            let text = late(cell).or_else(|| {
                is_busy().filter(|_| is_limit()).map(|text| format!("{text}{}", idle()))
            });
            if let Some(text) = text {
                report.cell(Severity::Warn, cell, text);
            }
        }
    }
}

/// Whether all the target's work is behind a server: work inside this process, a tier's too, is client CPU time and
/// nothing else.
fn is_behind_a_server(target: &Target) -> bool {
    let is_elsewhere = matches!(target.ownership.as_deref(), Some("managed" | "external"));
    is_elsewhere && target.language.is_none() && target.engine != "tiered"
}

/// Whether the servers of driven connections worked nearly all the time too: then no further thread of the client would
/// get more out of them. Where a thread waits for each answer, its server rests meanwhile.
fn is_at_its_limit(run: &Run, target: &Target, cell: &Cell) -> bool {
    let used = cell.driven.and_then(|driven| driven.server_processors);
    used.is_some_and(|used| used > BUSY * f64::from(limit(run, target)))
}

/// The processors that the servers of a target can use: their threads, as far as they report them, on the processors of
/// this machine. A server that reports no threads has one that answers.
fn limit(run: &Run, target: &Target) -> u32 {
    let settings = || target.settings.iter();
    let threads = settings().filter(|(name, _)| name.ends_with("threads"));
    let threads = threads.filter_map(|(_, number)| number.parse().ok()).max().unwrap_or(1_u32);
    let nodes =
        settings().filter(|(name, _)| *name == "nodes").map(|(_, list)| list.split(',').count());
    let servers = u32::try_from(nodes.sum::<usize>().max(1)).unwrap_or(u32::MAX);
    threads.saturating_mul(servers).min(run.environment.cores.max(1))
}

/// The processors that the servers used meanwhile, where connections were driven.
fn servers(cell: &Cell) -> Option<String> {
    let used = cell.driven?.server_processors?;
    Some(format!(", while the servers used {} processors", significant(used, 2)))
}

/// The schedule's own lateness, where it is a good part of the latency.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn late(cell: &Cell) -> Option<String> {
    let (lag, latency) = (cell.paced.as_ref()?.schedule_lag_ns?.p99, cell.latency_ns?.p99);
    let share = lag as f64 / latency.max(1) as f64;
    (share > TOLERABLE_LAG).then(|| {
        let ranks =
            if share > MOST { ": a ranking by this p99 would rank the client" } else { "" };
        format!(
            "operations began {} late at p99 although their thread was free, which is {} of the p99 of {}{ranks}",
            nanoseconds(lag as f64),
            percent(share.min(1.0)),
            nanoseconds(latency as f64)
        )
    })
}

/// The busiest of the client's threads, where it hardly ever waits in most rounds: a single busy thread can be the
/// limit. Mixed work has this figure too.
fn busiest(cell: &Cell) -> Option<String> {
    let whole = cell.samples.iter().filter(|sample| sample.complete);
    let share = median(&whole.filter_map(|sample| sample.client_busy).collect::<Vec<_>>())?;
    (share > BUSY).then(|| {
        let whose = match cell.workers {
            0 | 1 => "the client's thread".to_owned(),
            workers => format!("the busiest of the client's {workers} threads"),
        };
        format!("{whose} had the processor for {} of its time", percent(share.min(1.0)))
    })
}

/// The client's processor time, including a library's own threads, where the client hardly ever waits.
fn busy(cell: &Cell) -> Option<String> {
    let available = cell.wall_s? * f64::from(cell.workers.max(1));
    let share = cell.client_cpu_s? / available;
    (available > 0.0 && share > BUSY).then(|| {
        let workers = match cell.workers {
            0 | 1 => "its thread".to_owned(),
            workers => format!("its {workers} threads"),
        };
        format!(
            "the client had the processor for {} of the time of {workers}",
            percent(share.min(1.0))
        )
    })
}

#[cfg(test)]
mod tests {
    use larder_report::{Latency, Operation, Paced, ReasonKind, Sample};

    use super::*;

    /// The findings about a thread that had the processor for `cpu_s` of ten seconds, with a target of this ownership.
    fn found(cpu_s: f64, ownership: &str) -> Vec<String> {
        let target = Target {
            url: "t:".into(),
            ownership: Some(ownership.into()),
            stores: Some(true),
            ..Target::default()
        };
        let mut cell = Cell {
            target: "t:".into(),
            operation: Operation::Get,
            reason_kind: None::<ReasonKind>,
            workers: 1,
            wall_s: Some(10.0),
            client_cpu_s: Some(cpu_s),
            ..Cell::default()
        };
        cell.counts.ops = 1000;
        let run = Run { targets: vec![target], cells: vec![cell], ..Run::default() };
        let all = super::super::run_all(&run).into_iter();
        all.filter(|found| found.id == "GEN-BOUND").map(|found| found.text).collect()
    }

    #[test]
    fn a_p99_that_is_mostly_the_schedules_lateness_ranks_no_target() {
        let said = |lag: u64| {
            let latency = |p99| Latency { p99, ..Latency::default() };
            let paced = Paced { schedule_lag_ns: Some(latency(lag)), ..Paced::default() };
            let cell =
                Cell { latency_ns: Some(latency(1000)), paced: Some(paced), ..Cell::default() };
            late(&cell)
        };
        assert_eq!(said(50), None);
        assert!(said(300).is_some_and(|text| text.ends_with("30 % of the p99 of 1.00 µs")));
        assert!(said(600).is_some_and(|text| text.ends_with(": a ranking by this p99 would rank the client")));
    }

    #[test]
    fn one_thread_of_four_that_never_waits_is_told_of_in_mixed_work_too() {
        let run = |busy| {
            let sample = Sample { complete: true, client_busy: Some(busy), ..Sample::default() };
            let target = Target {
                url: "t:".into(),
                ownership: Some("managed".into()),
                stores: Some(true),
                ..Target::default()
            };
            let mut cell = Cell {
                target: "t:".into(),
                operation: Operation::Get,
                workers: 4,
                wall_s: Some(10.0),
                samples: vec![sample],
                ..Cell::default()
            };
            cell.counts.ops = 1000;
            let run = Run { targets: vec![target], cells: vec![cell], ..Run::default() };
            let all = super::super::run_all(&run).into_iter();
            all.filter(|found| found.id == "GEN-BOUND").map(|found| found.text).collect::<Vec<_>>()
        };
        let said = "the busiest of the client's 4 threads had the processor for 97 % of its time";
        assert_eq!(run(0.97), [said]);
        assert_eq!(run(0.5), [""; 0]);
    }

    #[test]
    fn a_server_at_its_limit_excuses_the_client_of_driven_connections() {
        let limit = |settings: &[(&str, &str)], cores| {
            let settings = settings.iter().map(|(name, text)| ((*name).into(), (*text).into()));
            let target = Target { settings: settings.collect(), ..Target::default() };
            let mut run = Run::default();
            run.environment.cores = cores;
            self::limit(&run, &target)
        };
        let of_four = ("num_threads", "4");
        assert_eq!([limit(&[], 8), limit(&[of_four], 8), limit(&[of_four], 2)], [1, 4, 2]);
        assert_eq!(limit(&[of_four, ("nodes", "a:1,a:2")], 16), 8);
    }

    #[test]
    fn a_client_that_works_nearly_all_the_time_before_a_server_measures_itself() {
        let said = found(9.1, "managed");
        assert!(said[0].contains("the processor for 91 % of the time of its thread"), "{said:?}");
        assert_eq!(found(6.0, "managed"), [""; 0], "it waits for the server");
        assert_eq!(found(9.9, "embedded"), [""; 0], "the cache is in the client");
    }
}
