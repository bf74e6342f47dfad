//! The disk space of a file that is written through its map.
//!
//! LMDB can change the pages of its file in the map, without a call of the system for each page of a commit. The map is
//! longer than the file, and a page behind the end of the file, or without a place on the disk, would end the process with a
//! signal. So a transaction reserves disk space for the pages that it may take before it takes them, and fails where there is
//! none.
//!
//! Two calls change the length of the file so that reserved space may be lost: `set_len` here, and LMDB's own whenever it
//! opens or replaces a map. All of them happen under the folder's lock to write, and are counted first; see [`Truncations`].

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

use heed::{Env, MdbError};
use larder_host::disk;

use super::group_commit::Weight;
use super::map::Map;
use super::truncations::Truncations;

/// The file systems on which reserved space is certain to hold what is written to it. Those that write a change to a new
/// place need space again: btrfs always, XFS where a copy shares its space with the file.
const CERTAIN: [&str; 2] = ["ext4", "tmpfs"];

/// The space that is reserved beyond what is needed is an eighth of the file, within these bounds: so few transactions
/// reserve any.
const LEAST_AHEAD: u64 = 1 << 20;
const MOST_AHEAD: u64 = 64 << 20;

/// Page numbers in a page of LMDB's list of free pages, somewhat less than there are.
const LISTED: u64 = 500;

/// Pages for the ways to LMDB's directory and to its list of free pages.
const ANY: u64 = 64;

/// Pages that are kept for the removal of entries, and those by which a small map becomes larger for one.
const SPARE: u64 = 256;
const REMOVAL: u64 = 16;

/// The largest file that may be as long as its map. The file systems have larger ones.
const LONGEST: u64 = 8 << 40;

/// Whether a transaction found no place for a page.
pub(super) fn has_none(error: &heed::Error) -> bool {
    match error {
        heed::Error::Mdb(error) => *error == MdbError::MapFull,
        heed::Error::Io(error) => disk::is_full(error),
        _ => false,
    }
}

/// Whether a file in this folder may be written through a map of this size.
pub(super) fn is_certain(folder: &Path, map_size: usize) -> io::Result<bool> {
    let is_allowed = map_size as u64 <= longest_file()?;
    Ok(is_allowed && CERTAIN.contains(&disk::file_system(folder)?.kind.as_str()))
}

/// The longest file that this process may have, on the file systems above.
pub(super) fn longest_file() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the one structure is written.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(LONGEST.min(limit.rlim_cur))
}

/// The disk space of a file. Its users hold the lock to write.
#[derive(Debug)]
pub(super) struct Space {
    /// `None` where pages are written by calls, which fail by themselves.
    file: Option<File>,
    /// The number of times that a process has truncated the file.
    truncations: Option<Arc<Truncations>>,
    page_size: u64,
    /// Bytes from the file's begin on that have their space, after this number of truncations.
    reserved: u64,
    n_truncations: u64,
    transaction: Pages,
    /// The size that the map had before the disk was full, while it is; see [`Self::find`].
    whole: Option<usize>,
}

/// The pages that a transaction may take.
#[derive(Debug, Clone, Copy, Default)]
struct Pages {
    /// The pages of the map, beyond which LMDB takes none.
    all: u64,
    /// The pages of the file before the transaction.
    old: u64,
    /// Copies of old pages, and new pages of branches that are split.
    copied: u64,
    /// Pages for new bytes.
    new: u64,
}

impl Pages {
    /// The pages before its end that are not of LMDB's own lists.
    fn of_entries(self) -> u64 {
        // Each old page is copied once. Of the old pages a fourth at most are branches, and each is split once.
        let copied = self.copied.min(self.old + self.old / 4);
        self.old + copied + self.new
    }

    /// Pages that any transaction may take: those for its way to LMDB's directory, and the list of free pages, written anew
    /// and once more with the pages that become free.
    fn any(self) -> u64 {
        ANY + 2 * self.of_entries() / LISTED
    }

    /// The page before which all of them lie.
    fn end(self) -> u64 {
        (self.of_entries() + self.any()).min(self.all)
    }
}

impl Space {
    /// The space of an environment whose pages are written by calls.
    pub(super) fn of_calls() -> Self {
        Self {
            file: None,
            truncations: None,
            page_size: 1,
            reserved: 0,
            n_truncations: 0,
            transaction: Pages::default(),
            whole: None,
        }
    }

    /// The space of an environment that is written through its map, under the lock to write. What has space already is not
    /// known yet.
    pub(super) fn of_map(env: &Env, truncations: Arc<Truncations>) -> heed::Result<Self> {
        let page_size = u64::from(env.unnamed_database_stat().page_size);
        let (file, truncations) = (Some(env.try_clone_inner_file()?), Some(truncations));
        let mut space = Self { file, truncations, page_size, ..Self::of_calls() };
        // LMDB has made it as long as the map.
        space.give_back(env.info().last_page_number)?;
        Ok(space)
    }

