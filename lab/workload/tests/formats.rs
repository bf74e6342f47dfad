//! What a file is read as, told by its bytes and its name, and why a file is not read.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use larder_workload::trace::{
    Formats, Key, Outcome, Recognised, Row, Sink, Trace, TraceSource, Verb, read_rows,
};
use proptest::prelude::*;

/// The rows in words, and the formats of the files.
#[derive(Default)]
struct Heard {
    rows: Vec<String>,
    formats: Formats,
}

impl Sink for Heard {
    fn begin(&mut self, file: &Recognised) {
        assert!(self.rows.is_empty() || !self.formats.is_empty(), "told before the first row");
        self.formats.add(file);
    }

    fn push(&mut self, row: &Row<'_>) -> ControlFlow<()> {
        assert!(!self.formats.is_empty(), "told before the first row");
        let key = match row.key {
            Key::Hash(hash) => hash.to_string(),
            Key::Bytes(key) => key.escape_ascii().to_string(),
        };
        self.rows.push(format!("{} {key}", row.operation));
        ControlFlow::Continue(())
    }
}

/// Reads a file of a name with options behind it.
fn heard(source: &str, bytes: &[u8]) -> Result<Heard, String> {
    let folder = tempfile::tempdir().unwrap();
    let name = source.split('?').next().unwrap();
    fs::write(folder.path().join(name), bytes).unwrap();
    let source: TraceSource = format!("{}/{source}", folder.path().display()).parse()?;
    let mut heard = Heard::default();
    match read_rows(&source, &mut heard) {
        Ok(_) => Ok(heard),
        Err(error) => Err(error.fault.to_string()),
    }
}

fn told(source: &str, bytes: &[u8]) -> String {
    heard(source, bytes).unwrap_or_else(|error| panic!("{source}: {error}")).formats.to_string()
}

fn error(source: &str, bytes: &[u8]) -> String {
    let error = heard(source, bytes).err().unwrap_or_else(|| panic!("{source} is read"));
    assert!(!error.contains('\n'), "{error}");
    error
}

fn numbers<const N: usize>(keys: impl Iterator<Item = u64>, bytes: fn(u64) -> [u8; N]) -> Vec<u8> {
    keys.flat_map(bytes).collect()
}

/// Keys of 64 bits that are small, and their hashes.
fn keys() -> impl Iterator<Item = u64> {
    (0..600_u64).map(|at| at * at % 101)
}

