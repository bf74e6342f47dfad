//! UNFAIR: connections that were answered much less than others.

use larder_report::figures::{count, rate};
use larder_report::{Cell, Driven, Run, Severity};

use super::{About, Check, Needs, Report, measured};

pub(super) struct Unfair;

impl Check for Unfair {
    fn about(&self) -> &'static About {
        &About {
            id: "UNFAIR",
            severities: &[Severity::Warn],
            sees: "connections that got less than a third of the median connection's answers, which a common rate and \
                   percentiles of all operations hide",
            seen_in: "none of the articles, which have a connection a thread; no common load generator counts answers by \
                      connection",
            advice: "take the clients of the starved connections for slow, whatever the percentiles say: use fewer \
                     --connections, a shorter --pipeline, values of one size, or more threads of the server",
            needs: Needs::SomeRounds,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        let mut told: Vec<&Cell> = Vec::new();
        for cell in measured(run) {
            // In an open loop, the schedule decides which connection has the next operation.
            let Some(driven) = cell.driven.filter(|driven| driven.starved > 0) else { continue };
            if cell.paced.is_some() {
                continue;
            }
            // The operations of a mix have the same connections.
            let is_same = |other: &&Cell| {
                (&other.target, &other.point, other.driven)
                    == (&cell.target, &cell.point, cell.driven)
            };
            if !told.iter().any(is_same) {
                told.push(cell);
                report.cell(Severity::Warn, cell, text(driven));
            }
        }
    }
}

fn text(driven: Driven) -> String {
    let Driven { connections, answered_per_s, starved, .. } = driven;
    format!(
        "in the median round {starved} of {} got less than a third of the median's answers: the least {}, the median {}, the \
         most {}",
        count(connections as usize, "connection"),
        rate(answered_per_s.least),
        rate(answered_per_s.median),
        rate(answered_per_s.most)
    )
}