    /// Gives the space behind the last page back.
    pub(super) fn give_back(&mut self, last_page: usize) -> io::Result<()> {
        let (Some(file), Some(truncations)) = (&self.file, &self.truncations) else {
            return Ok(());
        };
        let len = (last_page as u64 + 1) * self.page_size;
        // This may be the first look after a truncation by another process.
        (self.reserved, self.n_truncations) = (0, truncations.count()?);
        file.set_len(len)
    }

    /// Begins a transaction, with space for what it takes in any case.
    pub(super) fn begin(&mut self, env: &Env) -> io::Result<()> {
        let Some(truncations) = &self.truncations else { return Ok(()) };
        let n_truncations = truncations.number();
        if n_truncations != self.n_truncations {
            (self.reserved, self.n_truncations) = (0, n_truncations);
        }
        let info = env.info();
        let [all, old] = [info.map_size as u64 / self.page_size, info.last_page_number as u64 + 1];
        self.transaction = Pages { all, old, ..Pages::default() };
        self.reserve(0)
    }

    /// Reserves space for the change of one entry, in `n_trees` trees of this depth. `stored` are the bytes of the entry that is
    /// stored; `None` where one is removed.
    pub(super) fn change(
        &mut self,
        stored: Option<usize>,
        n_trees: u64,
        depth: u32,
    ) -> io::Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        // A change copies the pages of a path and may join each with a neighbour, or split it.
        self.transaction.copied += 3 * n_trees * u64::from(depth + 1);
        // At most two splits of a leaf, and the pages of a long value.
        self.transaction.new += 3 * n_trees + stored.unwrap_or(0) as u64 / self.page_size;
        // An entry is not stored in the last space of a disk, so that others can still be removed.
        self.reserve(if stored.is_some() { SPARE + self.transaction.any() } else { 0 })
    }

    /// Finds space for a write that was refused for want of it; `false` where the space is not the disk's, but the map's.
    ///
    /// What a transaction may take is more than it takes: it uses pages again that have become free. So on a full disk the map
    /// becomes as small as the pages that there are. LMDB then takes free ones, and refuses a transaction by itself. The map
    /// gets its size back once the disk has space. A removal may make the map a little larger before that.
    ///
    /// # Errors
    ///
    /// The disk is full.
    pub(super) fn find(
        &mut self,
        map: &Map,
        refused: heed::Error,
        weight: Weight,
    ) -> heed::Result<bool> {
        let is_of_map = matches!(refused, heed::Error::Mdb(_));
        let (Some(file), size) = (&self.file, map.size()) else {
            return if is_of_map { Ok(false) } else { Err(refused) };
        };
        let whole = self.whole.filter(|whole| size < *whole);
        let wanted = match (whole, is_of_map) {
            // The map is full, and not the disk.
            (None, true) => return Ok(false),
            // Not even a small map has its space.
            (Some(_), false) => return Err(refused),
            (None, false) => {
                self.whole = Some(size);
                (map.last_page()? + 2) * map.page_size()
            }
            (Some(whole), true) => {
                let more = self.more(weight) * self.page_size;
                allocate(file, size as u64, size as u64 + more)?;
                let larger = size + usize::try_from(more).unwrap_or_default();
                if weight.removes { larger } else { whole }
            }
        };
        if !map.resize(wanted)? {
            return Err(refused);
        }
        if whole.is_none() {
            self.give_back(map.last_page()?)?;
        }
        Ok(true)
    }

    /// The pages by which a small map must become larger for a write.
    fn more(&self, weight: Weight) -> u64 {
        if weight.removes {
            return REMOVAL;
        }
        ANY + SPARE + 2 * self.transaction.any() + 2 * weight.bytes / self.page_size
    }

    /// Reserves space for the transaction and `spare` pages.
    fn reserve(&mut self, spare: u64) -> io::Result<()> {
        let all = self.transaction.all * self.page_size;
        let needed = ((self.transaction.end() + spare) * self.page_size).min(all);
        let Some(file) = self.file.as_ref().filter(|_| needed > self.reserved) else {
            return Ok(());
        };
        let ahead = (needed / 8).clamp(LEAST_AHEAD, MOST_AHEAD);
        let most = (needed + ahead).min(all);
        // A disk that is nearly full may have space for what is needed, and no more.
        self.reserved = match allocate(file, self.reserved, most) {
            Ok(()) => most,
            Err(_) => allocate(file, self.reserved, needed).map(|()| needed)?,
        };
        Ok(())
    }
}

/// Takes space on the disk for a range of a file, which becomes longer where it is too short.
fn allocate(file: &File, start: u64, end: u64) -> io::Result<()> {
    take(file, 0, start, end)
}