fn hashes() -> impl Iterator<Item = u64> {
    keys().map(|key| (key + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[expect(clippy::cast_possible_truncation, reason = "a key of 32 bits is a part of the number")]
fn narrow(key: u64) -> [u8; 4] {
    (key as u32).to_be_bytes()
}

/// A record of libCacheSim's.
fn record(time: u32, next: i64) -> Vec<u8> {
    let (object, size) = (u64::from(time) * 77, 9_u32);
    [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()]
        .concat()
}

#[test]
fn the_bytes_of_a_file_tell_its_format_and_its_name_only_where_they_fit() {
    let csv = b"op_time,key,op,size\n1,a,get,5\n";
    for (name, bytes, expected) in [
        ("a.csv", &csv[..], "csv (by its header: op_time, key, op, size)"),
        ("a.trace", csv, "csv (by its header: op_time, key, op, size)"),
        ("a.lis", csv, "csv (by its header: op_time, key, op, size)"),
        ("a.oracleGeneral", csv, "csv (by its header: op_time, key, op, size)"),
        ("a.parquet", csv, "csv (by its header: op_time, key, op, size)"),
        ("a?format=csv", csv, "csv (as asked: op_time, key, op, size)"),
        ("a.trc", b"7 1 0 1\n7 2 0 2\n", "arc (by its lines)"),
        ("a.lis", b"7\n8\n*\n", "lirs (by its lines)"),
        ("a.trace", b"7\n8\n7\n", "lirs (by its lines)"),
        ("a.trace", b"1,k,1,5,1,get,0\n", "twitter (by its first line)"),
        ("a.trace", &numbers(keys(), narrow), "cache2k (32-bit keys by the ending .trace)"),
        ("a.trace", &numbers(hashes(), narrow), "cache2k (32-bit keys by the ending .trace)"),
        (
            "a.oracleGeneral",
            &[record(1, 2), record(2, -1), record(3, i64::MAX)].concat(),
            "oracleGeneral (by its name)",
        ),
        ("k?format=keys", b"GET /index.html\n#2\n\n", "keys (as asked)"),
    ] {
        assert_eq!(told(name, bytes), expected, "{name}");
    }
    let halves = "by the ending .trace and the upper halves of its keys, which are all 0";
    for (bytes, format) in [
        (numbers(keys(), u64::to_be_bytes), "keys64be"),
        (numbers(keys(), u64::to_le_bytes), "keys64le"),
    ] {
        let read = heard("a.trace", &bytes).unwrap();
        assert_eq!(read.formats.to_string(), format!("{format} ({halves})"));
        assert!(read.rows.iter().eq(&keys().map(|key| format!("get {key}")).collect::<Vec<_>>()));
    }
    let read = heard("k?format=keys", b"GET /index.html\n#2\n\n").unwrap();
    assert_eq!(read.rows, ["get GET /index.html", "get #2"]);
}

#[test]
fn a_name_that_its_bytes_contradict_is_refused_with_the_way_on() {
    let text = b"GET /index.html 200\nGET /a.css 200\nGET /b.js 20\n";
    let junk = numbers(hashes(), |hash| hash.wrapping_mul(hash).to_be_bytes());
    for (name, bytes, needles) in [
        (
            "access.trace",
            &text[..],
            &["unknown format: its first line is `GET /index.html 200`", "cache2k"][..],
        ),
        (
            "a.lis",
            &junk,
            &["its ending .lis is that of lines of blocks, but its bytes are no text"],
        ),
        (
            "a.trc",
            &junk,
            &["its ending .trc is that of lines of blocks, but its bytes are no text"],
        ),
        ("a.oracleGeneral", &junk, &["have no place of a next access", "?format="]),
        ("a.oracleGeneralOpNS", &junk, &["that of oracleGeneralOpNS, whose records are longer"]),
        ("a.parquet", &junk, &["no whole Parquet file: its first bytes are not PAR1"]),
        (
            "a.trace",
            &numbers(hashes(), u64::to_be_bytes),
            &["as the halves of 64-bit keys do", "`?format=keys64be`", "`?format=cache2k`"],
        ),
        ("a.trace", &numbers(hashes(), u64::to_le_bytes), &["as the halves of 64-bit keys do"]),
        ("a.bin", &junk, &["unknown format: its bytes are no text"]),
    ] {
        let error = error(name, bytes);
        assert!(needles.iter().all(|needle| error.contains(needle)), "{name}: {error}");
    }
    // The way on is one.
    let hashed = numbers(hashes(), u64::to_be_bytes);
    assert_eq!(heard("a.trace?format=keys64be", &hashed).unwrap().rows.len(), 600);
    assert_eq!(heard("a.trace?format=cache2k", &hashed).unwrap().rows.len(), 1200);
}

#[test]
fn a_file_of_another_kind_is_told_by_what_it_is() {
    let utf_16 = |bytes: fn(u16) -> [u8; 2], mark: &str| -> Vec<u8> {
        format!("{mark}key,op,size\na,get,1\n").encode_utf16().flat_map(bytes).collect()
    };
    let tar = [&b"web.csv"[..], &[0; 250], b"ustar\x0000", &[0; 240]].concat();
    for (name, bytes, expected) in [
        (
            "a.csv.bz2",
            &b"BZh91AY&SY\x83\x0c\xaf\x0c\0\0"[..],
            "is compressed by bzip2, which is not read; unpack it by bunzip2",
        ),
        (
            "a.csv.lzma",
            b"]\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff\0\x35\x99",
            "is compressed by lzma, which is not read; unpack it by unlzma",
        ),
        (
            "a.trace",
            b"\x04\x22\x4d\x18\x64\x40\xa7\0",
            "is compressed by lz4, which is not read; unpack it by lz4 -d",
        ),
        ("a.zip", b"PK\x03\x04\x14\0\0\0", "is a zip archive; unpack the trace by unzip"),
        (
            "a.trace",
            b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0",
            "is a capture of packets; larder record --from pcap:FILE",
        ),
        (
            "a",
            b"SQLite format 3\0\x10\0",
            "is a database of SQLite; write its table as CSV or Parquet",
        ),
        (
            "a.feather",
            b"ARROW1\0\0",
            "is a file of Arrow (Feather), which is not read; write it as Parquet",
        ),
        ("a.tar", &tar, "is a tar archive; unpack the trace by tar xf"),
        ("a.csv", &utf_16(u16::to_le_bytes, "\u{feff}"), "is text in UTF-16; write it in UTF-8"),
        ("a.csv", &utf_16(u16::to_be_bytes, "\u{feff}"), "is text in UTF-16; write it in UTF-8"),
        ("a.trace", &utf_16(u16::to_le_bytes, ""), "is text in UTF-16; write it in UTF-8"),
        (
            "a",
            b"key,size,size\na,1,1\n",
            "line 1: two columns for `size`; take one by `?columns=size:NAME`",
        ),
        ("a", b"# rows\n\nkey,size,size\n", "line 3: two columns for `size`"),
        (
            "a",
            b"url,bytes\n/a,1\n",
            "unknown format: its first line `url,bytes` has no column `key`; name columns by `?columns=key:NAME,size:NAME`",
        ),
        (
            "a",
            b"/a\n/b\n/a\n",
            "unknown format: each line is a word; where these are keys, write `?format=keys`",
        ),
        (
            "a",
            b"deadbeef\ncafe\n",
            "unknown format: each line is a word; where these are keys, write `?format=keys`",
        ),
        (
            "a?format=csv",
            b"a\nb\n",
            "line 1: no column is named `key`; there are a; name it by `?columns=key:NAME`",
        ),
        ("a?columns=key:x", b"url,bytes\n", "line 1: no column is named `x`; there are url, bytes"),
        (
            "a.trace?columns=key:x",
            &numbers(keys(), narrow),
            "?columns= names columns of csv and parquet, and the trace is cache2k",
        ),
    ] {
        let error = error(name, bytes);
        assert!(error.starts_with(expected), "{name}: {error}");
    }
}

/// A recording as data frames and databases write it: dates with zones, floats in columns with gaps, and names for gaps.
#[test]
fn a_csv_of_a_data_frame_is_the_recording_that_it_was_made_of() {
    let header = "time,connection,request,operation,key_hash,key,key_size,value_size,ttl_s,amount,result,latency_ns\n";
    let rows = |row: [&str; 3]| format!("{header}{}\n", row.join("\n"));
    let pandas = rows([
        "2026-11-29 01:13:23.936448+00:00,0,0,get,18446744073709551615,,7,42.0,,,hit,72479.0",
        "2026-11-29 01:13:24+00:00,0,1,SET,5,,7.0,100.0,-1.0,,STORED,72480.0",
        "2026-11-29 01:13:24.5+00:00,1,2,set,5,,7,100,0.5,NaN,NaN,",
    ]);
    let polars = rows([
        "2026-11-29T01:13:23.936448+0000,0,0,get,18446744073709551615,,7,42,,,hit,72479",
        "2026-11-29T01:13:24.000000+0000,0,1,SET,5,,7,100,-1,,STORED,72480",
        "2026-11-29T01:13:24.500000+0000,1,2,set,5,,7,100,1,null,null,null",
    ]);
    let duckdb = rows([
        "2026-11-29 02:13:23.936448+01,0,0,get,18446744073709551615,NULL,7,42,NULL,NULL,hit,72479",
        "2026-11-29 02:13:24+01,0,1,SET,5,NULL,7,100,-1,NULL,STORED,72480",
        "2026-11-29 02:13:24.5+01,1,2,set,5,NULL,7,100,1,NULL,NULL,NULL",
    ]);
    let first = Row {
        time_us: Some(1_795_914_803_936_448),
        key_size: Some(7),
        value_size: Some(42),
        result: Some(Outcome::Hit),
        latency_ns: Some(72_479),
        ..Row::get(Key::Hash(u64::MAX))
    };
    let second = Row {
        time_us: Some(1_795_914_804_000_000),
        request: 1,
        operation: Verb::Set,
        value_size: Some(100),
        ttl_s: Some(0),
        result: Some(Outcome::Stored),
        latency_ns: Some(72_480),
        key: Key::Hash(5),
        ..first
    };
    let third = Row {
        time_us: Some(1_795_914_804_500_000),
        connection: 1,
        request: 2,
        ttl_s: Some(1),
        result: None,
        latency_ns: None,
        ..second
    };
    for (what, text) in [("pandas", pandas), ("polars", polars), ("DuckDB", duckdb)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("day.csv");
        fs::write(&path, text).unwrap();
        let mut expected = [first, second, third].into_iter();
        let mut compare = |row: &Row<'_>| {
            assert_eq!(Some(*row), expected.next(), "{what}");
            ControlFlow::Continue(())
        };
        read_rows(&TraceSource::from(&*path), &mut compare).unwrap();
        assert_eq!(expected.next(), None, "{what}");
    }
}

#[test]
fn blank_lines_and_comments_may_stand_before_a_header() {
    for (text, columns) in [
        ("\n\n# made by hand\n\nkey,op\na,set\nb,get\n", "key, op"),
        ("\u{feff}#key,op\na,set\nb,get\n", "key, op"),
        ("# of 2026\r\n# key,op\r\na,set\r\nb,get\r\n", "key, op"),
        ("# key,op,and,more\nkey,op\na,set\nb,get\n", "key, op"),
        ("#,KEY,Op\n1,a,SET\n2,b,GET\n", "KEY, Op; without (no name)"),
    ] {
        let read = heard("a", text.as_bytes()).unwrap();
        assert_eq!(read.formats.to_string(), format!("csv (by its header: {columns})"), "{text}");
        assert_eq!(read.rows, ["set a", "get b"], "{text}");
    }
    // A key may begin with the mark of a comment.
    assert_eq!(heard("a", b"key\n#1\n").unwrap().rows, ["get #1"]);
}

/// As pandas, R, spreadsheets and databases write them beside plain commas.
#[test]
fn a_csv_may_have_columns_without_names_and_other_separators() {
    let read =
        |text: &str| heard("a", text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    for (text, columns) in [
        // The index of a data frame.
        (",key,op\n0,a,set\n1,b,get\n", "key, op; without (no name)"),
        ("Unnamed: 0,key,op\n0,a,set\n1,b,get\n", "key, op; without Unnamed: 0"),
        (
            "\"\",\"key\",\"op\"\n\"1\",\"a\",\"set\"\n\"2\",\"b\",\"get\"\n",
            "key, op; without (no name)",
        ),
        (
            ",timestamp,obj_id,op\n0,1,a,set\n1,2,b,get\n",
            "timestamp as time, obj_id as key, op; without (no name)",
        ),
        // A comma behind the last column, in all lines or in some.
        ("key,op,\na,set,\nb,get,\n", "key, op; without (no name)"),
        ("key,op,\na,set\nb,get\n", "key, op; without (no name)"),
        ("key,op\na,set,\nb,get\n", "key, op"),
        // Marks and quotes.
        ("\u{feff}key,op\r\na,set\r\nb,get\r\n", "key, op"),
        ("\u{feff}\"key\",\"op\"\n\"a\",\"set\"\n\"b\",\"get\"\n", "key, op"),
        ("\u{feff},\"key\",op\n0,a,set\n1,b,get\n", "key, op; without (no name)"),
        // Other separators.
        ("key;op\na;set\nb;get\n", "key, op"),
        ("\"key\";\"op\"\n\"a\";\"set\"\nb;\"get\"\n", "key, op"),
        (";key;op\n0;a;set\n1;b;get\n", "key, op; without (no name)"),
        ("key\top\tsize\na\tset\t\nb\tget\t5\n", "key, op, size"),
        ("\tkey\top\n0\ta\tset\n1\tb\tget\n", "key, op; without (no name)"),
        ("\u{feff}\tobj_id\top\n0\ta\tset\n1\tb\tget\n", "obj_id as key, op; without (no name)"),
        ("# made by hand\n\nop;key\nset;a\nget;b\n", "op, key"),
    ] {
        let read = read(text);
        assert_eq!(read.formats.to_string(), format!("csv (by its header: {columns})"), "{text}");
        assert_eq!(read.rows, ["set a", "get b"], "{text}");
    }
    // With semicolons between, a key may have commas, and quoted it may have semicolons.
    assert_eq!(read("key;op\na,b;set\n\"c;d\";get\n").rows, ["set a,b", "get c;d"]);
    let typed = heard("a?columns=key:url", b"url\tbytes\n/a\t5\n").unwrap();
    assert_eq!(typed.rows, ["get /a"]);
    for (text, expected) in [
        (
            "key,op\na,b,set\n",
            "line 2: 3 fields, where the header has 2: a field with `,` in it needs quotes, and a column of row names",
        ),
        (
            "key\top\n0\ta\tset\n",
            "line 2: 3 fields, where the header has 2: a field with `\\t` in it needs quotes",
        ),
        ("key;op\na\n", "line 2: 1 field, where the header has 2: cut off?"),
        ("key,op,\na\n", "line 2: 1 field, where the header has 3: cut off?"),
        (
            "key,op\n\"a\nb\",get\n",
            "line 2: 1 field, where the header has 2: a field in quotes has a line break, and a row must be one line",
        ),
        ("key,op_count\na,-1\n", "line 2: op_count `-1` is not a whole number up to 16777216"),
        ("time;key\n0,5;a\n", "line 2: time `0,5` is not a number of seconds from 0 on"),
        (
            "key|op\na|set\n",
            "its first line has `|` between the columns; a CSV needs a first line that names the columns with commas",
        ),
        (
            "key;size;size\na;1;1\n",
            "line 1: two columns for `size`; take one by `?columns=size:NAME`",
        ),
    ] {
        let error = error("a", text.as_bytes());
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn columns_are_named_by_the_user_or_known_from_other_programs() {
    let text = b"timestamp, obj_id, obj_size, next_access_vtime\n1,a,5,-1\n2,b,6,-1\n";
    let expected = "csv (by its header: timestamp as time, obj_id as key, obj_size as size; without next_access_vtime)";
    assert_eq!(told("a", text), expected);
    let text = b"url,shop,bytes,at\n/a,7,5,1\n/b,7,6,2\n";
    let read = heard("a?columns=key:url,size:bytes,time:at", text).unwrap();
    let expected = "csv (by its header: url as key, bytes as size, at as time; without shop)";
    assert_eq!((read.formats.to_string().as_str(), read.rows.len()), (expected, 2));
    let by_shop = heard("a?format=csv&columns=key:Shop", text).unwrap();
    assert_eq!(by_shop.rows, ["get 7", "get 7"]);
}

#[test]
fn a_source_with_options_is_printed_as_it_is_typed() {
    for text in [
        "a?b.csv?columns=key:url,size:bytes",
        "a.csv?format=csv&columns=key:url",
        "builtin:web12",
        "builtin:web12?format=cache2k",
        "a?time=us",
        "a?b?format=csv&columns=time:at&time=ms",
    ] {
        assert_eq!(text.parse::<TraceSource>().unwrap().to_string(), text);
    }
    for (text, expected) in [
        ("builtin:web13", "no built-in trace `builtin:web13`; known: builtin:web12"),
        (
            "a?format=csv&colums=key:a",
            "no option `colums=key:a` of a trace; known: format, columns, time",
        ),
        ("a?columns=", "columns: `` is not NAME:COLUMN"),
        ("a?time=min", "time: `min` is no unit of times; write s, ms, us or ns"),
    ] {
        let error = text.parse::<TraceSource>().unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
    for (text, expected) in [
        ("builtin:web12", "builtin:web12 is only read; name a file"),
        ("a.csv?columns=key:a", "a.csv: ?columns= names columns of the trace that is read"),
        ("a.csv?time=ms", "a.csv: ?time= tells the unit of the trace that is read"),
    ] {
        assert_eq!(text.parse::<TraceSource>().unwrap().format_to_write(), Err(expected.into()));
    }
}

#[test]
fn the_built_in_trace_is_the_beginning_of_the_published_one() {
    let source: TraceSource = "builtin:web12".parse().unwrap();
    assert_eq!(source.name(), "web12");
    assert!(!source.has_sizes());
    let (trace, formats) = source.open(None).unwrap();
    let expected = "cache2k (built in: the first 30,000 reads of cache2k's web12, pages of a shop)";
    assert_eq!(formats.to_string(), expected);
    let stats = trace.stats();
    assert_eq!((stats.operations, stats.gets, stats.keys), (30_000, 30_000, 7508));
    // Its keys are numbered in the order of their first appearance, as the trace numbers them.
    assert_eq!(trace.keys()[..12], [0, 1, 2, 3, 4, 5, 1, 6, 6, 7, 8, 9]);
    assert_eq!(source.open(Some(9)).unwrap().0.len(), 9);
    // A file may have the name of a built-in trace in a folder of its own.
    let missing = Trace::open(Path::new("./builtin:web12"), None, None).unwrap_err();
    assert!(missing.to_string().contains("No such file"), "{missing}");
}

#[test]
fn the_sizes_of_a_trace_are_judged_by_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let has_sizes = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        TraceSource::from(&*path).has_sizes()
    };
    assert!(has_sizes("csv.trace", b"key,size\na,1\n"), "a CSV with the ending of another format");
    assert!(!has_sizes("keys.trace", &[0, 0, 0, 1]));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_under_any_name_give_rows_or_one_line(
        name in prop::sample::select(vec!["a", "a.trace", "a.lis", "a.trc", "a.csv", "a.oracleGeneral", "a.parquet", "a.journal", "a.trace.xz"]),
        start in prop::sample::select(vec![&b""[..], b"#", b"key,", b"\n\n", b"BZh", b"\xff\xfe", b"\xfe\xff", b"]\0\0", b"PAR1", b"ustar", b"\0\0\0\0"]),
        noise in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let bytes = [start, &noise].concat();
        if let Err(fault) = Trace::read(name, bytes.as_slice(), None, Some(1000)) {
            let fault = fault.to_string();
            prop_assert!(!fault.contains('\n'), "{}", fault);
        }
    }
}
