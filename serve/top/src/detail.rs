//! Draws one server in detail: its last minutes as bars, and the counters that change.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{RenderDirection, Sparkline};

use crate::figures::{UNKNOWN, known, latency, number, percent, up_time};
use crate::server::{Point, Server, State};
use crate::table::cut_end;
use crate::theme::Theme;

/// The width of a counter with its value and its rate, and the gap to the next.
const COUNTER: usize = 40;

/// The width of a counter's name.
const NAME: usize = 20;

/// The steps in which a share is drawn.
const FULL: u64 = 1000;

/// Draws the details of a server, as many as fit into the area.
pub(crate) fn draw(frame: &mut Frame<'_>, area: Rect, server: &Server, theme: Theme) {
    let mut left = area;
    let mut take = |height: u16| {
        let taken = Rect { height: height.min(left.height), ..left };
        left.y += taken.height;
        left.height -= taken.height;
        taken
    };
    let width = usize::from(area.width);
    put(frame, take(1), Line::styled(title(server, theme, width), Theme::strong()));
    match &server.state {
        State::Waiting => return put(frame, take(1), Line::raw("not asked yet")),
        State::Down { reason, since } => {
            let seconds = server.reported_at.saturating_duration_since(*since).as_secs_f64();
            let text = format!("down for {}: {reason}", up_time(seconds));
            put(frame, take(1), Line::styled(cut_end(&text, width), theme.alarm()));
        }
        State::Up => {}
    }
    let latencies = latencies(server);
    if !latencies.is_empty() {
        put(frame, take(1), Line::raw(cut_end(&latencies, width)));
    }
    let n_drawn = width.min(server.history.len());
    let points: Vec<Point> = server.history.iter().rev().take(n_drawn).copied().collect();
    let bar_height = match area.height {
        ..7 => 1,
        7..14 => 2,
        _ => 3,
    };
    for (text, (bars, most)) in [requests(&points), hit_rate(&points)] {
        put(frame, take(1), Line::raw(cut_end(&text, width)));
        draw_bars(frame, take(bar_height), bars, most, theme);
    }
    draw_counters(frame, take(u16::MAX), server);
}

fn put(frame: &mut Frame<'_>, area: Rect, line: Line<'_>) {
    if area.height > 0 {
        frame.render_widget(line, area);
    }
}

/// The server's name within a rule.
fn title(server: &Server, theme: Theme, width: usize) -> String {
    let rule = theme.rule();
    let mut title = format!("{rule}{rule} {} ", server.address);
    if !server.version.is_empty() {
        title.extend(["version ", &server.version, " "]);
    }
    if let Some(seconds) = server.figures.up_s {
        title.extend(["up ", &up_time(seconds), " "]);
    }
    let title = cut_end(&title, width);
    let left = width - title.chars().count();
    title + &rule.repeat(left)
}

/// The latencies that the server reports; empty if it reports none.
fn latencies(server: &Server) -> String {
    let figures = &server.figures;
    let named = [("p50", figures.p50_us), ("p99", figures.p99_us), ("p99.9", figures.p999_us)];
    let told = named.into_iter().filter_map(|(name, us)| Some(format!("{name} {}", latency(us?))));
    let told = told.collect::<Vec<_>>().join(", ");
    if told.is_empty() { told } else { format!("latency: {told}") }
}

/// The largest of a history's figures; `None` where all are unknown.
fn most(figures: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    figures.flatten().reduce(f64::max)
}

/// The heading and the bars of the rate of requests, the newest first.
fn requests(points: &[Point]) -> (String, (Vec<Option<u64>>, u64)) {
    let most = most(points.iter().map(|point| point.requests));
    let now = points.first().and_then(|point| point.requests);
    let text =
        format!("requests/s: {}, most {}{}", known(now, number), known(most, number), ago(points));
    let bars = points.iter().map(|point| point.requests.map(rounded)).collect();
    (text, (bars, most.map_or(1, rounded).max(1)))
}

/// The heading and the bars of the hit rate, the newest first.
fn hit_rate(points: &[Point]) -> (String, (Vec<Option<u64>>, u64)) {
    let least = most(points.iter().map(|point| point.hit_rate.map(|rate| -rate))).map(|it| -it);
    let now = points.first().and_then(|point| point.hit_rate);
    let text = format!(
        "hit rate: {}, least {}{}",
        known(now, percent),
        known(least, percent),
        ago(points)
    );
    #[expect(clippy::cast_precision_loss, reason = "the number is small")]
    let bar = |rate: f64| rounded(rate * FULL as f64);
    (text, (points.iter().map(|point| point.hit_rate.map(bar)).collect(), FULL))
}

/// The time that the points cover, in words.
fn ago(points: &[Point]) -> String {
    let [newest, .., oldest] = points else { return String::new() };
    let covered: Duration = newest.at.saturating_duration_since(oldest.at);
    format!(", last {}", up_time(covered.as_secs_f64()))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a figure out of bounds saturates"
)]
fn rounded(figure: f64) -> u64 {
    figure.round() as u64
}

/// Bars with the newest on the right. An interval without a figure stays empty.
fn draw_bars(frame: &mut Frame<'_>, area: Rect, bars: Vec<Option<u64>>, most: u64, theme: Theme) {
    let (set, style) = theme.bars();
    let sparkline = Sparkline::default().data(bars).max(most).bar_set(set).style(style);
    let sparkline = sparkline.direction(RenderDirection::RightToLeft).absent_value_symbol(" ");
    frame.render_widget(sparkline, area);
}

/// The counters that change, in as many columns as fit. The last line tells how many have no room.
fn draw_counters(frame: &mut Frame<'_>, area: Rect, server: &Server) {
    let (changes, height) = (&server.changes, usize::from(area.height));
    if height < 2 || changes.is_empty() {
        return;
    }
    let n_columns = (usize::from(area.width) / COUNTER).max(1);
    let heading = counter("counter", "value", "per s");
    // The last place tells the number of counters that have none.
    let n_places = n_columns * (height - 1);
    let has_room = changes.len() <= n_places;
    let n_shown = if has_room { changes.len() } else { n_places - 1 };
    let mut cells: Vec<String> = changes[..n_shown]
        .iter()
        .map(|it| counter(&it.name, &it.value, &known(Some(it.rate), number)))
        .collect();
    if !has_room {
        cells.push(format!("and {} more", changes.len() - n_shown));
    }
    let n_rows = cells.len().div_ceil(n_columns);
    let n_used = cells.len().div_ceil(n_rows);
    let mut lines = vec![Line::styled(vec![heading; n_used].join("  "), Theme::strong())];
    for row in 0..n_rows {
        let cells: Vec<_> = cells.iter().skip(row).step_by(n_rows).map(String::as_str).collect();
        lines.push(Line::raw(cells.join("  ")));
    }
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

/// A counter in the width of its column, but for the gap.
fn counter(name: &str, value: &str, rate: &str) -> String {
    let value = if value.is_empty() { UNKNOWN } else { value };
    let rest = COUNTER - 2 - NAME - 1;
    // A long value takes room from the blanks before it, never from its rate.
    let pair = format!("{:>9} {rate:>7}", cut_end(value, rest - 8));
    format!("{:NAME$} {pair:>rest$}", cut_end(name, NAME))
}
