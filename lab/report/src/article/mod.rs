//! An article in words: its figures beside those of this run, and its conclusions with the run's verdicts.
//!
//! The terminal, Markdown and the page show the same rows and sentences, each in its own form.

mod conclusions;
mod matrix;

pub(crate) use conclusions::{JudgedClaim, judged_claims};
pub(crate) use matrix::{Clocks, Matrix, WAITING, matrices};

use std::fmt;

use larder_store::ByteSize;

use crate::figures::{agreeing, list, nanoseconds, nanoseconds_bounds, rate, rate_bounds, ratio};
use crate::model::{
    Article, ArticleChecks, ArticleFigure, ArticleForm, ClaimVerdict, Clock, Measure, Point,
    Verdict,
};
use crate::points::label;

/// The heads of the columns behind the targets.
pub(crate) const HEADS: [&str; 3] = ["published", "here", "here / published"];
/// The text in place of a published figure that was only announced.
const ANNOUNCED: &str = "announced";

/// Figures of one kind at one place, one row for each target.
#[derive(Debug)]
pub(crate) struct FigureBlock {
    /// The kind of the figures, and their place.
    pub(crate) caption: String,
    pub(crate) rows: Vec<FigureRow>,
}

/// A published figure and its counterpart.
#[derive(Debug)]
pub(crate) struct FigureRow {
    pub(crate) target: String,
    pub(crate) published: String,
    /// The figure of this run.
    pub(crate) here: Option<Here>,
    pub(crate) ratio: String,
    /// The reason why this run has no figure, or why the figure is no result.
    pub(crate) remark: Option<String>,
    /// Whether the figure of this run is no result.
    pub(crate) doubtful: bool,
}

impl FigureRow {
    /// The figure of this run with its interval; empty without one.
    pub(crate) fn here(&self) -> String {
        self.here.as_ref().map(Here::to_string).unwrap_or_default()
    }
}

/// A figure of this run.
#[derive(Debug)]
pub(crate) struct Here {
    pub(crate) figure: String,
    /// The ends of its interval.
    pub(crate) interval: Option<String>,
}

impl fmt::Display for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.figure)?;
        self.interval.iter().try_for_each(|interval| write!(f, " [{interval}]"))
    }
}

/// The heading of everything about an article.
pub(crate) fn heading(article: &Article) -> String {
    format!("What {} published, and what this machine says", article.id)
}

/// The heading of the conclusions, with the number of statements for each verdict: `Conclusions: of 5, 3 hold here, 2
/// cannot be told; of 2 that are derived, 1 holds here, 1 does not hold`.
pub(crate) fn conclusions(article: &Article) -> String {
    let [own, derived] = [false, true].map(|derived| article.statements(derived));
    let mut parts = Vec::new();
    if !own.is_empty() || derived.is_empty() {
        parts.push(format!("of {}, {}", own.len(), counted(&own)));
    }
    if !derived.is_empty() {
        let are = agreeing(derived.len(), "is", "are");
        parts.push(format!("of {} that {are} derived, {}", derived.len(), counted(&derived)));
    }
    if article.claims_of_other_form > 0 {
        let form = match article.form {
            ArticleForm::Published => "with the mistakes corrected",
            ArticleForm::Corrected => "as published",
        };
        parts.push(format!("{} more can be tested only {form}", article.claims_of_other_form));
    }
    format!("Conclusions: {}", parts.join("; "))
}

/// The number of verdicts of each kind, in words.
fn counted(verdicts: &[ClaimVerdict]) -> String {
    let words = [
        (ClaimVerdict::Holds, "holds here", "hold here"),
        (ClaimVerdict::TurnsRound, "turns round", "turn round"),
        (ClaimVerdict::DoesNotHold, "does not hold", "do not hold"),
        (ClaimVerdict::CannotBeTold, "cannot be told", "cannot be told"),
    ];
    let counted = words.into_iter().filter_map(|(verdict, one, several)| {
        let number = verdicts.iter().filter(|one| **one == verdict).count();
        (number > 0).then(|| format!("{number} {}", if number == 1 { one } else { several }))
    });
    counted.collect::<Vec<_>>().join(", ")
}

