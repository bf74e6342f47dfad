//! The columns of a file that are read.

use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData};
use parquet::schema::types::ColumnDescriptor;

use super::meaning::Meaning;
use super::{arrow, structure};
use crate::trace::clock::{Unit, unit_of};
use crate::trace::heading::{ColumnNames, Heading, HeadingFault, Headings, list};
use crate::trace::lines::shown;
use crate::trace::sink::Stop;

/// The columns of a file that are read.
pub(super) struct Fields {
    pub(super) columns: Vec<Field>,
    pub(super) has_requests: bool,
    /// The columns for a reader.
    pub(super) told: String,
}

/// A column that is read.
pub(super) struct Field {
    pub(super) heading: Heading,
    /// Its place in each row group.
    pub(super) place: usize,
    pub(super) meaning: Meaning,
    /// The level of a row that has a value; 0 where every row has one.
    pub(super) defined: i16,
}

impl Fields {
    /// Finds the columns of a trace by their paths, and refuses each that is not what its name says.
    pub(super) fn of(metadata: &FileMetaData, typed: &ColumnNames) -> Result<Self, Stop> {
        let columns = metadata.schema_descr().columns();
        if typed.is_empty() {
            // Where columns were named, the others within groups are left out, as the report tells.
            columns.iter().try_for_each(|column| refuse_nested(column))?;
        }
        let paths: Vec<String> = columns.iter().map(|column| column.path().string()).collect();
        let names: Vec<&[u8]> = paths.iter().map(String::as_bytes).collect();
        let headings = Headings::of(&names, typed).map_err(|fault| unread(fault, &names))?;
        let arrow = arrow_schema(metadata).map(arrow::Schema::of);
        let mut fields = Vec::new();
        for (place, (column, path)) in columns.iter().zip(&paths).enumerate() {
            let Some(heading) = headings.at(place) else { continue };
            if column.max_rep_level() > 0 {
                return Err(nested(column, heading));
            }
            let duration = arrow.as_ref().and_then(|arrow| arrow.duration(path));
            let meaning = meaning(column, heading, duration)?;
            fields.push(Field { heading, place, meaning, defined: column.max_def_level() });
        }
        let has_requests = headings.has(Heading::Request);
        Ok(Self { columns: fields, has_requests, told: headings.in_order(&names) })
    }

    /// The unit of the column of times: the one that its type or its name tells, or the one that was typed. A type tells more than a
    /// name.
    pub(super) fn unit(&self, typed: Option<Unit>) -> Result<Option<Unit>, Stop> {
        let times = self.columns.iter().find(|field| field.heading.is_time());
        let known = times.and_then(|field| field.meaning.unit().or(field.heading.unit()));
        unit_of(typed, known, times.is_some()).map_err(structure)
    }
}

/// The fault of columns that cannot be read, with the way to name those that are within others.
fn unread(fault: HeadingFault, names: &[&[u8]]) -> Stop {
    structure(match fault {
        HeadingFault::Reason(reason) => reason,
        HeadingFault::NoKey => format!(
            "no column is named `key` or `key_hash`; it has {}; name it by `?columns=key:NAME`",
            list(names)
        ),
    })
}

/// Refuses a column within a group that has the name of a column of a trace.
fn refuse_nested(column: &ColumnDescriptor) -> Result<(), Stop> {
    let [root, within @ ..] = column.path().parts() else { return Ok(()) };
    match Heading::of(root.as_bytes()) {
        Some(heading) if !within.is_empty() => Err(nested(column, heading)),
        _ => Ok(()),
    }
}

/// The fault of a column within others, or of one that has no value or several in a row.
fn nested(column: &ColumnDescriptor, heading: Heading) -> Stop {
    let path = shown(column.path().string().as_bytes());
    let root = shown(column.path().parts().first().map_or(&[], |root| root.as_bytes()));
    // The fields of a request are no number of requests: the one to name is the key.
    let heading = if heading == Heading::Request { Heading::Key } else { heading }.name();
    structure(if column.max_rep_level() > 0 {
        format!(
            "column `{root}` is nested (`{path}`), and has no text or number for each row; make `{path}` a column of its own"
        )
    } else {
        format!("column `{root}` is nested (`{path}`); name it by `?columns={heading}:{path}`")
    })
}

/// What Arrow's libraries tell of the columns.
fn arrow_schema(metadata: &FileMetaData) -> Option<&str> {
    let pairs = metadata.key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == arrow::METADATA)?.value.as_deref()
}

/// The meaning of a column, if it can be the one of its name.
fn meaning(
    column: &ColumnDescriptor,
    heading: Heading,
    duration: Option<Unit>,
) -> Result<Meaning, Stop> {
    let wanted = match heading {
        Heading::Operation | Heading::Result => "texts",
        Heading::Key => "texts or whole numbers",
        _ if heading.is_time() => "times or numbers",
        _ => "whole numbers",
    };
    let refused = |has: &str| {
        structure(format!("column `{}` has {has}, where {wanted} are needed", column.name()))
    };
    let meaning = Meaning::of(column, duration).map_err(|name| refused(&name))?;
    if meaning.suits(heading) { Ok(meaning) } else { Err(refused(meaning.name())) }
}

/// Refuses a compression that is not read.
pub(super) fn check_codec(column: &ColumnChunkMetaData) -> Result<(), Stop> {
    let name = match column.compression() {
        Compression::BROTLI(_) => "brotli",
        Compression::LZO => "LZO",
        _ => return Ok(()),
    };
    Err(structure(format!(
        "column `{}` is compressed by {name}, which is not read; write the file anew with zstd, such as by duckdb -c \"COPY \
         'OLD.parquet' TO 'NEW.parquet' (COMPRESSION zstd)\"",
        shown(column.column_path().string().as_bytes())
    )))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::basic::{BrotliLevel, Type as Physical};
    use parquet::schema::types::{SchemaDescriptor, Type};

    use super::*;

    #[test]
    fn a_compression_that_is_not_read_is_named_with_the_way_out() {
        let key = Type::primitive_type_builder("key", Physical::INT64).build().unwrap();
        let schema = Type::group_type_builder("schema").with_fields(vec![Arc::new(key)]);
        let schema = SchemaDescriptor::new(Arc::new(schema.build().unwrap()));
        let checked = |compression| {
            let column = ColumnChunkMetaData::builder(schema.column(0));
            let column = column.set_compression(compression).build().unwrap();
            check_codec(&column).map_err(|stop| match stop {
                Stop::Fault(fault) => fault.to_string(),
                Stop::Enough => "enough".to_owned(),
            })
        };
        let refusal = checked(Compression::BROTLI(BrotliLevel::default())).unwrap_err();
        let expected = "column `key` is compressed by brotli, which is not read; write the file anew with zstd, such as by ";
        assert!(refusal.starts_with(expected), "{refusal}");
        assert!(checked(Compression::LZO).is_err());
        for read in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::LZ4_RAW] {
            assert_eq!(checked(read), Ok(()));
        }
    }
}
