//! The content of the segments of each queue, and of each TTL class.

use std::fmt::Write;

use larder_report::figures::{bytes, percent};
use larder_segment::{Queue, SegmentSurvey, Survey};

use super::page_style::PageStyle;

/// Queues by name, in the order in which they are shown.
pub(super) const QUEUES: [(Queue, &str); 5] = [
    (Queue::Small, "small"),
    (Queue::Main, "main"),
    (Queue::Index, "index"),
    (Queue::Free, "free"),
    (Queue::Unknown, "damaged"),
];

/// The content of some segments, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sum {
    pub(super) segments: u64,
    pub(super) alive: u64,
    pub(super) dead: u64,
    pub(super) unwritten: u64,
}

impl Sum {
    pub(super) fn of<'s>(
        survey: &Survey,
        segments: impl Iterator<Item = &'s SegmentSurvey>,
    ) -> Self {
        let mut sum = Self::default();
        for segment in segments {
            let (alive, written) = (u64::from(segment.alive), u64::from(segment.written));
            sum.segments += 1;
            sum.alive += alive;
            sum.dead += written.saturating_sub(alive);
            sum.unwritten += (survey.segment_size as u64).saturating_sub(written);
        }
        sum
    }

    /// The share of the room that is alive.
    pub(super) fn share(&self) -> f64 {
        part(self.alive, self.alive + self.dead + self.unwritten)
    }

    fn line(&self, name: &str) -> String {
        let [alive, dead, unwritten] = [self.alive, self.dead, self.unwritten].map(bytes);
        let (segments, share) = (self.segments, percent(self.share()));
        format!("{name} {segments:>9} {alive:>10} {dead:>10} {unwritten:>10} {share:>8}\n")
    }
}

/// A part over a whole; 0 where the whole is 0.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
pub(super) fn part(of: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { of as f64 / whole as f64 }
}

pub(super) fn all(survey: &Survey) -> impl Iterator<Item = &SegmentSurvey> + Clone {
    survey.partitions.iter().flat_map(|partition| &partition.segments)
}

/// A line for each queue with segments, and a line for all queues.
pub(super) fn text(survey: &Survey, look: PageStyle) -> String {
    let head = ["queue", "segments", "alive", "dead", "unwritten", "share"];
    let [queue, segments, alive, dead, unwritten, share] = head;
    let head = format!("{queue:8} {segments:>9} {alive:>10} {dead:>10} {unwritten:>10} {share:>8}");
    let mut text = look.strong(&head);
    text.push('\n');
    for (queue, name) in QUEUES {
        let sum = Sum::of(survey, all(survey).filter(|segment| segment.queue == queue));
        if sum.segments > 0 {
            text += &sum.line(&look.of_queue(queue, &format!("{name:8}")));
        }
    }
    text += &Sum::of(survey, all(survey)).line("all     ");
    text
}

/// The TTLs of a class's entries when they were stored.
pub(super) const LIVES: [&str; 8] =
    ["for ever", "to 2 s", "to 16 s", "to 2 min", "to 17 min", "to 2 h", "to 18 h", "longer"];

/// A line for each class of entries with a TTL; empty where no segment has one.
pub(super) fn lives(survey: &Survey, look: PageStyle) -> String {
    let used = || all(survey).filter(|segment| matches!(segment.queue, Queue::Small | Queue::Main));
    if used().all(|segment| segment.class == 0) {
        return String::new();
    }
    let mut text = look.strong("lives      segments      alive    expired");
    text.push('\n');
    for (class, name) in (0_u8..).zip(LIVES) {
        let of_class = || used().filter(|segment| segment.class == class);
        let sum = Sum::of(survey, of_class());
        if sum.segments > 0 {
            let has_expired = |segment: &&SegmentSurvey| {
                segment.latest.is_some_and(|latest| latest <= survey.now)
            };
            let expired = of_class().filter(has_expired).count();
            let (segments, alive) = (sum.segments, bytes(sum.alive));
            let _ = writeln!(text, "{name:10} {segments:>8} {alive:>10} {expired:>10}");
        }
    }
    text
}
