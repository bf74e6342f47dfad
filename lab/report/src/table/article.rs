//! The article's part of the terminal's report.

use crate::article::{
    HEADS, WAITING, blocks, conclusions, facts, heading, judged_claims, matrices,
};
use crate::findings::said_of;
use crate::grid::{ALWAYS, Grid, GridColumn, Piece};
use crate::matrix::{CaptionedMatrix, write_beside};
use crate::model::{Article, ClaimVerdict, Run};
use crate::page::Page;
use crate::percentiles::{heads, percentiles};
use crate::style::{BAD, BEST, DOUBT, FAINT, PLAIN, STRONG, Style};

/// Figures, matrices, percentiles, conclusions.
pub(super) fn write(page: &mut Page, run: &Run, article: &Article, style: Style) {
    page.heading(&heading(article));
    super::write_entries(
        page,
        2,
        facts(article).into_iter().map(|(label, text)| (label.into(), text)),
    );
    write_figures(page, article, style);
    write_matrices(page, article, style);
    write_percentiles(page, run, style);
    if !article.claims.is_empty() {
        page.blank();
        page.paragraph(2, STRONG, &conclusions(article));
    }
    write_claims(page, article);
}

fn write_figures(page: &mut Page, article: &Article, style: Style) {
    for block in blocks(article) {
        page.blank();
        page.paragraph(2, STRONG, &block.caption);
        let column = |importance| GridColumn { importance, left: false };
        let mut grid = Grid::new(vec![column(ALWAYS), column(ALWAYS), column(1)], 0);
        let heads = HEADS.map(|head| Piece::new(head, FAINT));
        grid.push(std::iter::once(Piece::plain("")).chain(heads).collect());
        for row in &block.rows {
            let here = Piece::new(row.here(), if row.doubtful { BAD } else { STRONG });
            grid.push(vec![
                named(&row.target, row.doubtful),
                Piece::plain(row.published.as_str()),
                here,
                Piece::plain(row.ratio.as_str()),
            ]);
        }
        let rows = block.rows.iter();
        let remarks = rows.map(|row| (row.target.as_str(), row.remark.as_deref(), row.doubtful));
        write_grid(page, &grid, remarks, style);
    }
}

/// The least, the mean and the greatest latencies up to percentiles, for an article with such figures.
fn write_percentiles(page: &mut Page, run: &Run, style: Style) {
    for table in percentiles(run) {
        page.blank();
        page.paragraph(2, STRONG, &table.caption);
        // Without room for all columns the least goes first, because it is the same for every percentile.
        let importances = [1, 2, 3, 4, ALWAYS];
        let columns = importances.map(|importance| GridColumn { importance, left: false });
        let mut grid = Grid::new(columns.to_vec(), 0);
        let heads = heads().map(|head| Piece::new(head, FAINT));
        grid.push(std::iter::once(Piece::plain("")).chain(heads).collect());
        for row in &table.rows {
            let look = if row.doubtful { BAD } else { PLAIN };
            let figures = row.figures().map(|text| Piece::new(text, look));
            grid.push(std::iter::once(named(&row.target, row.doubtful)).chain(figures).collect());
        }
        let rows = table.rows.iter();
        let remarks = rows.map(|row| (row.target.as_str(), row.remark.as_deref(), row.doubtful));
        write_grid(page, &grid, remarks, style);
    }
}

fn named(target: &str, doubtful: bool) -> Piece {
    let mark = if doubtful { "✗ " } else { "" };
    Piece::plain(format!("{mark}{target}"))
}

/// Writes a table, and below it the remarks on its rows: the target, the remark, and whether its figures are no result.
fn write_grid<'a>(
    page: &mut Page,
    grid: &Grid,
    remarks: impl Iterator<Item = (&'a str, Option<&'a str>, bool)>,
    style: Style,
) {
    let laid = grid.lay_out(Style { width: style.width.saturating_sub(2), ..style });
    for line in &laid.lines {
        page.raw(&format!("  {line}"));
    }
    for (target, remark, doubtful) in remarks {
        if let Some(remark) = remark {
            let look = if doubtful { BAD } else { DOUBT };
            page.paragraph(4, look, &said_of(target, remark));
        }
    }
}

/// Writes the matrices of an article, where it has any: those of both clocks side by side.
pub(crate) fn write_matrices(page: &mut Page, article: &Article, style: Style) {
    let matrices = matrices(article);
    for clocks in &matrices {
        page.blank();
        page.paragraph(2, STRONG, &clocks.place);
        let blocks = clocks.matrices.iter().map(|matrix| CaptionedMatrix {
            caption: matrix.caption.to_owned(),
            look: FAINT,
            rated: &matrix.rated,
            texts: matrix.texts(),
        });
        write_beside(page, 2, style, &blocks.collect::<Vec<_>>());
    }
    if !matrices.is_empty() {
        page.paragraph(2, FAINT, WAITING);
    }
}

fn write_claims(page: &mut Page, article: &Article) {
    for said in judged_claims(article) {
        let look = match said.claim.verdict {
            ClaimVerdict::Holds => BEST,
            ClaimVerdict::TurnsRound | ClaimVerdict::DoesNotHold => BAD,
            ClaimVerdict::CannotBeTold => DOUBT,
        };
        page.paragraph(2, look, &format!("{} {}: {}", said.mark, said.verdict, said.says()));
        for evidence in &said.evidence {
            page.paragraph(4, PLAIN, evidence);
        }
        for checks in said.checks() {
            page.entry(4, "→", 1, FAINT, FAINT, &checks);
        }
    }
}
