//! What the values of a column are, by its types. A column is read by what its values mean, or is refused by its name.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::schema::types::ColumnDescriptor;

use crate::trace::clock::Unit;
use crate::trace::heading::Heading;

/// The most digits of decimals: their numbers then fit 128 bits.
const MOST_DIGITS: i32 = 38;

const DAY_S: u32 = 86_400;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Whole {
        is_unsigned: bool,
    },
    /// Whole numbers of this power of ten.
    Decimal {
        over: i128,
    },
    Float,
    /// A float of 16 bits.
    Half,
    /// Text or bytes.
    Bytes,
    Date,
    TimeOfDay(Unit),
    Timestamp(Unit),
    Duration(Unit),
}

impl Meaning {
    /// The meaning of a column, which is one of durations where the schema of Arrow says so. The error names its type.
    pub(super) fn of(column: &ColumnDescriptor, duration: Option<Unit>) -> Result<Self, String> {
        if let Some(unit) = duration {
            return Ok(Self::Duration(unit));
        }
        if let Some(meaning) = logical(column)? {
            return Ok(meaning);
        }
        Ok(match column.physical_type() {
            Physical::INT32 | Physical::INT64 => Self::Whole { is_unsigned: is_unsigned(column) },
            Physical::INT96 => Self::Timestamp(Unit::Micros),
            Physical::FLOAT | Physical::DOUBLE => Self::Float,
            Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY => Self::Bytes,
            Physical::BOOLEAN => return Err("booleans".into()),
        })
    }

    /// Whether a column of such values can be this one. Texts that are no number are refused where they stand.
    pub(super) fn suits(self, heading: Heading) -> bool {
        let is_plain = !matches!(
            self,
            Self::Date | Self::TimeOfDay(_) | Self::Timestamp(_) | Self::Duration(_)
        );
        match heading {
            Heading::Ttl | Heading::Latency => is_plain || matches!(self, Self::Duration(_)),
            _ => {
                is_plain || heading.is_time() || matches!(heading, Heading::Key | Heading::KeyHash)
            }
        }
    }

    /// The values in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Whole { .. } => "whole numbers",
            Self::Decimal { .. } => "decimals",
            Self::Float | Self::Half => "floats",
            Self::Bytes => "texts",
            Self::Date => "dates",
            Self::TimeOfDay(_) => "times of day",
            Self::Timestamp(_) => "timestamps",
            Self::Duration(_) => "durations",
        }
    }

    /// The unit of times that the type tells.
    pub(super) fn unit(self) -> Option<Unit> {
        match self {
            Self::Date => Some(Unit::Seconds),
            Self::TimeOfDay(unit) | Self::Timestamp(unit) | Self::Duration(unit) => Some(unit),
            _ => None,
        }
    }

    /// The value of one unit of a stored whole number in this column, as numerator and denominator.
    pub(super) fn ratio(self, heading: Heading) -> (i128, i128) {
        match (self, heading) {
            (Self::Decimal { over }, _) => (1, over),
            (Self::Date, heading) if heading.is_time() => (DAY_S.into(), 1),
            (Self::Duration(unit), Heading::Ttl) => (1, unit.a_second().into()),
            (Self::Duration(unit), Heading::Latency) => {
                ((Unit::Nanos.a_second() / unit.a_second()).into(), 1)
            }
            _ => (1, 1),
        }
    }
}

/// The meaning that the logical or the converted type tells; `None` where neither says more than the physical one.
fn logical(column: &ColumnDescriptor) -> Result<Option<Meaning>, String> {
    Ok(Some(match column.logical_type_ref() {
        Some(LogicalType::Decimal(decimal)) => decimals(decimal.precision, decimal.scale)?,
        Some(LogicalType::Date) => Meaning::Date,
        Some(LogicalType::Time(time)) => Meaning::TimeOfDay(unit(time.unit)),
        Some(LogicalType::Timestamp(time)) => Meaning::Timestamp(unit(time.unit)),
        Some(LogicalType::Float16) => Meaning::Half,
        Some(
            LogicalType::String
            | LogicalType::Enum
            | LogicalType::Json
            | LogicalType::Bson
            | LogicalType::Uuid,
        ) => Meaning::Bytes,
        // A column without any value has the type that is unknown.
        Some(LogicalType::Integer(_) | LogicalType::Unknown) => return Ok(None),
        Some(other) => return Err(format!("values of the type {}", shown(other))),
        None => match column.converted_type() {
            ConvertedType::DECIMAL => decimals(column.type_precision(), column.type_scale())?,
            ConvertedType::DATE => Meaning::Date,
            ConvertedType::TIME_MILLIS => Meaning::TimeOfDay(Unit::Millis),
            ConvertedType::TIME_MICROS => Meaning::TimeOfDay(Unit::Micros),
            ConvertedType::TIMESTAMP_MILLIS => Meaning::Timestamp(Unit::Millis),
            ConvertedType::TIMESTAMP_MICROS => Meaning::Timestamp(Unit::Micros),
            ConvertedType::INTERVAL => return Err("intervals".into()),
            _ => return Ok(None),
        },
    }))
}

fn decimals(precision: i32, scale: i32) -> Result<Meaning, String> {
    if precision > MOST_DIGITS {
        return Err(format!("decimals of {precision} digits, more than {MOST_DIGITS}"));
    }
    let digits = u32::try_from(scale).ok().filter(|_| scale <= MOST_DIGITS);
    let unlike = || format!("decimals with a scale of {scale}");
    let over = digits.map(|digits| 10_i128.pow(digits)).ok_or_else(unlike)?;
    Ok(Meaning::Decimal { over })
}

fn unit(unit: TimeUnit) -> Unit {
    match unit {
        TimeUnit::MILLIS => Unit::Millis,
        TimeUnit::MICROS => Unit::Micros,
        TimeUnit::NANOS => Unit::Nanos,
    }
}

fn shown(other: &LogicalType) -> String {
    let text = format!("{other:?}");
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(text.len());
    text[..end].to_owned()
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(
            column.converted_type(),
            ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64
        ),
    }
}
