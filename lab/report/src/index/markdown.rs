//! A set as Markdown, for a repository or for a terminal that shows plain text.

use super::table::{HEADS, figures, time};
use super::{
    Conclusion, address, answer, by_verdict, found, not_shown, one_machine, question, title, took,
};
use crate::article::conclusions;
use crate::findings::findings;
use crate::header::{machine, to_the_second};
use crate::limits::NOT_SHOWN;
use crate::markdown::{escaped, pipes};
use crate::model::{Entry, Index, Run, Severity};

/// The whole text.
pub(super) fn render(index: &Index) -> String {
    let mut lines = vec![format!("# {}", escaped(&index.name))];
    if !index.summary.is_empty() {
        lines.push(escaped(&index.summary));
    }
    lines.push(answer(index).iter().map(|said| escaped(said)).collect::<Vec<_>>().join("\n"));
    lines.push(table(index));
    if let Some(environment) = one_machine(index) {
        lines.push(format!("Machine: {}", escaped(&machine(environment))));
    }
    lines.extend(all_conclusions(index));
    lines.extend(index.scenarios.iter().map(|entry| scenario(index, entry)));
    lines.push(format!("## {NOT_SHOWN}"));
    lines.push(
        not_shown(index)
            .iter()
            .map(|said| format!("- {}", escaped(said)))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    lines.join("\n\n") + "\n"
}

fn table(index: &Index) -> String {
    let heads: Vec<String> =
        ["scenario"].iter().chain(&HEADS).map(|head| (*head).to_owned()).collect();
    let mut text = format!("{}\n| --- |{}", pipes(&heads), " ---: |".repeat(HEADS.len()));
    let mut push = |name: String, cells: Vec<String>| {
        text.push('\n');
        text.push_str(&pipes(&[vec![name], cells].concat()));
    };
    for entry in &index.scenarios {
        match &entry.run {
            Some(run) => push(linked(entry), [&figures(&[run])[..], &[time(run)]].concat()),
            None => push(escaped(&entry.name), vec![String::new(); HEADS.len()]),
        }
    }
    let runs: Vec<&Run> = index.runs().collect();
    push("all".to_owned(), [&figures(&runs)[..], &[took(index)]].concat());
    text
}

/// Every conclusion once, by its verdict: the sentence, the form that decides, the checks, and a reason without a
/// verdict.
fn all_conclusions(index: &Index) -> Vec<String> {
    let runs: Vec<&Run> = index.runs().collect();
    let mut lines = Vec::new();
    for (heading, asked) in by_verdict(&runs) {
        lines.push(format!("## {heading}"));
        let of_one = |asked: &Conclusion<'_>| {
            let said = &asked.said;
            let see = said.fired.iter().map(|id| escaped(id)).collect::<Vec<_>>().join(", ");
            let see = if see.is_empty() { see } else { format!(" → {see}") };
            let told = format!("{} ({})", asked.says(), asked.told_by());
            let told = format!("- {} **{}**: {}{see}", said.mark, said.verdict, escaped(&told));
            let why = said.claim.reason.iter().map(|why| format!("\n  - {}", escaped(why)));
            std::iter::once(told).chain(why).collect::<String>()
        };
        lines.push(asked.iter().map(of_one).collect::<Vec<_>>().join("\n"));
    }
    lines
}

/// The name of a scenario, with a link to its report.
fn linked(entry: &Entry) -> String {
    format!("[{}]({})", escaped(&entry.name), address(entry, "report.md"))
}

fn scenario(index: &Index, entry: &Entry) -> String {
    let mut lines = vec![format!("## {}", escaped(&title(entry)))];
    let Some(run) = &entry.run else {
        let reason = entry.reason.as_deref().unwrap_or_default();
        lines.push(format!("Did not run: {}", escaped(reason)));
        return lines.join("\n\n");
    };
    lines.extend(question(run).map(escaped));
    let mut facts = vec![format!("- ran: {}, {}", to_the_second(&run.started), time(run))];
    if one_machine(index).is_none() {
        facts.push(format!("- machine: {}", escaped(&machine(&run.environment))));
    }
    let article = run.article.iter().flat_map(crate::article::facts);
    facts.extend(article.skip(1).map(|(label, text)| format!("- {label}: {}", escaped(&text))));
    let report = address(entry, "report.html");
    facts.push(format!("- report: [{report}]({report})"));
    lines.push(facts.join("\n"));
    let article = run.article.as_ref().filter(|article| !article.claims.is_empty());
    if let Some(article) = article {
        lines.push(escaped(&conclusions(article)));
    } else {
        let found: Vec<String> =
            found(run).iter().map(|said| format!("- {}", escaped(said))).collect();
        lines.push(found.join("\n"));
    }
    let errors = findings(run).into_iter().filter(|finding| finding.severity == Severity::Error);
    let errors = errors.flat_map(|finding| {
        finding
            .lines
            .iter()
            .map(|line| format!("- error **{}** {}", finding.id, escaped(line)))
            .collect::<Vec<_>>()
    });
    let errors: Vec<String> = errors.collect();
    if !errors.is_empty() {
        lines.push(errors.join("\n"));
    }
    lines.join("\n\n")
}
