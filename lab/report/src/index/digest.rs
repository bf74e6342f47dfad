//! One article in short, for a page about it: figures of the article beside those of a run, and its conclusions.

use super::conclusions::in_words;
use super::{Conclusion, by_verdict};
use crate::article::{by_caption, row};
use crate::document::{escaped, pipes};
use crate::figures::{count, ratio, seconds};
use crate::header::{machine, to_the_second};
use crate::model::{Article, ArticleFigure, Measure, Run};
use crate::text::capital;

/// The tables of a digest, and the rows of each. A page has two screens for an article.
const TABLES: usize = 3;
const ROWS: usize = 9;

/// The runs of one article as Markdown. The text has the machine and the time of each run, tables of published
/// figures beside this machine's, and all conclusions by verdict. The figures are those of the first run.
///
/// A figure stands beside its ratio to the best figure of its table, because a ratio between two machines says nothing
/// of the caches. The result is empty where no run repeats an article.
pub fn digest(runs: &[&Run]) -> String {
    let articles: Vec<(&Run, &Article)> =
        runs.iter().filter_map(|run| Some((*run, run.article.as_ref()?))).collect();
    let Some((first, article)) = articles.first() else { return String::new() };
    let mut parts: Vec<String> = articles.iter().map(|(run, article)| head(run, article)).collect();
    parts.push(format!("Machine: {}.", escaped(&machine(&first.environment))));
    parts.extend(tables(article));
    parts.extend(by_verdict(runs).iter().map(|(heading, asked)| conclusions(heading, asked)));
    parts.join("\n\n") + "\n"
}

/// When and how long a run repeated the article, in which form, and how it differs from the article.
fn head(run: &Run, article: &Article) -> String {
    let form = capital(in_words(article.form));
    let load = run.environment.load.map(|load| format!(", load {load:.1}")).unwrap_or_default();
    let unlike = |cut: &String| format!(" Unlike the article: {}.", escaped(cut));
    let cut = article.cut.as_ref().map_or_else(String::new, unlike);
    format!("**{form}:** {}, {}{load}.{cut}", to_the_second(&run.started), seconds(run.duration_s))
}

/// The first tables with at least two targets that have a published figure and one here.
fn tables(article: &Article) -> Vec<String> {
    let counts = |figure: &ArticleFigure| {
        figure.published.is_some() && figure.here.is_some() && figure.measure != Measure::Misses
    };
    let mut tables = by_caption(article);
    for (_, figures) in &mut tables {
        figures.retain(|figure| counts(figure));
    }
    tables.retain(|(_, figures)| figures.len() > 1);
    let left_out = tables.len().saturating_sub(TABLES);
    let shown = tables.iter().take(TABLES).map(|(caption, rows)| table(caption, rows));
    let more = (left_out > 0).then(|| {
        format!("The report of the run has {} more of such figures.", count(left_out, "table"))
    });
    shown.chain(more).collect()
}

fn table(caption: &str, rows: &[&ArticleFigure]) -> String {
    let published = best(rows, |figure| figure.published);
    let here = best(rows, |figure| figure.here);
    let heads = [caption, "published", "to the best", "here", "to the best"].map(escaped);
    let mut lines = vec![pipes(&heads), "|---|---:|---:|---:|---:|".to_owned()];
    for figure in rows.iter().take(ROWS) {
        let texts = row(figure);
        let to =
            |value: Option<f64>, best: f64| value.map(|is| ratio(is / best)).unwrap_or_default();
        let doubt = if figure.doubts.is_empty() { "" } else { " (no result)" };
        lines.push(pipes(&[
            escaped(&figure.target),
            escaped(&texts.published),
            to(figure.published, published),
            escaped(&texts.here()) + doubt,
            to(figure.here, here),
        ]));
    }
    lines.join("\n")
}

/// The best figure of a table: the highest rate, or the least of anything else.
fn best(rows: &[&ArticleFigure], of: impl Fn(&ArticleFigure) -> Option<f64>) -> f64 {
    let is_rate = rows.iter().any(|row| row.measure.is_rate());
    let better = if is_rate { f64::max } else { f64::min };
    rows.iter().filter_map(|row| of(row)).reduce(better).unwrap_or(1.0)
}

/// The conclusions of one verdict, and the reasons of those that cannot be told.
fn conclusions(heading: &str, asked: &[Conclusion<'_>]) -> String {
    let mut lines = vec![format!("**{heading}:**\n")];
    for one in asked {
        let why = one.said.claim.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let line = one.said.claim.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let says = one.said.says();
        let says = says.strip_suffix('.').unwrap_or(&says);
        lines.push(format!("- {}{line}{}", escaped(says), escaped(&why)));
    }
    lines.join("\n")
}
