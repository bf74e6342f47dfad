//! What a trace tells, as Markdown.

use super::assumed::{ASSUMED, assumed};
use super::facts::facts;
use super::sentences::sentences;
use super::tables::{InfoTable, tables};
use crate::markdown::{escaped, pipes};
use crate::model::TraceInfo;
use crate::text::capital;

/// All of it.
pub(super) fn render(info: &TraceInfo) -> String {
    let item = |label: &str, text: &str| format!("- {label}: {}", escaped(text));
    let mut parts = vec![format!("## What {} asks", escaped(&info.trace.path))];
    let facts = facts(info);
    parts.push(facts.iter().map(|(label, text)| item(label, text)).collect::<Vec<_>>().join("\n"));
    let said: Vec<String> = sentences(info)
        .iter()
        .map(|said| format!("- **{}**: {}", said.subject, escaped(&capital(&said.text))))
        .collect();
    if !said.is_empty() {
        parts.push("### In short".to_owned());
        parts.push(said.join("\n"));
    }
    for table in &tables(info) {
        parts.push(format!("### {}", escaped(&table.caption)));
        parts.push(of_table(table));
        if !table.note.is_empty() {
            parts.push(escaped(table.note));
        }
    }
    parts.push(format!("### {ASSUMED}"));
    let assumed =
        assumed(info).iter().map(|text| format!("- {}", escaped(text))).collect::<Vec<_>>();
    parts.push(assumed.join("\n"));
    parts.join("\n\n") + "\n"
}

fn of_table(table: &InfoTable) -> String {
    let heads: Vec<String> = table.heads.iter().map(|head| escaped(head)).collect();
    let mut text = pipes(&heads);
    text.push_str("\n| --- |");
    text.push_str(&" ---: |".repeat(table.heads.len().saturating_sub(1)));
    for (name, texts) in &table.rows {
        let cells = std::iter::once(name).chain(texts).map(|text| escaped(text));
        text.push('\n');
        text.push_str(&pipes(&cells.collect::<Vec<_>>()));
    }
    text
}
