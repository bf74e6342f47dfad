//! The accesses of some of the objects, in a temporary file, and the place of each one's next access.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rapidhash::RapidHashMap;

/// The buffer of a part.
pub(super) const BUFFER: usize = 16 << 10;

/// An access in the file: its object, later the place of the next access; its own place; its size.
const ENTRY: usize = 20;

/// The entries that are gone through at once.
const BATCH: u64 = 4096;

/// A part that takes accesses.
pub(super) struct Part {
    file: BufWriter<File>,
    n_entries: u64,
}

/// A part that gives what it found for each access, in order.
pub(super) struct Next(BufReader<File>);

/// What is found for an access.
pub(super) struct Found {
    /// The place of the next access of the object, from 1; -1 where there is none.
    pub(super) place: i64,
    /// Its size. libCacheSim passes over an access of 0 bytes: one without a size has that of the object's next access
    /// which has one, else of the last before, else 1.
    pub(super) size: u32,
}

/// What is known of an object on the way back through a part.
struct Object {
    next: i64,
    size: u32,
}

impl Part {
    pub(super) fn new(scratch: &Path) -> io::Result<Self> {
        let file = BufWriter::with_capacity(BUFFER, tempfile::tempfile_in(scratch)?);
        Ok(Self { file, n_entries: 0 })
    }

    /// Appends an access at a place, from 0. A size of 0 is none.
    pub(super) fn push(&mut self, object: u64, place: u64, size: u32) -> io::Result<()> {
        self.n_entries += 1;
        self.file.write_all(&entry(object, place, size))
    }

    /// Finds the next access of each one.
    pub(super) fn with_next_places(self) -> io::Result<Next> {
        let file = self.file.into_inner()?;
        let mut objects = RapidHashMap::default();
        let n_batches = self.n_entries.div_ceil(BATCH);
        let batch = |n: u64| {
            let n_entries = BATCH.min(self.n_entries - n * BATCH);
            (n * BATCH * ENTRY as u64, vec![[0; ENTRY]; usize::try_from(n_entries).unwrap_or(0)])
        };
        for n in 0..n_batches {
            let (at, mut entries) = batch(n);
            file.read_exact_at(entries.as_flattened_mut(), at)?;
            for (object, _, size) in entries.iter().map(fields) {
                let known = objects.entry(object).or_insert(Object { next: -1, size });
                known.size = if size > 0 { size } else { known.size };
            }
        }
        for n in (0..n_batches).rev() {
            let (at, mut entries) = batch(n);
            file.read_exact_at(entries.as_flattened_mut(), at)?;
            for bytes in entries.iter_mut().rev() {
                let (object, place, size) = fields(bytes);
                let Some(known) = objects.get_mut(&object) else { continue };
                known.size = if size > 0 { size } else { known.size };
                *bytes = entry(known.next.cast_unsigned(), place, known.size);
                known.next = place.cast_signed() + 1;
            }
            file.write_all_at(entries.as_flattened(), at)?;
        }
        let mut file = file;
        file.rewind()?;
        Ok(Next(BufReader::with_capacity(BUFFER, file)))
    }
}

impl Next {
    /// What was found for the next access of the part.
    pub(super) fn next(&mut self) -> io::Result<Found> {
        let mut bytes = [0; ENTRY];
        self.0.read_exact(&mut bytes)?;
        let (place, _, size) = fields(&bytes);
        Ok(Found { place: place.cast_signed(), size: size.max(1) })
    }
}

fn entry(first: u64, place: u64, size: u32) -> [u8; ENTRY] {
    let mut bytes = [0; ENTRY];
    bytes[..8].copy_from_slice(&first.to_le_bytes());
    bytes[8..16].copy_from_slice(&place.to_le_bytes());
    bytes[16..].copy_from_slice(&size.to_le_bytes());
    bytes
}

fn fields(entry: &[u8; ENTRY]) -> (u64, u64, u32) {
    let number = |place: usize| entry[place..].first_chunk().map_or(0, |n| u64::from_le_bytes(*n));
    let size = entry[16..].first_chunk().map_or(0, |n| u32::from_le_bytes(*n));
    (number(0), number(8), size)
}
