//! One write transaction: entries, the indexes of their deadlines and tags, and the count of their bytes, changed
//! together.

use std::io::Write;

use heed::RwTxn;

use super::databases::Databases;
use super::recently_read::RecentlyRead;
use super::record::{Record, RecordHeader, Terms, entry_bytes, version};
use super::space::Space;
use super::usage::UsageRecord;

/// The limits of a namespace.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamespaceLimits {
    /// Bytes of all entries.
    pub(super) bytes: u64,
    /// Pages of all entries and their index.
    pub(super) pages: usize,
    /// Bytes of one value.
    pub(super) value_len: usize,
}

/// Memory that a session lends to its write transactions, so that no transaction allocates its own.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// The namespace's usage, to be stored.
    pub(super) usage: UsageRecord,
    /// The old value to which a new value is joined.
    pub(super) value: Vec<u8>,
    /// The tag of an entry that is changed or removed.
    tag: Vec<u8>,
    /// The key of an entry that eviction, expiry or a tag removes.
    pub(super) victim: Vec<u8>,
}

/// The tag of an entry that is stored in place of another.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tag<'a> {
    /// The tag of the old entry, if any.
    Same,
    /// This tag; an empty tag means no tag.
    New(&'a [u8]),
}

/// An entry as the transaction found it, before a change.
#[derive(Debug, Clone, Copy)]
pub(super) struct OldEntry {
    pub(super) header: RecordHeader,
    pub(super) value_len: usize,
}

impl OldEntry {
    pub(super) fn new(record: Record<'_>) -> Self {
        Self { header: record.header, value_len: record.value.len() }
    }

    /// The bytes by which the entry counts towards the byte limit.
    fn bytes(self, key: &[u8]) -> u64 {
        entry_bytes(key.len(), usize::from(self.header.tag_len) + self.value_len)
    }
}

/// A namespace as its limits see it.
#[derive(Debug)]
pub(super) struct Bounded<'s> {
    pub(super) usage_key: &'s str,
    pub(super) limits: NamespaceLimits,
    /// The keys that were read lately, whose entries stay.
    pub(super) used: &'s RecentlyRead,
    /// The disk space of the file.
    pub(super) space: &'s mut Space,
}

/// One write transaction.
pub(super) struct WriteTransaction<'s> {
    pub(super) databases: Databases,
    usage_key: &'s str,
    pub(super) limits: NamespaceLimits,
    pub(super) used: &'s RecentlyRead,
    space: &'s mut Space,
    /// The depth of the tree of entries as the transaction found it.
    depth: u32,
    /// The time of this transaction, in milliseconds since 1970.
    pub(super) now_ms: u64,
    pub(super) txn: RwTxn<'s>,
    pub(super) buffers: &'s mut Buffers,
    changed: bool,
    /// The versions that this transaction has used.
    n_versions: u64,
    /// Entries evicted to make room, and entries removed because they had expired.
    pub(super) evictions: u64,
    pub(super) expirations: u64,
}

impl<'s> WriteTransaction<'s> {
    pub(super) fn new(
        txn: RwTxn<'s>,
        databases: Databases,
        Bounded { usage_key, limits, used, space }: Bounded<'s>,
        now_ms: u64,
        buffers: &'s mut Buffers,
    ) -> heed::Result<Self> {
        buffers.usage.load(databases.main.get(&txn, usage_key)?);
        let depth = databases.entries.stat(&txn)?.depth;
        Ok(Self {
            databases,
            usage_key,
            limits,
            used,
            space,
            depth,
            now_ms,
            txn,
            buffers,
            changed: false,
            n_versions: 0,
            evictions: 0,
            expirations: 0,
        })
    }

    /// A version for an entry that this transaction writes.
    fn next_version(&mut self) -> u64 {
        let next = version(self.txn.id() as u64, self.n_versions);
        self.n_versions += 1;
        next
    }

    /// The version that this transaction gave to an entry last.
    pub(super) fn last_version(&self) -> Option<u64> {
        Some(version(self.txn.id() as u64, self.n_versions.checked_sub(1)?))
    }

    /// The entry under `key`, expired or not.
    pub(super) fn find(&self, key: &[u8]) -> heed::Result<Option<OldEntry>> {
        let stored = self.databases.entries.get(&self.txn, key)?;
        stored.map(|stored| Record::split(stored).map(OldEntry::new)).transpose()
    }

    /// Whether an entry has not expired.
    pub(super) fn is_live(&self, found: OldEntry) -> bool {
        found.header.remaining(|| self.now_ms).is_some()
    }

