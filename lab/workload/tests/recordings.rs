//! Journals and Parquet: what is written is read again, and what is broken is named.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use larder_workload::trace::{
    About, FORMATS, Journal, Key, OtherKeys, Outcome, Row, Trace, TraceFormat, TraceSource,
    TraceWriter, Verb, finish_journal, read_rows, read_rows_of,
};
use parquet::basic::{Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use proptest::prelude::*;

/// A row that owns its key.
#[derive(Debug, Clone, PartialEq)]
struct Owned {
    row: Row<'static>,
    key: Option<Vec<u8>>,
}

impl Owned {
    fn of(row: &Row<'_>) -> Self {
        let key = match row.key {
            Key::Bytes(bytes) => Some(bytes.to_vec()),
            Key::Hash(_) => None,
        };
        let hash = if key.is_some() { Key::Hash(0) } else { Key::Hash(row.key.hash()) };
        let Row { time_us, connection, request, operation, key_size, value_size, .. } = *row;
        let Row { ttl_s, amount, result, latency_ns, .. } = *row;
        let row = Row {
            time_us,
            connection,
            request,
            operation,
            key: hash,
            key_size,
            value_size,
            ttl_s,
            amount,
            result,
            latency_ns,
        };
        Self { row, key }
    }

    fn row(&self) -> Row<'_> {
        Row { key: self.key.as_deref().map_or(self.row.key, Key::Bytes), ..self.row }
    }
}

fn rows() -> impl Strategy<Value = Vec<Owned>> {
    let numbers = (
        prop::option::of(0..=u64::MAX / 2),
        any::<u32>(),
        any::<u64>(),
        prop::option::of(any::<u64>()),
        prop::option::of(any::<u64>()),
    );
    let sizes = (
        prop::option::of(any::<u32>()),
        prop::option::of(any::<u32>()),
        prop::option::of(any::<u32>()),
    );
    let names = (
        prop::sample::select(Verb::ALL.to_vec()),
        prop::option::of(prop::sample::select(Outcome::ALL.to_vec())),
    );
    let key = prop::option::of(prop::collection::vec(any::<u8>(), 0..300));
    let row = (numbers, sizes, names, key, any::<u64>()).prop_map(
        |((time_us, connection, request, amount, latency_ns), sizes, names, key, hash)| Owned {
            row: Row {
                time_us,
                connection,
                request,
                operation: names.0,
                key: Key::Hash(if key.is_some() { 0 } else { hash }),
                key_size: sizes.0,
                value_size: sizes.1,
                ttl_s: sizes.2,
                amount,
                result: names.1,
                latency_ns,
            },
            key,
        },
    );
    prop::collection::vec(row, 0..60)
}

fn format(name: &str) -> TraceFormat {
    name.parse().expect("a format")
}

fn parquet(rows: &[Owned], about: &About) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = TraceWriter::new(format("parquet"), &mut bytes).expect("memory");
    for row in rows {
        writer.push(&row.row()).expect("memory");
    }
    let written = writer.finish(about).expect("memory");
    assert_eq!((written.rows, written.left_out.len()), (rows.len() as u64, 0));
    bytes
}

fn read(name: &str, bytes: &[u8]) -> Result<(Vec<Owned>, About), String> {
    let mut rows = Vec::new();
    let mut sink = |row: &Row<'_>| {
        rows.push(Owned::of(row));
        ControlFlow::Continue(())
    };
    let about = read_rows_of(name, bytes, None, &mut sink).map_err(|fault| fault.to_string())?;
    Ok((rows, about))
}

fn read_file(path: &Path) -> (Vec<Owned>, About) {
    let mut rows = Vec::new();
    let mut sink = |row: &Row<'_>| {
        rows.push(Owned::of(row));
        ControlFlow::Continue(())
    };
    let source: TraceSource = path.to_str().expect("a path").parse().expect("a path");
    let about = read_rows(&source, &mut sink).expect("a trace");
    (rows, about)
}

fn sampled() -> About {
    About { sample: Some(0.01), upstream: Some("memcached".into()), ..About::default() }
}

