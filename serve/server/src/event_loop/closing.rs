//! The connections that the server closes: idle ones, and all when it ends.

use super::EventLoop;
use crate::connection::Connection;
use crate::counts::Count;

/// When the server ends, a new client still has this time for its first request, in milliseconds.
const FIRST_REQUEST_MS: u64 = 200;

/// The time within which a client agrees on the encryption, in milliseconds.
const HANDSHAKE_MS: u64 = 10_000;

impl EventLoop {
    /// Closes connections that were idle for too long, or have not agreed on the encryption.
    pub(super) fn end_idle(&mut self) {
        let now_ms = self.now_ms;
        if self.shared.tls.is_some() {
            let is_slow = |connection: &Connection| {
                now_ms - connection.opened_ms >= HANDSHAKE_MS && connection.is_shaking_hands()
            };
            for token in self.tokens(is_slow) {
                self.remove(token);
            }
        }
        let Some(idle) = self.shared.settings.idle else { return };
        let idle = self.tokens(|connection| {
            !connection.is_offloaded
                && u128::from(now_ms - connection.last_received_ms) >= idle.as_millis()
        });
        for token in idle {
            self.counts.add_one(Count::IdleKicks);
            self.close(token);
        }
    }

    /// Reads what has arrived from each connection that waits for its client.
    pub(super) fn read_last_requests(&mut self) {
        for token in self.tokens(|connection| !connection.is_busy()) {
            self.read(token);
        }
    }

    fn tokens(&self, which: impl Fn(&Connection) -> bool) -> Vec<u64> {
        let found = self.slots.iter().filter(|(_, connection)| which(connection));
        found.map(|(token, _)| token).collect()
    }

    /// Closes the connections without answers to send, but for new ones that may still send their first request.
    pub(super) fn close_answered(&mut self) {
        let now_ms = self.now_ms;
        let has_come = |connection: &Connection| {
            connection.last_received_ms == connection.opened_ms
                && now_ms - connection.opened_ms < FIRST_REQUEST_MS
        };
        let done = self.tokens(|connection| !connection.is_busy() && !has_come(connection));
        for token in done {
            self.close(token);
        }
    }
}
