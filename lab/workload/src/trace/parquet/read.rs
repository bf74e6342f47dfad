//! Reads rows from Parquet, those of Larder and of other programs.

use std::fs::File;

use parquet::errors::ParquetError;
use parquet::file::metadata::FileMetaData;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;

use super::columns::{Cell, Column};
use super::fields::{Field, Fields, check_codec};
use super::guard::guarded;
use super::{metadata, structure};
use crate::trace::cell::EXACT;
use crate::trace::clock::{Clock, Number, bare};
use crate::trace::error::TraceFault;
use crate::trace::heading::Heading;
use crate::trace::lines::shown;
use crate::trace::row::{Key, Outcome, Row, Verb};
use crate::trace::sink::{About, MOST_ROWS, OtherKeys, Rows, Stop};
use crate::trace::time_unit::{Beginning, Judgement};

/// The rows at the beginning of a file by which the unit of bare times is judged.
const AHEAD: usize = 16_384;

/// The rows that are decoded at once.
const BATCH: usize = 4096;

pub(super) fn read(file: File, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let file = guarded(|| SerializedFileReader::new(file)).map_err(broken)?;
    let metadata = file.metadata().file_metadata();
    let fields = Fields::of(metadata, &rows.names)?;
    let unit = fields.unit(rows.unit)?;
    let beginning = if unit.is_none() { beginning(&file, &fields)? } else { Beginning::default() };
    let mut clock = Clock::judging(unit, beginning, rows.counted_before);
    rows.about = about(metadata);
    rows.tell_columns(fields.told.clone());
    let mut row = 0;
    for group in 0..file.num_row_groups() {
        let group = guarded(|| file.get_row_group(group)).map_err(broken)?;
        let mut columns = Columns::of(&fields, &*group, &mut clock)?;
        let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        while left > 0 {
            let n_rows = left.min(BATCH);
            guarded(|| columns.fill(n_rows)).map_err(broken)?;
            for _ in 0..n_rows {
                row += 1;
                columns.give(rows, row)?;
            }
            left -= n_rows;
        }
    }
    Ok(())
}

/// The times of the first rows, by which their unit is judged. What cannot be read is told by the reading that follows.
fn beginning(file: &SerializedFileReader<File>, fields: &Fields) -> Result<Beginning, Stop> {
    let mut beginning = Beginning::default();
    let is_asked = |field: &&Field| [Heading::Time, Heading::Times].contains(&field.heading);
    if file.num_row_groups() == 0 || !fields.columns.iter().any(|it| it.heading == Heading::Time) {
        return Ok(beginning);
    }
    let group = guarded(|| file.get_row_group(0)).map_err(broken)?;
    let asked = fields.columns.iter().filter(is_asked);
    let mut columns = Columns::some_of(asked, &*group)?;
    let n_rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0).min(AHEAD);
    guarded(|| columns.iter_mut().try_for_each(|(_, column)| column.fill(n_rows)))
        .map_err(broken)?;
    for _ in 0..n_rows {
        let (mut time, mut times) = (None, 1);
        for (heading, column) in &mut columns {
            match (*heading, column.next()) {
                (Heading::Times, Cell::Integer(n)) => times = u64::try_from(n).unwrap_or(1),
                (Heading::Time, Cell::Integer(n)) => time = Some((Number::Whole(n), false)),
                (Heading::Time, Cell::Float(n)) => {
                    time = Some((Number::Float(n), n.fract() != 0.0));
                }
                (Heading::Time, Cell::Bytes(text)) => time = bare(text),
                _ => {}
            }
        }
        beginning.push(time, times);
    }
    Ok(beginning)
}

fn broken(error: ParquetError) -> Stop {
    let reason = match error {
        ParquetError::General(reason) | ParquetError::EOF(reason) | ParquetError::NYI(reason) => {
            reason
        }
        other => other.to_string(),
    };
    structure(format!("no whole Parquet file: {}", reason.replace('\n', " ")))
}

