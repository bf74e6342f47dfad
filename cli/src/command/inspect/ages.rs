//! The ages of segments, and the share of each age that is alive.

use std::fmt::Write;

use larder_report::figures::percent;
use larder_segment::{Queue, Survey};

use super::page_style::PageStyle;
use super::queues::{Sum, all};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Age groups by name, each with its upper bound in milliseconds.
const AGES: [(&str, u64); 15] = [
    ("1 s", 1000),
    ("3 s", 3000),
    ("10 s", 10_000),
    ("30 s", 30_000),
    ("1 min", MINUTE),
    ("3 min", 3 * MINUTE),
    ("10 min", 10 * MINUTE),
    ("30 min", 30 * MINUTE),
    ("1 h", HOUR),
    ("3 h", 3 * HOUR),
    ("8 h", 8 * HOUR),
    ("1 day", DAY),
    ("3 days", 3 * DAY),
    ("10 days", 10 * DAY),
    ("longer", u64::MAX),
];

/// The text before a bar.
const MARGIN: usize = 32;

/// The number of segments of each age in the small and the main queue, the youngest first; empty without such segments.
pub(super) fn text(survey: &Survey, look: PageStyle) -> String {
    let used = all(survey).filter(|segment| matches!(segment.queue, Queue::Small | Queue::Main));
    let mut groups = AGES.map(|(name, _)| (name, Vec::new()));
    for segment in used {
        let age = survey.now.saturating_sub(segment.begun);
        let at = AGES.iter().position(|(_, limit)| age < *limit).unwrap_or(AGES.len() - 1);
        groups[at].1.push(segment);
    }
    let is_used = |(_, segments): &(&str, Vec<_>)| !segments.is_empty();
    let (first, last) = (groups.iter().position(is_used), groups.iter().rposition(is_used));
    let (Some(first), Some(last)) = (first, last) else { return String::new() };
    let most = groups.iter().map(|(_, segments)| segments.len()).max().unwrap_or(1);
    let room = look.width.saturating_sub(MARGIN).max(10);
    let mut text = look.strong("begun within  segments  alive");
    text.push('\n');
    for (name, segments) in &groups[first..=last] {
        let sum = Sum::of(survey, segments.iter().copied());
        let share = if segments.is_empty() { String::new() } else { percent(sum.share()) };
        let _ = write!(text, "{name:12} {:>9} {share:>6}  ", sum.segments);
        for queue in [Queue::Small, Queue::Main] {
            let count = segments.iter().filter(|segment| segment.queue == queue).count();
            let signs = if most > room { (count * room).div_ceil(most) } else { count };
            text += &look.of_queue(queue, &look.bar(queue).repeat(signs));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    let [small, main] =
        [Queue::Small, Queue::Main].map(|queue| look.of_queue(queue, look.bar(queue)));
    let _ = writeln!(text, "bars: {small} small queue, {main} main queue");
    text
}