fn some_rows(n_rows: u64) -> Vec<Owned> {
    let row = |n: u64| {
        let key = n.is_multiple_of(3).then(|| format!("user:{}", n % 1000).into_bytes());
        let hash = if key.is_some() { 0 } else { (n % 1000) << 40 };
        let row = Row {
            time_us: Some(1_700_000_000_000_000 + n * 137),
            connection: u32::try_from(n % 40).expect("small"),
            request: n / 2,
            operation: if n.is_multiple_of(5) { Verb::Set } else { Verb::Get },
            value_size: Some(u32::try_from(n % 4096).expect("small")),
            latency_ns: Some(50_000 + n % 7919),
            ..Row::get(Key::Hash(hash))
        };
        Owned { row, key }
    };
    (0..n_rows).map(row).collect()
}

#[test]
fn rows_of_several_groups_are_read_in_order_from_a_file_a_pipe_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording");
    let rows = some_rows(300_000);
    let bytes = parquet(&rows, &sampled());
    // Repeated keys, growing times and few names are short.
    assert!(bytes.len() < rows.len() * 12, "{} bytes", bytes.len());
    fs::write(&path, &bytes).unwrap();
    let (read_again, about) = read_file(&path);
    assert!(read_again == rows);
    assert_eq!(about, sampled());
    assert!(read("a", &bytes).unwrap().0 == rows);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&bytes).unwrap();
    fs::write(&path, encoder.finish().unwrap()).unwrap();
    assert!(read_file(&path).0 == rows);
}

#[test]
fn a_trace_in_memory_has_the_keys_sizes_and_ttls_of_a_recording() {
    let row = |request, operation, value_size, result| Row {
        time_us: Some(request * 1_000_000),
        request,
        operation,
        value_size,
        ttl_s: (operation == Verb::Set).then_some(60),
        result,
        ..Row::get(Key::Bytes(b"a"))
    };
    let rows = [
        row(0, Verb::Get, None, Some(Outcome::Miss)),
        row(1, Verb::Set, Some(0), Some(Outcome::Stored)),
        // An answer of 0 bytes is a value where the recording has results.
        row(2, Verb::Get, Some(0), Some(Outcome::Hit)),
        // No cache has such a value, and the recorded one refused it.
        row(3, Verb::Set, Some(u32::MAX), Some(Outcome::Error)),
    ];
    let bytes = parquet(&rows.each_ref().map(Owned::of), &About::default());
    let trace = Trace::read("a", bytes.as_slice(), None, None).unwrap();
    let sizes: Vec<_> = trace.ops().map(|op| (op.value_size, op.ttl)).collect();
    assert_eq!(sizes, [(None, None), (Some(0), Some(60)), (Some(0), None), (None, Some(60))]);
    assert_eq!((trace.n_keys(), trace.arrivals().unwrap().1), (1, 4_000_000_000));
    let empty = parquet(&[], &About::default());
    let fault = Trace::read("a", empty.as_slice(), None, None).unwrap_err();
    assert_eq!(fault.to_string(), "has no operation");
}

/// A file of another program: columns of 64-bit numbers, floats or texts, some of which are missing.
fn foreign(columns: &[(&str, Cells)]) -> Vec<u8> {
    let fields = columns.iter().map(|(name, cells)| {
        let physical = match cells {
            Cells::Numbers(_) => Physical::INT64,
            Cells::Floats(_) => Physical::DOUBLE,
            Cells::Texts(_) => Physical::BYTE_ARRAY,
        };
        let field = Type::primitive_type_builder(name, physical);
        Arc::new(field.with_repetition(Repetition::OPTIONAL).build().expect("memory"))
    });
    let schema =
        Type::group_type_builder("schema").with_fields(fields.collect()).build().expect("memory");
    let mut bytes = Vec::new();
    let mut file =
        SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::default()).expect("memory");
    let mut group = file.next_row_group().expect("memory");
    for (_, cells) in columns {
        let mut column = group.next_column().expect("memory").expect("memory");
        let written = match cells {
            Cells::Numbers(cells) => {
                let (levels, values) = split(cells, |number| *number);
                column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)
            }
            Cells::Floats(cells) => {
                let (levels, values) = split(cells, |number| *number);
                column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)
            }
            Cells::Texts(cells) => {
                let (levels, values) = split(cells, |text| ByteArray::from(*text));
                column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)
            }
        };
        written.expect("memory");
        column.close().expect("memory");
    }
    group.close().expect("memory");
    file.close().expect("memory");
    bytes
}

