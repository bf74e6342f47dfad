//! A document in a terminal: wrapped at its width, in its colours. What stands below a heading is indented.

use anstyle::Style as Look;

use super::beside::{Matrix, write_beside};
use super::table::{Column, Row, Table};
use super::text::{Meaning, Text};
use super::{Block, Document, Item, WITHHELD};
use crate::figures::list;
use crate::grid::{Grid, GridColumn, Laid, Piece};
use crate::page::Page;
use crate::style::{BAD, BEST, DOUBT, FAINT, PLACE, PLAIN, STRONG, Style};
use crate::text::{clean, width};

/// The indentation of the blocks below a heading, and of the names below a place.
const STEP: usize = 2;

/// The block above the next one, as far as the blank line between them depends on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    Nothing,
    Heading,
    Text,
    Table,
}

struct Drawer {
    page: Page,
    style: Style,
    indent: usize,
    above: Above,
}

impl Document {
    /// The whole document but its title and its figures.
    pub(crate) fn to_terminal(&self, style: Style) -> String {
        let page = Page::new(style);
        let mut drawer = Drawer { page, style, indent: 0, above: Above::Nothing };
        for block in &self.blocks {
            drawer.draw(block);
        }
        drawer.page.into_text()
    }
}

impl Drawer {
    fn draw(&mut self, block: &Block) {
        if self.has_gap_before(block) {
            self.page.blank();
        }
        self.above = match block {
            Block::Section(..) | Block::Part(..) | Block::Place(_) => Above::Heading,
            Block::Table(_) => Above::Table,
            Block::Details(..) | Block::Figure(_) => self.above,
            Block::Paragraph(_)
            | Block::Note(_)
            | Block::Warning(_)
            | Block::List(_)
            | Block::Facts(_)
            | Block::Sayings(_)
            | Block::Remarks(_)
            | Block::Beside(_) => Above::Text,
        };
        match block {
            Block::Section(text, _) => self.heading(0, text),
            Block::Part(text, _) => self.heading(STEP, text),
            // Without a text it writes no line.
            Block::Place(text) => self.page.paragraph(self.indent, STRONG, text),
            Block::Paragraph(texts) => texts.iter().for_each(|text| self.text(self.indent, text)),
            Block::Note(text) => self.page.paragraph(self.indent, FAINT, &text.words()),
            Block::Warning(text) => self.page.paragraph(self.indent, BAD, text),
            Block::List(items) => items.iter().for_each(|item| self.item(item)),
            Block::Facts(facts) | Block::Sayings(facts) => self.facts(facts, PLACE),
            Block::Table(table) if table.is_list() => self.listed(table),
            Block::Table(table) => self.table(table),
            Block::Remarks(remarks) => {
                for text in remarks {
                    self.text(self.indent + STEP, text);
                }
            }
            Block::Beside(tables) => {
                let matrices: Vec<Matrix<'_>> = tables.iter().map(Matrix::new).collect();
                write_beside(&mut self.page, self.indent, self.style, &matrices);
            }
            Block::Details(..) | Block::Figure(_) => {}
        }
    }

    fn has_gap_before(&self, block: &Block) -> bool {
        match (block, self.above) {
            (_, Above::Nothing)
            | (
                Block::Details(..)
                | Block::Figure(_)
                | Block::Note(_)
                | Block::Remarks(_)
                | Block::Place(_),
                _,
            ) => false,
            (Block::Section(..) | Block::Part(..), _) => true,
            (_, Above::Heading) => false,
            (Block::Table(_) | Block::Beside(_) | Block::List(_), _) => true,
            (_, above) => above == Above::Table,
        }
    }

    fn heading(&mut self, indent: usize, text: &str) {
        self.page.paragraph(indent, STRONG, text);
        self.indent = STEP;
    }

    fn item(&mut self, Item { text, details, advice }: &Item) {
        let below = self.indent + STEP;
        self.text(self.indent, text);
        for detail in details {
            self.text(below, detail);
        }
        for text in advice {
            self.page.entry(below, "→", 1, FAINT, FAINT, text);
        }
    }

    fn text(&mut self, indent: usize, text: &Text) {
        self.page.paragraph(indent, look(text.meaning), &text.words());
    }

    /// Labels in a column and texts beside them; a label that repeats in a row is written once.
    fn facts(&mut self, facts: &[(String, Text)], label_look: Look) {
        let widest = facts.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
        let mut before = None;
        for (label, text) in facts {
            let shown = if before == Some(label) { "".into() } else { clean(label) };
            self.page.entry(self.indent, &shown, widest, label_look, PLAIN, &text.words());
            before = Some(label);
        }
    }

    /// A table with one column of texts, which may be longer than a line.
    fn listed(&mut self, table: &Table) {
        let fact = |row: &Row| {
            let cell = row.cells.first().cloned().unwrap_or_default();
            (row.name.words(), cell)
        };
        self.facts(&table.rows.iter().map(fact).collect::<Vec<_>>(), STRONG);
    }

