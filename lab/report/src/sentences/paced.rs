//! The sentences about an open loop: the targets that kept up, and the reason why its latencies differ from those of a
//! closed loop.

use super::{Role, Sentence};
use crate::figures::{count, list, nanoseconds, percent, rate};
use crate::findings::said_of;
use crate::model::Cell;
use crate::points::short_label;
use crate::ranking::{Group, Row};
use crate::shown_percentiles::highest_shown;

/// A percentile of response times that is this many times that of service times is worth a sentence.
const APART: u64 = 10;

/// The sentences about the targets of a group with a result in an open loop; empty for a closed loop.
pub(super) fn kept_up(swept: &[&str], group: &Group<'_>) -> Vec<Sentence> {
    let rows: Vec<&Row<'_>> = group.ranked().filter(|row| row.cell.is_paced()).collect();
    let Some(first) = rows.first() else { return Vec::new() };
    let point = short_label(group.point, swept);
    let place = if point.is_empty() { String::new() } else { format!(", {point}") };
    let subject = format!("{}{place}", group.operation);
    let sentence = |text| Sentence {
        role: Role::Remark,
        operation: Some(group.operation),
        point: Some(group.point.clone()),
        subject: subject.clone(),
        text,
    };
    let offered = first.cell.paced.as_ref().map_or(0.0, |paced| paced.offered_per_s);
    let (kept, late): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        rows.iter().copied().partition(|row| row.cell.kept_up() != Some(false));
    let names = |rows: &[&Row<'_>]| {
        let names: Vec<String> = rows.iter().map(|row| row.name.to_owned()).collect();
        list(&names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let mut texts = Vec::new();
    match kept[..] {
        [] => {}
        _ if late.is_empty() && kept.len() > 1 => texts.push(format!(
            "all kept up with {}, so not the rates but the p99 of the response time ranks them",
            rate(offered)
        )),
        _ => texts.push(format!("{} kept up with {}", names(&kept), rate(offered))),
    }
    texts.extend(late.iter().map(|row| fell_behind(row, offered)));
    texts.extend(rows.iter().filter_map(|row| waited(row.name, row.cell)));
    texts.into_iter().map(sentence).collect()
}

fn fell_behind(row: &Row<'_>, offered: f64) -> String {
    let not_started = row.cell.paced.as_ref().map_or(0, |paced| paced.not_started);
    let rest = match not_started {
        0 => String::new(),
        not_started => {
            let operations = count(not_started, "operation");
            format!(", {operations} had not begun when the time was over")
        }
    };
    format!(
        "{} did not keep up: {} of {} were done ({}){rest}; its response time grows for as long as a round \
         lasts",
        row.name,
        rate(row.rate().unwrap_or_default()),
        rate(offered),
        percent(row.cell.kept_up_share().unwrap_or_default())
    )
}

/// The reason why latencies from the planned start are longer than the service times.
#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn waited(name: &str, cell: &Cell) -> Option<String> {
    let (paced, planned) = (cell.paced.as_ref()?, cell.latency_ns?);
    let service = paced.service_ns?;
    let (percentile, quantile, of) = highest_shown(cell)?;
    let apart = of(&planned) > of(&service).saturating_mul(APART);
    // Operations that waited behind others raise a percentile only if more of them waited than lie beyond it.
    let beyond = (1.0 - quantile) * cell.counts.ops as f64;
    let why = if paced.queued as f64 >= beyond {
        let operations = count(cell.counts.ops, "operation");
        format!("{} of {operations} waited behind others", paced.queued)
    } else {
        "threads of the client woke late".to_owned()
    };
    (apart && cell.kept_up() != Some(false)).then(|| {
        let text = format!(
            "{percentile} is {} from the intended start and {} from the actual start, because {why}; a closed loop \
             shows only the second",
            nanoseconds(of(&planned) as f64),
            nanoseconds(of(&service) as f64),
        );
        said_of(name, &text)
    })
}