enum Cells {
    Numbers(Vec<Option<i64>>),
    Floats(Vec<Option<f64>>),
    Texts(Vec<Option<&'static str>>),
}

fn split<T, V>(cells: &[Option<T>], value: impl Fn(&T) -> V) -> (Vec<i16>, Vec<V>) {
    let levels = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    (levels, cells.iter().flatten().map(value).collect())
}

#[test]
fn a_file_of_another_program_needs_only_keys() {
    let (keys, about) =
        read("x", &foreign(&[("key", Cells::Texts(vec![Some("a"), Some("b")]))])).unwrap();
    let get = |request, key: &[u8]| Owned::of(&Row { request, ..Row::get(Key::Bytes(key)) });
    assert_eq!((keys, about), (vec![get(0, b"a"), get(1, b"b")], About::default()));

    // A data frame has numbers where keys were numbers, and floats where a number was missing.
    let (rows, _) = read(
        "x",
        &foreign(&[
            ("shop", Cells::Texts(vec![None, Some("x"), None])),
            ("op_time", Cells::Floats(vec![Some(1.5), Some(f64::NAN), None])),
            ("key", Cells::Numbers(vec![Some(-1), Some(7), Some(7)])),
            ("size", Cells::Floats(vec![Some(100.0), Some(f64::NAN), None])),
            ("op", Cells::Texts(vec![Some("SET"), Some("gets"), Some("Delete")])),
            ("op_count", Cells::Numbers(vec![Some(2), Some(0), None])),
        ]),
    )
    .unwrap();
    let set = |request| {
        Owned::of(&Row {
            request,
            time_us: Some(1_500_000),
            value_size: Some(100),
            operation: Verb::Set,
            ..Row::get(Key::Hash(u64::MAX))
        })
    };
    let delete = Row { request: 2, operation: Verb::Delete, ..Row::get(Key::Hash(7)) };
    assert_eq!(rows, [set(0), set(1), Owned::of(&delete)]);
}

/// A file with a group of columns, `request`, that has a column of numbers for each name.
fn nested(names: &[&str]) -> Vec<u8> {
    let field = |name: &&str| {
        let field = Type::primitive_type_builder(name, Physical::INT64);
        Arc::new(field.with_repetition(Repetition::REQUIRED).build().expect("memory"))
    };
    let group = Type::group_type_builder("asked")
        .with_repetition(Repetition::REQUIRED)
        .with_fields(names.iter().map(field).collect());
    let group = Arc::new(group.build().expect("memory"));
    let schema =
        Type::group_type_builder("schema").with_fields(vec![group]).build().expect("memory");
    let mut bytes = Vec::new();
    let mut file =
        SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::default()).expect("memory");
    let mut group = file.next_row_group().expect("memory");
    for _ in names {
        let mut column = group.next_column().expect("memory").expect("memory");
        column.typed::<Int64Type>().write_batch(&[7, 9], None, None).expect("memory");
        column.close().expect("memory");
    }
    group.close().expect("memory");
    file.close().expect("memory");
    bytes
}

#[test]
fn columns_of_parquet_are_named_by_the_user_or_known_from_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let open = |bytes: &[u8], options: &str| {
        std::fs::write(&path, bytes).unwrap();
        let source = format!("{}{options}", path.display());
        let opened = source.parse::<TraceSource>().unwrap().open(None);
        opened.map_err(|error| error.fault.to_string())
    };
    let numbers = |cells: &[i64]| Cells::Numbers(cells.iter().copied().map(Some).collect());
    let others = foreign(&[
        ("timestamp", numbers(&[1, 2])),
        ("OBJ_ID", numbers(&[7, 9])),
        ("obj_size", numbers(&[5, 6])),
        ("shop", numbers(&[0, 0])),
    ]);
    let (trace, formats) = open(&others, "").unwrap();
    let expected = "parquet (by its first bytes: timestamp as time, OBJ_ID as key, obj_size as size; without shop); \
                    times are seconds, because the first, 1, is too small for a date";
    assert_eq!((formats.to_string().as_str(), trace.n_keys()), (expected, 2));
    assert_eq!(open(&others, "?columns=key:shop").unwrap().0.n_keys(), 1);
    let within = nested(&["key", "size"]);
    let expected = "no column is named `key` or `key_hash`; it has asked.key, asked.size; name it by `?columns=key:NAME`";
    assert_eq!(open(&within, "").unwrap_err(), expected);
    let (trace, formats) = open(&within, "?columns=key:asked.key,size:asked.size").unwrap();
    assert_eq!((trace.n_keys(), trace.op(1).value_size), (2, Some(9)));
    let expected = "parquet (by its first bytes: asked.key as key, asked.size as size)";
    assert_eq!(formats.to_string(), expected);
}

