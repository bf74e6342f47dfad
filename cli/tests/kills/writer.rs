//! The load: a writer changes and reads its keys over a connection, until the server is killed.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use larder_testkit::Random;

use crate::client::Client;
use crate::ledger::{Fault, Key, State};
use crate::values::{KEYS, Kind, WRITERS, fill, kind, name};

/// The most requests that are sent without waiting for an answer, and the bytes after which no more are added.
const PIPELINE: usize = 32;
const PIPELINE_BYTES: usize = 64 << 10;

/// What the writers and the killer tell each other.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) is_killed: AtomicBool,
    /// The answers so far.
    pub(crate) answers: AtomicU64,
    /// The changes that were acknowledged, and those that the server refused.
    pub(crate) changes: AtomicU64,
    pub(crate) refused: AtomicU64,
}

/// The only one that changes its keys.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) keys: Vec<Key>,
    random: Random,
}

impl Writer {
    pub(crate) fn new(number: usize) -> Self {
        let keys = (number..KEYS).step_by(WRITERS).map(Key::new).collect();
        Self { keys, random: Random::new(number as u64) }
    }

    /// Loads the server until it is killed.
    pub(crate) fn load(&mut self, port: u16, shared: &Shared) -> Result<(), Fault> {
        let ended = Client::connect(port).map_err(Ended::from).and_then(|client| {
            let (out, asked) = (Vec::new(), VecDeque::new());
            let mut load = Load { writer: self, client, out, asked, shared };
            loop {
                load.batch()?;
            }
        });
        match ended {
            Ok(()) => Ok(()),
            Err(Ended::Connection(_)) if shared.is_killed.load(Ordering::SeqCst) => Ok(()),
            Err(Ended::Connection(error)) => {
                Err(Fault::wrong(format!("the connection ended before the kill: {error}")))
            }
            Err(Ended::Fault(fault)) => Err(fault),
        }
    }
}

/// The reason why a load ended.
pub(crate) enum Ended {
    Connection(io::Error),
    Fault(Fault),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl From<Fault> for Ended {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The right answer to a request.
pub(crate) enum Answer {
    Line(String),
    /// `HD`, with the version of the new value.
    Stored,
    /// The first line if the key is there, otherwise the second.
    IfThere(&'static str, &'static str),
    /// The number in the form of a meta answer.
    MetaNumber(u64),
    /// The entry as it is acknowledged, for `get`.
    Entry,
    /// The same for `mg`, with its version.
    MetaEntry,
    /// An entry of this key, which another writer may change.
    OfAnother(usize),
}

/// A request that was sent.
pub(crate) struct Asked {
    /// The key, in the order of the writer's keys.
    pub(crate) index: usize,
    pub(crate) answer: Answer,
    /// It changes the key: its state is among those in flight.
    pub(crate) is_change: bool,
}

/// A writer at work.
pub(crate) struct Load<'w> {
    pub(crate) writer: &'w mut Writer,
    pub(crate) client: Client,
    /// Requests that are not sent yet.
    pub(crate) out: Vec<u8>,
    pub(crate) asked: VecDeque<Asked>,
    pub(crate) shared: &'w Shared,
}

impl Load<'_> {
    pub(crate) fn any(&mut self, below: usize) -> usize {
        self.writer.random.below(below)
    }

    pub(crate) fn any_key(&mut self) -> usize {
        let n_keys = self.writer.keys.len();
        self.any(n_keys)
    }

    pub(crate) fn key(&mut self, index: usize) -> &mut Key {
        &mut self.writer.keys[index]
    }

    fn batch(&mut self) -> Result<(), Ended> {
        match self.any(8) {
            0 => return self.quiet(),
            1..5 => self.ask(true),
            _ => {
                for _ in 0..2 + self.any(PIPELINE - 1) {
                    if self.out.len() < PIPELINE_BYTES {
                        self.ask(false);
                    }
                }
            }
        }
        self.send()?;
        while let Some(asked) = self.asked.pop_front() {
            self.take(&asked)?;
            self.shared.answers.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        let sent = self.client.send(&self.out);
        self.out.clear();
        sent
    }

    /// Sends changes of which only failures are answered, and a request that is answered behind them.
    fn quiet(&mut self) -> Result<(), Ended> {
        let mut changed = Vec::new();
        for _ in 0..=self.any(PIPELINE) {
            let index = self.any_key();
            let key = self.key(index).of;
            if self.out.len() > PIPELINE_BYTES || kind(key) != Kind::Plain {
                continue;
            }
            changed.push(index);
            if self.any(8) == 0 {
                self.out.extend_from_slice(format!("md {} q\r\n", name(key)).as_bytes());
                self.key(index).send(State::Absent);
                continue;
            }
            let number = self.key(index).next_number();
            let value = fill(key, number);
            let request = format!("ms {} {} q\r\n", name(key), value.len());
            self.out.extend_from_slice(request.as_bytes());
            self.out.extend_from_slice(&value);
            self.out.extend_from_slice(b"\r\n");
            self.key(index).send(State::Value(number));
        }
        self.out.extend_from_slice(b"mn\r\n");
        self.send()?;
        let mut is_sure = true;
        loop {
            match self.client.line()?.as_str() {
                "MN" => break,
                // The key was absent.
                "NF" => {}
                line if line.starts_with("SERVER_ERROR") => is_sure = false,
                line => return Err(Fault::wrong(format!("{line:?} to a quiet change")).into()),
            }
        }
        self.shared.answers.fetch_add(changed.len() as u64, Ordering::Relaxed);
        if is_sure {
            for index in changed {
                self.acknowledged(index);
            }
            return Ok(());
        }
        // The line does not tell which change was refused, so the keys are read.
        self.shared.refused.fetch_add(1, Ordering::Relaxed);
        for index in changed {
            let key = self.key(index).of;
            self.client.send(format!("mg {} v\r\n", name(key)).as_bytes())?;
            let state = self.client.meta_entry()?.state_of(key)?;
            self.key(index).settle(state)?;
        }
        Ok(())
    }
}
