//! A thread's handle on a segment cache.

use std::sync::Arc;
use std::time::Duration;

use larder_segment::{Cache, Condition, Entry, Failed, Namespace, Outcome, Removal, Set, Sum};
use larder_store::{
    Counted, DeleteOutcome, Delta, Error, Facts, Initial, Leases, Meta, Put, Remaining, Result,
    Session, SetDone, SetMode, SetOptions, SetOutcome,
};

use super::config::refused;

/// Entries whose places in memory are fetched before the first of them is stored.
const AHEAD: usize = 16;

/// One thread's handle on a segment cache.
#[derive(Debug)]
pub(super) struct SegmentSession {
    pub(super) engine: &'static str,
    pub(super) inner: larder_segment::Session,
    /// The name of the keys' namespace.
    namespace: Option<Arc<str>>,
    /// Whether `inner` is of that namespace. Only a write makes it: a region has few namespaces, and a read must not use
    /// one up.
    is_inside: bool,
    /// The longest wait of a write for one holder of a lock.
    timeout: Duration,
}

impl SegmentSession {
    pub(super) fn new(
        engine: &'static str,
        cache: &Arc<Cache>,
        namespace: Option<Arc<str>>,
        timeout: Duration,
    ) -> Self {
        let mut session =
            Self { engine, inner: cache.session(), namespace, is_inside: false, timeout };
        session.inner.set_patience(timeout);
        session.is_there();
        session
    }

    /// Switches to the keys of a namespace.
    fn enter(&mut self, namespace: &Namespace) {
        self.inner = namespace.session();
        self.inner.set_patience(self.timeout);
        self.is_inside = true;
    }

    /// Whether the session's namespace can have entries.
    #[inline]
    pub(super) fn is_there(&mut self) -> bool {
        self.namespace.is_none() || self.is_inside && !self.inner.is_removed() || self.look_for_it()
    }

    /// Looks for a namespace that was not there, or that was removed since.
    #[cold]
    fn look_for_it(&mut self) -> bool {
        let Some(name) = &self.namespace else { return true };
        let Some(namespace) = self.inner.cache().existing_namespace(name) else { return false };
        self.enter(&namespace);
        true
    }

    /// Makes the session's namespace, unless it exists.
    pub(super) fn claim(&mut self) -> Result<()> {
        if !self.is_there()
            && let Some(name) = &self.namespace
        {
            let namespace = self.inner.cache().namespace_within(name, self.timeout);
            self.enter(&namespace.map_err(|what| refused(self.engine, None, what))?);
        }
        Ok(())
    }

    /// Runs a write inside the session's namespace, which is made first unless it exists.
    pub(super) fn inside<T>(
        &mut self,
        mut write: impl FnMut(&mut larder_segment::Session) -> std::result::Result<T, Failed>,
    ) -> Result<T> {
        self.claim()?;
        let mut written = write(&mut self.inner);
        if matches!(written, Err(Failed::Removed)) {
            // Another process has just removed the namespace.
            self.claim()?;
            written = write(&mut self.inner);
        }
        written.map_err(|why| failed(self.engine, why))
    }

    /// Refuses a key that is too long, in reads too.
    pub(super) fn check(&self, key: &[u8]) -> Result<()> {
        let limit = self.inner.cache().max_key();
        if key.len() > limit {
            return Err(Error::KeyTooLong { engine: self.engine, len: key.len(), limit });
        }
        Ok(())
    }
}