#[test]
fn ttls_of_data_frames_may_have_a_fraction_or_be_none() {
    let ttls = vec![Some(-1.0), Some(0.25), Some(60.0), Some(59.5), Some(f64::NAN), None];
    let keys = ttls.iter().map(|_| Some(1)).collect();
    let file = foreign(&[("key", Cells::Numbers(keys)), ("ttl", Cells::Floats(ttls))]);
    let (rows, _) = read("x", &file).unwrap();
    let ttls: Vec<_> = rows.iter().map(|row| row.row().ttl_s).collect();
    assert_eq!(ttls, [Some(0), Some(1), Some(60), Some(60), None, None]);
}

#[test]
fn a_parquet_file_that_cannot_be_read_gets_one_line_that_says_why() {
    let numbers = |cells: &[i64]| Cells::Numbers(cells.iter().copied().map(Some).collect());
    for (columns, expected) in [
        (
            vec![("id", numbers(&[1])), ("what", numbers(&[1]))],
            "no column is named `key` or `key_hash`; it has id, what",
        ),
        (
            vec![("key", numbers(&[1, 2])), ("op", Cells::Texts(vec![Some("get"), Some("fetch")]))],
            "row 2: no operation `fetch`",
        ),
        (
            vec![("key", numbers(&[1])), ("op", Cells::Texts(vec![None]))],
            "row 1: no operation; known: get, gets, ",
        ),
        (vec![("key", numbers(&[1])), ("op", numbers(&[1]))], "row 1: operation 1 is no name"),
        (
            vec![("key", numbers(&[1])), ("size", numbers(&[-3]))],
            "row 1: value size -3 is not a whole number up to 4294967295",
        ),
        (
            vec![("key", numbers(&[1])), ("ttl", Cells::Floats(vec![Some(-2.0)]))],
            "row 1: TTL -2 is not a whole number",
        ),
        (
            vec![("key", numbers(&[1])), ("time_us", numbers(&[-3]))],
            "row 1: -3 is no time from 1970 on",
        ),
        (vec![("key", Cells::Texts(vec![Some("a"), None]))], "row 2: it has no key"),
        (
            vec![("key", numbers(&[1])), ("size", numbers(&[1])), ("value_size", numbers(&[1]))],
            "two columns for `value_size`",
        ),
    ] {
        let error = read("x", &foreign(&columns)).unwrap_err();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
    let whole = parquet(&some_rows(1000), &About::default());
    for (bytes, expected) in [
        (&whole[..whole.len() - 1], "no whole Parquet file: "),
        (&whole[..whole.len() / 2], "no whole Parquet file: "),
        (&b"PAR1"[..], "no whole Parquet file: "),
    ] {
        let error = read("x", bytes).unwrap_err();
        assert!(error.starts_with(expected) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_journal_is_read_up_to_its_last_whole_record_and_says_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.journal");
    let rows = some_rows(100);
    let mut journal = Journal::create(&path, &sampled()).unwrap();
    for row in &rows {
        journal.push(&row.row()).unwrap();
    }
    journal.drop_rows(12).unwrap();
    journal.flush().unwrap();
    // It is read while it is written.
    let (read_again, about) = read_file(&path);
    assert_eq!(read_again, rows);
    assert_eq!(about, About { dropped_rows: 12, ..sampled() });
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.len() as u64, journal.size_bytes());
    assert_eq!(journal.n_rows(), 100);

    // Wherever it is cut off, the rows before are read.
    let begins = |n: usize| {
        64 + rows[..n].iter().map(|row| 64 + row.key.as_ref().map_or(0, Vec::len)).sum::<usize>()
    };
    for n in [0, 1, 2, 57] {
        for torn in [0, 1, 63, 64] {
            let (read_again, about) = read("x.journal", &whole[..begins(n) + torn]).unwrap();
            let n_rows = if begins(n) + torn >= begins(n + 1) { n + 1 } else { n };
            assert_eq!(read_again, rows[..n_rows]);
            let left = (begins(n) + torn - begins(n_rows)) as u64;
            assert_eq!(about.torn_bytes, left, "{n} {torn}");
        }
    }
    // A header that never reached the disk is an empty recording.
    for torn in [0, 5, 63] {
        let (read_again, about) = read("x.journal", &whole[..torn]).unwrap();
        assert_eq!((read_again.len(), about.torn_bytes), (0, torn as u64));
    }
    // A disk that lost power may have anything behind the last whole record.
    let mut damaged = whole.clone();
    damaged[begins(57) + 30] ^= 1;
    let (read_again, about) = read("x", &damaged).unwrap();
    assert_eq!(read_again, rows[..57]);
    assert_eq!(about.torn_bytes, (whole.len() - begins(57)) as u64);
    for (place, expected) in [
        (16, "a journal of version 0; this Larder reads version 1"),
        (30, "the header has a wrong checksum"),
    ] {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        assert_eq!(read("x", &damaged).unwrap_err(), expected);
    }
}

#[test]
fn a_finished_journal_is_a_parquet_file_and_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.journal");
    let parquet = folder.path().join("web.parquet");
    let rows = some_rows(1000);
    let mut journal = Journal::create(&path, &sampled()).unwrap();
    for row in &rows {
        journal.push(&row.row()).unwrap();
    }
    let taken = Journal::create(&path, &sampled()).unwrap_err().to_string();
    assert!(taken.contains("exists"), "{taken}");
    // Nobody takes a journal from its writer.
    let open = finish_journal(&path).unwrap_err().to_string();
    assert!(open.ends_with("another process has it open; end that first"), "{open}");
    assert_eq!(journal.finish().unwrap(), parquet);
    assert_eq!(read_file(&parquet), (rows.clone(), sampled()));
    assert!(!path.exists());
    let taken = Journal::create(&path, &sampled()).unwrap_err().to_string();
    assert!(taken.ends_with("web.parquet exists; take another name"), "{taken}");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert_eq!(left.len(), 1);
}

#[test]
fn a_journal_that_a_crash_left_is_finished_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.journal");
    let rows = some_rows(10);
    let mut journal = Journal::create(&path, &sampled()).unwrap();
    for row in &rows {
        journal.push(&row.row()).unwrap();
    }
    journal.flush().unwrap();
    // What was not flushed is lost, as at a crash.
    journal.push(&rows[0].row()).unwrap();
    drop(journal);
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"torn").unwrap();
    // The crash may have come while the journal was finished before.
    fs::write(folder.path().join("web.parquet.new"), "half").unwrap();
    let (parquet, about) = finish_journal(&path).unwrap();
    let expected = About { torn_bytes: 4, ..sampled() };
    assert_eq!(about, expected);
    assert_eq!(read_file(&parquet), (rows, expected));
    let left: Vec<_> = fs::read_dir(&folder).unwrap().collect();
    assert_eq!(left.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn every_row_comes_out_of_parquet_and_of_a_journal_as_it_went_in(
        rows in rows(),
        dropped in any::<u64>(),
        others in (0..1_u64 << 60, 0..1_u64 << 60, 0..1_u64 << 60),
    ) {
        let others = OtherKeys { operations: others.0, hits: others.1, misses: others.2 };
        let about = About { dropped_rows: dropped, torn_bytes: 3, others, ..sampled() };
        prop_assert_eq!(read("x", &parquet(&rows, &about)).unwrap(), (rows.clone(), about));

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.journal");
        let mut journal = Journal::create(&path, &sampled()).unwrap();
        for row in &rows {
            journal.push(&row.row()).unwrap();
        }
        journal.note_others(others).unwrap();
        journal.note_others(OtherKeys { operations: 2, hits: 1, misses: 1 }).unwrap();
        journal.flush().unwrap();
        let more = OtherKeys { operations: 2, hits: 1, misses: 1 };
        prop_assert_eq!(read_file(&path), (rows, About { others: others.plus(more), ..sampled() }));
    }

    #[test]
    fn no_damage_makes_a_reader_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 1..6),
        cut in any::<prop::sample::Index>(),
        rows in rows(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.journal");
        let mut journal = Journal::create(&path, &sampled()).unwrap();
        for row in &rows {
            journal.push(&row.row()).unwrap();
        }
        journal.flush().unwrap();
        for mut bytes in [parquet(&rows, &sampled()), fs::read(&path).unwrap()] {
            for (place, bits) in &flips {
                let place = place.index(bytes.len());
                bytes[place] ^= bits;
            }
            let _ = read("x", &bytes);
            let _ = read("x", &bytes[..cut.index(bytes.len())]);
            for format in FORMATS {
                let mut n_rows = 0;
                let mut some = |_: &Row<'_>| {
                    n_rows += 1;
                    if n_rows < 10_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                };
                let _ = read_rows_of("x", bytes.as_slice(), Some(*format), &mut some);
            }
        }
    }
}
