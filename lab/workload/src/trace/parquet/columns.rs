//! The columns of a row group, of which one cell after the other is taken.

use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::errors::{ParquetError, Result};

use super::meaning::Meaning;
use crate::trace::heading::Heading;

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
    meaning: Meaning,
    /// The value of one unit of the stored number, as numerator and denominator.
    ratio: (i128, i128),
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
    /// The column of a row group, in which `defined` is the level of a row that has a value.
    pub(super) fn new(
        reader: ColumnReader,
        defined: i16,
        meaning: Meaning,
        heading: Heading,
    ) -> Result<Self> {
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
            defined,
            row: 0,
            value: 0,
            meaning,
            ratio: meaning.ratio(heading),
        })
    }

    /// Reads the next batch of this many rows. Fewer rows are an error.
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
        let is_unsigned = self.meaning == Meaning::Whole { is_unsigned: true };
        let cell = match &self.values {
            Values::Int32(values) => values.get(at).map(|number| {
                let unsigned = i128::from(number.cast_unsigned());
                self.counted(if is_unsigned { unsigned } else { (*number).into() })
            }),
            Values::Int64(values) => values.get(at).map(|number| {
                let unsigned = i128::from(number.cast_unsigned());
                self.counted(if is_unsigned { unsigned } else { (*number).into() })
            }),
            Values::Int96(values) => {
                values.get(at).map(|time| Cell::Integer(time.to_micros().into()))
            }
            Values::Float(values) => values.get(at).map(|number| Cell::Float((*number).into())),
            Values::Double(values) => values.get(at).map(|number| Cell::Float(*number)),
            Values::Bytes(values) => values.get(at).map(|bytes| self.of_bytes(bytes.data())),
            Values::Fixed(values) => values.get(at).map(|bytes| self.of_bytes(bytes.data())),
        };
        // Data frames have a number that is none where a value is missing.
        match cell {
            Some(Cell::Float(number)) if number.is_nan() => Cell::Missing,
            Some(cell) => cell,
            None => Cell::Missing,
        }
    }
    /// A whole number of the file, as what it counts. What is no whole number then is a float.
    fn counted(&self, number: i128) -> Cell<'_> {
        let (times, over) = self.ratio;
        let number = number.saturating_mul(times);
        if number % over == 0 {
            return Cell::Integer(number / over);
        }
        #[expect(clippy::cast_precision_loss, reason = "a part of a number has few digits")]
        Cell::Float(number as f64 / over as f64)
    }

    fn of_bytes<'a>(&'a self, bytes: &'a [u8]) -> Cell<'a> {
        let cell = match self.meaning {
            Meaning::Decimal { .. } => decimal(bytes).map(|number| self.counted(number)),
            Meaning::Half => half(bytes).map(Cell::Float),
            _ => None,
        };
        cell.unwrap_or(Cell::Bytes(bytes))
    }
}

/// The number of a decimal, whose high byte comes first; `None` where 128 bits do not hold it.
fn decimal(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let behind = bytes.len().saturating_sub(size_of::<i128>());
    let (before, number) = bytes.split_at(behind);
    let mut whole = [sign; size_of::<i128>()];
    whole[size_of::<i128>() - number.len()..].copy_from_slice(number);
    let is_sign = before.iter().all(|byte| *byte == sign) && whole[0] & 0x80 == sign & 0x80;
    is_sign.then(|| i128::from_be_bytes(whole))
}

/// The number of a float of 16 bits, as IEEE 754 has them.
fn half(bytes: &[u8]) -> Option<f64> {
    let bits = u16::from_le_bytes(bytes.try_into().ok()?);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let number = match (i32::from(bits >> 10 & 0x1f), fraction) {
        (0, fraction) => fraction * 2_f64.powi(-14),
        (0x1f, 0.0) => f64::INFINITY,
        (0x1f, _) => f64::NAN,
        (exponent, fraction) => (1.0 + fraction) * 2_f64.powi(exponent - 15),
    };
    Some(if bits & 0x8000 == 0 { number } else { -number })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_of_any_width_are_numbers_as_long_as_they_fit() {
        let padded = |sign: u8, number: i128| [&[sign; 9][..], &number.to_be_bytes()].concat();
        for (bytes, expected) in [
            (vec![0x64], Some(100)),
            (vec![0xff], Some(-1)),
            (vec![0x00, 0xff], Some(255)),
            (i128::MIN.to_be_bytes().to_vec(), Some(i128::MIN)),
            (padded(0, 7), Some(7)),
            (padded(0xff, -7), Some(-7)),
            (padded(0, -7), None),
            (padded(1, 7), None),
            (Vec::new(), None),
        ] {
            assert_eq!(decimal(&bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn floats_of_16_bits_are_those_of_the_standard() {
        for (bits, expected) in [
            (0x0000_u16, 0.0),
            (0x0001, 2_f64.powi(-24)),
            (0x0400, 2_f64.powi(-14)),
            (0x3c00, 1.0),
            (0x5640, 100.0),
            (0xc000, -2.0),
            (0x7bff, 65_504.0),
            (0x7c00, f64::INFINITY),
        ] {
            assert_eq!(half(&bits.to_le_bytes()), Some(expected), "{bits:x}");
        }
        assert!(half(&0x7e00_u16.to_le_bytes()).is_some_and(f64::is_nan));
        assert_eq!(half(&[0]), None);
    }
}
