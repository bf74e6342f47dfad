//! The report for the terminal: the run, the figures, the conclusions, the checks, the limits.

mod article;
mod connections;
mod hits;
mod operations;

pub(crate) use article::write_matrices;

use crate::findings::{findings, tally};
use crate::format::Format;
use crate::header::{header, warning};
use crate::limits::{NOT_SHOWN, not_shown};
use crate::model::{Run, Severity};
use crate::page::Page;
use crate::searches::{SEARCHES, search_lines};
use crate::sentences::{FIGURES_SAY, sentences};
use crate::style::{BAD, DOUBT, FAINT, PLACE, PLAIN, STRONG, Style};
use crate::text::width;
use crate::tiers::{TIERS, tier_lines};

/// The format `table`.
pub(crate) const FORMAT: Format = Format { name: "table", render };

/// The whole report, at most as wide as the terminal.
fn render(run: &Run, style: Style) -> String {
    let mut page = Page::new(style);
    write_header(&mut page, run);
    operations::write(&mut page, run, style);
    if let Some(article) = &run.article {
        article::write(&mut page, run, article, style);
    }
    hits::write(&mut page, run, style);
    connections::write(&mut page, run, style);
    let searches = search_lines(run);
    if !searches.is_empty() {
        page.heading(SEARCHES);
        write_entries(&mut page, 2, searches.into_iter().map(|line| (line.subject, line.text)));
    }
    let tiers = tier_lines(run);
    if !tiers.is_empty() {
        page.heading(TIERS);
        write_entries(&mut page, 2, tiers.into_iter().map(|line| (line.subject, line.text)));
    }
    let sentences = sentences(run);
    if !sentences.is_empty() {
        page.heading(FIGURES_SAY);
        write_entries(&mut page, 2, sentences.into_iter().map(|said| (said.subject, said.text)));
    }
    write_findings(&mut page, run);
    page.heading(NOT_SHOWN);
    page.paragraph(2, FAINT, &not_shown(run).join(" "));
    page.into_text()
}

fn write_header(page: &mut Page, run: &Run) {
    if let Some(warning) = warning(run) {
        page.paragraph(0, BAD, warning);
    }
    write_entries(page, 0, header(run).into_iter().map(|(label, text)| (label.to_owned(), text)));
}

/// Labels in a column and texts beside them; a label that repeats in a row is written once.
fn write_entries(page: &mut Page, indent: usize, entries: impl Iterator<Item = (String, String)>) {
    let entries: Vec<(String, String)> = entries.collect();
    let widest = entries.iter().map(|(label, _)| width(label)).max().unwrap_or(0);
    let mut before = None;
    for (label, text) in &entries {
        let shown = if before == Some(label) { "" } else { label.as_str() };
        page.entry(indent, shown, widest, PLACE, PLAIN, text);
        before = Some(label);
    }
}

fn write_findings(page: &mut Page, run: &Run) {
    page.heading(&format!("Checks: {}", tally(run)));
    for finding in findings(run) {
        let (mark, look) = match finding.severity {
            Severity::Error => ("✗", BAD),
            Severity::Warn => ("!", DOUBT),
            Severity::Note => ("·", STRONG),
        };
        let rule = format!("{mark} {} {}", finding.severity.as_str(), finding.id);
        page.paragraph(2, look, &rule);
        for line in &finding.lines {
            page.paragraph(4, PLAIN, line);
        }
        for advice in &finding.advice {
            page.entry(4, "→", 1, FAINT, FAINT, advice);
        }
    }
}
