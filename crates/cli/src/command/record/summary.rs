//! What a recording has seen: a line from time to time, and one at its end.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use larder_record::{Counts, Hand, Seen, Watch, Written};
use larder_server::{Level, LogFormat};
use larder_store::ByteSize;

/// Tells what was seen, from time to time, where something was.
pub(super) fn begin(watch: Watch, hand: Hand, every: Duration, log: LogFormat) {
    if every.is_zero() {
        return;
    }
    // The thread ends with the process.
    thread::spawn(move || {
        let (mut before, mut told) = (Counts::default(), Instant::now());
        loop {
            thread::sleep(every);
            let seen = watch.seen();
            if seen.counts == before {
                continue;
            }
            let rate = rate(seen.counts.operations - before.operations, told.elapsed());
            (before, told) = (seen.counts, Instant::now());
            let message = format!(
                "{} operations ({rate}/s){}, {} connections, {} rows dropped",
                grouped(seen.counts.operations),
                hit_ratio(&seen.counts),
                seen.n_open,
                grouped(hand.dropped()),
            );
            let (operations, dropped) = (seen.counts.operations, hand.dropped());
            log.say(
                Level::Info,
                "seen",
                &message,
                &[
                    ("operations", &operations),
                    ("connections", &seen.n_open),
                    ("dropped", &dropped),
                ],
            );
        }
    });
}

/// What was seen in all.
pub(super) fn last(seen: &Seen, dropped: u64, written: &Written) -> String {
    let mut text = counted(&seen.counts, seen.n_connections, dropped);
    for (number, what) in [
        (seen.n_lost, "connections that were not understood to their end, and passed through"),
        (seen.n_other_use, "connections that were put to another use, and passed through"),
        (seen.n_refused, "connections that the server refused"),
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
        "{} operations{} on {} connections; {} rows recorded, {} dropped\n",
        grouped(operations),
        hit_ratio(counts),
        grouped(n_connections),
        grouped(rows.saturating_sub(dropped)),
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
    for path in &written.left {
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
        let seen = Seen { counts, n_connections: 3, n_lost: 1, ..Seen::default() };
        assert_eq!(
            last(&seen, 200, &Written::default()),
            "1,200 operations, hit ratio 90.0 % on 3 connections; 1,000 rows recorded, 200 dropped\n\
             connections that were not understood to their end, and passed through: 1\n"
        );
    }
}