/// Labels and texts: the article, its machine, the form in which it is repeated, and its checks.
pub(crate) fn facts(article: &Article) -> Vec<(&'static str, String)> {
    let form = match article.form {
        ArticleForm::Published => "as it was published, its mistakes included",
        ArticleForm::Corrected => "with its mistakes corrected",
    };
    let options: Vec<&str> = article.changed.iter().map(String::as_str).collect();
    let changed = format!(
        "; changed by {}, which makes another workload: no figure here is compared with a published figure, and no \
         conclusion is judged",
        list(&options)
    );
    let changed = if options.is_empty() { "" } else { changed.as_str() };
    let cut = article.cut.as_ref().map_or_else(String::new, |cut| format!("; {cut}"));
    let mut facts = vec![
        ("article", article.title.clone()),
        ("its machine", article.machine.clone()),
        ("repeated", format!("{form}{cut}{changed}")),
    ];
    facts.extend(article.checks.as_ref().map(|checks| ("its checks", checks_text(checks))));
    facts
}

/// The checks that fired, compared with those that the article's mistakes should set off.
fn checks_text(checks: &ArticleChecks) -> String {
    let named = |ids: &[String]| list(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let ArticleChecks { fired, silent, unexpected, incidental } = checks;
    let said = [
        (fired, "fired, as the article's mistakes must make them"),
        (silent, "did not fire, although the article's mistakes must make them"),
        (unexpected, "fired too"),
        (incidental, "fired in this run because of the machine"),
    ];
    let said = said.into_iter().filter(|(ids, _)| !ids.is_empty());
    let said: Vec<String> = said.map(|(ids, what)| format!("{} {what}", named(ids))).collect();
    if said.is_empty() { "none fired".to_owned() } else { said.join("; ") }
}

/// The figures in blocks, in the order of the article.
pub(crate) fn blocks(article: &Article) -> Vec<FigureBlock> {
    let block = |(caption, figures): (String, Vec<&ArticleFigure>)| {
        let counted = figures.iter().find_map(|figure| counted_here(figure)).unwrap_or_default();
        let rows = figures.into_iter().map(row).collect();
        FigureBlock { caption: caption + &counted, rows }
    };
    by_caption(article).into_iter().map(block).collect()
}

/// Figures of one kind at one place, by a caption that tells both.
pub(crate) fn by_caption(article: &Article) -> Vec<(String, Vec<&ArticleFigure>)> {
    let mut all: Vec<(String, Vec<&ArticleFigure>)> = Vec::new();
    for figure in &article.figures {
        let caption = caption(figure);
        match all.iter_mut().find(|(known, _)| *known == caption) {
            Some((_, figures)) => figures.push(figure),
            None => all.push((caption, vec![figure])),
        }
    }
    all
}

/// The text on how to read the figures beside a conclusion.
pub(crate) fn how_decided() -> String {
    format!(
        "p is corrected over all tests of the article's conclusions, and decides below {}; an interval belongs to one \
         ratio, without a correction.",
        Verdict::SIGNIFICANCE
    )
}

/// The number of iterations of a total here, where it differs from the published one.
fn counted_here(figure: &ArticleFigure) -> Option<String> {
    let here = figure.here_iterations.filter(|here| figure.iterations != Some(*here))?;
    match figure.measure {
        _ if figure.measure.is_total() => Some(format!(", here scaled from {here} a round")),
        Measure::Misses => Some(format!(", here of {here} a round")),
        _ => None,
    }
}

/// A place in words: `write-heavy, set+get`.
pub(crate) fn place(part: Option<&str>, operation: &str) -> String {
    part.map_or_else(|| operation.to_owned(), |part| format!("{part}, {operation}"))
}

/// A place with the point of its sweep: `threads, get at threads 4`.
pub(crate) fn place_at(part: Option<&str>, operation: &str, at: &Point) -> String {
    [place(part, operation), at_point(at)].concat()
}

/// A point in words, as in ` at threads 4`; empty without a sweep.
pub(crate) fn at_point(at: &Point) -> String {
    let all: Vec<&str> = at.keys().map(String::as_str).collect();
    if all.is_empty() { String::new() } else { format!(" at {}", label(at, &all)) }
}

/// A clock in words.
pub(crate) fn clock(clock: Clock) -> &'static str {
    match clock {
        Clock::Wall => "by wall clock",
        Clock::Cpu => "by the client's CPU time",
        Clock::Latency => "by mean latency",
        Clock::P99 => "by the 99th percentile of latency",
        Clock::Max => "by the slowest operation",
    }
}