    /// Copies the value under `key` into the buffer for values.
    pub(super) fn read_value(&mut self, key: &[u8]) -> heed::Result<()> {
        self.buffers.value.clear();
        if let Some(record) = self.databases.entries.get(&self.txn, key)? {
            self.buffers.value.extend_from_slice(Record::split(record)?.value);
        }
        Ok(())
    }

    /// Stores an entry in place of `old`, the entry under its key, and returns its version. The value comes in two parts.
    pub(super) fn put(
        &mut self,
        key: &[u8],
        old: Option<OldEntry>,
        (deadline_ms, flags): Terms,
        tag: Tag<'_>,
        parts: [&[u8]; 2],
    ) -> heed::Result<u64> {
        let version = self.next_version();
        let header = RecordHeader { deadline_ms, version, flags, tag_len: 0 };
        self.put_record(key, old, header, tag, parts).map(|()| version)
    }

    /// Gives an entry another deadline. Its value stays, and so does its version; the value is then in the buffer for
    /// values.
    pub(super) fn set_deadline(
        &mut self,
        key: &[u8],
        old: OldEntry,
        deadline_ms: u64,
    ) -> heed::Result<()> {
        self.read_value(key)?;
        let value = std::mem::take(&mut self.buffers.value);
        let header = RecordHeader { deadline_ms, ..old.header };
        let put = self.put_record(key, Some(old), header, Tag::Same, [&value, &[]]);
        self.buffers.value = value;
        put
    }

    fn put_record(
        &mut self,
        key: &[u8],
        old: Option<OldEntry>,
        header: RecordHeader,
        tag: Tag<'_>,
        parts: [&[u8]; 2],
    ) -> heed::Result<()> {
        self.changed = true;
        let old_tag = self.take_tag(key, old)?;
        let tag = match tag {
            Tag::Same => &old_tag,
            Tag::New(tag) => tag,
        };
        let tag_len = u8::try_from(tag.len()).expect("checked by the session");
        let header = RecordHeader { tag_len, ..header };
        let head = header.to_bytes();
        let value_len = parts[0].len() + parts[1].len();
        let old_deadline_ms = old.map_or(0, |old| old.header.deadline_ms);
        let is_listed = (old_deadline_ms, header.deadline_ms) != (0, 0);
        let is_tagged = !(old_tag.is_empty() && tag.is_empty());
        self.reserve(Some(key.len() + value_len), is_listed || is_tagged)?;
        self.databases.entries.put_reserved(
            &mut self.txn,
            key,
            head.len() + tag.len() + value_len,
            |space| {
                space.write_all(&head)?;
                space.write_all(tag)?;
                space.write_all(parts[0])?;
                space.write_all(parts[1])
            },
        )?;
        if old_deadline_ms != header.deadline_ms {
            self.unlist(key, old_deadline_ms)?;
            if header.deadline_ms != 0 {
                self.databases.expiry.put(&mut self.txn, &header.deadline_ms, key)?;
            }
        }
        if old_tag != tag {
            self.untag(key, &old_tag)?;
            if !tag.is_empty() {
                self.databases.tags.put(&mut self.txn, tag, key)?;
            }
        }
        let freed = old.map_or(0, |old| old.bytes(key));
        let bytes = self.buffers.usage.bytes() + OldEntry { header, value_len }.bytes(key);
        self.buffers.usage.set_bytes(bytes.saturating_sub(freed));
        self.buffers.tag = old_tag;
        Ok(())
    }

    /// Removes the entry under `key`, which is `old`.
    pub(super) fn remove(&mut self, key: &[u8], old: OldEntry) -> heed::Result<()> {
        self.changed = true;
        let tag = self.take_tag(key, Some(old))?;
        self.reserve(None, old.header.deadline_ms != 0 || !tag.is_empty())?;
        self.databases.entries.delete(&mut self.txn, key)?;
        self.unlist(key, old.header.deadline_ms)?;
        self.untag(key, &tag)?;
        self.buffers.tag = tag;
        let bytes = self.buffers.usage.bytes();
        self.buffers.usage.set_bytes(bytes.saturating_sub(old.bytes(key)));
        Ok(())
    }

