//! Progress on standard error: a bar with the time left on a terminal, a line a round elsewhere.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use larder_bench::{Event, Observer};

/// Tells a person who waits how far it is.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    /// The last round that was told, without a terminal.
    round: AtomicU32,
}

impl Progress {
    /// A bar if there is a terminal to draw it on; otherwise plain lines, or nothing with `quiet`.
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = match (quiet, stderr().is_terminal()) {
            (true, _) => Some(ProgressBar::hidden()),
            (false, false) => None,
            (false, true) => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                bar.enable_steady_tick(Duration::from_millis(250));
                Some(bar)
            }
        };
        Self { bar, round: AtomicU32::new(0) }
    }

    fn say(&self, text: String) {
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None => anstream::eprintln!("{text}"),
        }
    }
}

impl Observer for Progress {
    fn notice(&self, event: Event<'_>) {
        match event {
            Event::Opening { target } => self.say(format!("opening {target}")),
            Event::Unavailable { target, reason } => {
                let text = format!("larder: {target} cannot run: {reason}");
                match &self.bar {
                    Some(bar) => bar.suspend(|| anstream::eprintln!("{text}")),
                    None => self.say(text),
                }
            }
            Event::Floor => self.say("measuring the floor".into()),
            Event::Started { plan } => {
                if let Some(bar) = &self.bar {
                    bar.set_length(plan.turns());
                    let shape = "{bar:30} {pos}/{len} {msg} {elapsed} + {eta} left";
                    if let Ok(style) = ProgressStyle::with_template(shape) {
                        bar.set_style(style);
                    }
                    bar.reset_eta();
                }
            }
            Event::Turn { round, rounds, target, .. } => match &self.bar {
                Some(bar) => bar.set_message(format!("round {round} of {rounds}: {target}")),
                None => {
                    if self.round.swap(round, Ordering::Relaxed) != round {
                        self.say(format!("round {round} of {rounds}"));
                    }
                }
            },
            Event::TurnEnded { done } => {
                if let Some(bar) = &self.bar {
                    bar.set_position(done);
                }
            }
            _ => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
