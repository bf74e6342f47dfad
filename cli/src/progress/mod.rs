//! Progress on standard error: a redrawn view on a terminal, plain lines elsewhere.
//!
//! The view is redrawn after events, which come between measurements. Otherwise a thread redraws it once a second, so
//! that the time left keeps running. This thread takes about a tenth of a millisecond of CPU time a second.

mod board;
mod lines;
mod live;
mod pace;
mod screen;
mod terminal_line;
#[cfg(test)]
mod tests;
mod view;

use std::cell::RefCell;

use larder_bench::{Event, Observer};

use crate::exit::one_line;
use lines::Lines;
use live::Live;
use terminal_line::TerminalAbilities;

/// Shows the progress to a waiting user.
#[derive(Debug)]
pub(crate) struct Progress(Kind);

#[derive(Debug)]
enum Kind {
    Quiet,
    Lines(RefCell<Lines>),
    Live(Live),
}

impl Progress {
    /// A view if there is a terminal to draw it on; otherwise plain lines, or nothing with `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        Self(match TerminalAbilities::of_stderr() {
            _ if quiet => Kind::Quiet,
            Some(look) => Kind::Live(Live::start(look)),
            None => Kind::Lines(RefCell::default()),
        })
    }

    /// Whether it prints a line about a failing target.
    pub(crate) fn tells_failures(&self) -> bool {
        matches!(self.0, Kind::Lines(_))
    }
}

/// Announces the next of several scenarios; its progress follows below. Prints nothing with `quiet`.
pub(crate) fn heading(quiet: bool, number: usize, all: usize, name: &str) {
    if !quiet {
        anstream::eprintln!("scenario {number} of {all}: {name}");
    }
}

impl Observer for Progress {
    fn notice(&self, event: Event<'_>) {
        match &self.0 {
            Kind::Quiet => {}
            Kind::Live(live) => live.note(event),
            Kind::Lines(lines) => {
                if let Some(line) = lines.borrow_mut().line(event) {
                    anstream::eprintln!("{}", one_line(&line));
                }
            }
        }
    }
}
