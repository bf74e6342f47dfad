//! Draws the view: a line about all servers, the table, the details of the selected server, and the keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::columns::Row;
use crate::server::State;
use crate::state::View;
use crate::table::Table;
use crate::theme::Theme;
use crate::{detail, figures, keys};

/// A lower terminal has no room for details.
const LOWEST_WITH_DETAIL: u16 = 14;

/// The rows that the details need.
const DETAIL: u16 = 8;

/// Draws everything.
pub(crate) fn draw(frame: &mut Frame<'_>, view: &View, theme: Theme) {
    let area = frame.area();
    let width = usize::from(area.width);
    let help = keys::help(view.shows_help, width);
    let n_help = u16::try_from(help.len()).unwrap_or(u16::MAX).min(area.height / 2);
    let rows: Vec<Row> = view.servers().iter().map(Row::of).collect();
    let total = Row::total(view.servers());
    let all: Vec<Row> = rows.into_iter().chain(total).collect();
    let n_rows = u16::try_from(all.len()).unwrap_or(u16::MAX);

    // Above: the line about all and the titles. Below: the help.
    let room = area.height.saturating_sub(2 + n_help);
    let least = if area.height >= LOWEST_WITH_DETAIL { DETAIL.min(room / 2) } else { 0 };
    let n_shown = n_rows.min(room - least);
    let n_detail = if least == 0 { 0 } else { room - n_shown };

    let part = |y: u16, height: u16| Rect { y, height, ..area }.intersection(area);
    frame.render_widget(summary(view, theme, width), part(0, 1));
    draw_table(frame, view, theme, &all, part(1, n_shown + 1));
    if let Some(server) = view.servers().get(view.selected) {
        detail::draw(frame, part(2 + n_shown, n_detail), server, theme);
    }
    for (y, line) in (area.height - n_help..).zip(help) {
        frame.render_widget(Line::raw(line), part(y, 1));
    }
}

/// The line about all servers. The parts at its end are left out where they do not fit.
fn summary<'a>(view: &View, theme: Theme, width: usize) -> Line<'a> {
    let servers = view.servers();
    let n_up = servers.iter().filter(|server| server.state == State::Up).count();
    let n_down = servers.iter().filter(|server| server.is_down()).count();
    let up = match servers.len() {
        1 => String::new(),
        n => format!("{n_up} of {n} up"),
    };
    let down = if n_down > 0 { format!("{n_down} down") } else { String::new() };
    let paused = if view.paused.is_some() { "paused" } else { "" };
    let order = if servers.len() > 1 { view.order.name() } else { "" };
    let parts = [
        ("larder top".to_owned(), Theme::strong()),
        (paused.to_owned(), theme.notice()),
        (down, theme.alarm()),
        (up, Style::new()),
        (format!("every {}", figures::span(view.interval)), Style::new()),
        (order.to_owned(), Style::new()),
    ];
    let mut left = width;
    let mut line = Line::default();
    for (text, style) in parts.into_iter().filter(|(text, _)| !text.is_empty()) {
        let gap = if line.spans.is_empty() { "" } else { "  " };
        let Some(rest) = left.checked_sub(gap.len() + text.len()) else { break };
        left = rest;
        line.push_span(gap);
        line.push_span(Span::styled(text, style));
    }
    line
}

/// The titles, the rows around the selected one, and the total.
fn draw_table(frame: &mut Frame<'_>, view: &View, theme: Theme, all: &[Row], area: Rect) {
    let width = usize::from(area.width);
    let table = Table::fit(all, Some(width));
    let mut titles = Line::default();
    for (column, title) in table.titles() {
        if !titles.spans.is_empty() {
            titles.push_span(table.gap());
        }
        let decides = column.order == Some(view.order);
        titles.push_span(Span::styled(
            title,
            if decides { Theme::sorting() } else { Theme::strong() },
        ));
    }
    let n_servers = view.servers().len();
    let mut lines = vec![titles];
    let room = usize::from(area.height.saturating_sub(1));
    let n_rows = room.saturating_sub(all.len() - n_servers).min(n_servers);
    let sorted = view.order.sorted(view.servers());
    let selected = sorted.iter().position(|server| *server == view.selected).unwrap_or(0);
    // The selected row stays in sight, in the middle where there are rows on both sides.
    let first = selected.saturating_sub(n_rows / 2).min(n_servers - n_rows);
    for server in sorted.iter().copied().skip(first).take(n_rows) {
        let row = &all[server];
        let line = format!("{:width$}", table.line(row));
        let style = if row.state == "down" { theme.alarm() } else { Style::new() };
        let is_selected = server == view.selected && n_servers > 1;
        let style = if is_selected { style.patch(Theme::selected()) } else { style };
        lines.push(Line::styled(line, style));
    }
    for total in &all[n_servers..] {
        lines.push(Line::styled(table.line(total), Theme::strong()));
    }
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        frame.render_widget(line, Rect { y, height: 1, ..area });
    }
}

#[cfg(test)]
mod tests;
