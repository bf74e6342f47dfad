//! One plain table of all servers, with figures of one interval: for scripts, and for a glance.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::address::Address;
use crate::columns::Row;
use crate::poll::{PATIENCE, Pollers};
use crate::server::{Server, State};
use crate::state::View;
use crate::table::Table;
use crate::{Error, Result};

/// The time by which an attempt may outlive its own time-outs on a busy machine.
const SLACK: Duration = Duration::from_millis(500);

/// Samples each server twice and prints the table.
pub(crate) fn run(addresses: Vec<Address>, interval: Duration) -> Result<()> {
    let servers = measure(addresses, interval)?;
    // A line that the terminal breaks is no line of a table.
    let width = io::stdout().is_terminal().then(ratatui::crossterm::terminal::size);
    let width = width.and_then(Result::ok).map(|(width, _)| usize::from(width));
    let mut out = io::stdout().lock();
    match out.write_all(text(&servers, width).as_bytes()).and_then(|()| out.flush()) {
        // A reader that closes early, such as `head`, has what it wanted.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => return Err(Error::Output(error)),
        _ => {}
    }
    let failure = |server: &Server| match &server.state {
        State::Down { reason, .. } => Some(format!("{}: {reason}", server.address)),
        State::Waiting | State::Up => None,
    };
    match servers.first().and_then(failure) {
        Some(first) if servers.iter().all(Server::is_down) => Err(Error::NoAnswer { first }),
        _ => Ok(()),
    }
}

/// The servers after two samples of each. A server that fails once is down; the others do not wait for it for longer
/// than for themselves.
fn measure(addresses: Vec<Address>, interval: Duration) -> Result<Vec<Server>> {
    let (began, patience) = (Instant::now(), interval + 2 * PATIENCE + SLACK);
    let shown = addresses.iter().map(ToString::to_string).collect();
    let mut view = View::new(shown, interval, began);
    let pollers = Pollers::start(addresses, interval)?;
    let is_done = |server: &Server| server.is_down() || server.history.len() >= 2;
    while !view.live.iter().all(is_done) {
        let left = (began + patience).saturating_duration_since(Instant::now());
        match pollers.reports.recv_timeout(left) {
            Ok(report) => {
                let server = &mut view.live[report.server];
                if !is_done(server) {
                    server.apply(report.at, report.outcome);
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                view.mark_overdue(Instant::now(), PATIENCE);
                break;
            }
            // Every thread has failed.
            Err(RecvTimeoutError::Disconnected) => pollers.check()?,
        }
    }
    Ok(view.live)
}

/// The table, a line for each row.
fn text(servers: &[Server], width: Option<usize>) -> String {
    let rows: Vec<Row> = servers.iter().map(Row::of).chain(Row::total(servers)).collect();
    let table = Table::fit(&rows, width);
    let lines = [table.header()].into_iter().chain(rows.iter().map(|row| table.line(row)));
    lines.flat_map(|line| [line, "\n".to_owned()]).collect()
}