/// Takes space on the disk for a range of a file, in a mode of `fallocate`.
pub(super) fn take(file: &File, mode: libc::c_int, start: u64, end: u64) -> io::Result<()> {
    let offset = |bytes: u64| libc::off_t::try_from(bytes).unwrap_or(libc::off_t::MAX);
    let (start, len) = (offset(start), offset(end - start));
    loop {
        // SAFETY: the descriptor is open, and no memory is passed.
        if unsafe { libc::fallocate(file.as_raw_fd(), mode, start, len) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use heed::{RoTxn, WithTls};
    use larder_testkit::Random;

    use super::*;
    use crate::lmdb::config::MAX_KEY_LEN;
    use crate::lmdb::environment::Environment;
    use crate::lmdb::opening::open_lock_file;
    use crate::lmdb::writer::tests::{bounded, opened};
    use crate::lmdb::writer::{Buffers, NamespaceLimits, Tag, WriteTransaction};

    fn truncations(environment: &Environment) -> Arc<Truncations> {
        let file = open_lock_file(&environment.folder().join("truncations")).unwrap();
        Arc::new(Truncations::open(file).unwrap())
    }

    /// A change of entries with keys, values, deadlines and tags of all kinds.
    fn change(writer: &mut WriteTransaction<'_>, random: &mut Random) -> heed::Result<()> {
        let tags: [&[u8]; 4] = [b"", b"", b"one", &[7; 250]];
        let tag = tags[random.below(tags.len())];
        let number = random.below(4000);
        let mut key = format!("{number} ").into_bytes();
        key.resize(key.len() + number * 7919 % (MAX_KEY_LEN - key.len()), b'k');
        let old = writer.find(&key)?;
        match random.below(200) {
            0 => writer.remove_tagged(tags[2]).map(drop),
            1 if random.below(20) == 0 => writer.clear(),
            1..50 => old.map_or(Ok(()), |old| writer.remove(&key, old)),
            n => {
                let longest = [100, 100, 3000, 10_000, 300_000][n % 5];
                let value = vec![7; random.below(longest)];
                let deadline_ms = [0, 0, 50, random.below(1 << 20) as u64][n % 4];
                writer.put(&key, old, (deadline_ms, 0), Tag::New(tag), [&value, b""])?;
                writer.make_room()
            }
        }
    }

    /// A page without space on the disk would end the process.
    #[test]
    fn a_transaction_takes_no_page_beyond_those_that_it_reserved() {
        let (environment, databases, used) = opened();
        let env = environment.env();
        let (random, mut buffers) = (&mut Random::new(7), Buffers::default());
        let mut reader: Option<RoTxn<'_, WithTls>> = None;
        for now_ms in 0..900 {
            let bytes = [1 << 20, 8 << 20, 64 << 20][usize::try_from(now_ms / 300).unwrap()];
            let limits = NamespaceLimits { bytes, pages: 1 << 20, value_len: 1 << 20 };
            // Beside a reader no page that becomes free is used again.
            match random.below(40) {
                0 => reader = None,
                1 if reader.is_none() => reader = Some(env.read_txn().unwrap()),
                _ => {}
            }
            let written = environment.write(|txn, _| {
                let mut space = Space::of_map(env, truncations(&environment))?;
                space.begin(env)?;
                let bounded = bounded(limits, &used, &mut space);
                let mut writer =
                    WriteTransaction::new(txn, databases, bounded, now_ms, &mut buffers)?;
                writer.expire()?;
                let most = [2, 2, 2, 60][random.below(4)];
                for _ in 0..random.below(most) {
                    change(&mut writer, random)?;
                }
                writer.commit()?;
                Ok(space.transaction.end())
            });
            let end = env.info().last_page_number as u64 + 1;
            let reserved = written.unwrap();
            assert!(end <= reserved, "{now_ms}: {end} pages of {reserved}");
        }
        drop(reader);
    }

    #[test]
    fn what_another_process_gives_back_is_reserved_anew() {
        let (environment, _, _) = opened();
        let env = environment.env();
        environment
            .write(|_, _| {
                let mut other = Space::of_map(env, truncations(&environment))?;
                let mut space = Space::of_map(env, truncations(&environment))?;
                let len = || Ok::<_, heed::Error>(env.try_clone_inner_file()?.metadata()?.len());
                for given_back in [false, true] {
                    if given_back {
                        other.give_back(env.info().last_page_number)?;
                        assert!(len()? < space.transaction.end() * space.page_size);
                    }
                    space.begin(env)?;
                    space.change(Some(10_000), 1, 3)?;
                    assert!(len()? >= space.transaction.end() * space.page_size);
                }
                Ok(())
            })
            .unwrap();
    }
}
