//! The columns of Parquet are read by what their types mean, or are refused by name.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::ops::ControlFlow;
use std::sync::Arc;

use larder_workload::trace::{About, Key, Row, TraceSource, read_rows_of};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// The values of a column, each of them there.
enum Cells {
    Bools(Vec<bool>),
    Ints(Vec<i32>),
    Longs(Vec<i64>),
    Days(Vec<Int96>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Bytes(Vec<Vec<u8>>),
    /// All of this length.
    Fixed(i32, Vec<Vec<u8>>),
}

use Cells::{Bools, Bytes, Days, Doubles, Fixed, Floats, Ints, Longs};

/// A column of this name and type.
struct Column {
    name: &'static str,
    cells: Cells,
    logical: Option<LogicalType>,
    converted: ConvertedType,
    digits: (i32, i32),
}

impl Column {
    fn new(name: &'static str, cells: Cells) -> Self {
        Self { name, cells, logical: None, converted: ConvertedType::NONE, digits: (-1, -1) }
    }

    fn logical(name: &'static str, cells: Cells, logical: LogicalType) -> Self {
        Self { logical: Some(logical), ..Self::new(name, cells) }
    }

    fn converted(name: &'static str, cells: Cells, converted: ConvertedType) -> Self {
        Self { converted, ..Self::new(name, cells) }
    }

    /// Numbers with this many digits, of which this many are behind the point.
    fn decimal(name: &'static str, cells: Cells, precision: i32, scale: i32) -> Self {
        let digits = (precision, scale);
        let logical = Some(LogicalType::decimal(scale, precision));
        Self { logical, digits, ..Self::new(name, cells) }
    }

