//! Processes that write until they are killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::Duration;

use larder_store::SetOptions;

use super::{KEYS, key, open_session, value};

/// The environment variable with the URL, set for a writing process.
const URL: &str = "LARDER_TEST_WRITER_URL";

/// In the writing process: writes all keys round after round, and reports each acknowledged round.
pub(crate) fn write_until_killed() {
    let Ok(url) = std::env::var(URL) else { return };
    let mut session = open_session(&url);
    for round in 1.. {
        for i in 0..KEYS {
            session.set(&key(i), &value(i, round), &SetOptions::default()).unwrap();
        }
        let mut out = std::io::stdout().lock();
        out.write_all(format!("\nround {round}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    }
}

/// A writing process, killed with its owner.
pub(crate) struct OtherWriter {
    child: Child,
    rounds: Receiver<u64>,
    /// The last round that a test asked for.
    last: u64,
}

impl OtherWriter {
    /// Starts this test program again as a writing process.
    pub(crate) fn start(url: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_writer_that_is_killed", "--ignored", "--nocapture"])
            .env(URL, url)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, rounds) = channel();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        spawn(move || {
            let lines = lines.map_while(std::result::Result::ok);
            let rounds = lines.filter_map(|line| line.strip_prefix("round ")?.parse().ok());
            for round in rounds {
                // When the owner is gone, the channel has no receiver.
                let _ = tell.send(round);
            }
        });
        Self { child, rounds, last: 0 }
    }

    /// Waits until the process reports a new round.
    pub(crate) fn next_round(&mut self) {
        self.last = self.rounds.try_iter().last().unwrap_or(self.last);
        let round = self.rounds.recv_timeout(Duration::from_mins(5));
        self.last = round.expect("a process that writes has ended or is stuck");
    }

    /// Kills the process, and returns the last round that it reported.
    pub(crate) fn kill(mut self) -> u64 {
        self.child.kill().unwrap();
        self.rounds.iter().last().unwrap_or(self.last)
    }
}

impl Drop for OtherWriter {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
