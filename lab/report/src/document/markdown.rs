//! A document as Markdown, for a pull request. Lines are not wrapped, because viewers of Markdown wrap them.

use super::table::{Row, Table};
use super::text::{Span, Text};
use super::{Block, Document, Item, WITHHELD};
use crate::text::clean;

/// The head of the column of places.
const AT: &str = "at";

impl Document {
    /// The whole document. The titles of its sections are one level below its own.
    pub(crate) fn to_markdown(&self, level: usize) -> String {
        let mut parts = vec![format!("{} {}", "#".repeat(level), escaped(&self.title))];
        parts.extend(self.blocks.iter().filter_map(|block| of_block(block, level)));
        parts.join("\n\n") + "\n"
    }
}

fn of_block(block: &Block, level: usize) -> Option<String> {
    Some(match block {
        Block::Section(text, _) => format!("{} {}", "#".repeat(level + 1), escaped(text)),
        Block::Part(text, _) => format!("{} {}", "#".repeat(level + 2), escaped(text)),
        Block::Paragraph(texts) => lines(texts.iter().map(of_text)),
        Block::Note(text) => of_text(text),
        Block::Warning(text) => format!("> **{}**", escaped(text)),
        Block::List(items) => lines(items.iter().map(item)),
        Block::Facts(facts) => lines(facts.iter().map(fact)),
        Block::Sayings(sayings) => lines(sayings.iter().map(saying)),
        Block::Table(table) => of_table(table),
        Block::Remarks(remarks) => lines(remarks.iter().map(|text| format!("- {}", of_text(text)))),
        Block::Beside(tables) => tables.iter().map(of_table).collect::<Vec<_>>().join("\n\n"),
        Block::Details(heading, blocks) => {
            let blocks = blocks.iter().filter_map(|block| of_block(block, level));
            let blocks = blocks.collect::<Vec<_>>().join("\n\n");
            format!("<details><summary>{heading}</summary>\n\n{blocks}\n\n</details>")
        }
        Block::Figure(_) => return None,
    })
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}

fn item(Item { text, details, advice }: &Item) -> String {
    let advice = advice.iter().map(|advice| escaped(advice));
    let below = details.iter().map(of_text).chain(advice).map(|text| format!("\n  - {text}"));
    format!("- {}{}", of_text(text), below.collect::<String>())
}

fn fact((label, text): &(String, Text)) -> String {
    format!("- {}: {}", escaped(label), of_text(text))
}

fn saying((subject, text): &(String, Text)) -> String {
    format!("- **{}**: {}", escaped(subject), of_text(text))
}

fn of_text(text: &Text) -> String {
    let of_span = |span: &Span| match span {
        Span::Plain(text) => escaped(text),
        Span::Strong(text) => format!("**{}**", escaped(text)),
        Span::Emphasis(text) => format!("*{}*", escaped(text)),
        Span::Code(text) => format!("`{text}`"),
        Span::Link(text, address) => format!("[{}]({address})", escaped(text)),
    };
    text.spans.iter().map(of_span).collect()
}

fn of_table(table: &Table) -> String {
    let place = |text: &str| table.is_swept().then(|| escaped(text));
    let heads = table.columns.iter().map(|column| escaped(&column.name));
    let heads = std::iter::once(of_text(&table.names)).chain(place(AT)).chain(heads);
    let mut text = pipes(&heads.collect::<Vec<_>>());
    text.push_str("\n| --- |");
    text.push_str(if table.is_swept() { " --- |" } else { "" });
    let rules = table.columns.iter().map(|column| if column.words { " --- |" } else { " ---: |" });
    text.extend(rules);
    for Row { place: at, name, cells, is_withheld, .. } in &table.rows {
        let name = format!("{}{}", if *is_withheld { WITHHELD } else { "" }, of_text(name));
        let cells = cells.iter().map(of_text);
        let cells = std::iter::once(name).chain(place(at)).chain(cells);
        text.push('\n');
        text.push_str(&pipes(&cells.collect::<Vec<_>>()));
    }
    text
}

/// A row of a table.
pub(crate) fn pipes(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// Text that Markdown shows unchanged. Underscores within words and lone brackets have no meaning there, and stay.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    let text = clean(text);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let before_space = characters.peek().is_none_or(|next| next.is_whitespace());
        let special = match character {
            '<' => !before_space,
            other => matches!(other, '\\' | '|' | '*' | '`'),
        };
        if special {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
