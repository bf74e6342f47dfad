//! The durations of a file that a library of Arrow has written.
//!
//! Parquet has no type for them: they are numbers of 64 bits, and only the metadata `ARROW:schema` tell their unit. It is a message of
//! Arrow's IPC format, a flatbuffer behind a prefix, in base64. Of it only the durations of columns are read. A schema
//! that is damaged has none: then the numbers are bare, and are judged as such.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::trace::clock::Unit;

/// The key of the metadata.
pub(super) const METADATA: &str = "ARROW:schema";

/// The places of fields in their tables, as Arrow's `Message.fbs` and `Schema.fbs` number them.
mod place {
    pub(super) const MESSAGE_HEADER: usize = 2;
    pub(super) const SCHEMA_FIELDS: usize = 1;
    pub(super) const FIELD_NAME: usize = 0;
    pub(super) const FIELD_TYPE_KIND: usize = 2;
    pub(super) const FIELD_TYPE: usize = 3;
    pub(super) const DURATION_UNIT: usize = 0;
}

/// The kind of type that is a duration.
const DURATION: u8 = 18;

/// What stands before the length of a message since version 0.15 of Arrow.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// A schema of Arrow: the bytes of its message behind the prefix.
pub(super) struct Schema(Vec<u8>);

impl Schema {
    /// The schema in the text of the metadata.
    pub(super) fn of(text: &str) -> Self {
        let bytes = STANDARD.decode(text.trim_end()).unwrap_or_default();
        let message = bytes.strip_prefix(&CONTINUATION).unwrap_or(&bytes);
        Self(message.get(4..).unwrap_or_default().to_vec())
    }

    /// The unit of a column of durations; `None` for any other column.
    pub(super) fn duration(&self, column: &str) -> Option<Unit> {
        let message = Table::at(&self.0, 0)?;
        let fields = message.table(place::MESSAGE_HEADER)?.vector(place::SCHEMA_FIELDS)?;
        let n_fields = u32_at(&self.0, fields)? as usize;
        let places = (0..n_fields).map(|n| fields + 4 + 4 * n);
        let mut fields = places.map_while(|place| Table::at(&self.0, place));
        let field =
            fields.find(|field| field.text(place::FIELD_NAME) == Some(column.as_bytes()))?;
        unit(&field)
    }
}

fn unit(field: &Table<'_>) -> Option<Unit> {
    if field.bytes.get(field.field(place::FIELD_TYPE_KIND)?) != Some(&DURATION) {
        return None;
    }
    let of_type = field.table(place::FIELD_TYPE)?;
    match of_type.field(place::DURATION_UNIT) {
        // The value that is not written.
        None => Some(Unit::Millis),
        Some(at) => match u16_at(of_type.bytes, at)? {
            0 => Some(Unit::Seconds),
            1 => Some(Unit::Millis),
            2 => Some(Unit::Micros),
            3 => Some(Unit::Nanos),
            _ => None,
        },
    }
}

/// A table of a flatbuffer. Its places come from a file, so each is checked.
struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Table<'a> {
    /// The table to which the offset at a place leads.
    fn at(bytes: &'a [u8], offset: usize) -> Option<Self> {
        Some(Self { bytes, at: led(bytes, offset)? })
    }

    /// The place of a field; `None` where it is not written.
    fn field(&self, number: usize) -> Option<usize> {
        let back = u32_at(self.bytes, self.at)?.cast_signed();
        let index = usize::try_from(i64::try_from(self.at).ok()? - i64::from(back)).ok()?;
        let entry = 4 + 2 * number;
        if entry + 2 > usize::from(u16_at(self.bytes, index)?) {
            return None;
        }
        let offset = usize::from(u16_at(self.bytes, index.checked_add(entry)?)?);
        (offset > 0).then_some(self.at + offset)
    }

    fn table(&self, number: usize) -> Option<Self> {
        Self::at(self.bytes, self.field(number)?)
    }

    /// The place of a vector or a text, which begins with its length.
    fn vector(&self, number: usize) -> Option<usize> {
        led(self.bytes, self.field(number)?)
    }

    fn text(&self, number: usize) -> Option<&'a [u8]> {
        let at = self.vector(number)?;
        self.bytes.get(at + 4..)?.get(..u32_at(self.bytes, at)? as usize)
    }
}

/// Where the offset at a place leads.
fn led(bytes: &[u8], offset: usize) -> Option<usize> {
    offset.checked_add(u32_at(bytes, offset)? as usize).filter(|at| *at < bytes.len())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As pyarrow wrote it for int64 `key`, and durations `time` in ms, `ttl` in ns, `s` in s, and `latency_ns` in us.
    const WRITTEN: &str = "/////0ABAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAUAAADYAAAAmAAAAGQAAAA4AAAABAAAAEz///8AAAESEAAAABwAAAAEAAAAAAAAAAoAAABsYXRlbmN5X25zAACu////AAACAHz///8AAAESEAAAABQAAAAEAAAAAAAAAAEAAABzAAAA1v///wAAAACk////AAABEhAAAAAcAAAABAAAAAAAAAADAAAAdHRsAAAABgAIAAYABgAAAAAAAwDU////AAABEhAAAAAcAAAABAAAAAAAAAAEAAAAdGltZQAAAAAEAAQABAAAABAAFAAIAAYABwAMAAAAEAAQAAAAAAABAhAAAAAcAAAABAAAAAAAAAADAAAAa2V5AAgADAAIAAcACAAAAAAAAAFAAAAAAAAAAA==";

    const COLUMNS: [&str; 6] = ["key", "time", "ttl", "s", "latency_ns", "none"];

    fn durations(text: &str) -> [Option<Unit>; 6] {
        let schema = Schema::of(text);
        COLUMNS.map(|column| schema.duration(column))
    }

    #[test]
    fn durations_have_the_units_that_arrow_names() {
        let (seconds, millis) = (Some(Unit::Seconds), Some(Unit::Millis));
        let (micros, nanos) = (Some(Unit::Micros), Some(Unit::Nanos));
        assert_eq!(durations(WRITTEN), [None, millis, nanos, seconds, micros, None]);
    }

    #[test]
    fn a_damaged_schema_has_no_durations_and_does_no_harm() {
        assert_eq!(durations(""), [None; 6]);
        assert_eq!(durations("no base64"), [None; 6]);
        let whole = STANDARD.decode(WRITTEN).unwrap();
        for len in 0..whole.len() {
            durations(&STANDARD.encode(&whole[..len]));
        }
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] = byte;
                let found = durations(&STANDARD.encode(&damaged));
                assert_eq!(found[5], None, "{at} {byte}");
            }
        }
    }
}