    fn table(&mut self, table: &Table) {
        let laid = lay_out(table, self.style, self.indent);
        let mut lines = laid.lines.iter();
        for head in lines.by_ref().take(heads(table).len()).filter(|head| !head.is_empty()) {
            self.line(head);
        }
        if table.is_ruled {
            let rule = self.style.paint(FAINT, &"─".repeat(laid.width));
            self.line(&rule);
        }
        for (line, row) in lines.zip(&table.rows) {
            if row.begins_place {
                self.page.paragraph(self.indent, PLACE, &row.place);
            }
            if !row.is_place_alone() {
                self.row(line, row, laid.indent);
            }
        }
        let hidden = laid.hidden.iter().map(|column| table.columns[*column - 1].name.as_str());
        let hidden: Vec<&str> = hidden.collect();
        if table.tells_hidden && !hidden.is_empty() {
            let text = format!("no room in {} characters for {}", self.style.width, list(&hidden));
            self.page.paragraph(self.indent, FAINT, &text);
        }
    }

    /// A row, with its remark below it or in the place of its figures.
    fn row(&mut self, line: &str, row: &Row, names: usize) {
        let remark = row.remark.clone().unwrap_or_default();
        let words = remark.words();
        if row.cells.is_empty() && !words.is_empty() {
            let width = names - STEP;
            self.page.entry(self.indent, line, width, PLAIN, look(remark.meaning), &words);
            return;
        }
        self.line(line);
        self.text(self.indent + 2 * STEP, &remark);
    }

    fn line(&mut self, line: &str) {
        self.page.raw(&format!("{:1$}{line}", "", self.indent));
    }
}

/// The columns that have no room in a terminal, by their numbers in the table.
pub(crate) fn hidden_columns(table: &Table, style: Style, indent: usize) -> Vec<usize> {
    lay_out(table, style, indent).hidden.iter().map(|column| column - 1).collect()
}

fn lay_out(table: &Table, style: Style, indent: usize) -> Laid {
    grid(table).lay_out(Style { width: style.width.saturating_sub(indent), ..style })
}

/// The lines of the heads, without the names: one or two.
fn heads(table: &Table) -> Vec<Vec<&str>> {
    let lower = table.columns.iter().map(lower_head).collect();
    if table.columns.iter().all(|column| column.heads.is_none()) {
        return vec![lower];
    }
    // A heading above several columns stands above the first of them.
    let mut above = "";
    let upper = table.columns.iter().map(|column| {
        let [head, _] = column.heads.unwrap_or_default();
        let shown = if head == above { "" } else { head };
        above = head;
        shown
    });
    vec![upper.collect(), lower]
}

fn lower_head(column: &Column) -> &str {
    column.heads.map_or(column.name.as_str(), |[_, lower]| lower)
}

/// The heads and the rows.
fn grid(table: &Table) -> Grid {
    let columns = table
        .columns
        .iter()
        .map(|column| GridColumn { importance: column.importance, left: column.words });
    let mut grid = Grid::new(columns.collect(), table.names_width);
    let heads = heads(table);
    for (number, line) in heads.iter().enumerate() {
        let is_lowest = number + 1 == heads.len();
        let names = if is_lowest { piece(&table.names) } else { Piece::plain("") };
        let line = line.iter().map(|head| Piece::new(*head, FAINT));
        grid.push(std::iter::once(names).chain(line).collect());
    }
    for row in &table.rows {
        let lead = match (row.is_withheld, table.has_places) {
            (true, _) => WITHHELD.to_owned(),
            (false, true) => " ".repeat(STEP),
            (false, false) => String::new(),
        };
        let name = piece(&row.name);
        let name = Piece { text: format!("{lead}{}", name.text), ..name };
        grid.push(std::iter::once(name).chain(row.cells.iter().map(piece)).collect());
    }
    grid
}

pub(super) fn piece(text: &Text) -> Piece {
    Piece::new(text.words(), look(text.meaning))
}

pub(super) fn look(meaning: Meaning) -> Look {
    match meaning {
        Meaning::Plain => PLAIN,
        Meaning::Main => STRONG,
        Meaning::Faint => FAINT,
        Meaning::Good => BEST,
        Meaning::Bad => BAD,
        Meaning::Doubt => DOUBT,
        Meaning::Place => PLACE,
    }
}

#[cfg(test)]
mod tests {
    use super::super::hostile::{HOSTILE, document};
    use super::*;
    use crate::text::steers;

    const WIDE: Style = Style { colour: false, width: 100 };

    #[test]
    fn no_name_controls_the_terminal() {
        let text = document(HOSTILE).to_terminal(WIDE);
        assert!(!text.replace('\n', "").contains(steers), "{text}");
        assert!(text.contains("a|b`c<i> d e"), "{text}");
        assert!(text.contains("✗ a|b`c<i> d e"), "{text}");
    }

    #[test]
    fn places_of_one_label_stay_apart_and_a_place_without_rows_keeps_its_heading() {
        let row = |begins_place, name: &str| Row {
            place: "data_size 1.5 KiB".into(),
            begins_place,
            name: name.into(),
            cells: vec!["1".into()],
            ..Row::default()
        };
        let alone = Row::of_place("data_size 2 KiB".into());
        let table = Table {
            names: "get".into(),
            columns: vec![Column::of_figures("rate")],
            rows: vec![row(true, "a"), row(false, "b"), row(true, "a"), alone],
            has_places: true,
            ..Table::default()
        };
        let document = Document { blocks: vec![Block::Table(table)], ..Document::default() };
        let lines = [
            "get  rate",
            "data_size 1.5 KiB",
            "  a     1",
            "  b     1",
            "data_size 1.5 KiB",
            "  a     1",
            "data_size 2 KiB",
        ];
        assert_eq!(document.to_terminal(WIDE).lines().collect::<Vec<_>>(), lines);
    }
}
