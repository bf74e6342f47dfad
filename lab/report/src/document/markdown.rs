//! A document as Markdown, for a pull request. Lines are not wrapped, because viewers of Markdown wrap them.

use maud::html;

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
        Block::Part(text, _) | Block::Place(text) => {
            format!("{} {}", "#".repeat(level + 2), escaped(text))
        }
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
            // Markdown has no signs within tags: what is escaped there is HTML.
            let heading = html! { (clean(heading)) }.into_string();
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
    of_spans(text, code)
}

/// A text in a table, where a `|` ends a cell even within code.
fn of_cell(text: &Text) -> String {
    of_spans(text, |text| code(text).replace('|', "\\|"))
}

fn of_spans(text: &Text, code: fn(&str) -> String) -> String {
    let of_span = |span: &Span| match span {
        Span::Plain(text) => escaped(text),
        Span::Strong(text) => format!("**{}**", escaped(text)),
        Span::Emphasis(text) => format!("*{}*", escaped(text)),
        Span::Code(text) => code(text),
        Span::Link(text, address) => format!("[{}]({address})", escaped(text)),
    };
    text.spans.iter().map(of_span).collect()
}

/// Code between more backticks than stand in a row within it.
fn code(text: &str) -> String {
    let text = clean(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Next to a backtick the fence would be longer than it is.
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

fn of_table(table: &Table) -> String {
    let place = |text: &str| table.is_swept().then(|| escaped(text));
    let heads = table.columns.iter().map(|column| escaped(&column.name));
    let heads = std::iter::once(of_cell(&table.names)).chain(place(AT)).chain(heads);
    let mut text = pipes(&heads.collect::<Vec<_>>());
    text.push_str("\n| --- |");
    text.push_str(if table.is_swept() { " --- |" } else { "" });
    let rules = table.columns.iter().map(|column| if column.words { " --- |" } else { " ---: |" });
    text.extend(rules);
    for Row { place: at, name, cells, is_withheld, .. } in &table.rows {
        let name = format!("{}{}", if *is_withheld { WITHHELD } else { "" }, of_cell(name));
        let cells = cells.iter().map(of_cell);
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

#[cfg(test)]
mod tests {
    use super::super::hostile::{HOSTILE, document};
    use super::*;
    use crate::text::steers;

    #[test]
    fn no_name_is_markup_ends_a_cell_or_breaks_a_line() {
        let text = document(HOSTILE).to_markdown(1);
        assert!(!text.replace('\n', "").contains(steers), "{text}");
        // Each row of both tables has the borders of its columns, and no others.
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(rows.len(), 6, "{text}");
        for row in rows {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
        }
        let plain = "a\\|b\\`c\\<i> d e";
        for line in [
            &format!("# {plain}"),
            &format!("- {plain}: {plain}"),
            &format!("[{plain}](there)"),
            &format!("- ``a|b`c<i> d e`` **{plain}**"),
            &format!("| ✗ **{plain}** | {plain} | {plain} | ``a\\|b`c<i> d e`` |"),
            "<details><summary>a|b`c&lt;i&gt; d e</summary>",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        assert_eq!([code("`"), code("a``"), code("a")], ["`` ` ``", "``` a`` ```", "`a`"]);
    }
}
