//! The view of a comparison while it runs, as lines: a function of the state and of the terminal's abilities.
//!
//! A row is a target, with a sparkline and a rate for each operation at the point of the last turn. A sparkline has a
//! bar for each round, from zero to the fastest round of its own cell. It shows how steady a target is, and the rate
//! beside it how fast. Where there is little room, sparklines go first, then the operations that were measured last.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
use larder_report::{Operation, Severity, figures};
use larder_store::count;

use super::board::{Board, Fired, Round, Row};
use super::terminal_line::{Line, TerminalAbilities};

const PLAIN: Style = Style::new();
const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default();
const DOUBT: Style = AnsiColor::Yellow.on_default();

/// The width of the longest rate: `0.500 /s`.
const RATE: usize = 8;
/// The width of the longest hit ratio: `<0.0001 %`, and its label.
const HITS: usize = 14;
/// The gap between two columns.
const GAP: usize = 2;
/// The number of bars: fewer rounds show no trend, and more add nothing.
const SPARKS: std::ops::RangeInclusive<usize> = 3..=20;

/// The lines of a view: fewer than the terminal has rows, each still to be cut to its width.
pub(super) fn view(board: &Board, look: TerminalAbilities, now: Duration) -> Vec<Line> {
    let mut lines = vec![status(board, look, now)];
    let columns = Columns::of(board, look);
    if !board.operations.is_empty() {
        lines.extend(columns.heading(board));
    }
    // The cursor has a row of its own below the view.
    let room = look.rows.saturating_sub(lines.len() + 1);
    lines.extend(targets(board, look, &columns, room));
    let room = look.rows.saturating_sub(lines.len() + 1);
    lines.extend(findings(&board.fired, look, room));
    lines.truncate(look.rows.saturating_sub(1));
    lines
}

/// The progress of the comparison.
fn status(board: &Board, look: TerminalAbilities, now: Duration) -> Line {
    let (done, all) = board.turns;
    if all == 0 || !board.stage.is_empty() {
        return Line::of(PLAIN, &*board.stage);
    }
    let (round, turns, left) = counted(board, now);
    let text = format!("{round}, {turns}{left}");
    let room = look.columns.saturating_sub(text.chars().count() + 1 + GAP);
    if room < 10 {
        return Line::of(STRONG, format!("{round}{left}"));
    }
    let length = room.min(30);
    let full = usize::try_from(done * length as u64 / all).unwrap_or(length).min(length);
    Line::of(PLAIN, look.either("━", "#").repeat(full))
        .then(FAINT, look.either("─", "-").repeat(length - full))
        .then(STRONG, format!("{:GAP$}{text}", ""))
}

/// The round, the turns, and the time left. Where the precision of the rates ends the rounds, only their least number
/// and the longest time are known.
fn counted(board: &Board, now: Duration) -> (String, String, String) {
    let ((round, rounds), (done, all)) = (board.round, board.turns);
    let left = board.left(now).map(time);
    match board.until {
        None => (
            format!("round {round} of {rounds}"),
            format!("{done} of {}", count(all, "turn")),
            left.map_or_else(String::new, |left| format!(", {left} left")),
        ),
        Some(until) => (
            format!("round {round} until {until}"),
            figures::count(usize::try_from(done).unwrap_or(usize::MAX), "turn"),
            left.map_or_else(String::new, |left| format!(", at most {left} left")),
        ),
    }
}

/// The time left, in whole seconds because it is only an estimate.
fn time(left: Duration) -> String {
    let seconds = left.as_secs_f64().round().max(1.0);
    if seconds < 60.0 { format!("{seconds} s") } else { figures::seconds(seconds) }
}

/// The columns that fit.
struct Columns {
    /// The names of the targets, and the width of the longest.
    names: Vec<String>,
    name: usize,
    /// The shown operations, each with whether its hits are shown.
    operations: Vec<(Operation, bool)>,
    /// The number of operations that are not shown.
    hidden: usize,
    /// The width of a sparkline; 0 where there is no room for one.
    spark: usize,
}

impl Columns {
    fn of(board: &Board, look: TerminalAbilities) -> Self {
        let names: Vec<&str> = board.rows.iter().map(|row| row.name.as_str()).collect();
        let names = look.shorten(&names, (look.columns / 3).max(10));
        let name = names.iter().map(|name| Line::of(PLAIN, &**name).width()).max().unwrap_or(0);
        // The last column stays empty, because terminals differ in their behaviour at a full last column.
        let room = look.columns.saturating_sub(1 + GAP + name);
        let shown = board.operations.len().min((room / (GAP + RATE)).max(1));
        let mut left = room.saturating_sub(shown * (GAP + RATE));
        let rounds = board.round.1 as usize;
        let hits = |operation: &Operation| {
            let missed = |round: &Round| round.hit_ratio.is_some();
            board.rows.iter().any(|row| board.rounds(row, *operation).iter().any(missed))
        };
        let operations = board.operations[..shown].iter().map(|operation| {
            let fits = hits(operation) && left >= HITS;
            left -= if fits { HITS } else { 0 };
            (*operation, fits)
        });
        let operations: Vec<_> = operations.collect();
        let spark = (left / shown.max(1)).saturating_sub(1).min(rounds).min(*SPARKS.end());
        let spark = if spark < *SPARKS.start().min(&rounds) { 0 } else { spark };
        Self { names, name, operations, hidden: board.operations.len() - shown, spark }
    }

