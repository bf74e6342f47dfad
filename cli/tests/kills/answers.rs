//! The answers to the requests of a writer, each judged by the writer's books.

use std::sync::atomic::Ordering;

use crate::client::Found;
use crate::ledger::{Fault, State};
use crate::values::name;
use crate::writer::{Answer, Asked, Ended, Load};

impl Load<'_> {
    /// Takes the answer to a request.
    pub(crate) fn take(&mut self, asked: &Asked) -> Result<(), Ended> {
        let right = match &asked.answer {
            Answer::Entry => return self.take_entries(asked.index, None),
            Answer::OfAnother(key) => return self.take_entries(asked.index, Some(*key)),
            Answer::MetaEntry => return self.take_meta_entry(asked.index),
            Answer::MetaNumber(number) => return self.take_number(asked.index, *number),
            Answer::Line(line) => line,
            Answer::Stored => "HD c",
            Answer::IfThere(there, absent) => match self.key(asked.index).acknowledged() {
                State::Absent => absent,
                _ => there,
            },
        };
        let line = self.client.line()?;
        let version = line.strip_prefix("HD c").and_then(|version| version.parse().ok());
        let is_right = match asked.answer {
            Answer::Stored => version.is_some(),
            _ => line == right,
        };
        if !is_right {
            return self.refused(asked.index, asked.is_change, &line, right);
        }
        if asked.is_change {
            self.acknowledged(asked.index);
            let key = self.key(asked.index);
            key.version = version.filter(|_| key.is_settled());
        }
        Ok(())
    }

    pub(crate) fn acknowledged(&mut self, index: usize) {
        self.key(index).acknowledge();
        self.shared.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes a line that is not the right one. A server may refuse a change while the holder of a lock gets no processor;
    /// then nothing was changed.
    fn refused(
        &mut self,
        index: usize,
        is_change: bool,
        line: &str,
        right: &str,
    ) -> Result<(), Ended> {
        let key = self.key(index);
        if !line.starts_with("SERVER_ERROR") {
            let told = format!("{}: {line:?}, not {right:?}; {key:?}", name(key.of));
            return Err(Fault::wrong(told).into());
        }
        if is_change {
            key.refuse();
        }
        self.shared.refused.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Takes an entry of the writer's own, or one of another writer.
    fn take_entries(&mut self, index: usize, another: Option<usize>) -> Result<(), Ended> {
        let own = self.key(index).of;
        let entries = self.client.entries()?.map_err(Fault::wrong)?;
        let entry = entries.into_iter().next().map_or(Found::Absent, |(_, entry)| entry);
        let state = entry.state_of(another.unwrap_or(own))?;
        if another.is_none() {
            self.key(index).judge(state)?;
        }
        Ok(())
    }

    fn take_meta_entry(&mut self, index: usize) -> Result<(), Ended> {
        let found = self.client.meta_entry()?;
        let key = self.key(index);
        key.judge(found.state_of(key.of)?)?;
        if let Some(version) = found.version() {
            key.judge_version(version)?;
            key.version = key.is_settled().then_some(version);
        }
        Ok(())
    }

    fn take_number(&mut self, index: usize, number: u64) -> Result<(), Ended> {
        match self.client.meta_entry()? {
            Found::Other(line) => self.refused(index, true, &line, "a number"),
            found => {
                if found.state_of(self.key(index).of)? != State::Number(number) {
                    let told = format!("{found:?}, not {number}; {:?}", self.key(index));
                    return Err(Fault::wrong(told).into());
                }
                self.acknowledged(index);
                Ok(())
            }
        }
    }
}
