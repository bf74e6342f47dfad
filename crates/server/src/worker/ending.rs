//! The ends of connections that the server decides on: of those that say nothing, and of all when the server ends.

use super::Worker;
use crate::connection::Connection;
use crate::counts::Count;

/// The time that a client which has just come has for its request when the server ends, in milliseconds.
const GRACE_MS: u64 = 200;

/// The time within which a client agrees on the encryption, in milliseconds.
const HANDSHAKE_MS: u64 = 10_000;

impl Worker {
    /// Ends connections that have said nothing for too long, or have not agreed on the encryption.
    pub(super) fn end_idle(&mut self) {
        let now_ms = self.now_ms;
        if self.shared.tls.is_some() {
            let is_slow = |connection: &Connection| {
                now_ms - connection.began_ms >= HANDSHAKE_MS && connection.is_shaking_hands()
            };
            for token in self.tokens(is_slow) {
                self.remove(token);
            }
        }
        let Some(idle) = self.shared.settings.idle else { return };
        let idle = self.tokens(|connection| {
            !connection.is_away && u128::from(now_ms - connection.heard_ms) >= idle.as_millis()
        });
        for token in idle {
            self.counts.add_one(Count::IdleKicks);
            self.dismiss(token);
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

    /// Ends the connections that have no answer to send. One that has just come, and asked nothing yet, has a moment for that.
    pub(super) fn part(&mut self) {
        let now_ms = self.now_ms;
        let has_come = |connection: &Connection| {
            connection.heard_ms == connection.began_ms && now_ms - connection.began_ms < GRACE_MS
        };
        let done = self.tokens(|connection| !connection.is_busy() && !has_come(connection));
        for token in done {
            self.dismiss(token);
        }
    }
}
