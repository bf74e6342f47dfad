//! Progress as plain lines, for a file or a pipe: a line for each planned round, and a line for each check that fires.

use larder_bench::Event;
use larder_report::{Point, Severity};
use larder_workload::Until;

use super::board::finding;

/// The facts that were already printed.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The last round.
    round: u32,
    points: Vec<Point>,
    /// The requested precision of the rates, where it decides the number of rounds.
    until: Option<Until>,
}

impl Lines {
    /// The line for an event; `None` for an event without a line.
    pub(super) fn line(&mut self, event: Event<'_>) -> Option<String> {
        match event {
            Event::Opening { target } => Some(format!("opening {target}")),
            Event::Unavailable { target, reason } => {
                Some(format!("larder: {target} cannot run: {reason}"))
            }
            Event::Lost { target, reason } => Some(format!("larder: {target} is lost: {reason}")),
            Event::NotClosed { target, reason } => {
                Some(format!("larder: {target} was not closed in order: {reason}"))
            }
            Event::FewRounds { text } | Event::FewerKeys { text } => Some(text.to_owned()),
            Event::Fitting => Some("timing a short trial".to_owned()),
            Event::Floor => Some("measuring the floor".to_owned()),
            Event::WarmUp => Some("warming up".to_owned()),
            Event::Started { plan } => {
                self.points = plan.points.iter().map(|point| point.point.clone()).collect();
                self.until = plan.until;
                None
            }
            Event::Turn { round, rounds, .. } => {
                let new = std::mem::replace(&mut self.round, round) != round;
                // Of rounds beyond the planned number, a log has only each tenth.
                let tells = new && (round <= rounds || round.is_multiple_of(10));
                tells.then(|| match self.until {
                    Some(until) if round > rounds => format!("round {round}, until {until}"),
                    Some(until) => format!("round {round} of {rounds} and more, until {until}"),
                    None => format!("round {round} of {rounds}"),
                })
            }
            Event::Fired { target, check } => {
                let severity = match check.severity {
                    Severity::Error => "error",
                    Severity::Warn => "warning",
                    Severity::Note => return None,
                };
                Some(format!(
                    "so far, {severity} {}: {}",
                    check.id,
                    finding(target, check, &self.points)
                ))
            }
            _ => None,
        }
    }
}
