//! `larder top`: a live view of servers that speak memcached's text protocol, and one table of them for scripts.
//!
//! Each server has a thread of its own (`poll`), so a server that hangs holds up no other row. A thread sends samples
//! of the server's counters. Two samples give rates (`sample`), which each server keeps (`server`). The state of the view has
//! all servers (`state`). The table is a function of that state (`table`), and so are its two forms: the screen (`view`,
//! `detail`) and the plain text (`once`). Only `app` and `poll` know a clock.

mod address;
mod app;
mod columns;
mod detail;
mod error;
mod figures;
mod interval;
mod keys;
mod once;
mod order;
mod poll;
mod sample;
mod server;
mod state;
mod table;
mod theme;
mod view;

use std::io::{self, IsTerminal};
use std::time::Duration;

use address::Address;
pub use error::{Error, Result};
pub use interval::{LONGEST, SHORTEST};
use theme::Theme;

/// The server that is watched when no other is named.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:11211";

/// The servers to watch, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// Servers as a person types them; without any, [`DEFAULT_ADDRESS`].
    pub addresses: Vec<String>,
    /// The time between two samples, from [`SHORTEST`] to [`LONGEST`].
    pub interval: Duration,
    /// Whether to print one plain table and to end. It does the same where standard output is no terminal.
    pub once: bool,
    /// Whether the terminal shows more than ASCII.
    pub unicode: bool,
}

/// Watches the servers until the user ends the view, or prints one table.
///
/// # Errors
///
/// An address or an interval that cannot be ([`Error::is_usage`]), a terminal that fails, or a single table in which
/// every server is down.
pub fn run(options: &Options) -> Result<()> {
    let Options { addresses, interval, once, unicode } = options;
    if !(SHORTEST..=LONGEST).contains(interval) {
        return Err(Error::Interval { given: *interval });
    }
    let addresses = if addresses.is_empty() {
        vec![DEFAULT_ADDRESS.parse()?]
    } else {
        Address::parse_all(addresses)?
    };
    if *once || !io::stdout().is_terminal() {
        once::run(addresses, *interval)
    } else {
        app::run(addresses, *interval, Theme::of_terminal(*unicode))
    }
}
