//! The results of an advice: its answer on the terminal and in files, and the comparisons that it was made of.

use std::fmt::Write as _;
use std::iter;
use std::path::Path;

use anyhow::Context;
use larder_analysis::advice::{Advice, Candidate};
use larder_bench::{ADVICE, Outcome, remove_result};
use larder_report::{Advised, AdvisedChoice, AdvisedPoint};
use larder_workload::trace::TraceSource;
use serde::Serialize;

use super::super::{atomic_file, masked_argv, print};
use crate::exit::one_line;

/// The folder of the first look, within that of the results.
const LOOK: &str = "first-look";

/// The comparisons that an advice is made of.
pub(super) struct Results {
    pub(super) look: Outcome,
    pub(super) comparison: Option<Outcome>,
}

impl Results {
    /// What later results may take the place of these.
    pub(super) fn set_plan(&mut self, plan: &str) {
        for outcome in iter::once(&mut self.look).chain(&mut self.comparison) {
            outcome.run.plan = Some(plan.to_owned());
        }
    }

    /// Gives the advice to the page of the figures.
    pub(super) fn set_advice(&mut self, advice: &Advice, trace: &TraceSource) {
        let advised = self.advised(advice, trace);
        let run = &mut self.comparison.as_mut().unwrap_or(&mut self.look).run;
        run.advice.clone_from(&advice.sentences);
        run.advised = Some(advised);
    }

    /// The answer for the page: in one line, and as a picture of all candidates.
    fn advised(&self, advice: &Advice, trace: &TraceSource) -> Advised {
        let curves = &self.look.run.hit_curves;
        let models = curves.iter().flat_map(|curve| &curve.capacities).copied().collect();
        let point = |candidate: &Candidate| AdvisedPoint {
            target: candidate.target.clone(),
            capacity_bytes: candidate.capacity_bytes,
            hit_ratio: candidate.hit_ratio,
        };
        Advised {
            question: question(trace),
            answer: advice.answer.clone(),
            choice: advice.choice.as_ref().map(|choice| AdvisedChoice {
                target: choice.target.clone(),
                capacity_bytes: choice.capacity_bytes,
            }),
            points: advice.candidates.iter().map(point).collect(),
            models,
        }
    }

    /// Writes the first look, and the comparison that followed it.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        remove_look(folder)?;
        match &self.comparison {
            Some(comparison) => {
                write_comparison(&folder.join(LOOK), &self.look)?;
                write_comparison(folder, comparison)
            }
            None => write_comparison(folder, &self.look),
        }
    }

    /// Names the pages on standard error. `replaced` tells of a result that was replaced.
    pub(super) fn name_pages(&self, folder: &Path, replaced: &str) {
        let page = folder.join("report.html");
        anstream::eprintln!("the figures and curves: {}{replaced}", page.display());
        if self.comparison.is_some() {
            let page = folder.join(LOOK).join("report.html");
            anstream::eprintln!("those of all candidates, of one round: {}", page.display());
        }
    }
}

/// `Which cache for web12?`, of the trace `traces/web12.trace.xz`.
fn question(trace: &TraceSource) -> String {
    let name = trace.name();
    // The endings of a name; a hidden file begins with a dot.
    let stem = match name.char_indices().skip(1).find(|(_, c)| *c == '.') {
        Some((end, _)) => &name[..end],
        None => name.as_str(),
    };
    format!("Which cache for {stem}?")
}

/// An advice as programs read it. It begins as `run.json` does.
#[derive(Debug, Serialize)]
pub(super) struct AdviceFile<'a> {
    larder: &'static str,
    argv: Vec<String>,
    started: String,
    plan: &'a str,
    #[serde(flatten)]
    advice: Advice,
}

impl<'a> AdviceFile<'a> {
    pub(super) fn new(plan: &'a str, advice: Advice) -> Self {
        Self {
            larder: env!("CARGO_PKG_VERSION"),
            argv: masked_argv(),
            started: jiff::Timestamp::now().to_string(),
            plan,
            advice,
        }
    }
}

/// Writes the advice into the folder, and prints it in a format.
pub(super) fn write_and_print(
    file: &AdviceFile<'_>,
    folder: &Path,
    format: &str,
) -> anyhow::Result<()> {
    use std::io::Write as _;

    let write_file = |name: &str, content: &str| {
        atomic_file::write(&folder.join(name), |out| Ok(out.write_all(content.as_bytes())?))
    };
    let text = text(&file.advice);
    let json = serde_json::to_string_pretty(file).context("writing the advice")?;
    let [for_people, for_programs] = ADVICE;
    write_file(for_people, &text)?;
    write_file(for_programs, &json)?;
    let shown = if format == "json" { json + "\n" } else { text };
    print(shown.as_bytes())
}

/// Removes what an earlier advice left in the folder.
pub(super) fn remove_earlier(folder: &Path) -> anyhow::Result<()> {
    remove_look(folder)?;
    Ok(remove_result(folder)?)
}

/// Removes the first look of an earlier advice, which would be taken for this one's.
fn remove_look(folder: &Path) -> anyhow::Result<()> {
    let look = folder.join(LOOK);
    if look.join("run.json").exists() {
        std::fs::remove_dir_all(&look).with_context(|| look.display().to_string())?;
    }
    Ok(())
}

fn write_comparison(folder: &Path, outcome: &Outcome) -> anyhow::Result<()> {
    for missing in larder_bench::write(folder, outcome)? {
        anstream::eprintln!("larder: {}", one_line(&missing));
    }
    Ok(())
}

/// The answer in one line, and the sentences, each after its number.
fn text(advice: &Advice) -> String {
    let mut text = format!("{}\n\n", advice.answer);
    for (sentence, number) in advice.sentences.iter().zip(1..) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{number}. {sentence}");
    }
    text
}