fn caption(figure: &ArticleFigure) -> String {
    let of = figure.iterations.map(|n| format!(" of {n} iterations")).unwrap_or_default();
    let what = match figure.measure {
        Measure::Wall => format!("wall clock{of}"),
        Measure::Cpu => format!("CPU time of the client{of}"),
        Measure::CpuUser => format!("CPU time of the client{of}, in its own code"),
        Measure::CpuSystem => format!("CPU time of the client{of}, in the system's kernel"),
        Measure::UsPerOp => "wall clock of an iteration".to_owned(),
        Measure::OpsPerS => "iterations per second of wall clock".to_owned(),
        Measure::CpuOpsPerS => "iterations per second of the client's CPU".to_owned(),
        Measure::Misses => format!("misses{of}"),
        Measure::ClientCpuUs => "CPU time of the client an iteration".to_owned(),
        Measure::ServerCpuUs => "CPU time of the servers an iteration".to_owned(),
        Measure::RssBytes => "resident memory".to_owned(),
    };
    let (part, operation) = (figure.part.as_deref(), figure.operation.as_str());
    if figure.peak {
        return format!("{}: {what}, the most of the sweep", place(part, operation));
    }
    format!("{}: {what}", place_at(part, operation, &figure.at))
}

/// A figure in texts.
pub(crate) fn row(figure: &ArticleFigure) -> FigureRow {
    let doubts = || format!("no result: {}", figure.doubts.join(", "));
    let doubtful = !figure.doubts.is_empty() && figure.here.is_some();
    FigureRow {
        target: if figure.peak {
            [figure.target.clone(), at_point(&figure.at)].concat()
        } else {
            figure.target.clone()
        },
        published: [figure.published, figure.published_to]
            .into_iter()
            .flatten()
            .map(|published| text(figure.measure, published))
            .reduce(|from, to| format!("{from} to {to}"))
            .unwrap_or_else(|| ANNOUNCED.to_owned()),
        here: figure.here.map(|here| Here {
            figure: text(figure.measure, here),
            interval: figure.here_ci95.and_then(|ci95| bounds(figure.measure, here, ci95)),
        }),
        // Misses have no ratio, because the numbers of iterations differ.
        ratio: figure
            .ratio
            .filter(|_| figure.measure != Measure::Misses)
            .map(ratio)
            .unwrap_or_default(),
        remark: figure.reason.clone().or_else(|| doubtful.then(doubts)),
        doubtful,
    }
}

fn text(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Wall | Measure::Cpu | Measure::CpuUser | Measure::CpuSystem => {
            nanoseconds(value * 1e9)
        }
        Measure::UsPerOp | Measure::ClientCpuUs | Measure::ServerCpuUs => nanoseconds(value * 1e3),
        Measure::OpsPerS | Measure::CpuOpsPerS => rate(value),
        Measure::Misses => format!("{value:.0}"),
        Measure::RssBytes => memory(value),
    }
}

/// The ends of a figure's interval; misses have no interval.
fn bounds(measure: Measure, value: f64, ci95: [f64; 2]) -> Option<String> {
    let span = |ns: f64| nanoseconds_bounds(value * ns, ci95.map(|bound| bound * ns));
    match measure {
        Measure::Wall | Measure::Cpu | Measure::CpuUser | Measure::CpuSystem => Some(span(1e9)),
        Measure::UsPerOp | Measure::ClientCpuUs | Measure::ServerCpuUs => Some(span(1e3)),
        Measure::OpsPerS | Measure::CpuOpsPerS => Some(rate_bounds(value, ci95)),
        Measure::Misses => None,
        Measure::RssBytes => Some(ci95.map(memory).join(", ")),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes, which are never negative"
)]
fn memory(bytes: f64) -> String {
    ByteSize(bytes as u64).to_string()
}
