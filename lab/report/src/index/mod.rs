//! Several runs as one report: the conclusions that hold, the findings of each run, and the limits of all together.
//!
//! The terminal, Markdown and the page show the same sentences, each in its own form.

mod conclusions;
mod digest;
mod document;

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::document::Reader;
use crate::figures::{agreeing, count, list, seconds};
use crate::format::{Format, Formats};
use crate::html;
use crate::model::{Article, ArticleForm, ClaimVerdict, Entry, Environment, Index, Run, Severity};
use crate::sentences::{Role, sentences};
use crate::style::Style;
use conclusions::statements;
pub(crate) use conclusions::{Conclusion, all_conclusions};
pub use digest::digest;
pub(crate) use document::time;

/// The formats that a set has, in the order of the documentation.
const FORMATS: Formats<Index> = Formats(&[
    (Format::TABLE, |index, style| document::document(index, Reader::Terminal).to_terminal(style)),
    (Format::MARKDOWN, |index, _| document::document(index, Reader::Markdown).to_markdown(1)),
    (Format::HTML, |index, _| html::index::render(index)),
    (Format::JSON, |index, _| index.to_json()),
]);

/// The number of sentences in the index for a run without conclusions.
const SENTENCES: usize = 4;

/// A set in this format, with a line feed at its end; `None` where a set has no such format.
pub fn render_index(index: &Index, format: Format, style: Style) -> Option<String> {
    FORMATS.render(index, format, style)
}

/// The formats that a set has.
pub fn index_formats() -> impl Iterator<Item = Format> {
    FORMATS.all()
}

/// The number of conclusions with each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) holds: usize,
    /// Conclusions that do not hold, including those that turn round.
    pub(crate) fails: usize,
    pub(crate) turned: usize,
    pub(crate) open: usize,
    /// Conclusions among `fails` that hold as published, with the mistakes.
    pub(crate) by_mistake: usize,
}

impl Tally {
    /// Counts all statements of the authors of the runs' articles, each once.
    pub(crate) fn of<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Self {
        let runs: Vec<&Run> = runs.into_iter().collect();
        let mut tally = Self::default();
        for statement in statements(&all_conclusions(&runs)) {
            match statement.verdict {
                ClaimVerdict::Holds => tally.holds += 1,
                ClaimVerdict::CannotBeTold => tally.open += 1,
                ClaimVerdict::DoesNotHold => tally.fails += 1,
                ClaimVerdict::TurnsRound => {
                    (tally.fails, tally.turned) = (tally.fails + 1, tally.turned + 1);
                }
            }
            tally.by_mistake +=
                usize::from(statement.holds_by_mistake() && statement.verdict.fails());
        }
        tally
    }

    pub(crate) fn all(self) -> usize {
        self.holds + self.fails + self.open
    }
}

/// The answer of all runs together, in sentences.
pub(crate) fn answer(index: &Index) -> Vec<String> {
    let mut sentences: Vec<String> = conclusions(index).into_iter().collect();
    sentences.extend(by_mistake(index));
    let missing = index.scenarios.iter().filter(|entry| entry.run.is_none());
    let missing: Vec<&str> = missing.map(|entry| entry.name.as_str()).collect();
    if !missing.is_empty() {
        sentences.push(format!("{} did not run.", list(&missing)));
    }
    let interrupted = names_where(index, |run| run.interrupted);
    if !interrupted.is_empty() {
        let was = agreeing(interrupted.len(), "was", "were");
        sentences.push(format!("{} {was} interrupted before the end.", list(&interrupted)));
    }
    if index.runs().next().is_some() {
        sentences.push(no_results(index));
    }
    sentences
}

/// The names of the scenarios whose runs have this property.
fn names_where(index: &Index, is_so: impl Fn(&Run) -> bool) -> Vec<&str> {
    let is_so = |entry: &&Entry| entry.run.as_ref().is_some_and(&is_so);
    index.scenarios.iter().filter(is_so).map(|entry| entry.name.as_str()).collect()
}

fn conclusions(index: &Index) -> Option<String> {
    let tally = Tally::of(index.runs());
    if tally.all() == 0 {
        return None;
    }
    let articles: Vec<&Article> = index.runs().filter_map(|run| run.article.as_ref()).collect();
    let is_in = |form: ArticleForm| articles.iter().any(|article| article.form == form);
    let repeated = match (is_in(ArticleForm::Published), is_in(ArticleForm::Corrected)) {
        (true, false) => " repeated as they were published with their mistakes,",
        (false, true) => " repeated with their mistakes corrected,",
        _ => " each in the form that can test it,",
    };
    let ids: BTreeSet<&str> = articles.iter().map(|article| article.id.as_str()).collect();
    let turned = match tally.turned {
        0 => String::new(),
        turned => format!(" ({turned} of them turned round)"),
    };
    Some(format!(
        "Of the {} of {},{repeated} {} here, {}{turned}, and {} cannot be told from these runs.",
        count(tally.all(), "conclusion"),
        count(ids.len(), "article"),
        if tally.holds == 1 { "1 holds".to_owned() } else { format!("{} hold", tally.holds) },
        if tally.fails == 1 { "1 does not".to_owned() } else { format!("{} do not", tally.fails) },
        tally.open,
    ))
}

