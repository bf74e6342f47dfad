//! TTL-TRUTH: keys that outlive their TTL, or end before it.

use std::time::Duration;

use larder_report::figures::{count, seconds};
use larder_report::{Run, Severity};
use larder_store::Span;

use super::{About, Check, Needs, Report, measured};

pub(super) struct TtlTruth;

impl Check for TtlTruth {
    fn about(&self) -> &'static About {
        &About {
            id: "TTL-TRUTH",
            severities: &[Severity::Error, Severity::Warn],
            sees: "in workloads with a TTL: keys that still answer after it or disappear well before it, also where \
                   a touch or a second set gave the TTL, or where the keys are read meanwhile",
            seen_in: "none of the articles: not one tested whether entries expire",
            advice: "make the store check the time at each read, give TTLs in its unit, and set the clocks of its \
                     machines",
            needs: Needs::SomeRounds,
            repeats: true,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run).filter(|cell| cell.counts.outlived > 0) {
            let (outlived, found) = (cell.counts.outlived, cell.counts.hits + cell.counts.wrong);
            let text = format!(
                "{outlived} of {} that hit began after the TTL of the value had passed",
                count(found, "read")
            );
            report.stored(Severity::Error, cell, text);
        }
        for target in &run.targets {
            let Some(trial) = &target.ttl else { continue };
            let span = |seconds| Span(Duration::from_secs_f64(seconds));
            let asked = seconds(trial.last_request_after_s);
            if trial.late > 0 {
                let text = format!(
                    "{} of {} with a TTL of {} (in steps of {}) still answered {asked} after they were set",
                    trial.late,
                    count(trial.keys, "key"),
                    span(trial.ttl_s),
                    span(trial.resolution_s)
                );
                report.target(Severity::Error, target, text);
            }
            // A key that may have been evicted is no proof.
            let (unexplained, proven) = if trial.evictions_reported {
                ("no eviction explains it", Severity::Error)
            } else {
                ("the store does not report evictions", Severity::Warn)
            };
            if trial.early > 0 {
                let text = format!(
                    "{} of {} with a TTL of {} were gone {asked} after they were set, and {unexplained}",
                    trial.early,
                    count(trial.lasting_keys, "key"),
                    span(trial.lasting_ttl_s)
                );
                report.target(Severity::Warn, target, text);
            }
            if trial.middle_early > 0 {
                let text = format!(
                    "{} of {} with a TTL of {} were gone {asked} after they were set, and {unexplained}: its \
                     clock runs fast, or it cuts TTLs",
                    trial.middle_early,
                    count(trial.middle_keys, "key"),
                    span(trial.middle_ttl_s)
                );
                // One or two keys may have been evicted without being counted.
                let is_rule = trial.middle_early * 2 > trial.middle_keys;
                report.target(if is_rule { proven } else { Severity::Warn }, target, text);
            }
            let [short, lasting] = [trial.ttl_s, trial.lasting_ttl_s].map(span);
            let early = [
                ("a touch", trial.touch_lengthened_early, trial.touch_lengthened_keys),
                ("a second set", trial.set_lengthened_early, trial.set_lengthened_keys),
            ];
            for (what, gone, keys) in early.into_iter().filter(|(_, gone, _)| *gone > 0) {
                let text = format!(
                    "{gone} of {} with a TTL of {short} were gone {asked} after they were set, although {what} that gave them \
                     {lasting} was acknowledged",
                    count(keys, "key")
                );
                report.target(proven, target, text);
            }
            let late = [
                ("a touch", trial.touch_shortened_late, trial.touch_shortened_keys),
                ("a second set", trial.set_shortened_late, trial.set_shortened_keys),
            ];
            for (what, there, keys) in late.into_iter().filter(|(_, there, _)| *there > 0) {
                let text = format!(
                    "{there} of {} still answered {asked} after they were set, although {what} that gave them a TTL of {short} was \
                     acknowledged",
                    count(keys, "key")
                );
                report.target(Severity::Error, target, text);
            }
            // A store that ignores all TTLs is reported above.
            if trial.read_late > 0 && trial.late == 0 {
                let text = format!(
                    "{} of {} with a TTL of {short} that were read meanwhile still answered {asked} after they were set",
                    trial.read_late,
                    count(trial.read_keys, "key")
                );
                report.target(Severity::Error, target, text);
            }
            if let Some(error) = &trial.touch_error {
                let text = format!("a touch failed, so no TTL from a touch was tested: {error}");
                report.target(Severity::Warn, target, text);
            }
        }
    }
}
