//! Rows and columns laid out side by side: wide enough for their texts, narrow enough for the terminal.
//!
//! comfy-table measures and pads. It gets the bare texts and a separator that occurs in no text. So its lines can be
//! taken apart again and coloured piece by piece.

use anstyle::Style as Look;
use comfy_table::{
    Cell, CellAlignment, ColumnConstraint, ContentLineStyle, Table, TableStyle, Width,
};

use crate::style::{PLAIN, Style};
use crate::text::{ShortNames, clean};

/// The unit separator of ASCII; [`clean`] removes it from every text.
const SEPARATOR: char = '\u{1f}';

/// The gap between two columns.
const GAP: &str = "  ";

/// The importance of a column that is never left out.
pub(crate) const ALWAYS: u8 = u8::MAX;

/// Names up to this length are not shortened to make room for a column.
const LONG_NAME: usize = 20;

/// A name is shortened to this many characters at least. Where even such names leave a line too long, the line runs over
/// the edge, and shorter names would gain nothing.
const SHORTEST_NAME: usize = 8;

/// A text in its look.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) look: Look,
}

/// A column of figures, or of a few words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridColumn {
    /// Without room, the column with the lowest importance goes first.
    pub(crate) importance: u8,
    /// Whether it is aligned to the left.
    pub(crate) left: bool,
}

/// Rows of texts. The first column holds names; it is never left out, but may be shortened.
#[derive(Debug)]
pub(crate) struct Grid {
    columns: Vec<GridColumn>,
    names: usize,
    rows: Vec<Vec<Piece>>,
}

/// Rows as printed, and the columns that did not fit.
#[derive(Debug)]
pub(crate) struct Laid {
    /// One line for each row, without spaces at its end.
    pub(crate) lines: Vec<String>,
    /// The width of the longest line.
    pub(crate) width: usize,
    /// The width of the names, with the gap after them.
    pub(crate) indent: usize,
    /// The columns left out, from left to right; the first after the names is 1.
    pub(crate) hidden: Vec<usize>,
}

impl Piece {
    pub(crate) fn new(text: impl Into<String>, look: Look) -> Self {
        Self { text: text.into(), look }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(text, PLAIN)
    }
}

impl Grid {
    /// A grid of these columns after the column of names, which has at least this width.
    pub(crate) fn new(columns: Vec<GridColumn>, names: usize) -> Self {
        Self { columns, names, rows: Vec::new() }
    }

    /// Adds a row; missing columns stay blank.
    pub(crate) fn push(&mut self, row: Vec<Piece>) {
        self.rows.push(row);
    }

    /// Lays out the rows. Where they are too wide, it first shortens names of more than a third of a line. Then it
    /// leaves out the least important columns until the rest fits, and then shortens the names further. No two names
    /// become the same.
    pub(crate) fn lay_out(&self, style: Style) -> Laid {
        let mut table = self.table(&self.names_within(usize::MAX), usize::MAX);
        let mut widths: Vec<usize> =
            table.column_max_content_widths().into_iter().map(usize::from).collect();
        widths[0] = widths[0].max(self.names);
        let mut hidden = Vec::new();
        if total(&widths, &hidden) > style.width {
            widths[0] = widths[0].min(LONG_NAME.max(style.width / 3));
        }
        while total(&widths, &hidden) > style.width {
            let shown = (1..=self.columns.len()).filter(|column| !hidden.contains(column));
            let least = shown.min_by_key(|column| self.columns[*column - 1].importance);
            match least.filter(|column| self.columns[*column - 1].importance < ALWAYS) {
                Some(column) => hidden.push(column),
                None => break,
            }
        }
        hidden.sort_unstable();
        let excess = total(&widths, &hidden).saturating_sub(style.width);
        if excess <= widths[0].saturating_sub(SHORTEST_NAME) {
            widths[0] -= excess;
        }
        let names = self.names_within(widths[0]);
        widths[0] = widths[0].max(names.width());

        table = self.table(&names, widths[0]);
        for column in &hidden {
            if let Some(column) = table.column_mut(*column) {
                column.set_constraint(ColumnConstraint::Hidden);
            }
        }
        let lines = self.painted(&table, &hidden, style);
        Laid { lines, width: total(&widths, &hidden), indent: widths[0] + GAP.len(), hidden }
    }

    /// The texts of the first column, shortened to this many characters.
    fn names_within(&self, limit: usize) -> ShortNames {
        let names: Vec<_> = self.rows.iter().filter_map(|row| row.first()).collect();
        let names: Vec<_> = names.iter().map(|piece| clean(&piece.text)).collect();
        ShortNames::new(names.iter().map(AsRef::as_ref), limit)
    }

