//! The columns of a row group, of which one cell after the other is taken.

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

/// A column that is read in batches.
pub(super) struct Column {
    reader: ColumnReader,
    values: Values,
    /// For each row of the batch how deep it is defined.
    levels: Vec<i16>,
    /// The level of a row that has a value; 0 where every row has one.
    defined: i16,
    row: usize,
    value: usize,
    is_unsigned: bool,
}

/// What a row has in a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Cell<'a> {
    Missing,
    Integer(i128),
    Float(f64),
    Bytes(&'a [u8]),
}

enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int96(Vec<Int96>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bytes(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

impl Column {
    pub(super) fn new(reader: ColumnReader, descriptor: &ColumnDescriptor) -> Result<Self> {
        let values = match &reader {
            ColumnReader::Int32ColumnReader(_) => Values::Int32(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::Int64(Vec::new()),
            ColumnReader::Int96ColumnReader(_) => Values::Int96(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::Float(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::Double(Vec::new()),
            ColumnReader::ByteArrayColumnReader(_) => Values::Bytes(Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(_) => Values::Fixed(Vec::new()),
            ColumnReader::BoolColumnReader(_) => {
                return Err(ParquetError::General("a column of booleans".into()));
            }
        };
        Ok(Self {
            reader,
            values,
            levels: Vec::new(),
            defined: descriptor.max_def_level(),
            row: 0,
            value: 0,
            is_unsigned: is_unsigned(descriptor),
        })
    }

    /// Reads the next batch of so many rows. Fewer rows are an error.
    pub(super) fn fill(&mut self, n_rows: usize) -> Result<()> {
        macro_rules! read {
            ($reader:expr, $values:expr) => {{
                $values.clear();
                $reader.read_records(n_rows, Some(&mut self.levels), None, $values)?
            }};
        }
        self.levels.clear();
        (self.row, self.value) = (0, 0);
        let (n_read, n_values, _) = match (&mut self.reader, &mut self.values) {
            (ColumnReader::Int32ColumnReader(reader), Values::Int32(values)) => {
                read!(reader, values)
            }
            (ColumnReader::Int64ColumnReader(reader), Values::Int64(values)) => {
                read!(reader, values)
            }
            (ColumnReader::Int96ColumnReader(reader), Values::Int96(values)) => {
                read!(reader, values)
            }
            (ColumnReader::FloatColumnReader(reader), Values::Float(values)) => {
                read!(reader, values)
            }
            (ColumnReader::DoubleColumnReader(reader), Values::Double(values)) => {
                read!(reader, values)
            }
            (ColumnReader::ByteArrayColumnReader(reader), Values::Bytes(values)) => {
                read!(reader, values)
            }
            (ColumnReader::FixedLenByteArrayColumnReader(reader), Values::Fixed(values)) => {
                read!(reader, values)
            }
            _ => (0, 0, 0),
        };
        let n_levels = self.levels.iter().filter(|level| **level >= self.defined).count();
        let expected = if self.defined == 0 { n_rows } else { n_levels };
        if n_read != n_rows || n_values != expected {
            let reason = format!("a column has {n_read} of {n_rows} rows, and {n_values} values");
            return Err(ParquetError::General(reason));
        }
        Ok(())
    }

    /// The cell of the next row of the batch.
    pub(super) fn next(&mut self) -> Cell<'_> {
        let is_defined = self.defined == 0 || self.levels.get(self.row) == Some(&self.defined);
        self.row += 1;
        if !is_defined {
            return Cell::Missing;
        }
        let at = self.value;
        self.value += 1;
        let cell = match &self.values {
            Values::Int32(values) => values.get(at).map(|number| {
                let number = *number;
                let unsigned = i128::from(number.cast_unsigned());
                Cell::Integer(if self.is_unsigned { unsigned } else { number.into() })
            }),
            Values::Int64(values) => values.get(at).map(|number| {
                let number = *number;
                let unsigned = i128::from(number.cast_unsigned());
                Cell::Integer(if self.is_unsigned { unsigned } else { number.into() })
            }),
            Values::Int96(values) => {
                values.get(at).map(|time| Cell::Integer(time.to_micros().into()))
            }
            Values::Float(values) => values.get(at).map(|number| Cell::Float((*number).into())),
            Values::Double(values) => values.get(at).map(|number| Cell::Float(*number)),
            Values::Bytes(values) => values.get(at).map(|bytes| Cell::Bytes(bytes.data())),
            Values::Fixed(values) => values.get(at).map(|bytes| Cell::Bytes(bytes.data())),
        };
        // Data frames have a number that is none where a value is missing.
        match cell {
            Some(Cell::Float(number)) if number.is_nan() => Cell::Missing,
            Some(cell) => cell,
            None => Cell::Missing,
        }
    }
}

fn is_unsigned(descriptor: &ColumnDescriptor) -> bool {
    match descriptor.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(
            descriptor.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        ),
    }
}
