//! What a recording has seen: a line from time to time, and one at its end.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use larder_record::{Counts, RowSender, Totals, Watch, Written};
use larder_server::{Level, LogFormat};
use larder_store::{ByteSize, count, noun_after};

/// Tells what was seen, from time to time, where something was.
pub(super) fn begin(watch: Watch, row_sender: RowSender, every: Duration, log: LogFormat) {
    if every.is_zero() {
        return;
    }
    // The thread ends with the process.
    thread::spawn(move || {
        let (mut before, mut told) = (Counts::default(), Instant::now());
        loop {
            thread::sleep(every);
            let totals = watch.totals();
            if totals.counts == before {
                continue;
            }
            let rate = rate(totals.counts.operations - before.operations, told.elapsed());
            (before, told) = (totals.counts, Instant::now());
            let message = format!(
                "{} ({rate}/s){}, {}, {} dropped",
                grouped_count(totals.counts.operations, "operation"),
                hit_ratio(&totals.counts),
                count(totals.n_open, "connection"),
                grouped_count(row_sender.dropped(), "row"),
            );
            let (operations, dropped) = (totals.counts.operations, row_sender.dropped());
            log.say(
                Level::Info,
                "seen",
                &message,
                &[
                    ("operations", &operations),
                    ("connections", &totals.n_open),
                    ("dropped", &dropped),
                ],
            );
        }
    });
}

/// What was seen in all.
pub(super) fn last(totals: &Totals, dropped: u64, written: &Written) -> String {
    let mut text = counted(&totals.counts, totals.n_connections, dropped);
    for (number, what) in [
        (totals.n_lost, "connections that were not understood to their end, and passed through"),
        (totals.n_other_use, "connections that were put to another use, and passed through"),
        (totals.n_refused, "connections that the server refused"),
    ] {
        if number > 0 {
            let _ = writeln!(text, "{what}: {}", grouped(number));
        }
    }
    list_files(&mut text, written);
    text
}

/// The operations that were seen.
pub(super) fn counted(counts: &Counts, n_connections: u64, dropped: u64) -> String {
    let Counts { operations, rows, errors, unanswered, others, .. } = *counts;
    let mut text = format!(
        "{}{} on {}; {} recorded, {} dropped\n",
        grouped_count(operations, "operation"),
        hit_ratio(counts),
        grouped_count(n_connections, "connection"),
        grouped_count(rows.saturating_sub(dropped), "row"),
        grouped(dropped),
    );
    for (number, what) in [
        (errors, "operations that were refused"),
        (unanswered, "operations that were never answered: their results are unknown"),
        (others, "requests that are no operations on keys of a cache"),
    ] {
        if number > 0 {
            let _ = writeln!(text, "{what}: {}", grouped(number));
        }
    }
    text
}

/// Adds the files and their sizes: the finished ones, and journals that could not be finished.
pub(super) fn list_files(text: &mut String, written: &Written) {
    let size = |path: &Path| ByteSize(fs::metadata(path).map_or(0, |about| about.len()));
    for path in &written.files {
        let _ = writeln!(text, "{} ({})", path.display(), size(path));
    }
    for path in &written.unfinished {
        let _ = writeln!(
            text,
            "{} ({}) is not finished; make room, and the next recording of this name finishes it",
            path.display(),
            size(path)
        );
    }
}

fn hit_ratio(counts: &Counts) -> String {
    let ratio = counts.hit_ratio();
    ratio.map_or_else(String::new, |ratio| format!(", hit ratio {:.1} %", ratio * 100.0))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a rate needs few digits"
)]
fn rate(operations: u64, time: Duration) -> String {
    grouped((operations as f64 / time.as_secs_f64().max(1e-3)).round() as u64)
}

/// A number of things, with its thousands parted: `14,324 operations`.
pub(super) fn grouped_count(number: u64, noun: &str) -> String {
    format!("{} {}", grouped(number), noun_after(number, noun))
}

/// A number with its thousands parted.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn the_last_lines_name_only_what_was() {
        let counts =
            Counts { operations: 1200, rows: 1200, hits: 900, misses: 100, ..Counts::default() };
        let totals = Totals { counts, n_connections: 3, n_lost: 1, ..Totals::default() };
        assert_eq!(
            last(&totals, 200, &Written::default()),
            "1,200 operations, hit ratio 90.0 % on 3 connections; 1,000 rows recorded, 200 dropped\n\
             connections that were not understood to their end, and passed through: 1\n"
        );
    }
}
