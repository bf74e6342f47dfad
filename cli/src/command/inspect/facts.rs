//! The facts of a region, and its users.

use std::fmt::Write;

use jiff::Timestamp;
use larder_report::figures::{bytes, count, percent, seconds};
use larder_report::steers;
use larder_segment::{End, NamespaceSurvey, Survey};

use super::Seen;
use super::page_style::PageStyle;
use super::queues::part;
use super::users::Holder;

/// At most this many processes, locks and namespaces are named.
const NAMED: usize = 8;

pub(super) fn text(seen: &Seen, look: PageStyle) -> String {
    let survey = &seen.survey;
    let segments = survey.partitions.first().map_or(0, |partition| partition.segments.len());
    let [items, used, slots] = survey.partitions.iter().fold([0_u64; 3], |[a, b, c], partition| {
        let (items, bytes) = (partition.items, partition.bytes);
        [a.saturating_add(items), b.saturating_add(bytes), c.saturating_add(partition.slots)]
    });
    let size = |bytes_of: usize| bytes(bytes_of as u64);
    let lines = [
        (
            "region",
            format!(
                "{}, {} of {} each",
                size(survey.size),
                count(survey.partitions.len(), "partition"),
                format_args!("{} of {}", count(segments, "segment"), size(survey.segment_size))
            ),
        ),
        ("limits", format!("keys {}, values {}", bytes(survey.max_key), bytes(survey.max_value))),
        ("made", made(survey)),
        ("state", state(survey)),
        ("open in", open_in(seen)),
        ("locks", first(seen.holders.iter().map(held))),
        (
            "entries",
            format!(
                "{items}, {} of keys and values; {} of the index",
                bytes(used),
                percent(part(items, slots))
            ),
        ),
        ("namespaces", namespaces(survey)),
        ("sessions", format!("{} so far; {}", survey.sessions, cleared(survey.cleared))),
    ];
    let mut text = look.strong(&seen.url);
    text.push('\n');
    for (name, told) in lines.iter().filter(|(_, told)| !told.is_empty()) {
        let _ = writeln!(text, "  {name:11} {told}");
    }
    text
}

fn made(survey: &Survey) -> String {
    let made = i64::try_from(survey.made_ms / 1000).ok();
    let made = made.and_then(|seconds| Timestamp::from_second(seconds).ok());
    made.map_or_else(
        || "at an impossible time".to_owned(),
        |made| format!("{made}, {} ago", age(survey.now)),
    )
}

/// The time since an event.
#[expect(clippy::cast_precision_loss, reason = "a span of time for people")]
pub(super) fn age(ms: u64) -> String {
    const DAY: u64 = 86_400_000;
    if ms >= 3 * DAY { count((ms / DAY) as usize, "day") } else { seconds(ms as f64 / 1000.0) }
}

fn state(survey: &Survey) -> String {
    let told = match (survey.end, survey.is_open) {
        (_, Some(true)) => "open",
        (End::Closed, _) => "closed",
        (End::Open, Some(false)) => "left open by processes that were killed, which harms nothing",
        (End::Open, None) => "open, or left open by processes that were killed",
        (End::Lost, _) => {
            "open when the machine went down: the next process that opens it finds it empty"
        }
    };
    told.to_owned()
}

fn open_in(seen: &Seen) -> String {
    let known = &seen.users.processes;
    let is_open = seen.survey.is_open == Some(true);
    let told = first(known.iter().map(|user| format!("{} {}", user.pid, user.name)));
    match (known.is_empty(), seen.users.is_all) {
        (true, false) if is_open => "processes that this user may not inspect".to_owned(),
        (false, false) => told + ", and maybe in processes that this user may not inspect",
        _ => told,
    }
}

/// The thread that holds a partition which writers find busy.
fn held(holder: &Holder) -> String {
    let Holder { partition, thread, name, is_stopped } = holder;
    let who = match name {
        Some(name) if *is_stopped => format!("{name}, stopped"),
        Some(name) => name.clone(),
        None => "not seen here".to_owned(),
    };
    format!("partition {partition} held by thread {thread} ({who})")
}

fn namespaces(survey: &Survey) -> String {
    let told = |namespace: &NamespaceSurvey| {
        let name = namespace.name.chars().map(|c| if steers(c) { '?' } else { c });
        let name: String = name.collect();
        match namespace.cleared {
            0 => name,
            times => format!("{name} ({})", cleared(times)),
        }
    };
    first(survey.namespaces.iter().map(told))
}

/// The first items of a list, and the number of the others.
fn first(all: impl ExactSizeIterator<Item = String>) -> String {
    let more = all.len().saturating_sub(NAMED);
    let told = all.take(NAMED).collect::<Vec<_>>().join(", ");
    if more == 0 { told } else { format!("{told} and {more} more") }
}

fn cleared(times: u64) -> String {
    match times {
        0 => "never cleared".to_owned(),
        1 => "cleared once".to_owned(),
        _ => format!("cleared {times} times"),
    }
}
