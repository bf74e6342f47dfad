//! Tables side by side in a terminal, where they fit; otherwise one below the other, each in blocks of columns that
//! fit.

use std::ops::Range;

use super::table::{Row, Table};
use super::terminal::{look, piece};
use crate::grid::{ALWAYS, Grid, GridColumn, Piece};
use crate::page::Page;
use crate::style::{FAINT, Style};
use crate::text::{clean, width};

/// The characters between two tables side by side.
const BETWEEN: usize = 4;

/// A table whose first column of figures stays with the names.
pub(super) struct Matrix<'a>(&'a Table);

impl<'a> Matrix<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        Self(table)
    }

    /// The number of columns behind the first.
    fn n_columns(&self) -> usize {
        self.0.columns.len().saturating_sub(1)
    }

    /// Its lines, each with its number of visible characters; the caption is the first.
    fn lines(&self, style: Style) -> Vec<(String, usize)> {
        let whole = |colour| {
            let style = Style { colour, width: usize::MAX };
            self.grid(0..self.n_columns()).lay_out(style).lines
        };
        let Table { caption, caption_means, .. } = self.0;
        let caption = (style.paint(look(*caption_means), &clean(caption)), width(caption));
        let shown = whole(false).into_iter().map(|line| width(&line));
        std::iter::once(caption).chain(whole(style.colour).into_iter().zip(shown)).collect()
    }

    /// The names and the first column, and a block of the others.
    fn grid(&self, block: Range<usize>) -> Grid {
        let column = GridColumn { importance: ALWAYS, left: false };
        let mut grid = Grid::new(vec![column; block.len() + 1], 0);
        let columns = &self.0.columns;
        let shown =
            columns.iter().take(1).chain(columns.iter().skip(1 + block.start).take(block.len()));
        let heads = shown.map(|column| Piece::new(column.name.as_str(), FAINT));
        grid.push(std::iter::once(piece(&self.0.names)).chain(heads).collect());
        for Row { name, cells, .. } in &self.0.rows {
            let shown =
                cells.iter().take(1).chain(cells.iter().skip(1 + block.start).take(block.len()));
            grid.push(std::iter::once(name).chain(shown).map(piece).collect());
        }
        grid
    }

    /// Writes it in blocks of as many columns as fit beside the names and the first column.
    fn write(&self, page: &mut Page, indent: usize, style: Style) {
        let (room, n) = (style.text_width().saturating_sub(indent), self.n_columns());
        let mut from = 0;
        while from < n {
            let block =
                |to: usize| self.grid(from..to).lay_out(Style { width: usize::MAX, ..style });
            let fitting = (from + 1..=n).rev().find(|to| block(*to).width <= room);
            let to = fitting.unwrap_or(from + 1);
            if from > 0 {
                page.blank();
            }
            for line in block(to).lines {
                page.raw(&format!("{:indent$}{line}", ""));
            }
            from = to;
        }
    }
}

/// Writes tables side by side where they fit, otherwise one below the other.
pub(super) fn write_beside(page: &mut Page, indent: usize, style: Style, tables: &[Matrix<'_>]) {
    let all: Vec<Vec<(String, usize)>> = tables.iter().map(|table| table.lines(style)).collect();
    let widest = |lines: &Vec<(String, usize)>| lines.iter().map(|(_, n)| *n).max().unwrap_or(0);
    let widths: Vec<usize> = all.iter().map(widest).collect();
    let gaps = tables.len().saturating_sub(1) * BETWEEN;
    if indent + widths.iter().sum::<usize>() + gaps > style.text_width() {
        for (index, table) in tables.iter().enumerate() {
            if index > 0 {
                page.blank();
            }
            let Table { caption, caption_means, .. } = table.0;
            page.paragraph(indent, look(*caption_means), caption);
            table.write(page, indent, style);
        }
        return;
    }
    let height = all.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..height {
        let mut text = " ".repeat(indent);
        for (lines, widest) in all.iter().zip(&widths) {
            let (line, shown) = lines.get(row).map_or(("", 0), |(line, n)| (line.as_str(), *n));
            text.push_str(line);
            text.push_str(&" ".repeat(widest - shown + BETWEEN));
        }
        page.raw(&text);
    }
}
