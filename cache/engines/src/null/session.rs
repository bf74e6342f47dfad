//! One thread's copy of the last value.

use std::sync::Arc;
use std::time::Duration;

use larder_store::{
    Counted, DeleteOutcome, Delta, Facts, Initial, Meta, Remaining, Result, Session, SetOptions,
    SetOutcome,
};

use super::SCHEME;
use super::pipeline::Requests;
use super::store::Shared;

/// The version of every answer.
pub(super) const VERSION: u64 = 1;

/// Replays the last value that was set in this session. Before its first set it replays the first value of another
/// session: a reader beside a writer then makes copies too. Threads share no memory that changes while they are
/// measured.
#[derive(Debug)]
pub(super) struct NullSession {
    pub(super) last: Vec<u8>,
    flags: u32,
    has_set: bool,
    seen_changes: u64,
    shared: Arc<Shared>,
    pub(super) requests: Requests,
}

impl NullSession {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            last: Vec::new(),
            flags: 0,
            has_set: false,
            seen_changes: 0,
            shared,
            requests: Requests::default(),
        }
    }

    /// Whether there is a value to replay.
    pub(super) fn has_value(&mut self) -> bool {
        if !self.has_set {
            let changes = self.shared.changes();
            if changes != self.seen_changes {
                self.last.clone_from(&self.shared.value());
                self.seen_changes = changes;
            }
        }
        self.has_set || self.seen_changes > 0
    }

    pub(super) fn meta(&self) -> Meta {
        Meta { flags: self.flags, version: Some(VERSION), ttl: Remaining::Unknown, stale: false }
    }
}

impl Session for NullSession {
    fn engine(&self) -> &'static str {
        SCHEME
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        value.clear();
        self.get_onto(key, value)
    }

    fn get_onto(&mut self, _: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        if !self.has_value() {
            return Ok(None);
        }
        out.extend_from_slice(&self.last);
        Ok(Some(self.meta()))
    }

    fn look(&mut self, _: &[u8]) -> Result<Option<Facts>> {
        Ok(self.has_value().then(|| Facts::of(self.meta(), self.last.len())))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        _: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        self.get(key, value)
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        if self.has_value() {
            let meta = self.meta();
            (0..keys.len()).for_each(|i| hit(i, &self.last, meta));
        }
        Ok(())
    }

    fn set(&mut self, _: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.last.clear();
        self.last.extend_from_slice(value);
        self.flags = options.flags;
        if !self.has_set {
            self.has_set = true;
            self.shared.publish(value);
        }
        Ok(SetOutcome::Stored(Some(VERSION)))
    }

    fn delete(&mut self, _: &[u8]) -> Result<bool> {
        Ok(true)
    }

    fn delete_if(&mut self, _: &[u8], _: u64) -> Result<DeleteOutcome> {
        Ok(DeleteOutcome::Deleted)
    }

    fn touch(&mut self, _: &[u8], _: Option<Duration>) -> Result<bool> {
        Ok(true)
    }

    fn incr(&mut self, _: &[u8], delta: Delta, _: Option<Initial>) -> Result<Option<Counted>> {
        Ok(Some(Counted { number: delta.applied_to(0), version: Some(VERSION) }))
    }

    fn clear(&mut self) -> Result<()> {
        Ok(())
    }

    fn pipeline(&mut self) -> Option<&mut dyn larder_store::Pipeline> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replayed(session: &mut NullSession) -> Option<Vec<u8>> {
        let mut value = b"before".to_vec();
        let meta = session.get(b"any", &mut value).unwrap();
        meta.map(|_| value)
    }

    #[test]
    fn a_reader_replays_the_value_of_a_writer_and_then_its_own() {
        let shared = Arc::new(Shared::default());
        let mut reader = NullSession::new(Arc::clone(&shared));
        let mut writer = NullSession::new(shared);
        assert_eq!(replayed(&mut reader), None);
        writer.set(b"k", b"first", &SetOptions::default()).unwrap();
        writer.set(b"k", b"second", &SetOptions::default()).unwrap();
        assert_eq!(replayed(&mut reader), Some(b"first".to_vec()));
        reader.set(b"k", b"own", &SetOptions::default()).unwrap();
        assert_eq!(replayed(&mut reader), Some(b"own".to_vec()));
        assert_eq!(replayed(&mut writer), Some(b"second".to_vec()));
    }
}
