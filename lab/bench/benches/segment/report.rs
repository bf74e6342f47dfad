//! The printed report: the figures of each contender with their spread, then each goal with the figure that was found.

use larder_analysis::statistics::{median, quantile};

/// The width of the names.
const NAME: usize = 56;

/// Prints the name of a part and the heads of its columns.
pub(crate) fn heading(title: &str, unit: &str) {
    println!("\n{title}");
    let (median, half, all) = (format!("median {unit}"), "middle half", "least to most");
    println!("  {:<NAME$} {median:>14} {half:>21} {all:>21}", "");
}

/// Prints the figures of one contender's rounds.
pub(crate) fn figures(name: &str, rounds: &[f64]) {
    let [least, low, middle, high, most] =
        [0.0, 0.25, 0.5, 0.75, 1.0].map(|q| quantile(rounds, q).unwrap_or(f64::NAN));
    let half = format!("{} to {}", shown(low), shown(high));
    let all = format!("{} to {}", shown(least), shown(most));
    println!("  {name:<NAME$} {:>14} {half:>21} {all:>21}", shown(middle));
}

/// Prints why a contender has no figures.
pub(crate) fn missing(name: &str, why: &str) {
    println!("  {name:<NAME$} missing: {why}");
}

/// Prints the head of the goals of a part.
pub(crate) fn goals() {
    println!(
        "  {:<NAME$} {:>14} {:>21}",
        "goals, by the medians of the rounds", "found", "asked for"
    );
}

/// Prints a line where a process waited for a processor for a noticeable part of the time, 0 to 1. Other programs are
/// then in its figures.
pub(crate) fn waited(who: &str, share: f64) {
    if share >= 0.01 {
        let percent = share * 100.0;
        println!(
            "    {who} waited for a processor for {percent:.0} % of the time: other processes used the machine"
        );
    }
}

/// The goal of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// No goal: the figure stands beside the others.
    None,
}

/// Prints a figure beside its goal.
pub(crate) fn goal(what: &str, found: Option<f64>, unit: &str, goal: Goal) {
    let Some(found) = found.filter(|found| found.is_finite()) else {
        println!("  {what:<NAME$} not measured");
        return;
    };
    let figure = format!("{}{unit}", shown(found));
    let (asked, meets) = match goal {
        Goal::AtMost(most) => (format!("at most {most}{unit}"), Some(found <= most)),
        Goal::AtLeast(least) => (format!("at least {least}{unit}"), Some(found >= least)),
        Goal::None => (String::new(), None),
    };
    let verdict = meets.map_or("", |meets| if meets { "meets" } else { "falls short" });
    println!("  {}", format!("{what:<NAME$} {figure:>14} {asked:>21} {verdict:>21}").trim_end());
}

/// The median of the ratio of `a` to `b` in the same rounds. The side with more rounds is reduced to as many medians as
/// the other side has figures.
pub(crate) fn ratio(a: &[f64], b: &[f64]) -> Option<f64> {
    together(a, b, |a, b| a / b)
}

/// The median of the difference of `a` and `b` in the same rounds.
pub(crate) fn difference(a: &[f64], b: &[f64]) -> Option<f64> {
    together(a, b, |a, b| a - b)
}

fn together(a: &[f64], b: &[f64], of: fn(f64, f64) -> f64) -> Option<f64> {
    let n = a.len().min(b.len());
    let pairs: Vec<f64> = medians(a, n).zip(medians(b, n)).map(|(a, b)| of(a, b)).collect();
    median(&pairs)
}

/// `n` medians, each of equally many figures that follow each other.
fn medians(figures: &[f64], n: usize) -> impl Iterator<Item = f64> {
    let each = (figures.len() / n.max(1)).max(1);
    figures.chunks_exact(each).filter_map(median)
}

/// Three digits, or all before the point.
fn shown(figure: f64) -> String {
    let digits = match figure.abs() {
        ..1.0 => 3,
        1.0..10.0 => 2,
        10.0..1000.0 => 1,
        _ => 0,
    };
    format!("{figure:.digits$}")
}
