//! Reads rows from Parquet, those of Larder and of other programs.

use std::fs::File;

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::FileMetaData;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::columns::{Cell, Column};
use super::guard::guarded;
use super::told;
use crate::trace::error::TraceFault;
use crate::trace::heading::Heading;
use crate::trace::lines::{MAX_TIME_S, shown};
use crate::trace::row::{Key, Outcome, Row, Verb};
use crate::trace::sink::{About, OtherKeys, Rows, Stop};

/// The rows that are decoded at once.
const BATCH: usize = 4096;

pub(super) fn read(file: File, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let file = guarded(|| SerializedFileReader::new(file)).map_err(broken)?;
    let metadata = file.metadata().file_metadata();
    let fields = Fields::of(metadata.schema_descr())?;
    rows.about = about(metadata);
    let mut row = 0;
    for group in 0..file.num_row_groups() {
        let group = guarded(|| file.get_row_group(group)).map_err(broken)?;
        let mut columns = Columns::of(&fields, &*group)?;
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

fn broken(error: ParquetError) -> Stop {
    let reason = match error {
        ParquetError::General(reason) | ParquetError::EOF(reason) | ParquetError::NYI(reason) => {
            reason
        }
        other => other.to_string(),
    };
    structure(format!("no whole Parquet file: {}", reason.replace('\n', " ")))
}

fn structure(reason: String) -> Stop {
    TraceFault::Structure { reason }.into()
}

/// What the file tells beside its rows.
fn about(metadata: &FileMetaData) -> About {
    let told = |name: &str| {
        let pair = metadata.key_value_metadata()?.iter().find(|pair| pair.key == name)?;
        pair.value.as_deref()
    };
    let number = |name| told(name).and_then(|value| value.parse().ok()).unwrap_or(0);
    let sample = told(told::SAMPLE).and_then(|value| value.parse().ok());
    About {
        sample: sample.filter(|share| *share > 0.0 && *share < 1.0),
        others: OtherKeys {
            operations: number(told::OTHER_OPERATIONS),
            hits: number(told::OTHER_HITS),
            misses: number(told::OTHER_MISSES),
        },
        upstream: told(told::UPSTREAM).map(str::to_owned),
        dropped_rows: number(told::DROPPED),
        torn_bytes: number(told::TORN),
    }
}

/// The columns of a file that are read, by their places.
struct Fields {
    columns: Vec<(Heading, usize)>,
    clock: Clock,
    has_requests: bool,
}

/// How times are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    Seconds,
    Millis,
    Micros,
    Nanos,
}

impl Fields {
    fn of(schema: &SchemaDescriptor) -> Result<Self, Stop> {
        let mut columns: Vec<(Heading, usize)> = Vec::new();
        let mut clock = Clock::Seconds;
        for (place, column) in schema.columns().iter().enumerate() {
            let Some(field) = Heading::of(column.path().string().as_bytes()) else { continue };
            let is_time = |field| matches!(field, Heading::Time | Heading::TimeUs);
            let is_same = |known| known == field || is_time(known) && is_time(field);
            if columns.iter().any(|(known, _)| is_same(*known)) {
                return Err(structure(format!("two columns for `{}`", column.name())));
            }
            if column.max_rep_level() > 0 || column.physical_type() == Physical::BOOLEAN {
                let reason =
                    format!("column `{}` has no text or number for each row", column.name());
                return Err(structure(reason));
            }
            if is_time(field) {
                clock = Clock::of(column);
            }
            columns.push((field, place));
        }
        let has = |field| columns.iter().any(|(known, _)| *known == field);
        if !has(Heading::Key) && !has(Heading::KeyHash) {
            let names: Vec<_> = schema.columns().iter().map(|column| column.name()).collect();
            let reason = format!(
                "no column is named `key` or `key_hash`; it has {}",
                shown(names.join(", ").as_bytes())
            );
            return Err(structure(reason));
        }
        let has_requests = has(Heading::Request);
        Ok(Self { columns, clock, has_requests })
    }
}

impl Clock {
    fn of(column: &ColumnDescriptor) -> Self {
        match (column.logical_type_ref(), column.converted_type(), column.physical_type()) {
            (Some(LogicalType::Timestamp(time)), ..) => match time.unit {
                TimeUnit::MILLIS => Self::Millis,
                TimeUnit::MICROS => Self::Micros,
                TimeUnit::NANOS => Self::Nanos,
            },
            (_, ConvertedType::TIMESTAMP_MILLIS, _) => Self::Millis,
            (_, ConvertedType::TIMESTAMP_MICROS, _) | (.., Physical::INT96) => Self::Micros,
            _ if column.name() == "time_us" => Self::Micros,
            _ => Self::Seconds,
        }
    }

    /// A time in microseconds.
    fn us(self, time: Cell<'_>) -> Result<Option<u64>, String> {
        let us = match (time, self) {
            (Cell::Missing, _) => return Ok(None),
            (Cell::Integer(time), Self::Seconds) => time * 1_000_000,
            (Cell::Integer(time), Self::Millis) => time * 1_000,
            (Cell::Integer(time), Self::Micros) => time,
            (Cell::Integer(time), Self::Nanos) => time.div_euclid(1_000),
            (Cell::Float(seconds), _) if (0.0..=MAX_TIME_S).contains(&seconds) => {
                #[expect(clippy::cast_possible_truncation, reason = "it is in range")]
                let us = (seconds * 1e6).round() as i128;
                us
            }
            _ => -1,
        };
        let unlike = || format!("{} is no time from 1970 on", told(time));
        u64::try_from(us).map(Some).map_err(|_| unlike())
    }
}

/// The columns of a row group.
struct Columns {
    by_field: Vec<(Heading, Column)>,
    clock: Clock,
    has_requests: bool,
}

impl Columns {
    fn of(fields: &Fields, group: &dyn RowGroupReader) -> Result<Self, Stop> {
        let schema = group.metadata().schema_descr();
        let column = |&(field, place): &(Heading, usize)| {
            let reader = group.get_column_reader(place)?;
            Ok((field, Column::new(reader, &schema.column(place))?))
        };
        let columns = guarded(|| fields.columns.iter().map(column).collect());
        Ok(Self {
            by_field: columns.map_err(broken)?,
            clock: fields.clock,
            has_requests: fields.has_requests,
        })
    }

    fn fill(&mut self, n_rows: usize) -> Result<(), ParquetError> {
        self.by_field.iter_mut().try_for_each(|(_, column)| column.fill(n_rows))
    }

    /// Gives the sink the next row, `number` from 1.
    fn give(&mut self, rows: &mut Rows<'_>, number: u64) -> Result<(), Stop> {
        let has_requests = self.has_requests;
        let (row, times) =
            self.next_row().map_err(|reason| TraceFault::Row { row: number, reason })?;
        rows.announce(times.into())?;
        if !has_requests {
            return rows.push_request(&row, times);
        }
        (0..times).try_for_each(|_| rows.push(&row))
    }

    fn next_row(&mut self) -> Result<(Row<'_>, u32), String> {
        let mut row = Row::get(Key::Hash(0));
        let (mut hash, mut bytes, mut times) = (None, None, 1);
        for (field, column) in &mut self.by_field {
            let cell = column.next();
            match field {
                Heading::Time | Heading::TimeUs => row.time_us = self.clock.us(cell)?,
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
                Heading::Ttl => row.ttl_s = whole(cell, "TTL", u32::MAX)?,
                Heading::Amount => row.amount = whole(cell, "amount", u64::MAX)?,
                Heading::Result => row.result = named(cell, "result", Outcome::parse)?,
                Heading::Latency => row.latency_ns = whole(cell, "latency", u64::MAX)?,
                Heading::Times => times = whole(cell, "op_count", u32::MAX)?.unwrap_or(1),
            }
        }
        row.key = bytes.or(hash.map(Key::Hash)).ok_or("it has no key")?;
        Ok((row, times))
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
    let unlike = || format!("{what} {} is not a whole number up to {limit}", told(cell));
    within.map(Some).ok_or_else(unlike)
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
        Cell::Integer(_) | Cell::Float(_) => Err(format!("{what} {} is no name", told(cell))),
    }
}

/// The hash of a key. Programs without unsigned numbers have the upper half of them below 0.
fn hash_of(cell: Cell<'_>) -> Result<Option<u64>, String> {
    match cell {
        Cell::Missing => Ok(None),
        Cell::Integer(hash) => {
            let signed = i64::try_from(hash).map(i64::cast_unsigned);
            let number = u64::try_from(hash).or(signed);
            number.map(Some).map_err(|_| format!("key_hash {hash} has more than 64 bits"))
        }
        Cell::Float(_) | Cell::Bytes(_) => {
            Err(format!("key_hash {} is no whole number", told(cell)))
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
fn told(cell: Cell<'_>) -> String {
    match cell {
        Cell::Missing => "nothing".into(),
        Cell::Integer(number) => number.to_string(),
        Cell::Float(number) => number.to_string(),
        Cell::Bytes(bytes) => format!("`{}`", shown(bytes)),
    }
}
