//! A difference in the terminal.

use super::parts::{Block, HEADS, blocks, header, left_out, rule, warning};
use crate::grid::{ALWAYS, Grid, GridColumn, Piece};
use crate::model::{ChangeVerdict, Diff};
use crate::page::Page;
use crate::style::{BAD, BEST, FAINT, PLACE, PLAIN, STRONG, Style};
use crate::text::width;

/// The importance of the columns: without room the spreads go first, then the interval.
const IMPORTANCE: [u8; 9] = [ALWAYS, 20, ALWAYS, 21, ALWAYS, 90, 40, 60, 50];

/// The whole difference.
pub(super) fn render(diff: &Diff, style: Style) -> String {
    let mut page = Page::new(style);
    if let Some(warning) = warning(diff) {
        page.paragraph(0, BAD, &warning);
    }
    let header = header(diff);
    let widest = header.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
    for (label, text) in &header {
        page.entry(0, label, widest, PLACE, PLAIN, text);
    }
    let blocks = blocks(diff);
    let names = blocks.iter().flat_map(|block| &block.rows).map(|row| width(&row.name) + 2).max();
    for block in &blocks {
        write(&mut page, block, names.unwrap_or(0), style);
    }
    page.blank();
    for line in left_out(diff) {
        page.paragraph(0, PLAIN, &line);
    }
    for line in rule(diff) {
        page.paragraph(0, FAINT, &line);
    }
    page.into_text()
}

fn write(page: &mut Page, block: &Block, names: usize, style: Style) {
    let left = |at: usize| at == 5;
    let columns = IMPORTANCE.iter().enumerate();
    let columns =
        columns.map(|(at, importance)| GridColumn { importance: *importance, left: left(at) });
    let mut grid = Grid::new(columns.collect(), names);
    let title = Piece::new(format!("{} {}", block.operation, block.measure), STRONG);
    grid.push(std::iter::once(title).chain(HEADS.map(|head| Piece::new(head, FAINT))).collect());
    for row in &block.rows {
        let look = match row.verdict {
            ChangeVerdict::Better => BEST,
            ChangeVerdict::Worse => BAD,
            ChangeVerdict::Indistinguishable => FAINT,
        };
        let looks = [PLAIN, FAINT, STRONG, FAINT, look, look, FAINT, FAINT, FAINT];
        let pieces = row.columns.iter().zip(looks).map(|(text, look)| Piece::new(&**text, look));
        let name = Piece::plain(format!("  {}", row.name));
        grid.push(std::iter::once(name).chain(pieces).collect());
    }
    let laid = grid.lay_out(style);
    page.blank();
    let mut lines = laid.lines.iter();
    if let Some(heads) = lines.next() {
        page.raw(heads);
        page.raw(&style.paint(FAINT, &"─".repeat(laid.width)));
    }
    let mut place = "";
    for (line, row) in lines.zip(&block.rows) {
        if row.place != place {
            page.paragraph(0, PLACE, &row.place);
            place = &row.place;
        }
        page.raw(line);
    }
}
