//! Progress on standard error: a view that is drawn anew on a terminal, plain lines elsewhere.
//!
//! The view is drawn when something has happened, which is between measurements, and otherwise once a second by a thread
//! of its own, so that the time left goes on. That takes about a tenth of a millisecond of CPU time a second.

mod board;
mod lines;
mod live;
mod look;
mod pace;
mod screen;
#[cfg(test)]
mod tests;
mod view;

use std::cell::RefCell;

use larder_bench::{Event, Observer};

use crate::exit::one_line;
use lines::Lines;
use live::Live;
use look::Look;

/// Tells a person who waits how far it is.
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
        Self(match Look::of_stderr() {
            _ if quiet => Kind::Quiet,
            Some(look) => Kind::Live(Live::start(look)),
            None => Kind::Lines(RefCell::default()),
        })
    }

    /// Whether it leaves a line about a target that fails.
    pub(crate) fn tells_failures(&self) -> bool {
        matches!(self.0, Kind::Lines(_))
    }
}

/// Tells which of several scenarios comes next; what is known of it follows below. Nothing with `quiet`.
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