    /// Removes every entry with this tag; returns how many of them were live.
    pub(super) fn remove_tagged(&mut self, tag: &[u8]) -> heed::Result<u64> {
        let mut n_live = 0;
        while let Some(key) = self.databases.tags.get(&self.txn, tag)? {
            let mut victim = std::mem::take(&mut self.buffers.victim);
            victim.clear();
            victim.extend_from_slice(key);
            match self.find(&victim)? {
                Some(found) if self.has_tag(&victim, tag)? => {
                    n_live += u64::from(self.is_live(found));
                    self.remove(&victim, found)?;
                }
                // The index has a pair without an entry: remove the pair, or the loop would not end.
                _ => {
                    self.reserve(None, true)?;
                    self.untag(&victim, tag)?;
                }
            }
            self.buffers.victim = victim;
        }
        Ok(n_live)
    }

    fn has_tag(&self, key: &[u8], tag: &[u8]) -> heed::Result<bool> {
        let stored = self.databases.entries.get(&self.txn, key)?;
        Ok(stored.map(Record::split).transpose()?.is_some_and(|record| record.tag == tag))
    }

    /// The tag of the entry under `key`, in the buffer for tags; empty for an entry without a tag.
    fn take_tag(&mut self, key: &[u8], found: Option<OldEntry>) -> heed::Result<Vec<u8>> {
        let mut tag = std::mem::take(&mut self.buffers.tag);
        tag.clear();
        if found.is_some_and(|found| found.header.tag_len > 0)
            && let Some(stored) = self.databases.entries.get(&self.txn, key)?
        {
            tag.extend_from_slice(Record::split(stored)?.tag);
        }
        Ok(tag)
    }

    /// Reserves disk space for an entry with this many bytes that is stored, or for one that is removed. It may be in the
    /// indexes.
    pub(super) fn reserve(&mut self, stored: Option<usize>, is_indexed: bool) -> heed::Result<()> {
        // Each index may have a tree of its own for the keys of one deadline or one tag.
        let n_trees = if is_indexed { 5 } else { 1 };
        Ok(self.space.change(stored, n_trees, self.depth)?)
    }

    /// Removes an entry from the index of tags.
    fn untag(&mut self, key: &[u8], tag: &[u8]) -> heed::Result<()> {
        if !tag.is_empty() {
            self.changed = true;
            self.databases.tags.delete_one_duplicate(&mut self.txn, tag, key)?;
        }
        Ok(())
    }

    /// Removes an entry from the expiry index.
    pub(super) fn unlist(&mut self, key: &[u8], deadline_ms: u64) -> heed::Result<()> {
        if deadline_ms != 0 {
            self.databases.expiry.delete_one_duplicate(&mut self.txn, &deadline_ms, key)?;
        }
        Ok(())
    }

    /// Removes all entries.
    pub(super) fn clear(&mut self) -> heed::Result<()> {
        self.changed = true;
        self.databases.entries.clear(&mut self.txn)?;
        self.databases.expiry.clear(&mut self.txn)?;
        self.databases.tags.clear(&mut self.txn)?;
        self.buffers.usage.set_bytes(0);
        self.buffers.usage.set_hand(b"");
        Ok(())
    }

