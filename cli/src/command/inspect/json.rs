//! The survey of a region, for programs.

use larder_segment::{End, NamespaceSurvey, PartitionSurvey, SegmentSurvey, Survey};
use serde_json::{Value, json};

use super::Seen;
use super::queues::{LIVES, QUEUES, Sum, all};

pub(super) fn of(seen: &Seen) -> Value {
    let survey = &seen.survey;
    let queues: serde_json::Map<String, Value> = QUEUES
        .into_iter()
        .map(|(queue, name)| {
            let sum = Sum::of(survey, all(survey).filter(|segment| segment.queue == queue));
            (name.to_owned(), of_sum(&sum))
        })
        .collect();
    let partitions: Vec<Value> =
        survey.partitions.iter().map(|partition| of_partition(survey, partition)).collect();
    let of_namespace = |it: &NamespaceSurvey| json!({ "name": it.name, "cleared": it.cleared });
    let namespaces: Vec<Value> = survey.namespaces.iter().map(of_namespace).collect();
    json!({
        "url": seen.url,
        "size_bytes": survey.size,
        "segment_bytes": survey.segment_size,
        "max_key_bytes": survey.max_key,
        "max_value_bytes": survey.max_value,
        "made_ms": survey.made_ms,
        "age_ms": survey.now,
        "open": survey.is_open,
        "end": match survey.end {
            End::Closed => "closed",
            End::Open => "open",
            End::Lost => "lost",
        },
        "processes": seen.users.processes,
        "all_processes_seen": seen.users.is_all,
        "sessions": survey.sessions,
        "cleared": survey.cleared,
        "namespaces": namespaces,
        "queues": queues,
        "partitions": partitions,
    })
}

fn of_sum(sum: &Sum) -> Value {
    json!({
        "segments": sum.segments,
        "alive_bytes": sum.alive,
        "dead_bytes": sum.dead,
        "unwritten_bytes": sum.unwritten,
    })
}

fn of_partition(survey: &Survey, partition: &PartitionSurvey) -> Value {
    let segments: Vec<Value> =
        partition.segments.iter().map(|segment| of_segment(survey, segment)).collect();
    json!({
        "lock_held_by": partition.holder,
        "items": partition.items,
        "bytes": partition.bytes,
        "slots": partition.slots,
        "segments": segments,
    })
}

fn of_segment(survey: &Survey, segment: &SegmentSurvey) -> Value {
    let queue = QUEUES.iter().find(|(queue, _)| *queue == segment.queue).map(|(_, name)| name);
    let is_begun = segment.times > 0;
    json!({
        "queue": queue,
        "lives": LIVES.get(usize::from(segment.class)),
        "alive_bytes": segment.alive,
        "dead_bytes": segment.written.saturating_sub(segment.alive),
        "unwritten_bytes": survey.segment_size.saturating_sub(segment.written as usize),
        "records": segment.records,
        "active": segment.is_active,
        "stale": segment.is_stale,
        "times": segment.times,
        "order": segment.order,
        "age_ms": is_begun.then(|| survey.now.saturating_sub(segment.begun)),
        "expires_in_ms": segment.latest.map(|latest| latest.saturating_sub(survey.now)),
    })
}
