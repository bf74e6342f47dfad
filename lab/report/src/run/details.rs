//! The reference part of a report in Markdown: the command, the machine, the targets with their versions and limits.

use crate::document::{Block, Column, Document, Row, Table, Text};
use crate::figures::bytes;
use crate::header::{CUSTOM, command, header};
use crate::model::{Run, Target};

/// A folded part, because only some readers need it.
pub(super) fn details(run: &Run) -> Block {
    let mut document = Document::default();
    let command = (run.scenario != CUSTOM).then(|| ("command", command(run)));
    document.facts(command.into_iter().chain(header(run)));
    document.push(Block::Table(targets(run)));
    Block::Details("Environment and targets".to_owned(), document.blocks)
}

fn targets(run: &Run) -> Table {
    let words = ["URL", "engine", "version", "durability", "reach", "ownership"];
    let words = words.map(|name| Column { words: true, ..Column::of_figures(name) });
    let sizes = ["keys up to", "values up to"].map(Column::of_figures);
    Table {
        names: "target".into(),
        columns: words.into_iter().chain(sizes).collect(),
        rows: run.targets.iter().map(row).collect(),
        ..Table::default()
    }
}

fn row(target: &Target) -> Row {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let limits = &target.limits;
    let cells = [
        target.url.clone(),
        target.engine.clone(),
        optional(&target.version),
        optional(&target.durability),
        optional(&target.reach),
        optional(&target.ownership),
        limit(limits.max_key_len, limits.probed_key_len),
        limit(limits.max_value_len, limits.probed_value_len),
    ];
    let name = target.name.as_str().into();
    Row { name, cells: cells.map(Text::from).into(), ..Row::default() }
}

/// The largest stored size, or the largest probed size without a limit.
fn limit(max: Option<u64>, probed: u64) -> String {
    match (max, probed) {
        (Some(max), _) => bytes(max),
        (None, 0) => String::new(),
        (None, probed) => format!("{} and more", bytes(probed)),
    }
}