    fn field(&self) -> Type {
        let (physical, len) = match &self.cells {
            Bools(_) => (Physical::BOOLEAN, -1),
            Ints(_) => (Physical::INT32, -1),
            Longs(_) => (Physical::INT64, -1),
            Days(_) => (Physical::INT96, -1),
            Floats(_) => (Physical::FLOAT, -1),
            Doubles(_) => (Physical::DOUBLE, -1),
            Bytes(_) => (Physical::BYTE_ARRAY, -1),
            Fixed(len, _) => (Physical::FIXED_LEN_BYTE_ARRAY, *len),
        };
        Type::primitive_type_builder(self.name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_length(len)
            .with_logical_type(self.logical.clone())
            .with_converted_type(self.converted)
            .with_precision(self.digits.0)
            .with_scale(self.digits.1)
            .build()
            .expect("a type")
    }
}

/// A file with these columns and metadata. The fields stand in the groups that the names tell: `size.list`.
fn file(columns: &[Column], arrow: Option<&str>) -> Vec<u8> {
    let fields = columns.iter().map(|column| Arc::new(column.field())).collect();
    write(columns, fields, arrow)
}

fn write(columns: &[Column], fields: Vec<Arc<Type>>, arrow: Option<&str>) -> Vec<u8> {
    let schema = Type::group_type_builder("schema").with_fields(fields).build().expect("a schema");
    let pair = |schema: &str| vec![KeyValue::new("ARROW:schema".to_owned(), schema.to_owned())];
    let properties = WriterProperties::builder().set_key_value_metadata(arrow.map(pair)).build();
    let mut bytes = Vec::new();
    let mut file =
        SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = file.next_row_group().unwrap();
    for column in columns {
        let mut out = group.next_column().unwrap().expect("a column");
        macro_rules! write {
            ($type:ty, $values:expr) => {
                out.typed::<$type>().write_batch($values, None, None)
            };
        }
        let bytes = |values: &[Vec<u8>]| -> Vec<ByteArray> {
            values.iter().cloned().map(ByteArray::from).collect()
        };
        match &column.cells {
            Bools(values) => write!(BoolType, values),
            Ints(values) => write!(Int32Type, values),
            Longs(values) => write!(Int64Type, values),
            Days(values) => write!(Int96Type, values),
            Floats(values) => write!(FloatType, values),
            Doubles(values) => write!(DoubleType, values),
            Bytes(values) => write!(ByteArrayType, &bytes(values)),
            Fixed(_, values) => {
                let values: Vec<_> =
                    bytes(values).into_iter().map(FixedLenByteArray::from).collect();
                write!(FixedLenByteArrayType, &values)
            }
        }
        .unwrap();
        out.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<(Vec<Row<'static>>, About), String> {
    let mut rows = Vec::new();
    let mut sink = |row: &Row<'_>| {
        rows.push(Row { key: Key::Hash(row.key.hash()), ..*row });
        ControlFlow::Continue(())
    };
    let about = read_rows_of("x", bytes, None, &mut sink).map_err(|fault| fault.to_string())?;
    Ok((rows, about))
}

/// The rows of a file with one more column, `key`.
fn with_keys(column: Column, arrow: Option<&str>) -> Result<(Vec<Row<'static>>, About), String> {
    let n_rows = match &column.cells {
        Bools(values) => values.len(),
        Ints(values) => values.len(),
        Longs(values) => values.len(),
        Days(values) => values.len(),
        Floats(values) => values.len(),
        Doubles(values) => values.len(),
        Bytes(values) | Fixed(_, values) => values.len(),
    };
    let keys = (0..).take(n_rows).collect();
    read(&file(&[Column::new("key", Longs(keys)), column], arrow))
}

/// `ARROW:schema` as pyarrow wrote it for int64 `key`, and durations `time` in ms, `ttl` in ns, and `latency_ns` in us.
const DURATIONS: &str = "/////0ABAAAQAAAAAAAKAAwABgAFAAgACgAAAAABBAAMAAAACAAIAAAABAAIAAAABAAAAAUAAADYAAAAmAAAAGQAAAA4AAAABAAAAEz///8AAAESEAAAABwAAAAEAAAAAAAAAAoAAABsYXRlbmN5X25zAACu////AAACAHz///8AAAESEAAAABQAAAAEAAAAAAAAAAEAAABzAAAA1v///wAAAACk////AAABEhAAAAAcAAAABAAAAAAAAAADAAAAdHRsAAAABgAIAAYABgAAAAAAAwDU////AAABEhAAAAAcAAAABAAAAAAAAAAEAAAAdGltZQAAAAAEAAQABAAAABAAFAAIAAYABwAMAAAAEAAQAAAAAAABAhAAAAAcAAAABAAAAAAAAAADAAAAa2V5AAgADAAIAAcACAAAAAAAAAFAAAAAAAAAAA==";

#[test]
fn times_have_the_unit_of_their_type_or_else_of_their_first_number() {
    let (millis, micros, nanos) = (TimeUnit::MILLIS, TimeUnit::MICROS, TimeUnit::NANOS);
    let day = |nanos: u32, day: u32| {
        let mut time = Int96::new();
        time.set_data(nanos, 0, day);
        time
    };
    let typed = vec![
        (Column::logical("time", Ints(vec![5, 1500]), LogicalType::time(true, millis)), 5000),
        (Column::logical("time", Longs(vec![5, 1_500_000]), LogicalType::time(true, micros)), 5),
        (
            Column::logical(
                "time",
                Longs(vec![5000, 1_500_000_000]),
                LogicalType::time(true, nanos),
            ),
            5,
        ),
        (Column::converted("time", Ints(vec![5, 1500]), ConvertedType::TIME_MILLIS), 5000),
        (Column::converted("time", Longs(vec![5, 1_500_000]), ConvertedType::TIME_MICROS), 5),
        (
            Column::logical("op_time", Longs(vec![5, 1500]), LogicalType::timestamp(true, millis)),
            5000,
        ),
        (
            Column::logical(
                "time_us",
                Longs(vec![5000, 1_500_000_000]),
                LogicalType::timestamp(false, nanos),
            ),
            5,
        ),
        (Column::new("time", Days(vec![day(5000, 2_440_588), day(1_500_000_000, 2_440_588)])), 5),
        (Column::decimal("time", Longs(vec![0, 15]), 9, 1), 0),
        (Column::new("time_ms", Longs(vec![5, 1500])), 5000),
        (Column::new("time_ns", Doubles(vec![5000.0, 1.5e9])), 5),
        (Column::new("time", Bytes(vec![b"0.25".to_vec(), b"1.5".to_vec()])), 250_000),
        (
            Column::new(
                "time",
                Bytes(vec![b"1970-01-01".to_vec(), b"1970-01-01 00:00:01.5".to_vec()]),
            ),
            0,
        ),
    ];
    for (column, first) in typed {
        // Dates in texts tell their unit, numbers in texts do not.
        let is_number = |text: &Vec<u8>| !text.contains(&b'-');
        let are_numbers = matches!(&column.cells, Bytes(texts) if texts.iter().all(is_number));
        let has_note = column.name == "time" && (are_numbers || column.digits != (-1, -1));
        let (rows, about) = with_keys(column, None).unwrap();
        let times: Vec<_> = rows.iter().map(|row| row.time_us).collect();
        assert_eq!(times, [Some(first), Some(1_500_000)]);
        assert_eq!(about.notes.len(), usize::from(has_note), "{about:?}");
    }
    let days = Column::logical("time", Ints(vec![0, 20_000]), LogicalType::Date);
    let (rows, _) = with_keys(days, None).unwrap();
    assert_eq!(rows[1].time_us, Some(20_000 * 86_400_000_000));

    for (numbers, note) in [
        (
            Longs(vec![1_700_000_000, 1_700_000_001]),
            "times are seconds, because the first, 1700000000, is",
        ),
        (Longs(vec![1_700_000_000_000, 1_700_000_001_000]), "times are milliseconds, because"),
        (
            Longs(vec![1_700_000_000_000_000, 1_700_000_001_000_000]),
            "times are microseconds, because",
        ),
        (Doubles(vec![1.7e18, 1.700_000_001e18]), "times are nanoseconds, because"),
    ] {
        let (rows, about) = with_keys(Column::new("time", numbers), None).unwrap();
        let times: Vec<_> = rows.iter().map(|row| row.time_us).collect();
        assert_eq!(times, [Some(1_700_000_000_000_000), Some(1_700_000_001_000_000)]);
        assert!(about.notes[0].starts_with(note), "{about:?}");
    }
    // From 0 on, the rate of the rows tells.
    for (gap, last_us, note) in [
        (1000, 499_000, "times from 0 on are microseconds, because so they come at 1.00 k/s"),
        (1, 499_000_000, "times are seconds, because the first, 0, is too small for a date"),
    ] {
        let (longs, floats) = ((0..500).map(|at| at * gap), (0..500).map(|at| f64::from(at * gap)));
        for column in [Longs(longs.map(i64::from).collect()), Doubles(floats.collect())] {
            let (rows, about) = with_keys(Column::new("time", column), None).unwrap();
            assert_eq!(rows.last().unwrap().time_us, Some(last_us));
            assert!(about.notes[0].starts_with(note), "{about:?}");
        }
    }
    let error = with_keys(Column::new("time", Longs(vec![72_000_000_000])), None).unwrap_err();
    assert!(error.starts_with("row 1: time 72000000000 is no date from 2000 to 2100"), "{error}");
}

#[test]
fn durations_have_the_unit_that_arrow_tells() {
    let columns = [
        Column::new("key", Longs(vec![1, 2])),
        Column::new("time", Longs(vec![0, 1500])),
        Column::new("ttl", Longs(vec![30_000_000_000, 0])),
        Column::new("latency_ns", Longs(vec![7, 8])),
    ];
    let told = |arrow| {
        let (rows, about) = read(&file(&columns, arrow)).unwrap();
        let row = |row: &Row<'_>| (row.time_us, row.ttl_s, row.latency_ns);
        (rows.iter().map(row).collect::<Vec<_>>(), about.notes.len())
    };
    let expected = vec![(Some(0), Some(30), Some(7000)), (Some(1_500_000), Some(0), Some(8000))];
    assert_eq!(told(Some(DURATIONS)), (expected, 0));
    // A part of a second counts as a whole one.
    let half = Column::new("ttl", Longs(vec![1_500_000_000]));
    let (rows, _) = with_keys(half, Some(DURATIONS)).unwrap();
    assert_eq!(rows[0].ttl_s, Some(2));
}

#[test]
fn numbers_have_the_scale_of_their_type() {
    let hundred = || vec![0x27, 0x10];
    let wide = || [&[0; 14][..], &hundred()].concat();
    for column in [
        Column::decimal("size", Ints(vec![10_000]), 9, 2),
        Column::decimal("size", Longs(vec![1_000_000]), 18, 4),
        Column::decimal("size", Fixed(16, vec![wide()]), 38, 2),
        Column::decimal("size", Bytes(vec![hundred()]), 20, 2),
        Column {
            logical: None,
            converted: ConvertedType::DECIMAL,
            ..Column::decimal("size", Ints(vec![10_000]), 9, 2)
        },
        Column::logical("size", Fixed(2, vec![vec![0x40, 0x56]]), LogicalType::Float16),
        Column::new("size", Floats(vec![100.0])),
    ] {
        let (rows, _) = with_keys(column, None).unwrap();
        assert_eq!(rows[0].value_size, Some(100));
    }
    let part = Column::decimal("size", Longs(vec![64_250]), 12, 2);
    let error = with_keys(part, None).unwrap_err();
    assert_eq!(error, "row 1: value size 642.5 is not a whole number up to 4294967295");
}

#[test]
fn sizes_from_4_gib_on_are_refused_and_typed_dates_of_any_year_are_read() {
    let limit = "is not a whole number up to 4294967295";
    for cells in [Longs(vec![1, 1 << 32]), Doubles(vec![1.0, 4_294_967_296.0])] {
        let error = with_keys(Column::new("size", cells), None).unwrap_err();
        assert_eq!(error, format!("row 2: value size 4294967296 {limit}"));
    }
    let negative = with_keys(Column::new("size", Longs(vec![-1])), None).unwrap_err();
    assert_eq!(negative, format!("row 1: value size -1 {limit}"));
    let (rows, _) = with_keys(Column::new("size", Longs(vec![(1 << 32) - 1])), None).unwrap();
    assert_eq!(rows[0].value_size, Some(u32::MAX));
    let year_2150_us = 5_680_281_600_000_000;
    let micros = LogicalType::timestamp(true, TimeUnit::MICROS);
    for time in [year_2150_us, i64::MAX] {
        let column = Column::logical("time", Longs(vec![time]), micros.clone());
        let (rows, about) = with_keys(column, None).unwrap();
        assert_eq!((rows[0].time_us, about.notes.len()), (Some(time.cast_unsigned()), 0));
    }
    let before = Column::logical("time", Longs(vec![-1]), micros);
    assert_eq!(with_keys(before, None).unwrap_err(), "row 1: -1 is no time from 1970 on");
}

#[test]
fn keys_are_whole_numbers_however_they_are_written() {
    let keys = |column: Column| {
        let (rows, _) = read(&file(&[column], None))?;
        Ok(rows.iter().map(|row| row.key.hash()).collect::<Vec<_>>())
    };
    let expected = Ok(vec![7, u64::MAX]);
    for column in [
        Column::new("key", Longs(vec![7, -1])),
        Column::new("key", Doubles(vec![7.0, -1.0])),
        Column::new("key_hash", Floats(vec![7.0, -1.0])),
        Column::decimal("key", Longs(vec![700, -100]), 12, 2),
        Column::decimal(
            "key_hash",
            Fixed(
                9,
                vec![
                    vec![0, 0, 0, 0, 0, 0, 0, 0, 7],
                    vec![0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
                ],
            ),
            20,
            0,
        ),
        Column::logical("key", Longs(vec![7, -1]), LogicalType::timestamp(true, TimeUnit::NANOS)),
    ] {
        assert_eq!(keys(column), expected);
    }
    let error: String = keys(Column::new("key", Doubles(vec![7.0, 1e17]))).unwrap_err();
    assert!(
        error.starts_with("row 2: key 100000000000000000 is a float beyond 9007199254740992"),
        "{error}"
    );
    let error: String = keys(Column::new("key", Doubles(vec![0.5]))).unwrap_err();
    assert_eq!(error, "row 1: key_hash 0.5 is no whole number");
}

#[test]
fn a_column_of_another_type_is_refused_by_name() {
    let timestamps = LogicalType::timestamp(true, TimeUnit::MILLIS);
    for (column, expected) in [
        (
            Column::logical("size", Longs(vec![1]), timestamps),
            "column `size` has timestamps, where whole numbers are needed",
        ),
        (
            Column::logical("ttl", Ints(vec![1]), LogicalType::Date),
            "column `ttl` has dates, where whole numbers are needed",
        ),
        (
            Column::logical("ttl", Ints(vec![1]), LogicalType::time(true, TimeUnit::MILLIS)),
            "column `ttl` has times of day, where whole numbers are needed",
        ),
        (
            Column::converted("time", Fixed(12, vec![vec![1; 12]]), ConvertedType::INTERVAL),
            "column `time` has intervals, where times or numbers are needed",
        ),
        (
            Column::new("size", Bools(vec![true])),
            "column `size` has booleans, where whole numbers are needed",
        ),
        (
            Column::decimal("size", Fixed(32, vec![vec![0; 32]]), 76, 2),
            "column `size` has decimals of 76 digits, more than 38, where whole numbers are needed",
        ),
        (
            Column::logical("op", Ints(vec![1]), LogicalType::Date),
            "column `op` has dates, where texts are needed",
        ),
    ] {
        assert_eq!(with_keys(column, None).unwrap_err(), expected);
    }
    let error = with_keys(Column::new("size", Longs(vec![1])), None).map(|_| ());
    assert_eq!(error, Ok(()));
    // Other columns may have any type.
    with_keys(Column::new("shop", Bools(vec![true])), None).unwrap();
}

/// A group of this name with one column.
fn group(name: &str, field: Type) -> Arc<Type> {
    let group = Type::group_type_builder(name).with_repetition(Repetition::REQUIRED);
    Arc::new(group.with_fields(vec![Arc::new(field)]).build().unwrap())
}

#[test]
fn a_nested_column_is_named_with_its_path() {
    let (key, size) = (Column::new("key", Longs(vec![1])), Column::new("element", Longs(vec![1])));
    let fields = vec![Arc::new(key.field()), group("size", size.field())];
    let error = read(&write(&[key, size], fields, None)).unwrap_err();
    let expected =
        "column `size` is nested (`size.element`); name it by `?columns=size:size.element`";
    assert_eq!(error, expected);

    // A group called `request` is no number of requests.
    let url = Column::new("url", Longs(vec![1]));
    let fields = vec![group("request", url.field())];
    let error = read(&write(&[url], fields, None)).unwrap_err();
    let expected =
        "column `request` is nested (`request.url`); name it by `?columns=key:request.url`";
    assert_eq!(error, expected);

    let key = Column::new("key", Longs(vec![1]));
    let fields = vec![group("call", key.field())];
    let error = read(&write(&[key], fields, None)).unwrap_err();
    assert_eq!(
        error,
        "no column is named `key` or `key_hash`; it has call.key; name it by `?columns=key:NAME`"
    );
}

#[test]
fn a_list_is_no_column_even_where_it_is_named() {
    let element = Type::primitive_type_builder("element", Physical::INT64)
        .with_repetition(Repetition::REPEATED);
    let schema = Type::group_type_builder("schema")
        .with_fields(vec![group("key", element.build().unwrap())])
        .build()
        .unwrap();
    let mut bytes = Vec::new();
    SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::default())
        .unwrap()
        .close()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    std::fs::write(&path, &bytes).unwrap();
    for columns in ["", "?columns=key:key.element"] {
        let source: TraceSource = format!("{}{columns}", path.display()).parse().unwrap();
        let expected = "column `key` is nested (`key.element`), and has no text or number for each row; make `key.element` a \
                        column of its own";
        assert_eq!(source.open(None).unwrap_err().fault.to_string(), expected, "{columns}");
    }
}

#[test]
fn a_column_in_a_group_is_read_where_it_is_named_whatever_the_group_is_called() {
    let url = Column::new("url", Longs(vec![7, 9]));
    let bytes =
        write(&[url], vec![group("request", Column::new("url", Longs(vec![])).field())], None);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    std::fs::write(&path, &bytes).unwrap();
    let source: TraceSource =
        format!("{}?columns=key:request.url", path.display()).parse().unwrap();
    let (trace, formats) = source.open(None).unwrap();
    assert_eq!(trace.n_keys(), 2);
    assert_eq!(formats.to_string(), "parquet (by its first bytes: request.url as key)");
}

#[test]
fn the_user_names_the_unit_of_numbers_and_not_that_of_timestamps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let read = |time: Column| {
        let keys = Column::new("key", Longs(vec![1, 2]));
        std::fs::write(&path, file(&[keys, time], None)).unwrap();
        let source: TraceSource = format!("{}?time=ms", path.display()).parse().unwrap();
        let (trace, formats) = source.open(None).map_err(|error| error.fault.to_string())?;
        let lasts_us = trace.arrivals().map(|(at, _)| at[1] / 1000);
        Ok((lasts_us, formats.to_string()))
    };
    let told = "parquet (by its first bytes: key, time)".to_owned();
    assert_eq!(read(Column::new("time", Longs(vec![0, 5]))), Ok((Some(5000), told)));
    let micros = LogicalType::timestamp(true, TimeUnit::MICROS);
    let error: String = read(Column::logical("time", Longs(vec![0, 5]), micros)).unwrap_err();
    let expected =
        "the times are microseconds by the name or the type of their column; leave out ?time=ms";
    assert_eq!(error, expected);
}