    /// Commits the changes; a transaction without changes leaves no trace.
    pub(super) fn commit(mut self) -> heed::Result<()> {
        if !self.changed {
            self.txn.abort();
            return Ok(());
        }
        self.databases.main.put(&mut self.txn, self.usage_key, self.buffers.usage.record())?;
        self.txn.commit()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::lmdb::config::LmdbConfig;
    use crate::lmdb::environment::Environment;
    use larder_host::place::Place;
    use larder_host::scratch::ScratchDir;

    /// A new environment, with a namespace of which nothing was read.
    pub(in crate::lmdb) fn opened() -> (Arc<Environment>, Databases, RecentlyRead) {
        let place = Place::Own(ScratchDir::create("lmdb").unwrap());
        let environment = Environment::open(place, &LmdbConfig::default()).unwrap();
        let databases = Databases::open(&environment, "test").unwrap();
        (environment, databases, RecentlyRead::new(1 << 20))
    }

    pub(in crate::lmdb) fn bounded<'s>(
        limits: NamespaceLimits,
        used: &'s RecentlyRead,
        space: &'s mut Space,
    ) -> Bounded<'s> {
        Bounded { usage_key: "test.usage", limits, used, space }
    }

    /// A transaction at the time 10.
    pub(in crate::lmdb) fn begun<'s>(
        environment: &'s Environment,
        databases: Databases,
        bounded: Bounded<'s>,
        buffers: &'s mut Buffers,
    ) -> WriteTransaction<'s> {
        let txn = environment.env().write_txn().unwrap();
        WriteTransaction::new(txn, databases, bounded, 10, buffers).unwrap()
    }

    /// The same as the test below, for tags.
    #[test]
    fn the_index_of_tags_lists_an_entry_once_or_not_at_all() {
        let (environment, databases, used) = opened();
        let mut buffers = Buffers::default();
        let write = |buffers: &mut Buffers, work: &mut dyn FnMut(&mut WriteTransaction<'_>)| {
            let mut space = Space::of_calls();
            let limits = NamespaceLimits { bytes: 1 << 20, pages: 1 << 10, value_len: 1 << 10 };
            let mut writer =
                begun(&environment, databases, bounded(limits, &used, &mut space), buffers);
            work(&mut writer);
            let pairs: Vec<_> = writer.databases.tags.iter(&writer.txn).unwrap().collect();
            let pairs = pairs.into_iter().map(|pair| pair.map(|(tag, _)| tag.to_vec()));
            let pairs: Vec<Vec<u8>> = pairs.collect::<heed::Result<_>>().unwrap();
            writer.commit().unwrap();
            pairs
        };
        // Each step: the tag to store the entry with and the tag that it then has, or the end of the entry.
        let steps: [(Option<Tag<'_>>, &[u8]); 9] = [
            (Some(Tag::New(b"")), b""),
            (Some(Tag::Same), b""),
            (Some(Tag::New(b"one")), b"one"),
            (Some(Tag::Same), b"one"),
            (Some(Tag::New(b"one")), b"one"),
            (Some(Tag::New(b"another")), b"another"),
            (Some(Tag::New(b"")), b""),
            (Some(Tag::New(b"one")), b"one"),
            (None, b""),
        ];
        for (step, wanted) in steps {
            let listed = write(&mut buffers, &mut |writer| {
                let old = writer.find(b"key").unwrap();
                match step {
                    Some(tag) => {
                        writer.put(b"key", old, (0, 0), tag, [b"value", b""]).unwrap();
                    }
                    None => writer.remove(b"key", old.unwrap()).unwrap(),
                }
                let stored = writer.databases.entries.get(&writer.txn, b"key").unwrap();
                let tag = stored.map(|stored| Record::split(stored).unwrap().tag);
                assert_eq!(tag.unwrap_or_default(), wanted, "{step:?}");
            });
            let wanted: Vec<_> =
                (!wanted.is_empty()).then(|| wanted.to_vec()).into_iter().collect();
            assert_eq!(listed, wanted, "{step:?}");
        }
        assert_eq!(buffers.usage.bytes(), 0);
        // A surplus pair, which no transaction leaves, neither stops a removal nor counts as an entry.
        let listed = write(&mut buffers, &mut |writer| {
            writer.databases.tags.put(&mut writer.txn, b"one", b"no entry").unwrap();
            writer.put(b"key", None, (0, 0), Tag::New(b"another"), [b"value", b""]).unwrap();
            writer.databases.tags.put(&mut writer.txn, b"one", b"key").unwrap();
            assert_eq!(writer.remove_tagged(b"one").unwrap(), 0);
        });
        assert_eq!(listed, [b"another"]);
    }

    /// A deadline left behind in the index has no effect outside: only the file would grow.
    #[test]
    fn the_index_lists_an_entry_once_or_not_at_all() {
        let (environment, databases, used) = opened();
        let mut space = Space::of_calls();
        let limits = NamespaceLimits { bytes: 1 << 20, pages: 1 << 10, value_len: 1 << 10 };
        let mut buffers = Buffers::default();
        // Each step: a deadline (0 is never) to store under the key, or the end of the entry.
        let steps = [Some(0), Some(50), Some(50), Some(70), Some(0), Some(60), None, Some(80)];
        for step in steps {
            let mut writer =
                begun(&environment, databases, bounded(limits, &used, &mut space), &mut buffers);
            let old = writer.find(b"key").unwrap();
            match (step, old) {
                (Some(deadline_ms), old) => {
                    let tag = Tag::New(b"");
                    writer.put(b"key", old, (deadline_ms, 0), tag, [b"value", b""]).unwrap();
                }
                (None, old) => writer.remove(b"key", old.unwrap()).unwrap(),
            }
            let listed = writer.databases.expiry.first(&writer.txn).unwrap();
            let wanted = step.filter(|deadline_ms| *deadline_ms != 0);
            assert_eq!(listed, wanted.map(|deadline_ms| (deadline_ms, &b"key"[..])), "{step:?}");
            let n_listed = writer.databases.expiry.len(&writer.txn).unwrap();
            assert_eq!(n_listed, u64::from(wanted.is_some()), "{step:?}");
            writer.commit().unwrap();
        }
    }
}