/// What the file tells beside its rows.
fn about(metadata: &FileMetaData) -> About {
    let told = |name: &str| {
        let pair = metadata.key_value_metadata()?.iter().find(|pair| pair.key == name)?;
        pair.value.as_deref()
    };
    let number = |name| told(name).and_then(|value| value.parse().ok()).unwrap_or(0);
    let sample = told(metadata::SAMPLE).and_then(|value| value.parse().ok());
    About {
        sample: sample.filter(|share| *share > 0.0 && *share < 1.0),
        others: OtherKeys {
            operations: number(metadata::OTHER_OPERATIONS),
            hits: number(metadata::OTHER_HITS),
            misses: number(metadata::OTHER_MISSES),
        },
        upstream: told(metadata::UPSTREAM).map(str::to_owned),
        dropped_rows: number(metadata::DROPPED),
        torn_bytes: number(metadata::TORN),
        notes: Vec::new(),
    }
}

/// The columns of a row group.
struct Columns<'c> {
    by_field: Vec<(Heading, Column)>,
    clock: &'c mut Clock,
    has_requests: bool,
}

impl<'c> Columns<'c> {
    fn of(fields: &Fields, group: &dyn RowGroupReader, clock: &'c mut Clock) -> Result<Self, Stop> {
        let by_field = Self::some_of(fields.columns.iter(), group)?;
        Ok(Self { by_field, clock, has_requests: fields.has_requests })
    }

    fn some_of<'f>(
        fields: impl Iterator<Item = &'f Field>,
        group: &dyn RowGroupReader,
    ) -> Result<Vec<(Heading, Column)>, Stop> {
        let mut columns = Vec::new();
        for &Field { heading, place, meaning, defined } in fields {
            check_codec(group.metadata().column(place))?;
            let column =
                guarded(|| Column::new(group.get_column_reader(place)?, defined, meaning, heading));
            columns.push((heading, column.map_err(broken)?));
        }
        Ok(columns)
    }

    fn fill(&mut self, n_rows: usize) -> Result<(), ParquetError> {
        self.by_field.iter_mut().try_for_each(|(_, column)| column.fill(n_rows))
    }

    /// Gives the sink the next row, `number` from 1.
    fn give(&mut self, rows: &mut Rows<'_>, number: u64) -> Result<(), Stop> {
        let has_requests = self.has_requests;
        let at_place = |reason| TraceFault::Row { row: number, reason }.into();
        let (row, times, judgement) = self.next_row().map_err(at_place)?;
        rows.judged(judgement);
        rows.repeat(&row, times, has_requests, at_place)
    }

    /// The next row, how many times it counts, and how its clock was judged, once.
    fn next_row(&mut self) -> Result<(Row<'_>, u32, Option<Judgement>), String> {
        let mut row = Row::get(Key::Hash(0));
        let (mut hash, mut bytes, mut times) = (None, None, 1);
        for (field, column) in &mut self.by_field {
            let cell = column.next();
            match field {
                Heading::Time
                | Heading::TimeS
                | Heading::TimeMs
                | Heading::TimeUs
                | Heading::TimeNs => row.time_us = time_of(cell, self.clock)?,
                Heading::Connection => {
                    row.connection = whole(cell, "connection", u32::MAX)?.unwrap_or(0);
                }
                Heading::Request => row.request = whole(cell, "request", u64::MAX)?.unwrap_or(0),
                Heading::Operation => {
                    row.operation = named(cell, "operation", Verb::parse)?
                        .ok_or_else(|| format!("no operation; known: {}", Verb::known()))?;
                }
                Heading::KeyHash => hash = hash_of(cell)?,
                Heading::Key => bytes = key_of(cell)?,
                Heading::KeySize => row.key_size = whole(cell, "key size", u32::MAX)?,
                Heading::ValueSize => row.value_size = whole(cell, "value size", u32::MAX)?,
                Heading::Ttl => row.ttl_s = ttl(cell)?,
                Heading::Amount => row.amount = whole(cell, "amount", u64::MAX)?,
                Heading::Result => row.result = named(cell, "result", Outcome::parse)?,
                Heading::Latency => row.latency_ns = whole(cell, "latency", u64::MAX)?,
                Heading::Times => {
                    // More than there may be are refused where they are counted.
                    let is_more = matches!(cell, Cell::Integer(times) if times > MOST_ROWS.into());
                    let limit = if is_more { u32::MAX } else { MOST_ROWS };
                    times = whole(cell, "op_count", limit)?.unwrap_or(1);
                }
            }
        }
        row.key = bytes.or(hash.map(Key::Hash)).ok_or("it has no key")?;
        Ok((row, times, self.clock.take_judgement()))
    }
}

