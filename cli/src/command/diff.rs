//! `larder diff`: the changes from one result to another.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::bail;
use clap::Args;
use larder_analysis::{DiffOf, MatchBy, diff};
use larder_report::{
    Change, ChangeVerdict, Diff, DiffCell, Format, diff_formats, is_diff_page, label, render_diff,
};

use super::report::read;
use super::{page, refuse_other_formats};
use crate::exit::{Exit, Usage};
use crate::terminal;

/// The two results, and how to show their changes.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The folder of the old result, or its run.json
    #[arg(value_name = "OLD")]
    old: PathBuf,

    /// The folder of the new result, or its run.json
    #[arg(value_name = "NEW")]
    new: PathBuf,

    /// Compare even where machine, build, version or workload differ, and say so on top
    #[arg(long)]
    mixed: bool,

    /// Match targets by their names instead of their URLs
    #[arg(long)]
    by_name: bool,

    /// The format to print: table, markdown, html, json, csv [default: table, or nothing where a page is written]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Write a page with charts of before and after to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Exit with 4 where a rate is surely lower: `slower`, or `slower:5%` for 5 % and more
    #[arg(long, value_name = "CHANGE")]
    fail_on: Option<FailOn>,
}

const EXAMPLES: &str = "\
Examples:
  larder diff before after
  larder diff before after --html changes.html
  larder diff larder-results/2026-11-21T20-41-07-quick larder-results/2026-11-22T20-41-07-quick --format markdown
  larder diff before after --mixed --fail-on slower:5%";

/// The change that fails the command.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FailOn {
    /// The least fall of a rate, as a share of the old rate.
    least: f64,
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("`{text}` is not `slower`, or `slower:5%`");
        let rest = text.strip_prefix("slower").ok_or_else(expected)?;
        if rest.is_empty() {
            return Ok(Self { least: 0.0 });
        }
        let percent = rest.strip_prefix(':').and_then(|rest| rest.strip_suffix('%'));
        let percent: f64 =
            percent.and_then(|text| text.trim().parse().ok()).ok_or_else(expected)?;
        let possible = (0.0..100.0).contains(&percent);
        possible.then_some(Self { least: percent / 100.0 }).ok_or_else(expected)
    }
}

impl FailOn {
    /// Whether a change fails the command.
    fn is(self, change: &Change) -> bool {
        let slower = change.verdict == ChangeVerdict::Worse;
        let fell = change.ratio.is_some_and(|ratio| 1.0 - ratio >= self.least);
        change.measure.is_a_rate() && slower && fell
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let printed = arguments.format.or_else(|| arguments.html.is_none().then_some(Format::TABLE));
    if let Some(format) = printed {
        refuse_other_formats(format, diff_formats(), "a difference has")?;
    }
    if let Some(path) = &arguments.html {
        page::refuse_other_file(path, "diff", is_diff_page)?;
    }
    let (old, new) = (read(&arguments.old)?.run, read(&arguments.new)?.run);
    let paths = [&arguments.old, &arguments.new].map(|path| shown(path));
    let by = if arguments.by_name { MatchBy::Name } else { MatchBy::Url };
    let found =
        diff(DiffOf { path: &paths[0], run: &old }, DiffOf { path: &paths[1], run: &new }, by)
            .map_err(|error| Usage(error.to_string()))?;
    if let Some(mixed) = found.told_mixed().filter(|_| !arguments.mixed) {
        bail!(Usage(format!(
            "{} and {} differ in {mixed}; a change may come from any of these: compare like results, or add --mixed",
            paths[0], paths[1]
        )));
    }
    let text = |format: Format| {
        render_diff(&found, format, terminal::style())
            .expect("other formats are refused, and a difference has a page")
    };
    if let Some(path) = &arguments.html {
        page::write(path, &text(Format::HTML))?;
    }
    if let Some(format) = printed {
        super::print(text(format).as_bytes())?;
    }
    Ok(arguments.fail_on.map_or(Exit::Done, |fail_on| judge(&found, fail_on)))
}

/// Reports every failing change, and every cell that may hide one, a line each.
fn judge(diff: &Diff, fail_on: FailOn) -> Exit {
    let mut exit = Exit::Done;
    if let Some(few) = diff.too_few_rounds() {
        anstream::eprintln!("larder: --fail-on cannot say that no cell is slower: {few}");
        exit = Exit::NotAsserted;
    }
    for change in diff.changes.iter().filter(|change| fail_on.is(change)) {
        let fell = (1.0 - change.ratio.unwrap_or(1.0)) * 100.0;
        let (cell, least) = (named(&change.cell), fail_on.least * 100.0);
        anstream::eprintln!(
            "larder: {cell} is {fell:.1} % slower; --fail-on allows less than {least} %"
        );
        exit = Exit::NotAsserted;
    }
    for left in diff.not_compared.iter().filter(|left| left.may_be_worse) {
        let cell = named(&left.cell);
        anstream::eprintln!(
            "larder: --fail-on cannot say that {cell} is no slower: {}",
            left.reason
        );
        exit = Exit::NotAsserted;
    }
    exit
}

/// The name of a cell in a line of standard error.
fn named(cell: &DiffCell) -> String {
    let names: Vec<&str> = cell.point.keys().map(String::as_str).collect();
    format!("{} of {} ({})", cell.operation, cell.name, label(&cell.point, &names))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_of_failure_is_read() {
        for (text, least) in [("slower", 0.0), ("slower:5%", 0.05), ("slower:2.5%", 0.025)] {
            assert_eq!(text.parse(), Ok(FailOn { least }), "{text}");
        }
        for text in ["", "faster", "slower5%", "slower:5", "slower:%", "slower:-1%", "slower:100%"]
        {
            let error = text.parse::<FailOn>().unwrap_err();
            assert!(error.contains("slower:5%"), "{error}");
        }
    }
}
