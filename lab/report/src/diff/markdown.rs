//! A difference as Markdown, for a pull request.

use super::parts::{Block, HEADS, blocks, header, left_out, rule, warning};
use crate::markdown::{escaped, pipes};
use crate::model::Diff;

/// The whole difference.
pub(super) fn render(diff: &Diff) -> String {
    let mut lines = vec!["## What changed".to_owned()];
    lines.extend(warning(diff).map(|warning| format!("> **{}**", escaped(&warning))));
    let item = |(label, text): &(&str, String)| format!("- {label}: {}", escaped(text));
    lines.push(header(diff).iter().map(item).collect::<Vec<_>>().join("\n"));
    lines.extend(blocks(diff).iter().map(table));
    let item = |line: &String| format!("- {}", escaped(line));
    lines.push(left_out(diff).iter().chain(&rule(diff)).map(item).collect::<Vec<_>>().join("\n"));
    lines.join("\n\n") + "\n"
}

fn table(block: &Block) -> String {
    let is_swept = block.rows.iter().any(|row| !row.place.is_empty());
    let place = |text: &str| is_swept.then(|| escaped(text));
    let title = format!("{} {}", escaped(block.operation.as_str()), block.measure);
    let heads = HEADS.map(str::to_owned);
    let mut text = pipes(&[title].into_iter().chain(place("at")).chain(heads).collect::<Vec<_>>());
    text.push_str("\n| --- |");
    text.push_str(if is_swept { " --- |" } else { "" });
    text.push_str(&" ---: |".repeat(HEADS.len()));
    for row in &block.rows {
        let columns = row.columns.iter().map(|text| escaped(text));
        let cells = [escaped(&row.name)].into_iter().chain(place(&row.place)).chain(columns);
        text.push('\n');
        text.push_str(&pipes(&cells.collect::<Vec<_>>()));
    }
    text
}