/// A time in microseconds, where there is one.
fn time_of(cell: Cell<'_>, clock: &mut Clock) -> Result<Option<u64>, String> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Integer(number) => clock.us(Number::Whole(number)).map(Some),
        Cell::Float(number) => clock.us(Number::Float(number)).map(Some),
        Cell::Bytes(text) => clock.text(text),
    }
}

/// A whole number in its range, where there is one.
fn whole<N: TryFrom<i128> + Into<u64> + Copy>(
    cell: Cell<'_>,
    what: &str,
    limit: N,
) -> Result<Option<N>, String> {
    let number = match cell {
        Cell::Missing => return Ok(None),
        Cell::Integer(number) => number,
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a larger number is beyond every limit"
        )]
        Cell::Float(number) if number.fract() == 0.0 => number as i128,
        _ => -1,
    };
    let limit: u64 = limit.into();
    let within = N::try_from(number).ok().filter(|number| (*number).into() <= limit);
    let unlike = || format!("{what} {} is not a whole number up to {limit}", as_text(cell));
    within.map(Some).ok_or_else(unlike)
}

/// A TTL: 0, or -1 as Redis tells it, for an entry without one. A part of a second counts as a whole one, because 0 is no TTL.
fn ttl(cell: Cell<'_>) -> Result<Option<u32>, String> {
    let seconds = match cell {
        Cell::Integer(-1) | Cell::Float(-1.0) => Cell::Integer(0),
        Cell::Float(seconds) if seconds > 0.0 => Cell::Float(seconds.ceil()),
        other => other,
    };
    whole(seconds, "TTL", u32::MAX)
}

/// A value by its name, where there is one.
fn named<N>(
    cell: Cell<'_>,
    what: &str,
    parse: fn(&[u8]) -> Option<N>,
) -> Result<Option<N>, String> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Bytes(name) => {
            let unknown = || format!("no {what} `{}`", shown(name));
            parse(name).map(Some).ok_or_else(unknown)
        }
        Cell::Integer(_) | Cell::Float(_) => Err(format!("{what} {} is no name", as_text(cell))),
    }
}

/// The hash of a key. Programs without unsigned numbers have the upper half of them below 0, and data frames have floats
/// where some number was missing.
fn hash_of(cell: Cell<'_>) -> Result<Option<u64>, String> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Integer(hash) => {
            let signed = i64::try_from(hash).map(i64::cast_unsigned);
            let number = u64::try_from(hash).or(signed);
            number.map(Some).map_err(|_| format!("key_hash {hash} has more than 64 bits"))
        }
        // Keys beyond it may have become the same.
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
        Cell::Float(number) if number.fract() == 0.0 && number.abs() <= EXACT => {
            Ok(Some((number as i64).cast_unsigned()))
        }
        Cell::Float(number) if number.fract() == 0.0 => Err(format!(
            "key {number} is a float beyond {EXACT}, and floats have lost the digits there; write keys as whole numbers"
        )),
        Cell::Float(_) | Cell::Bytes(_) => {
            Err(format!("key_hash {} is no whole number", as_text(cell)))
        }
    }
}

/// A key in clear, or a number that is a key.
fn key_of(cell: Cell<'_>) -> Result<Option<Key<'_>>, String> {
    match cell {
        Cell::Bytes(bytes) => Ok(Some(Key::Bytes(bytes))),
        other => Ok(hash_of(other)?.map(Key::Hash)),
    }
}

/// A cell in a message.
fn as_text(cell: Cell<'_>) -> String {
    match cell {
        Cell::Missing => "nothing".into(),
        Cell::Integer(number) => number.to_string(),
        Cell::Float(number) => number.to_string(),
        Cell::Bytes(bytes) => format!("`{}`", shown(bytes)),
    }
}