    /// The table for comfy-table to draw, with its names at exactly this width; `usize::MAX` sets no width.
    fn table(&self, names: &ShortNames, width: usize) -> Table {
        let separated = ContentLineStyle::none().junction(SEPARATOR);
        let mut table = Table::new();
        table.force_no_tty().load_style(TableStyle::new().content_lines(separated));
        for row in &self.rows {
            let texts = row.iter().enumerate().map(|(column, piece)| {
                let text = clean(&piece.text);
                Cell::new(if column == 0 { names.of(&text) } else { &text })
            });
            let blank = (row.len()..=self.columns.len()).map(|_| Cell::new(""));
            table.add_row(texts.chain(blank).collect::<Vec<_>>());
        }
        let sides = std::iter::once(true).chain(self.columns.iter().map(|column| column.left));
        for (column, left) in table.column_iter_mut().zip(sides) {
            column.set_padding((0, 0));
            column.set_cell_alignment(if left {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
        }
        if let (Ok(width), Some(column)) = (u16::try_from(width), table.column_mut(0)) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
        }
        table
    }

    fn painted(&self, table: &Table, hidden: &[usize], style: Style) -> Vec<String> {
        let shown: Vec<usize> = (0..=self.columns.len()).filter(|c| !hidden.contains(c)).collect();
        let paint_line = |(line, row): (String, &Vec<Piece>)| {
            let texts: Vec<&str> =
                line.trim_end_matches([SEPARATOR, ' ']).split(SEPARATOR).collect();
            let pieces = texts.iter().zip(&shown).map(|(text, column)| {
                let look = row.get(*column).map_or(PLAIN, |piece| piece.look);
                style.paint(look, text)
            });
            pieces.collect::<Vec<_>>().join(GAP)
        };
        table.lines().zip(&self.rows).map(paint_line).collect()
    }
}

fn total(widths: &[usize], hidden: &[usize]) -> usize {
    let shown = widths.iter().enumerate().filter(|(column, _)| !hidden.contains(column));
    let (sum, count) = shown.fold((0, 0_usize), |(sum, n), (_, width)| (sum + width, n + 1));
    sum + count.saturating_sub(1) * GAP.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rows: &[[&str; 3]]) -> Grid {
        let column = |importance| GridColumn { importance, left: false };
        let mut grid = Grid::new(vec![column(ALWAYS), column(1)], 0);
        for row in rows {
            grid.push(row.map(Piece::plain).to_vec());
        }
        grid
    }

    fn laid(rows: &[[&str; 3]], width: usize) -> Laid {
        grid(rows).lay_out(Style { colour: false, width })
    }

    #[test]
    fn figures_stand_to_the_right_and_names_to_the_left() {
        let laid = laid(&[["moka:", "1", "20"], ["lmdb:", "10", "2"]], 80);
        assert_eq!(laid.lines, ["moka:   1  20", "lmdb:  10   2"]);
        assert_eq!((laid.width, laid.indent), (13, 7));
    }

    #[test]
    fn the_least_important_column_goes_first_then_names_are_shortened() {
        let rows = [["memcached://h1:11211", "161 k/s", "1.00×"]];
        assert_eq!(laid(&rows, 36).hidden, Vec::<usize>::new());
        assert_eq!(laid(&rows, 35).hidden, [2]);
        assert_eq!(laid(&rows, 35).lines, ["memcached://h1:11211  161 k/s"]);
        assert_eq!(laid(&rows, 20).lines, ["memca…11211  161 k/s"]);
        assert_eq!(laid(&rows, 17).lines, ["memc…211  161 k/s"]);
        assert_eq!(laid(&rows, 16).lines, ["memcached://h1:11211  161 k/s"], "too long anyway");
    }

    #[test]
    fn two_names_never_become_one() {
        let rows = [["prod-east-cache", "1 k/s", ""], ["prod-west-cache", "2 k/s", ""]];
        assert_eq!(laid(&rows, 15).lines, ["…d-east…  1 k/s", "…d-west…  2 k/s"]);
    }

    #[test]
    fn wide_characters_count_twice() {
        let laid = laid(&[["緩存", "1", ""], ["moka:", "2", ""]], 80);
        assert_eq!(laid.lines, ["緩存   1", "moka:  2"]);
    }

    #[test]
    fn each_piece_has_its_own_colour() {
        let mut grid = Grid::new(vec![GridColumn { importance: ALWAYS, left: false }], 0);
        grid.push(vec![Piece::new("a", crate::style::BAD), Piece::plain("1")]);
        let laid = grid.lay_out(Style { colour: true, width: 80 });
        assert_eq!(laid.lines, ["\u{1b}[31ma\u{1b}[0m  1"]);
    }
}