impl Session for SegmentSession {
    fn engine(&self) -> &'static str {
        self.engine
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.check(key)?;
        if !self.is_there() {
            value.clear();
            return Ok(None);
        }
        Ok(self.inner.get(key, value).map(|entry| meta(&entry)))
    }

    fn get_onto(&mut self, key: &[u8], out: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.check(key)?;
        Ok(self.is_there().then(|| self.inner.get_onto(key, out)).flatten().map(|it| meta(&it)))
    }

    fn look(&mut self, key: &[u8]) -> Result<Option<Facts>> {
        self.check(key)?;
        let facts = self.is_there().then(|| self.inner.facts(key)).flatten();
        Ok(facts.map(|facts| Facts::of(meta(&facts.entry), facts.len)))
    }

    fn get_and_touch(
        &mut self,
        key: &[u8],
        ttl: Option<Duration>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Meta>> {
        self.check(key)?;
        value.clear();
        if !self.is_there() {
            return Ok(None);
        }
        let found = self.inner.get_and_touch(key, ttl, value);
        let found = found.map_err(|why| failed(self.engine, why))?;
        Ok(found.map(|entry| meta(&entry)))
    }

    fn get_many(&mut self, keys: &[&[u8]], hit: &mut dyn FnMut(usize, &[u8], Meta)) -> Result<()> {
        keys.iter().try_for_each(|key| self.check(key))?;
        if self.is_there() {
            self.inner.get_many(keys, &mut |i, value, entry| hit(i, value, meta(&entry)));
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        let condition = match options.mode {
            SetMode::Set => Condition::None,
            SetMode::Add => Condition::Absent,
            SetMode::Replace => Condition::Present,
            SetMode::Cas(version) => Condition::Version(version),
            SetMode::Append => Condition::Append,
            SetMode::Prepend => Condition::Prepend,
        };
        let set = Set { condition, ttl: options.ttl, flags: options.flags };
        let outcome = self.inside(|inner| inner.set(key, value, &set))?;
        Ok(match outcome {
            Outcome::Stored(version) => SetOutcome::Stored(Some(version)),
            Outcome::NotStored => SetOutcome::NotStored,
            Outcome::Exists => SetOutcome::Exists,
            Outcome::NotFound => SetOutcome::NotFound,
        })
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        for (block, entries) in entries.chunks(AHEAD).enumerate() {
            self.inner.expect_sets(entries.iter().map(|entry| entry.key));
            for (i, entry) in entries.iter().enumerate() {
                done(block * AHEAD + i, self.set(entry.key, entry.value, &entry.options));
            }
        }
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.check(key)?;
        Ok(self.is_there() && self.inner.delete(key).map_err(|why| failed(self.engine, why))?)
    }

    fn delete_if(&mut self, key: &[u8], version: u64) -> Result<DeleteOutcome> {
        self.check(key)?;
        if !self.is_there() {
            return Ok(DeleteOutcome::NotFound);
        }
        let removal = self.inner.delete_if(key, version);
        Ok(match removal.map_err(|why| failed(self.engine, why))? {
            Removal::Removed => DeleteOutcome::Deleted,
            Removal::Exists => DeleteOutcome::Exists,
            Removal::NotFound => DeleteOutcome::NotFound,
        })
    }

    fn touch(&mut self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        self.check(key)?;
        Ok(self.is_there() && self.inner.touch(key, ttl).map_err(|why| failed(self.engine, why))?)
    }

    fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> Result<Option<Counted>> {
        self.check(key)?;
        if absent.is_none() && !self.is_there() {
            return Ok(None);
        }
        let delta = match delta {
            Delta::Up(more) => larder_segment::Delta::Up(more),
            Delta::Down(less) => larder_segment::Delta::Down(less),
        };
        let absent = absent.map(|Initial { number, ttl }| larder_segment::Initial { number, ttl });
        match self.inside(|inner| inner.incr(key, delta, absent))? {
            Sum::Is { number, version } => Ok(Some(Counted { number, version: Some(version) })),
            Sum::NotANumber => Err(Error::NotANumber { engine: self.engine }),
            Sum::NotFound => Ok(None),
        }
    }

    fn set_patience(&mut self, patience: Duration) -> Result<()> {
        self.timeout = patience;
        self.inner.set_patience(patience);
        Ok(())
    }

    fn leases(&mut self) -> Option<&mut dyn Leases> {
        Some(self)
    }

    fn clear(&mut self) -> Result<()> {
        if self.is_there() {
            self.inner.clear();
        }
        Ok(())
    }
}

pub(super) fn meta(entry: &Entry) -> Meta {
    let ttl = entry.ttl.map_or(Remaining::Forever, Remaining::For);
    Meta { flags: entry.flags, version: Some(entry.version), ttl, stale: entry.stale }
}

pub(super) fn failed(engine: &'static str, why: Failed) -> Error {
    match why {
        Failed::Busy { .. } | Failed::Removed | Failed::Leases => {
            Error::Busy { engine, what: why.to_string() }
        }
        Failed::TooLarge { size, most } => Error::ValueTooLarge { engine, len: size, limit: most },
        Failed::KeyTooLong { size, most } => Error::KeyTooLong { engine, len: size, limit: most },
    }
}

#[cfg(test)]
#[cfg(feature = "mmap")]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc;
    use std::time::Duration;

    use larder_host::scratch::ScratchDir;
    use larder_segment::{Cache, Set, Survey};
    use larder_store::{Delta, Session, SetOptions, StoreUrl};

    use crate::ENGINES;

    /// Two sessions of a region with these options, and its file.
    fn two_of(options: &str) -> (ScratchDir, PathBuf, [Box<dyn Session>; 2]) {
        let folder = ScratchDir::create_in("regions", &std::env::temp_dir()).unwrap();
        let file = folder.path().join("cache");
        let url = format!("mmap:{}?size=1m&{options}", file.display());
        let store = ENGINES.open(&StoreUrl::parse(&url).unwrap()).unwrap();
        (folder, file, [(); 2].map(|()| store.session().unwrap()))
    }

    #[test]
    fn only_a_set_makes_a_namespace() {
        let (_folder, file, [mut reader, mut writer]) = two_of("namespace=typo");
        let mut value = b"before".to_vec();
        assert!(reader.get(b"key", &mut value).unwrap().is_none() && value.is_empty());
        reader.get_many(&[b"key"], &mut |_, _, _| panic!("there is nothing")).unwrap();
        assert!(!reader.delete(b"key").unwrap() && !reader.touch(b"key", None).unwrap());
        assert_eq!(reader.incr(b"key", Delta::Up(1), None).unwrap(), None);
        reader.clear().unwrap();
        let named = || Survey::of_file(&file).unwrap().unwrap().namespaces.len();
        assert_eq!(named(), 0);
        writer.set(b"key", b"value", &SetOptions::default()).unwrap();
        assert_eq!(named(), 1);
        assert!(reader.get(b"key", &mut value).unwrap().is_some());
        assert_eq!(value, b"value");
    }

    #[test]
    fn a_session_whose_namespace_was_removed_makes_it_anew() {
        let (_folder, file, [mut reader, mut writer]) = two_of("namespace=shop&namespaces=2");
        let region = Cache::existing(&file).unwrap().unwrap();
        let mut value = Vec::new();
        for round in 0..2 {
            writer.set(b"key", b"value", &SetOptions::default()).unwrap();
            assert!(reader.get(b"key", &mut value).unwrap().is_some());
            assert!(region.remove_namespace("shop").unwrap());
            assert!(reader.get(b"key", &mut value).unwrap().is_none());
            // Another name has the number, so that the shop gets another one.
            let other = if round == 0 { "one" } else { "two" };
            region
                .namespace(other)
                .unwrap()
                .session()
                .set(b"key", b"other", &Set::default())
                .unwrap();
            assert!(reader.get(b"key", &mut value).unwrap().is_none());
            assert!(round == 0 || region.remove_namespace("one").unwrap());
        }
    }

    #[test]
    fn a_write_without_patience_waits_for_nobody() {
        let (_folder, file, [mut session, _]) = two_of("");
        session.set(b"key", b"1", &SetOptions::default()).unwrap();
        let region = Cache::existing(&file).unwrap().unwrap();
        let (begun, has_begun) = mpsc::channel();
        let (end, may_end) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let mut holder = region.session();
            scope.spawn(move || {
                let revised = holder.revise(b"key", &|_, new| {
                    begun.send(()).unwrap();
                    may_end.recv().unwrap();
                    new.push(b'2');
                    true
                });
                revised.unwrap();
            });
            has_begun.recv().unwrap();
            session.set_patience(Duration::ZERO).unwrap();
            let busy = session.set(b"key", b"3", &SetOptions::default()).unwrap_err();
            assert_eq!(busy.kind(), "busy");
            let mut value = Vec::new();
            assert!(session.get(b"key", &mut value).unwrap().is_some(), "readers wait for nobody");
            end.send(()).unwrap();
        });
        session.set(b"key", b"3", &SetOptions::default()).unwrap();
    }
}
