//! Reads a journal up to its last whole record.

use std::io::{self, BufRead, Read};

use super::record::{self, LEN, Record};
use crate::trace::error::TraceFault;
use crate::trace::sink::{Rows, Stop};

pub(super) fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let mut bytes = Vec::with_capacity(LEN);
    if !fill(input, &mut bytes, LEN)? {
        rows.about.torn_bytes = bytes.len() as u64;
        return Ok(());
    }
    let header = bytes.first_chunk().map_or_else(|| Err("no header".into()), record::parse_header);
    rows.about = header.map_err(|reason| TraceFault::Structure { reason })?;
    loop {
        bytes.clear();
        let whole = fill(input, &mut bytes, LEN)? && fill_key(input, &mut bytes)?;
        match record::decode(&bytes).filter(|_| whole) {
            Some(Record::Row(row)) => rows.push(&row)?,
            Some(Record::Dropped(n_rows)) => rows.about.dropped_rows += n_rows,
            Some(Record::Others(others)) => rows.about.others = rows.about.others.plus(others),
            None => break,
        }
    }
    // Nothing behind a torn record is a record for certain.
    let behind = io::copy(input, &mut io::sink())?;
    rows.about.torn_bytes = bytes.len() as u64 + behind;
    Ok(())
}

/// Reads the key in clear that stands behind a record; false where it is not all there.
fn fill_key(input: &mut dyn BufRead, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let key_len = bytes.first_chunk().and_then(record::key_len);
    key_len.map_or(Ok(false), |len| fill(input, bytes, len))
}

/// Appends this many bytes; false where fewer are left.
fn fill(input: &mut dyn BufRead, bytes: &mut Vec<u8>, len: usize) -> io::Result<bool> {
    Ok(input.take(len as u64).read_to_end(bytes)? == len)
}
