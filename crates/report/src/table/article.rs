//! What an article published, in the terminal's report.

use crate::article::{CONCLUSIONS, HEADS, WAITING, blocks, facts, heading, matrices, said};
use crate::findings::said_of;
use crate::grid::{ALWAYS, Column, Grid, Piece};
use crate::matrix::{Block, write_beside};
use crate::model::{Article, ClaimVerdict};
use crate::page::Page;
use crate::style::{BAD, BEST, DOUBT, FAINT, PLAIN, STRONG, Style};

/// Figures, matrices, conclusions.
pub(super) fn write(page: &mut Page, article: &Article, style: Style) {
    page.heading(&heading(article));
    super::write_entries(
        page,
        2,
        facts(article).map(|(label, text)| (label.into(), text)).into_iter(),
    );
    write_figures(page, article, style);
    write_matrices(page, article, style);
    if !article.claims.is_empty() {
        page.blank();
        page.paragraph(2, STRONG, CONCLUSIONS);
    }
    write_claims(page, article);
}

fn write_figures(page: &mut Page, article: &Article, style: Style) {
    for block in blocks(article) {
        page.blank();
        page.paragraph(2, STRONG, &block.caption);
        let column = |importance| Column { importance, left: false };
        let mut grid = Grid::new(vec![column(ALWAYS), column(ALWAYS), column(1)], 0);
        let heads = HEADS.map(|head| Piece::new(head, FAINT));
        grid.push(std::iter::once(Piece::plain("")).chain(heads).collect());
        for row in &block.rows {
            let mark = if row.doubtful { "✗ " } else { "" };
            let here = Piece::new(row.here.as_str(), if row.doubtful { BAD } else { STRONG });
            let name = Piece::plain(format!("{mark}{}", row.target));
            grid.push(vec![
                name,
                Piece::plain(row.published.as_str()),
                here,
                Piece::plain(row.ratio.as_str()),
            ]);
        }
        let laid = grid.lay_out(Style { width: style.width.saturating_sub(2), ..style });
        for line in &laid.lines {
            page.raw(&format!("  {line}"));
        }
        for row in &block.rows {
            if let Some(remark) = &row.remark {
                let look = if row.doubtful { BAD } else { DOUBT };
                page.paragraph(4, look, &said_of(&row.target, remark));
            }
        }
    }
}

/// The matrices that it showed, where it showed one: those of both clocks side by side.
pub(crate) fn write_matrices(page: &mut Page, article: &Article, style: Style) {
    let matrices = matrices(article);
    for clocks in &matrices {
        page.blank();
        page.paragraph(2, STRONG, &clocks.place);
        let blocks = clocks.matrices.iter().map(|matrix| Block {
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
    for said in said(article) {
        let look = match said.claim.verdict {
            ClaimVerdict::Holds => BEST,
            ClaimVerdict::TurnsRound | ClaimVerdict::DoesNotHold => BAD,
            ClaimVerdict::CannotBeTold => DOUBT,
        };
        page.paragraph(2, look, &format!("{} {}: {}", said.mark, said.verdict, said.claim.says));
        for evidence in &said.evidence {
            page.paragraph(4, PLAIN, evidence);
        }
        for checks in said.checks() {
            page.entry(4, ("→", 1, FAINT), FAINT, &checks);
        }
    }
}
