//! The state of the view: the servers, and the choices of the user.

use std::time::{Duration, Instant};

use crate::order::Order;
use crate::server::Server;

/// Everything that is drawn.
#[derive(Debug)]
pub(crate) struct View {
    /// The servers as they are now.
    pub(crate) live: Vec<Server>,
    /// The servers as they were when the user paused the view.
    pub(crate) paused: Option<Vec<Server>>,
    pub(crate) interval: Duration,
    pub(crate) order: Order,
    /// The number of the selected server, in the order of the addresses.
    pub(crate) selected: usize,
    pub(crate) shows_help: bool,
}

impl View {
    /// A view of servers without a report yet.
    pub(crate) fn new(addresses: Vec<String>, interval: Duration, now: Instant) -> Self {
        Self {
            live: addresses.into_iter().map(|address| Server::new(address, now)).collect(),
            paused: None,
            interval,
            order: Order::Given,
            selected: 0,
            shows_help: false,
        }
    }

    /// The servers that are drawn.
    pub(crate) fn servers(&self) -> &[Server] {
        self.paused.as_ref().unwrap_or(&self.live)
    }

    /// Moves the selection by a number of rows of the sorted table.
    pub(crate) fn step(&mut self, rows: isize) {
        let sorted = self.order.sorted(self.servers());
        let at = sorted.iter().position(|server| *server == self.selected).unwrap_or(0);
        let at = at.saturating_add_signed(rows).min(sorted.len().saturating_sub(1));
        self.selected = sorted.get(at).copied().unwrap_or(0);
    }

    /// Marks servers as down whose attempt has not ended in time: the look-up of a name may take minutes.
    /// Returns whether a server was marked.
    pub(crate) fn mark_overdue(&mut self, now: Instant, patience: Duration) -> bool {
        let mut is_marked = false;
        for server in self.live.iter_mut().filter(|server| !server.is_down()) {
            let silence = now.saturating_duration_since(server.reported_at);
            if silence > patience {
                let seconds = silence.as_secs();
                server.mark_down(now, format!("no connection for {seconds}s"));
                is_marked = true;
            }
        }
        is_marked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_any_report_is_overdue() {
        let begin = Instant::now();
        let mut view = View::new(vec!["a:1".into()], Duration::from_secs(1), begin);
        let patience = Duration::from_secs(5);
        assert!(!view.mark_overdue(begin + Duration::from_secs(5), patience));
        assert!(view.mark_overdue(begin + Duration::from_secs(6), patience));
        assert!(view.live[0].is_down());
        assert!(!view.mark_overdue(begin + Duration::from_secs(7), patience));
    }
}
