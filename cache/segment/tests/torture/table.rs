//! The results, as a table for people.

use larder_segment::Stats;

use crate::ledger::Tally;
use crate::run::Outcome;

/// The part about the cache alone.
pub(crate) fn ours(outcome: &Outcome, stats: &Stats) -> String {
    let count = |of: Tally| outcome.count(of);
    let judged = &outcome.judged;
    let lines = [
        format!(
            "{:.0} s: {} kills, {} stops, {} times opened anew by workers; {} operations, {} values found",
            outcome.seconds,
            outcome.kills,
            outcome.stops,
            count(Tally::Opened),
            count(Tally::Operations),
            count(Tally::Hits),
        ),
        format!(
            "{} wrong, {} old, {} old of fillers that were stopped; {} fills, {} refused; {} leases",
            count(Tally::Wrong),
            count(Tally::Old),
            count(Tally::Excused),
            count(Tally::Filled),
            count(Tally::Refused),
            count(Tally::Leased),
        ),
        format!(
            "{} hangs over 100 ms{}, {} as long behind one that held the lock and did not run{}; {} ended busy{}; for {:.0} ms \
             nobody looked",
            judged.hangs,
            longest(judged.longest_hang),
            judged.behind,
            longest(judged.longest_behind),
            count(Tally::Busy),
            longest(judged.longest_busy),
            ms(judged.unseen),
        ),
        format!(
            "{} locks repaired, {} entries evicted, {} damaged",
            stats.lock_repairs,
            stats.evictions(),
            stats.damaged,
        ),
    ];
    lines.join("\n")
}

const HEADS: [&str; 9] =
    ["cache", "seconds", "operations", "kills", "stops", "wrong", "old", "hangs", "crashes"];

/// All results side by side.
pub(crate) fn all(outcomes: &[(&str, Outcome)]) -> String {
    let mut lines = vec![row(HEADS.map(str::to_owned))];
    for (name, outcome) in outcomes {
        lines.push(row([
            (*name).to_owned(),
            format!("{:.0}", outcome.seconds),
            outcome.count(Tally::Operations).to_string(),
            outcome.kills.to_string(),
            outcome.stops.to_string(),
            outcome.count(Tally::Wrong).to_string(),
            outcome.count(Tally::Old).to_string(),
            outcome.judged.hangs.to_string(),
            outcome.crashes.len().to_string(),
        ]));
    }
    for (name, outcome) in outcomes {
        let judged = &outcome.judged;
        if judged.hangs > 0 {
            let more = longest(judged.longest_hang);
            lines.push(format!("{name}: hangs over 100 ms while nobody was stopped{more}"));
        }
        if judged.behind > 0 {
            let more = longest(judged.longest_behind);
            lines.push(format!("{name}: {} as long while one was stopped{more}", judged.behind));
        }
        if let Some(how) = outcome.crashes.first() {
            lines.push(format!("{name}: workers ended by themselves, the first by {how}"));
        }
        let mut stuck = outcome.stuck.clone();
        stuck.sort_by_key(|(kills, _)| *kills);
        if let ([(least, _), ..], [.., (most, _)]) = (stuck.as_slice(), stuck.as_slice()) {
            let (times, (median, seconds)) = (stuck.len(), stuck[stuck.len() / 2]);
            lines.push(format!(
                "{name}: all workers hung for good ({times} ×), found after {least} to {most} kills, mostly {median} \
                 ({seconds:.1} s)"
            ));
        }
    }
    lines.join("\n")
}

fn row(cells: [String; HEADS.len()]) -> String {
    let [name, cells @ ..] = cells;
    let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>10}")).collect();
    format!("{name:<16}{}", cells.join(" "))
}

/// Empty where there was no such operation.
fn longest(nanoseconds: u64) -> String {
    if nanoseconds == 0 { String::new() } else { format!(" (longest {:.0} ms)", ms(nanoseconds)) }
}

#[expect(clippy::cast_precision_loss, reason = "nobody reads so many digits")]
fn ms(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}
