//! Writes rows as Parquet.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel,
};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};

use super::{VERSION, metadata};
use crate::trace::lines::MAX_KEY;
use crate::trace::row::{Key, Outcome, Row, Verb};
use crate::trace::sink::About;
use crate::trace::writer::{Fit, RowWriter};

/// The rows of a group, which are in memory until the group is written: about 20 MB without keys in clear.
const GROUP_ROWS: usize = 1 << 18;

/// The bytes of keys in clear that end a group before it has all rows.
const GROUP_KEY_BYTES: usize = 32 << 20;

/// The values that are handed to a column's writer at once.
const BATCH: usize = 8192;

/// The largest dictionary of a column. Frequent keys are worth a large one.
const DICTIONARY_BYTES: usize = 2 << 20;

pub(super) fn begin<'a>(
    out: Box<dyn Write + Send + 'a>,
    _: &Path,
) -> io::Result<Box<dyn RowWriter + 'a>> {
    let begin = || SerializedFileWriter::new(out, Arc::new(schema()?), Arc::new(properties()));
    Ok(Box::new(Writer { file: begin().map_err(io_error)?, group: Group::default() }))
}

struct Writer<'a> {
    file: SerializedFileWriter<Box<dyn Write + Send + 'a>>,
    group: Group,
}

impl RowWriter for Writer<'_> {
    fn push(&mut self, row: &Row<'_>) -> io::Result<Fit> {
        let fit = self.group.push(row);
        if self.group.is_full() {
            self.write_group().map_err(io_error)?;
        }
        Ok(fit)
    }

    fn finish(mut self: Box<Self>, about: &About) -> io::Result<()> {
        self.write_group().map_err(io_error)?;
        let sample = about.sample.unwrap_or(1.0).to_string();
        let mut tell = |name: &str, value: String| {
            self.file.append_key_value_metadata(KeyValue::new(name.into(), value));
        };
        tell(metadata::VERSION, VERSION.into());
        tell(metadata::SAMPLE, sample);
        tell(metadata::DROPPED, about.dropped_rows.to_string());
        tell(metadata::TORN, about.torn_bytes.to_string());
        if about.sample.is_some() {
            tell(metadata::OTHER_OPERATIONS, about.others.operations.to_string());
            tell(metadata::OTHER_HITS, about.others.hits.to_string());
            tell(metadata::OTHER_MISSES, about.others.misses.to_string());
        }
        if let Some(upstream) = &about.upstream {
            tell(metadata::UPSTREAM, upstream.clone());
        }
        self.file.into_inner().map_err(io_error)?.flush()
    }
}

impl Writer<'_> {
    fn write_group(&mut self) -> Result<()> {
        if self.group.n_rows() == 0 {
            return Ok(());
        }
        let mut out = self.file.next_row_group()?;
        self.group.write(&mut out)?;
        out.close()?;
        self.group.clear();
        Ok(())
    }
}

/// The columns, in the order in which [`Group::write`] writes them.
fn schema() -> Result<Type> {
    let unsigned = |bit_width| Some(LogicalType::integer(bit_width, false));
    let time = Some(LogicalType::timestamp(true, TimeUnit::MICROS));
    let (required, optional) = (Repetition::REQUIRED, Repetition::OPTIONAL);
    let columns = [
        ("time", Physical::INT64, optional, time),
        ("connection", Physical::INT32, required, unsigned(32)),
        ("request", Physical::INT64, required, unsigned(64)),
        ("operation", Physical::BYTE_ARRAY, required, Some(LogicalType::String)),
        ("key_hash", Physical::INT64, required, unsigned(64)),
        ("key", Physical::BYTE_ARRAY, optional, None),
        ("key_size", Physical::INT32, optional, unsigned(32)),
        ("value_size", Physical::INT32, optional, unsigned(32)),
        ("ttl_s", Physical::INT32, optional, unsigned(32)),
        ("amount", Physical::INT64, optional, unsigned(64)),
        ("result", Physical::BYTE_ARRAY, optional, Some(LogicalType::String)),
        ("latency_ns", Physical::INT64, optional, unsigned(64)),
    ];
    let columns = columns.into_iter().map(|(name, physical, repetition, logical)| {
        let column = Type::primitive_type_builder(name, physical).with_repetition(repetition);
        Ok(Arc::new(column.with_logical_type(logical).build()?))
    });
    Type::group_type_builder("trace").with_fields(columns.collect::<Result<_>>()?).build()
}

