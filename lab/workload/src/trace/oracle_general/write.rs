//! Writes libCacheSim's records.
//!
//! A record has the place of the next access of its object, which is known when that comes. A table of all objects would
//! take the more memory the longer the trace is. So accesses are put into parts by the hash of their object, in temporary
//! files, and each part finds its next places by itself (`part.rs`). Then the records are written in order, and each
//! takes its next place from its part. Every file is read and written in order.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::part::{BUFFER, Part};
use crate::Access;
use crate::trace::row::Row;
use crate::trace::sink::About;
use crate::trace::writer::{Fit, RowWriter};

/// The parts. With 256, that of a trace of a thousand million objects has a table of 200 MB.
const PARTS: usize = 256;

/// An access in the file of all accesses: time and object.
const ACCESS: usize = 12;

pub(super) fn begin<'a>(
    out: Box<dyn Write + Send + 'a>,
    scratch: &Path,
) -> io::Result<Box<dyn RowWriter + 'a>> {
    Ok(Box::new(Writer {
        out,
        scratch: scratch.into(),
        accesses: BufWriter::with_capacity(BUFFER, tempfile::tempfile_in(scratch)?),
        n_accesses: 0,
        parts: (0..PARTS).map(|_| None).collect(),
    }))
}

struct Writer<'a> {
    out: Box<dyn Write + Send + 'a>,
    scratch: PathBuf,
    accesses: BufWriter<File>,
    n_accesses: u64,
    /// A part without an access has no file.
    parts: Vec<Option<Part>>,
}

impl RowWriter for Writer<'_> {
    /// Writes gets and sets as accesses; the format has no removals, and no TTL to renew.
    fn push(&mut self, row: &Row<'_>) -> io::Result<Fit> {
        let access = row.operation.access();
        if !access.counts() && !matches!(access, Access::Get | Access::Set) {
            return Ok(Fit::LeftOut);
        }
        let object = row.key.hash();
        let seconds = row.time_us.unwrap_or(0) / 1_000_000;
        let time = u32::try_from(seconds).map_err(|_| {
            let reason = format!(
                "time {seconds} s is beyond {} s, the last that oracleGeneral has a place for (in 2106); write csv or parquet",
                u32::MAX
            );
            io::Error::new(io::ErrorKind::InvalidInput, reason)
        })?;
        self.accesses.write_all(&time.to_le_bytes())?;
        self.accesses.write_all(&object.to_le_bytes())?;
        let part = match &mut self.parts[part_of(object)] {
            Some(part) => part,
            none => none.insert(Part::new(&self.scratch)?),
        };
        part.push(object, self.n_accesses, row.value_size.unwrap_or(0))?;
        self.n_accesses += 1;
        Ok(Fit::Whole)
    }

    fn finish(mut self: Box<Self>, _: &About) -> io::Result<()> {
        let mut parts = Vec::with_capacity(PARTS);
        for part in self.parts.drain(..) {
            parts.push(part.map(Part::with_next_places).transpose()?);
        }
        let mut file = self.accesses.into_inner()?;
        file.rewind()?;
        let mut accesses = BufReader::new(file);
        for _ in 0..self.n_accesses {
            let mut access = [0; ACCESS];
            accesses.read_exact(&mut access)?;
            let [t0, t1, t2, t3, object @ ..] = access;
            let part = parts[part_of(u64::from_le_bytes(object))].as_mut();
            let next = part.ok_or(io::ErrorKind::UnexpectedEof)?.next()?;
            self.out.write_all(&[t0, t1, t2, t3])?;
            self.out.write_all(&object)?;
            self.out.write_all(&next.size.to_le_bytes())?;
            self.out.write_all(&next.place.to_le_bytes())?;
        }
        self.out.flush()
    }
}

/// The part of an object. Objects may be numbers that follow each other, so their bits are mixed.
fn part_of(object: u64) -> usize {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    (object.wrapping_mul(MIX) >> 56) as usize % PARTS
}