    /// The width of an operation's column.
    fn width(&self, hits: bool) -> usize {
        let spark = if self.spark > 0 { self.spark + 1 } else { 0 };
        spark + RATE + if hits { HITS } else { 0 }
    }

    /// The point of the last turn, and the operations; in two lines where they do not fit in one.
    fn heading(&self, board: &Board) -> Vec<Line> {
        let place = board.place();
        let fits = Line::of(PLAIN, &*place).width() <= self.name;
        let head = Line::of(FAINT, format!("{:GAP$}{place}", ""));
        let place = if fits { place } else { String::new() };
        let mut line = Line::of(FAINT, format!("{:GAP$}{place:name$}", "", name = self.name));
        for (operation, hits) in &self.operations {
            let width = self.width(*hits);
            line = line.then(FAINT, format!("{:GAP$}{operation:<width$}", ""));
        }
        if self.hidden > 0 {
            line = line.then(FAINT, format!(" +{}", self.hidden));
        }
        if fits { vec![line] } else { vec![head, line] }
    }
}

/// A row for each target. If they do not fit, the first targets and the number of the others.
fn targets(board: &Board, look: TerminalAbilities, columns: &Columns, room: usize) -> Vec<Line> {
    let all = board.rows.len();
    let shown = if all > room { room.saturating_sub(1) } else { all };
    let rows = board.rows.iter().take(shown).enumerate();
    let mut lines: Vec<Line> =
        rows.map(|(at, row)| target(board, look, columns, at, row)).collect();
    if shown < all {
        let more = figures::count(all - shown, "more target");
        lines.push(Line::of(FAINT, format!("{:GAP$}and {more}", "")));
    }
    lines
}

fn target(board: &Board, look: TerminalAbilities, columns: &Columns, at: usize, row: &Row) -> Line {
    let current = board.current == Some(at);
    let mark = if current { look.either("▸ ", "> ") } else { "  " };
    let name = &columns.names[at];
    // A name may be wider than the sum of its characters' widths.
    let padding = " ".repeat(columns.name.saturating_sub(Line::of(PLAIN, name).width()));
    let style = if current { STRONG } else { PLAIN };
    let line = Line::of(style, format!("{mark}{name}{padding}"));
    if let Some(reason) = board.reason(row) {
        return line.then(DOUBT, format!("{:GAP$}{reason}", ""));
    }
    columns.operations.iter().fold(line, |line, (operation, hits)| {
        let rounds = board.rounds(row, *operation);
        let rates: Vec<f64> = rounds.iter().map(|round| round.ops_per_s).collect();
        let last = rates.last().map_or_else(String::new, |rate| figures::rate(*rate));
        let spark = sparkline(&rates, columns.spark, look);
        let room = columns.width(false) - columns.spark;
        let line =
            line.then(FAINT, format!("{:GAP$}{spark}", "")).then(PLAIN, format!("{last:>room$}"));
        if !hits {
            return line;
        }
        let ratio = rounds.last().and_then(|round| round.hit_ratio);
        let ratio =
            ratio.map_or_else(String::new, |ratio| format!("{} hit", figures::percent(ratio)));
        line.then(PLAIN, format!("{ratio:>HITS$}"))
    })
}

/// A bar for each of the last rates, from zero to the highest of all; padded to `width`.
fn sparkline(rates: &[f64], width: usize, look: TerminalAbilities) -> String {
    let bars = look.either("▁▂▃▄▅▆▇█", "_.:-=+*#");
    let most = rates.iter().copied().fold(0.0, f64::max);
    let shown = &rates[rates.len().saturating_sub(width)..];
    let bar = |rate: &f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "an eighth of a whole"
        )]
        let height = (rate / most * 8.0).ceil() as usize;
        bars.chars().nth(height.clamp(1, 8) - 1).unwrap_or(' ')
    };
    let line: String = shown.iter().map(bar).collect();
    format!("{line:width$}")
}

/// The number of findings by severity, then a line for each check with its last finding.
fn findings(fired: &[Fired], look: TerminalAbilities, room: usize) -> Vec<Line> {
    if fired.is_empty() || room < 2 {
        return Vec::new();
    }
    let times = |severity| -> usize {
        fired.iter().filter(|fired| fired.severity == severity).map(|fired| fired.times).sum()
    };
    let counted = [(times(Severity::Error), "error"), (times(Severity::Warn), "warning")];
    let counted = counted.iter().filter(|(number, _)| *number > 0);
    let counted: Vec<String> =
        counted.map(|(number, noun)| figures::count(*number, noun)).collect();
    let finding = |Fired { severity, id, times, last }: &Fired| {
        let (mark, style) = match severity {
            Severity::Error => (look.either("✗", "x"), BAD),
            _ => ("!", DOUBT),
        };
        let times = if *times > 1 { format!(" ({times})") } else { String::new() };
        Line::of(style, format!("{mark} {id}{times} ")).then(PLAIN, &**last)
    };
    let head = Line::of(STRONG, format!("checks so far: {}", counted.join(", ")));
    std::iter::once(head).chain(fired.iter().take(room - 1).map(finding)).collect()
}