fn properties() -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("larder ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    // Numbers that grow, or are close to each other, are shortest as differences.
    for column in ["time", "request", "latency_ns"] {
        let column = ColumnPath::from(column);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// Rows in memory, by column.
#[derive(Default)]
struct Group {
    times: Optional<i64>,
    connections: Vec<i32>,
    requests: Vec<i64>,
    operations: Vec<u8>,
    key_hashes: Vec<i64>,
    keys: Keys,
    key_sizes: Optional<i32>,
    value_sizes: Optional<i32>,
    ttls: Optional<i32>,
    amounts: Optional<i64>,
    results: Optional<u8>,
    latencies: Optional<i64>,
}

impl Group {
    fn push(&mut self, row: &Row<'_>) -> Fit {
        self.times.push(row.time_us.map(u64::cast_signed));
        self.connections.push(row.connection.cast_signed());
        self.requests.push(row.request.cast_signed());
        self.operations.push(row.operation as u8);
        self.key_hashes.push(row.key.hash().cast_signed());
        let (key, fit) = match row.key {
            Key::Bytes(bytes) if bytes.len() <= MAX_KEY as usize => (Some(bytes), Fit::Whole),
            Key::Bytes(_) => (None, Fit::Hashed),
            Key::Hash(_) => (None, Fit::Whole),
        };
        self.keys.push(key);
        self.key_sizes.push(row.key_size.map(u32::cast_signed));
        self.value_sizes.push(row.value_size.map(u32::cast_signed));
        self.ttls.push(row.ttl_s.map(u32::cast_signed));
        self.amounts.push(row.amount.map(u64::cast_signed));
        self.results.push(row.result.map(|result| result as u8));
        self.latencies.push(row.latency_ns.map(u64::cast_signed));
        fit
    }

    fn n_rows(&self) -> usize {
        self.connections.len()
    }

    fn is_full(&self) -> bool {
        self.n_rows() >= GROUP_ROWS || self.keys.bytes.len() >= GROUP_KEY_BYTES
    }

    /// Forgets the rows. The memory stays for the next group.
    fn clear(&mut self) {
        self.times.clear();
        self.connections.clear();
        self.requests.clear();
        self.operations.clear();
        self.key_hashes.clear();
        self.keys.clear();
        self.key_sizes.clear();
        self.value_sizes.clear();
        self.ttls.clear();
        self.amounts.clear();
        self.results.clear();
        self.latencies.clear();
    }

    fn write(&self, out: &mut Out<'_, '_>) -> Result<()> {
        let verbs = names(Verb::ALL.iter().map(|verb| verb.name()));
        let outcomes = names(Outcome::ALL.iter().map(|outcome| outcome.name()));
        self.times.write::<Int64Type>(out, |time| *time)?;
        write_all::<Int32Type, _>(out, &self.connections, None, |number| *number)?;
        write_all::<Int64Type, _>(out, &self.requests, None, |number| *number)?;
        let name = |verb: &u8| verbs[usize::from(*verb)].clone();
        write_all::<ByteArrayType, _>(out, &self.operations, None, name)?;
        write_all::<Int64Type, _>(out, &self.key_hashes, None, |hash| *hash)?;
        self.keys.write(out)?;
        self.key_sizes.write::<Int32Type>(out, |size| *size)?;
        self.value_sizes.write::<Int32Type>(out, |size| *size)?;
        self.ttls.write::<Int32Type>(out, |ttl| *ttl)?;
        self.amounts.write::<Int64Type>(out, |amount| *amount)?;
        self.results
            .write::<ByteArrayType>(out, |result| outcomes[usize::from(*result)].clone())?;
        self.latencies.write::<Int64Type>(out, |latency| *latency)
    }
}

type Out<'g, 'a> = SerializedRowGroupWriter<'g, Box<dyn Write + Send + 'a>>;

fn names(names: impl Iterator<Item = &'static str>) -> Vec<ByteArray> {
    names.map(ByteArray::from).collect()
}

/// A column in which values may be missing.
struct Optional<T> {
    /// For each row 1 where it has a value, or 0.
    levels: Vec<i16>,
    values: Vec<T>,
}

impl<T> Default for Optional<T> {
    fn default() -> Self {
        Self { levels: Vec::new(), values: Vec::new() }
    }
}

impl<T> Optional<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    fn clear(&mut self) {
        self.levels.clear();
        self.values.clear();
    }

    fn write<D: DataType>(&self, out: &mut Out<'_, '_>, value: impl Fn(&T) -> D::T) -> Result<()> {
        write_all::<D, T>(out, &self.values, Some(&self.levels), value)
    }
}

/// The keys in clear, one behind the other.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    /// Where each key lies.
    places: Optional<(usize, usize)>,
}

impl Keys {
    fn push(&mut self, key: Option<&[u8]>) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(key.unwrap_or_default());
        self.places.push(key.map(|_| (begin, self.bytes.len())));
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    fn write(&self, out: &mut Out<'_, '_>) -> Result<()> {
        self.places.write::<ByteArrayType>(out, |&(begin, end)| {
            ByteArray::from(self.bytes[begin..end].to_vec())
        })
    }
}

/// Writes the next column: its values, and for each row whether it has one.
fn write_all<D: DataType, T>(
    out: &mut Out<'_, '_>,
    values: &[T],
    levels: Option<&[i16]>,
    value: impl Fn(&T) -> D::T,
) -> Result<()> {
    let n_rows = levels.map_or(values.len(), <[i16]>::len);
    let missing = || ParquetError::General("the schema has no such column".into());
    let mut column = out.next_column()?.ok_or_else(missing)?;
    let mut values = values.iter();
    let mut batch = Vec::with_capacity(BATCH);
    for begin in (0..n_rows).step_by(BATCH) {
        let end = n_rows.min(begin + BATCH);
        let levels = levels.map(|levels| &levels[begin..end]);
        let has_value = |levels: &[i16]| levels.iter().filter(|level| **level > 0).count();
        let n_values = levels.map_or(end - begin, has_value);
        batch.clear();
        batch.extend(values.by_ref().take(n_values).map(&value));
        column.typed::<D>().write_batch(&batch, levels, None)?;
    }
    column.close()
}

/// An error of the output as it was.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}
