//! HIDDEN-CODEC: a client that compresses moves fewer bytes than its values have.

use larder_report::{Cell, Operation, Run, Severity, Target, Wire};
use larder_store::ByteSize;

use super::{About, Check, Needs, Report, measured, percent};

/// Below this share of the values' bytes, in percent, something compressed them: each value on the wire also has a
/// header.
const LESS: f64 = 95.0;

pub(super) struct HiddenCodec;

impl Check for HiddenCodec {
    fn about(&self) -> &'static About {
        &About {
            id: "HIDDEN-CODEC",
            severities: &[Severity::Note],
            sees: "fewer bytes on the wire than the values have: a client that compresses them",
            seen_in: "the articles do not say, though clients of PHP and Java compress larger values by default",
            advice: "switch compression off in the client, or measure with values that do not compress, such as the \
                     default ones",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let way: (fn(&Wire) -> u64, _) = match cell.operation {
                Operation::Set | Operation::SetMany => (|wire| wire.sent_bytes, "sent"),
                // Reads that a nearer tier answers do not go over the wire.
                operation
                    if operation.reads() && cell.counts.misses == 0 && cell.tiers.is_empty() =>
                {
                    (|wire| wire.received_bytes, "received")
                }
                _ => continue,
            };
            // Lost or wrong values were not moved either.
            if cell.counts.errors + cell.counts.wrong > 0 || cell.bytes == 0 {
                continue;
            }
            let Some(moved) = moved(cell, way.0) else { continue };
            let share = percent(moved, cell.bytes);
            if share >= LESS {
                continue;
            }
            let (verb, codec) = (way.1, run.target(&cell.target).map(codec).unwrap_or_default());
            let (moved, values) = (ByteSize(moved), ByteSize(cell.bytes));
            let text = format!("{verb} {moved} for values of {values}, {share:.0} %{codec}");
            report.cell(Severity::Note, cell, text);
        }
    }
}

/// The traffic over the wire in the rounds behind the figures; `None` where one of these rounds has no count.
fn moved(cell: &Cell, of: fn(&Wire) -> u64) -> Option<u64> {
    let whole = cell.samples.iter().any(|sample| sample.complete);
    let behind = cell.samples.iter().filter(|sample| sample.complete || !whole);
    behind.map(|sample| sample.wire.as_ref().map(of)).sum()
}

/// The target's own compression settings.
fn codec(target: &Target) -> String {
    let says = |(name, value): &(&String, &String)| {
        let is_off = ["", "0", "off", "no", "none", "false"].contains(&value.as_str());
        name.contains("compress") && !is_off
    };
    let settings = target.settings.iter().filter(says);
    let said: Vec<String> = settings.map(|(name, value)| format!("{name} {value}")).collect();
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}
