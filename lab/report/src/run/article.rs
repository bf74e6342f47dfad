//! The part of a report about an article: its figures, its matrices, its percentiles, its conclusions.

use crate::article::{
    self, FigureBlock, FigureRow, HEADS, JudgedClaim, Matrix, WAITING, judged_claims, matrices,
};
use crate::document::{Block, Column, Document, Item, Meaning, Reader, Row, Span, Table, Text};
use crate::figures::rate;
use crate::findings::said_of;
use crate::grid::ALWAYS;
use crate::model::{Article, ClaimVerdict, Run};
use crate::percentiles::{Percentiles, PercentilesRow, heads, percentiles};

/// The head of the column of remarks; a terminal has the remarks below the table.
const REMARK: &str = "remark";

/// All of it, where the run repeats an article.
pub(super) fn push(document: &mut Document, run: &Run, reader: Reader) {
    let Some(article) = &run.article else { return };
    document.section(&article::heading(article));
    document.facts(article::facts(article));
    for block in article::blocks(article) {
        captioned(document, figures(&block), reader);
    }
    matrices_of(document, article, reader);
    for table in percentiles(run) {
        captioned(document, up_to_percentiles(&table), reader);
    }
    if article.claims.is_empty() {
        return;
    }
    let conclusions = article::conclusions(article);
    if reader == Reader::Terminal {
        document.push(Block::Part(conclusions, None));
    } else {
        document.paragraph([Text::of(vec![Span::Strong(conclusions)])]);
    }
    document.list(judged_claims(article).iter().map(|said| conclusion(said, reader)));
}

/// A table whose rows may have remarks: their names, the remarks, and whether their figures are no results.
struct Remarked {
    table: Table,
    remarks: Vec<(String, Option<String>, bool)>,
}

/// A table below its caption and above its remarks; where there is room, both stand in it.
fn captioned(document: &mut Document, Remarked { mut table, remarks }: Remarked, reader: Reader) {
    if reader == Reader::Terminal {
        document.push(Block::Part(std::mem::take(&mut table.caption), None));
        document.push(Block::Table(table));
        let remark = |(name, remark, doubtful): (String, Option<String>, bool)| {
            let meaning = if doubtful { Meaning::Bad } else { Meaning::Doubt };
            Some(Text::from(said_of(&name, &remark?)).means(meaning))
        };
        return document.remarks(remarks.into_iter().filter_map(remark));
    }
    table.names = std::mem::take(&mut table.caption).into();
    table.columns.push(Column { words: true, ..Column::of_figures(REMARK) });
    for (row, (_, remark, _)) in table.rows.iter_mut().zip(remarks) {
        row.cells.push(remark.unwrap_or_default().into());
    }
    document.push(Block::Table(table));
}

fn figures(block: &FigureBlock) -> Remarked {
    let columns = HEADS.into_iter().zip([ALWAYS, ALWAYS, 1]);
    let columns =
        columns.map(|(name, importance)| Column { importance, ..Column::of_figures(name) });
    let row = |row: &FigureRow| {
        let here = if row.doubtful { Meaning::Bad } else { Meaning::Main };
        let here = Text::from(row.here()).means(here);
        Row {
            name: row.target.as_str().into(),
            cells: vec![row.published.as_str().into(), here, row.ratio.as_str().into()],
            is_withheld: row.doubtful,
            ..Row::default()
        }
    };
    let remark = |row: &FigureRow| (row.target.clone(), row.remark.clone(), row.doubtful);
    Remarked {
        table: Table {
            caption: block.caption.clone(),
            columns: columns.collect(),
            rows: block.rows.iter().map(row).collect(),
            ..Table::default()
        },
        remarks: block.rows.iter().map(remark).collect(),
    }
}

/// The least, the mean and the greatest latencies up to percentiles, for an article with such figures.
fn up_to_percentiles(table: &Percentiles) -> Remarked {
    // Without room for all columns the least goes first, because it is the same for every percentile.
    let columns = heads().zip([1, 2, 3, 4, ALWAYS]);
    let columns =
        columns.map(|(name, importance)| Column { importance, ..Column::of_figures(name) });
    let row = |row: &PercentilesRow| {
        let meaning = if row.doubtful { Meaning::Bad } else { Meaning::Plain };
        Row {
            name: row.target.as_str().into(),
            cells: row.figures().map(|text| Text::from(text).means(meaning)).collect(),
            is_withheld: row.doubtful,
            ..Row::default()
        }
    };
    let remark = |row: &PercentilesRow| (row.target.clone(), row.remark.clone(), row.doubtful);
    Remarked {
        table: Table {
            caption: table.caption.clone(),
            columns: columns.collect(),
            rows: table.rows.iter().map(row).collect(),
            ..Table::default()
        },
        remarks: table.rows.iter().map(remark).collect(),
    }
}

/// The matrices of an article, where it has any: those of both clocks side by side.
pub(crate) fn matrices_of(document: &mut Document, article: &Article, reader: Reader) {
    let matrices = matrices(article);
    for clocks in &matrices {
        if reader == Reader::Terminal {
            document.push(Block::Part(clocks.place.clone(), None));
            let tables = clocks.matrices.iter().map(|it| matrix(it, it.caption, Text::default()));
            document.push(Block::Beside(tables.collect()));
            continue;
        }
        for of_clock in &clocks.matrices {
            let caption = format!("{}, {}", clocks.place, of_clock.caption);
            document.push(Block::Table(matrix(of_clock, "", caption.into())));
        }
    }
    if !matrices.is_empty() {
        document.push(Block::Note(WAITING.into()));
    }
}

fn matrix(matrix: &Matrix<'_>, caption: &str, names: Text) -> Table {
    let all = matrix.rated.iter().map(|rated| (rated.name, rate(rated.rate)));
    Table { names, ..Table::matrix((caption, Meaning::Faint), all, matrix.texts()) }
}

fn conclusion(said: &JudgedClaim<'_>, reader: Reader) -> Item {
    let mut details: Vec<Text> =
        said.evidence.iter().map(|evidence| Text::from(evidence.as_str())).collect();
    let (checks, says) = (said.checks(), said.says());
    if reader == Reader::Terminal {
        let meaning = match said.claim.verdict {
            ClaimVerdict::Holds => Meaning::Good,
            ClaimVerdict::TurnsRound | ClaimVerdict::DoesNotHold => Meaning::Bad,
            ClaimVerdict::CannotBeTold => Meaning::Doubt,
        };
        let text = format!("{} {}: {says}", said.mark, said.verdict);
        return Item { text: Text::from(text).means(meaning), details, advice: checks };
    }
    if !checks.is_empty() {
        details.push(checks.join("; ").into());
    }
    let verdict = Span::Strong(said.verdict.to_owned());
    let text = Text::of(vec![verdict, Span::Plain(format!(": {says}"))]);
    Item { text, details, advice: Vec::new() }
}
