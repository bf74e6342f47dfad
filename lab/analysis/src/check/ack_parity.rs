//! ACK-PARITY: writes whose acknowledgement promises different things.

use larder_report::{Operation, Run, Severity};
use larder_store::Durability;

use super::{About, Check, Needs, Report, pairs};

pub(super) struct AckParity;

impl Check for AckParity {
    fn about(&self) -> &'static About {
        &About {
            id: "ACK-PARITY",
            severities: &[Severity::Warn, Severity::Note],
            sees: "writes compared between targets with acknowledgements of different durability",
            seen_in: "by their defaults, A001: a database that syncs each commit, beside memory; A000: a driver that \
                      waits for no reply",
            advice: "compare writes within one class of durability, or set the options that make them equal",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        let writes = |operation| {
            use Operation::{Delete, GetOrSet, Set, Touch};
            matches!(operation, Set | GetOrSet | Delete | Touch)
        };
        for (a, b) in pairs(run, writes) {
            let (Some(of_a), Some(of_b)) = (&a.durability, &b.durability) else { continue };
            if of_a != of_b {
                let text = format!("writes are {of_a}, those of {} are {of_b}", b.name);
                // A client that does not even wait for an answer measures how fast a buffer takes bytes.
                let sent = Durability::Unacknowledged.as_str();
                let is_sent = of_a == sent || of_b == sent;
                let severity = if is_sent { Severity::Warn } else { Severity::Note };
                report.target(severity, a, text);
            }
        }
    }
}
