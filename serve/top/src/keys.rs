//! The keys, as changes of the view.

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::state::View;

/// The intervals through which `+` and `-` go, in milliseconds.
const INTERVALS_MS: [u64; 12] =
    [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 600_000, 3_600_000];

/// The rows of a page.
const PAGE: isize = 10;

/// The keys and their effects, in the order of their use.
const HELP: [&str; 8] = [
    "q or Esc ends",
    "? hides the keys",
    "up/down or k/j selects a server",
    "s sorts by the next column",
    "p pauses and goes on",
    "+ and - change the interval",
    "Home/End selects the first or last",
    "Ctrl-Z stops for a while",
];

/// The work for the loop after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing but to draw again.
    Draw,
    /// Sample at the view's new interval.
    Pace,
    /// Give the terminal back to the shell for a while.
    Suspend,
    /// End.
    End,
}

impl View {
    /// Takes a key; `None` where it has no effect.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Option<Action> {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Some(Action::End),
                KeyCode::Char('z') => Some(Action::Suspend),
                _ => None,
            };
        }
        match key.code {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => return Some(Action::End),
            KeyCode::Char('+' | '=') => return self.set_interval(longer(self.interval)),
            KeyCode::Char('-' | '_') => return self.set_interval(shorter(self.interval)),
            KeyCode::Up | KeyCode::Char('k') => self.step(-1),
            KeyCode::Down | KeyCode::Char('j') => self.step(1),
            KeyCode::PageUp => self.step(-PAGE),
            KeyCode::PageDown => self.step(PAGE),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX),
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('p' | ' ') => {
                self.paused = if self.paused.is_none() { Some(self.live.clone()) } else { None };
            }
            KeyCode::Char('?' | 'h') => self.shows_help = !self.shows_help,
            _ => return None,
        }
        Some(Action::Draw)
    }

    fn set_interval(&mut self, interval: Duration) -> Option<Action> {
        let is_new = interval != self.interval;
        self.interval = interval;
        is_new.then_some(Action::Pace)
    }
}

/// The next longer interval, or the same at the end.
fn longer(interval: Duration) -> Duration {
    let mut known = INTERVALS_MS.into_iter().map(Duration::from_millis);
    known.find(|known| *known > interval).unwrap_or(interval)
}

/// The next shorter interval, or the same at the end.
fn shorter(interval: Duration) -> Duration {
    let known = INTERVALS_MS.into_iter().rev().map(Duration::from_millis);
    known.into_iter().find(|known| *known < interval).unwrap_or(interval)
}

/// The lines about the keys: a reminder, or all keys in as many lines as they need.
pub(crate) fn help(is_long: bool, width: usize) -> Vec<String> {
    if !is_long {
        return vec!["q ends  ? shows the keys".to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for key in HELP {
        match lines.last_mut() {
            Some(line) if line.len() + 3 + key.len() <= width => line.extend(["   ", key]),
            _ => lines.push(key.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::order::Order;

    fn view() -> View {
        let addresses = ["a:1", "b:1", "c:1"].map(str::to_owned).to_vec();
        View::new(addresses, Duration::from_secs(1), Instant::now())
    }

    fn press(view: &mut View, code: KeyCode) -> Option<Action> {
        view.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn the_selection_stays_within_the_rows() {
        let mut view = view();
        let mut selected = Vec::new();
        let keys = [KeyCode::Up, KeyCode::Down, KeyCode::Char('j'), KeyCode::Char('j')];
        for key in keys.into_iter().chain([KeyCode::Home, KeyCode::End, KeyCode::PageUp]) {
            assert_eq!(press(&mut view, key), Some(Action::Draw));
            selected.push(view.selected);
        }
        assert_eq!(selected, [0, 1, 2, 2, 0, 2, 0]);
    }

    #[test]
    fn the_selection_follows_its_server_through_the_orders() {
        let mut view = view();
        for (server, items) in [1.0, 3.0, 2.0].into_iter().enumerate() {
            view.live[server].figures.connections = Some(items);
        }
        view.order = Order::Connections;
        view.selected = 1;
        press(&mut view, KeyCode::Down);
        assert_eq!(view.selected, 2);
        press(&mut view, KeyCode::Char('s'));
        assert_eq!((view.order, view.selected), (Order::Fill, 2));
    }

    #[test]
    fn a_paused_view_keeps_its_figures_while_servers_go_on() {
        let mut view = view();
        press(&mut view, KeyCode::Char('p'));
        view.live[0].figures.items = Some(9.0);
        assert_eq!(view.servers()[0].figures.items, None);
        press(&mut view, KeyCode::Char('p'));
        assert_eq!(view.servers()[0].figures.items, Some(9.0));
    }

    #[test]
    fn the_interval_has_steps_and_ends() {
        let mut view = view();
        assert_eq!(press(&mut view, KeyCode::Char('+')), Some(Action::Pace));
        assert_eq!(view.interval, Duration::from_secs(2));
        view.interval = Duration::from_millis(700);
        press(&mut view, KeyCode::Char('-'));
        assert_eq!(view.interval, Duration::from_millis(500));
        for (key, end) in [('-', crate::SHORTEST), ('+', crate::LONGEST)] {
            while press(&mut view, KeyCode::Char(key)).is_some() {}
            assert_eq!(view.interval, end);
        }
    }

    #[test]
    fn three_keys_end_the_view_and_others_do_nothing() {
        let mut view = view();
        assert_eq!(press(&mut view, KeyCode::Char('q')), Some(Action::End));
        assert_eq!(press(&mut view, KeyCode::Esc), Some(Action::End));
        let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        assert_eq!(view.press(control('c')), Some(Action::End));
        assert_eq!(view.press(control('z')), Some(Action::Suspend));
        assert_eq!((view.press(control('x')), press(&mut view, KeyCode::Char('x'))), (None, None));
    }

    #[test]
    fn the_help_fits_the_width() {
        assert_eq!(help(false, 40).len(), 1);
        for width in [40, 80, 200] {
            assert!(help(true, width).iter().all(|line| line.len() <= width), "{width}");
        }
    }
}
