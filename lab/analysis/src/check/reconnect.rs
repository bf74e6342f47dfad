//! RECONNECT: connections opened again and again.

use larder_report::figures::count;
use larder_report::{Run, Severity};

use super::{About, Check, Needs, Report, measured, percent};

/// Above this share of operations, in percent, opening connections is part of the measurement.
const TOLERABLE: f64 = 1.0;

pub(super) struct Reconnect;

impl Check for Reconnect {
    fn about(&self) -> &'static About {
        &About {
            id: "RECONNECT",
            severities: &[Severity::Warn],
            sees: "more than one connection for a hundred operations",
            seen_in: "A002: a new client, and so a new TCP connection, in every iteration",
            advice: "keep one connection a thread, as the application should",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            // Each thread, connection or process of a guest connects once to each node at the start, in a stack to those
            // of each tier. So do connections that come and go. Only further connections are repeated.
            let settings = run.target(&cell.target).map(|target| target.settings.iter());
            let lists = settings.into_iter().flatten().filter(|(name, _)| is_nodes(name));
            let nodes = lists.map(|(_, list)| list.split(',').count()).sum::<usize>().max(1);
            let come = cell.comers.map_or(0, |comers| comers.begun);
            let first = (cell.sessions() * u64::from(cell.rounds) + come) * nodes as u64;
            let connections = cell.counts.connections.unwrap_or(0);
            let repeated = connections.saturating_sub(first);
            if percent(repeated, cell.counts.ops) > TOLERABLE {
                let text = format!(
                    "{} for {}",
                    count(connections, "connection"),
                    count(cell.counts.ops, "operation")
                );
                report.cell(Severity::Warn, cell, text);
            }
        }
    }
}

/// Whether a setting lists the servers of an engine, or of a tier: `nodes`, `l2.nodes`.
fn is_nodes(setting: &str) -> bool {
    setting.rsplit('.').next() == Some("nodes")
}
