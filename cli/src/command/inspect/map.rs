//! The map: a line for each partition, a sign for each segment, the oldest of a queue first.

use std::fmt::Write;

use larder_segment::{PartitionSurvey, Queue, SegmentSurvey, Survey};

use super::page_style::PageStyle;
use super::queues::all;

/// The columns of the map.
const COLUMNS: [(&str, &[Queue]); 3] = [
    ("small", &[Queue::Small]),
    ("main", &[Queue::Main]),
    ("free", &[Queue::Index, Queue::Free, Queue::Unknown]),
];

/// The text before the first column.
const MARGIN: usize = 11;

/// The segments of each column of a partition, the oldest first.
type Row<'s> = [Vec<&'s SegmentSurvey>; COLUMNS.len()];

pub(super) fn text(survey: &Survey, look: PageStyle) -> String {
    let rows: Vec<Row<'_>> = survey.partitions.iter().map(row).collect();
    let (each, widths) = fitting(&rows, look.width);
    let mut text = legend(survey, look, each);
    let mut heading = format!("{:MARGIN$}", "partition");
    for ((name, _), width) in COLUMNS.iter().zip(widths) {
        let _ = write!(heading, "{name:width$}  ");
    }
    text.extend([&look.strong(heading.trim_end()), "\n"]);
    for (number, row) in rows.iter().enumerate() {
        let _ = write!(text, "{number:>9}{:1$}", "", MARGIN - 9);
        for (i, (segments, width)) in row.iter().zip(widths).enumerate() {
            let signs: String =
                segments.chunks(each).map(|some| sign(some, survey.segment_size, look)).collect();
            // No column follows the last one.
            let fill = if i + 1 == row.len() { 0 } else { width + 2 - signs.chars().count() };
            let _ = write!(text, "{}{:fill$}", look.of_queue(COLUMNS[i].1[0], &signs), "");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn row(partition: &PartitionSurvey) -> Row<'_> {
    COLUMNS.map(|(_, queues)| {
        let of_column = partition.segments.iter().filter(|s| queues.contains(&s.queue));
        let mut segments: Vec<_> = of_column.collect();
        segments.sort_by_key(|segment| (segment.queue, segment.order));
        segments
    })
}

/// The number of segments behind a sign, so that the lines fit the width, and the resulting width of each column.
fn fitting(rows: &[Row<'_>], width: usize) -> (usize, [usize; COLUMNS.len()]) {
    let widths = |each: usize| {
        let mut widths = COLUMNS.map(|(name, _)| name.len());
        for row in rows {
            for (width, segments) in widths.iter_mut().zip(row) {
                *width = segments.len().div_ceil(each).max(*width);
            }
        }
        widths
    };
    let most = rows.iter().flatten().map(Vec::len).max().unwrap_or(1).max(1);
    let fits = |each: &usize| {
        MARGIN + widths(*each).iter().sum::<usize>() + 2 * (COLUMNS.len() - 1) <= width
    };
    let each = (1..=most).find(fits).unwrap_or(most);
    (each, widths(each))
}

fn sign(segments: &[&SegmentSurvey], size: usize, look: PageStyle) -> char {
    let all = |is: fn(&SegmentSurvey) -> bool| segments.iter().all(|segment| is(segment));
    if all(|segment| segment.queue == Queue::Free) {
        return look.free();
    }
    if all(|segment| segment.queue == Queue::Index) {
        return 'i';
    }
    if all(|segment| segment.queue == Queue::Unknown) {
        return '?';
    }
    if all(|segment| segment.is_stale) {
        return look.stale();
    }
    let alive: u64 = segments.iter().map(|segment| u64::from(segment.alive)).sum();
    look.sign(alive, (size * segments.len()) as u64)
}

/// The meaning of the signs that are on the map.
fn legend(survey: &Survey, look: PageStyle, each: usize) -> String {
    let ramp: String = look.ramp().iter().collect();
    let what = if each == 1 { "a segment".to_owned() } else { format!("{each} segments") };
    let mut text =
        format!("A sign is {what}, the oldest first, by how much of it is alive: {ramp}");
    let mut add = |sign: char, means: &str| {
        let _ = write!(text, "; {sign}\u{a0}{means}");
    };
    if all(survey).any(|segment| segment.is_stale) {
        add(look.stale(), "expired or cleared");
    }
    if all(survey).any(|segment| segment.queue == Queue::Free) {
        add(look.free(), "free");
    }
    if all(survey).any(|segment| segment.queue == Queue::Index) {
        add('i', "given to the index");
    }
    if all(survey).any(|segment| segment.queue == Queue::Unknown) {
        add('?', "damaged");
    }
    wrapped(&text, look.width)
}

/// Lines within the width, broken between words.
fn wrapped(text: &str, width: usize) -> String {
    let (mut lines, mut line) = (String::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
            lines.extend([line.as_str(), "\n"]);
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.extend([line.as_str(), "\n"]);
    // A sign and its meaning stay on one line.
    lines.replace('\u{a0}', " ")
}
