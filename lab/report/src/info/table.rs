//! What a trace tells, in the terminal.

use super::assumed::{ASSUMED, assumed};
use super::facts::facts;
use super::sentences::sentences;
use super::tables::{ANSWERS, InfoTable, tables};
use crate::grid::{Grid, GridColumn, Piece};
use crate::model::TraceInfo;
use crate::page::Page;
use crate::style::{FAINT, PLACE, PLAIN, STRONG, Style};
use crate::text::{capital, width};

/// All of it, at most as wide as the terminal.
pub(super) fn render(info: &TraceInfo, style: Style) -> String {
    let mut page = Page::new(style);
    let facts = facts(info);
    let labels = || facts.iter().map(|(label, _)| width(label));
    let widest = labels().max().unwrap_or(0);
    for (label, text) in &facts {
        page.entry(0, label, widest, PLACE, PLAIN, text);
    }
    let sentences = sentences(info);
    if !sentences.is_empty() {
        page.heading("In short");
        let widest = sentences.iter().map(|said| width(said.subject)).max().unwrap_or(0);
        for said in &sentences {
            page.entry(2, said.subject, widest, PLACE, PLAIN, &capital(&said.text));
        }
    }
    for table in &tables(info) {
        write(&mut page, table, style);
    }
    page.heading(ASSUMED);
    for sentence in assumed(info) {
        page.paragraph(2, FAINT, &sentence);
    }
    page.into_text()
}

fn write(page: &mut Page, table: &InfoTable, style: Style) {
    page.heading(&table.caption);
    if table.is_list() {
        let widest = table.rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
        for (name, texts) in &table.rows {
            page.entry(2, name, widest, STRONG, PLAIN, &texts.join(" "));
        }
        return;
    }
    let last = table.heads.len().saturating_sub(2);
    let columns = (0..=last).map(|column| GridColumn {
        importance: importance(&table.heads[column + 1]),
        left: table.heads[column + 1] == ANSWERS,
    });
    let mut grid = Grid::new(columns.collect(), 0);
    grid.push(table.heads.iter().map(|head| Piece::new(head.as_str(), FAINT)).collect());
    for (name, texts) in &table.rows {
        let texts = texts.iter().map(|text| Piece::plain(text.as_str()));
        grid.push(std::iter::once(Piece::new(name.as_str(), STRONG)).chain(texts).collect());
    }
    let laid = grid.lay_out(Style { width: style.width.saturating_sub(2), ..style });
    for line in &laid.lines {
        page.raw(&format!("  {line}"));
    }
    if !laid.hidden.is_empty() {
        let names: Vec<&str> =
            laid.hidden.iter().map(|column| table.heads[*column].as_str()).collect();
        let text =
            format!("no room in {} characters for {}", style.width, crate::figures::list(&names));
        page.paragraph(2, FAINT, &text);
    }
    if !table.note.is_empty() {
        page.paragraph(2, FAINT, table.note);
    }
}

/// How much a reader needs a column; the least needed goes first where there is no room.
fn importance(head: &str) -> u8 {
    match head {
        ANSWERS => 5,
        "of all" => 10,
        "FIFO" | "p25" | "p99.9" | "min" => 20,
        "number" => 30,
        "SIEVE" => 40,
        "p10" | "p95" => 50,
        _ => 100,
    }
}