/// The number of conclusions that hold only by a mistake, in a sentence.
fn by_mistake(index: &Index) -> Option<String> {
    match Tally::of(index.runs()).by_mistake {
        0 => None,
        1 => Some(
            "1 conclusion that does not hold here holds as published, by a mistake.".to_owned(),
        ),
        n => Some(format!("{n} conclusions that do not hold here hold as published, by mistakes.")),
    }
}

/// The conclusions in groups by verdict, each under a heading. Empty groups are left out.
pub(crate) fn by_verdict<'a>(runs: &[&'a Run]) -> Vec<(&'static str, Vec<Conclusion<'a>>)> {
    let mut groups = [
        ("What holds here", Vec::new()),
        ("What does not hold here", Vec::new()),
        ("What cannot be told from these runs", Vec::new()),
    ];
    for one in all_conclusions(runs) {
        let group = match one.said.claim.verdict {
            ClaimVerdict::Holds => 0,
            ClaimVerdict::TurnsRound | ClaimVerdict::DoesNotHold => 1,
            ClaimVerdict::CannotBeTold => 2,
        };
        groups[group].1.push(one);
    }
    groups.into_iter().filter(|(_, conclusions)| !conclusions.is_empty()).collect()
}

/// The scenarios with figures that checks found to be no results.
fn no_results(index: &Index) -> String {
    let of_entry = |entry: &Entry| {
        let ids = error_ids(entry.run.as_ref()?);
        (!ids.is_empty()).then(|| format!("{} ({})", entry.name, list(&ids)))
    };
    let found: Vec<String> = index.scenarios.iter().filter_map(of_entry).collect();
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    if found.is_empty() {
        return "No check found a figure to be no result.".to_owned();
    }
    format!("Checks found figures that are no results in {}.", list(&found))
}

/// The checks of severity error that fired in a run, each once.
pub(crate) fn error_ids(run: &Run) -> Vec<&str> {
    let mut ids: Vec<&str> = Vec::new();
    for check in run.checks.iter().filter(|check| check.severity == Severity::Error) {
        if !ids.contains(&check.id.as_str()) {
            ids.push(&check.id);
        }
    }
    ids
}

/// The number of findings of this severity.
pub(crate) fn fired(run: &Run, severity: Severity) -> usize {
    run.checks.iter().filter(|check| check.severity == severity).count()
}

/// The title of a scenario: the name of its article, or its own.
pub(crate) fn title(entry: &Entry) -> String {
    match entry.run.as_ref().and_then(|run| run.article.as_ref()) {
        Some(article) => format!("{}: {}", article.id, article.title),
        None => entry.name.clone(),
    }
}

/// The subject of a run's scenario, without the name of its article, which is in the title.
pub(crate) fn question(run: &Run) -> Option<&str> {
    let summary = run.summary.as_deref()?;
    let of_article = run
        .article
        .as_ref()
        .and_then(|article| summary.strip_prefix(&article.id)?.strip_prefix(": "));
    Some(of_article.unwrap_or(summary))
}

/// The result of a run without conclusions.
pub(crate) fn found(run: &Run) -> Vec<String> {
    let answers = sentences(run).into_iter().filter(|said| said.role == Role::Answer);
    answers.take(SENTENCES).map(|said| said.to_string()).collect()
}

/// The address of a run's file, relative to the index.
pub(crate) fn address(entry: &Entry, file: &str) -> String {
    let mut address = String::new();
    for byte in entry.folder.bytes() {
        // Other characters in the name of a folder could end the path of the address.
        if byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte) {
            address.push(byte.into());
        } else {
            let _ = write!(address, "%{byte:02X}");
        }
    }
    format!("{address}/{file}")
}

/// The time of all runs together, in words; a dash without a run.
pub(crate) fn took(index: &Index) -> String {
    // The sum of an empty list of floats is a negative zero.
    let all = index.runs().map(|run| run.duration_s).reduce(|sum, duration| sum + duration);
    all.map_or_else(|| "–".to_owned(), seconds)
}

/// The machine of all runs, if it is the same.
pub(crate) fn one_machine(index: &Index) -> Option<&Environment> {
    // These figures change from minute to minute on the same machine.
    let of = |environment: &Environment| Environment {
        load: None,
        clock_ns: 0.0,
        ..environment.clone()
    };
    let first = &index.runs().next()?.environment;
    index.runs().all(|run| of(&run.environment) == of(first)).then_some(first)
}

/// The limits of the runs together. The limits of each run are in its own report.
pub(crate) fn not_shown(index: &Index) -> Vec<String> {
    let mut sentences = vec![
        "Scenarios are not compared with each other: a cache did other work in each scenario, so its rates in two \
         scenarios say nothing of each other."
            .to_owned(),
        "The scenarios ran once, one after the other: the machine may have changed between two of them."
            .to_owned(),
    ];
    let is_cut = |run: &Run| run.article.as_ref().is_some_and(|article| article.cut.is_some());
    let cut = names_where(index, is_cut);
    if !cut.is_empty() {
        sentences.push(format!(
            "{} did less work than the article, or other work; the report of each run says which. A conclusion that \
             cannot be told here may be told at full length.",
            list(&cut)
        ));
    }
    if Tally::of(index.runs()).all() > 0 {
        sentences.push(
            "A conclusion is judged on this machine with today's versions: a conclusion that does not hold here may \
             hold on the article's machine."
                .to_owned(),
        );
    }
    sentences.push("The report of each run states the limits of that run.".to_owned());
    sentences
}
