//! Sizes, times, repetitions and files of a trace, in all formats: what is plausible is read, and the rest is refused with its reason.

use std::ops::ControlFlow;

use larder_workload::trace::{Key, Row, Trace, TraceFault, TraceSource, read_rows, read_rows_of};

fn read(name: &str, bytes: &[u8]) -> Result<Trace, TraceFault> {
    Trace::read(name, bytes, None, None)
}

fn error(name: &str, bytes: &[u8]) -> String {
    read(name, bytes).expect_err("a broken trace").to_string()
}

#[test]
fn sizes_beyond_what_a_replay_stores_are_read_in_all_formats() {
    let size = (1_u32 << 30) + 1;
    let trace = |name: &str, bytes: &[u8]| read(name, bytes).unwrap().op(0).value_size;
    let records = [&[0; 12][..], &size.to_le_bytes(), &[0; 8]].concat();
    assert_eq!(trace("a.oracleGeneral", &records), Some(size));
    assert_eq!(trace("a.csv", b"key,size\na,1073741825\n"), Some(size));
    assert_eq!(trace("a", b"0,k,1,1073741825,1,get,0\n"), Some(size));
    // The largest of all counts as one less: it is far beyond every cache.
    assert_eq!(trace("a.csv", b"key,size\na,4294967295\n"), Some(u32::MAX - 1));
}

#[test]
fn sizes_from_4_gib_on_are_refused_with_the_largest_that_is_read() {
    for (name, text, row) in [
        ("a.csv", "key,size\na,1\nb,4294967296\n", "line 3: value size"),
        ("a.csv", "key,size\na,1\nb,5e9\n", "line 3: value size"),
        ("a.csv", "key\tsize\na\t4294967296.0\n", "line 2: value size"),
        ("a.csv", "key,op,value_size\na,delete,99999999999\n", "line 2: value size"),
        ("a", "0,k,1,4294967296,1,get,0\n", "unknown format: its first line is"),
        ("a", "0,k,1,1,1,get,0\n0,k,1,4294967296,1,get,0\n", "line 2: value size"),
    ] {
        let error = error(name, text.as_bytes());
        assert!(error.starts_with(row), "{text}: {error}");
        let limit = "is not a whole number up to 4294967295";
        assert!(!row.starts_with("line") || error.ends_with(limit), "{text}: {error}");
    }
    // The number that stands for "no size" in memory is refused as the size of a key, too.
    let error = error("a.csv", b"key,key_size\na,4294967295\n");
    assert_eq!(error, "line 2: key size `4294967295` is not a whole number up to 4294967294");
}

#[test]
fn dates_beyond_2100_are_read_where_their_unit_is_told_and_else_refused() {
    let day = 24 * 3600 * 1_000_000_u64;
    let times = |name: &str, text: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name.split('?').next().unwrap());
        std::fs::write(&path, text).unwrap();
        let source: TraceSource = folder.path().join(name).to_str().unwrap().parse().unwrap();
        let mut times = Vec::new();
        let mut sink = |row: &Row<'_>| {
            times.extend(row.time_us);
            ControlFlow::Continue(())
        };
        let read = read_rows(&source, &mut sink).map(|_| times);
        read.map_err(|error| error.fault.to_string())
    };
    // The days from 1970 to 2150.
    let (noon, days) = (day / 2, 65_744 * day);
    for (name, text) in [
        ("a.csv", "time,key\n2150-01-01,a\n2150-01-01T12:00:00Z,b\n"),
        ("a.csv", "time_s,key\n5680281600,a\n5680324800,b\n"),
        ("a.csv?time=ms", "time,key\n5680281600000,a\n5680324800000,b\n"),
        ("a?time=s", "5680281600,k,1,1,1,get,0\n5680324800,k,1,1,1,get,0\n"),
    ] {
        assert_eq!(times(name, text), Ok(vec![days, days + noon]), "{text}");
    }
    let way_out = "; write `?time=` with s, ms, us or ns, which tells the unit";
    for (name, text, expected) in [
        (
            "a.csv",
            "time,key\n5680281600,a\n",
            "line 2: time 5680281600 is no date from 2000 to 2100 in seconds, ",
        ),
        (
            "a.csv",
            "time,key\n5680281600.5,a\n",
            "line 2: time 5680281600.5 is no date from 2000 to 2100 in seconds, ",
        ),
        (
            "a",
            "5680281600,k,1,1,1,get,0\n",
            "line 1: time 5680281600 is no date from 2000 to 2100 in seconds, ",
        ),
        (
            "a.csv",
            "time,key\n4102444799,a\n4102444801,b\n",
            "line 3: time 4102444801 is beyond the year 2100 in seconds, for which the times were taken by the first, 4102444799",
        ),
    ] {
        let error = times(name, text).unwrap_err();
        assert!(error.starts_with(expected) && error.ends_with(way_out), "{text}: {error}");
    }
    let beyond = "line 2: time `99999-01-01` is not a number of seconds from 0 on";
    assert_eq!(times("a.csv", "time,key\n99999-01-01,a\n").unwrap_err(), beyond);
}

#[test]
fn bare_times_are_judged_in_every_text_format() {
    for (name, text) in [
        ("a.csv", "time,key\n1700000000123,a\n1700000000523,b\n"),
        ("a.csv", "key,op_time\na,1700000000123000\nb,1700000000523000\n"),
        ("a.csv", "key,time_ms\na,123\nb,523\n"),
        ("a.csv", "key,time_ns\na,123000000\nb,523000000\n"),
        ("a", "1700000000123,k,1,1,1,get,0\n1700000000523,k,1,1,1,get,0\n"),
    ] {
        let (arrivals, _) = read(name, text.as_bytes()).unwrap().arrivals().unwrap();
        assert_eq!(*arrivals, [0, 400_000_000], "{text}");
    }
    let plain = read_rows_of("a", &b"5000000000,k,1,1,1,get,0\n"[..], None, &mut |_: &Row<'_>| {
        ControlFlow::Continue(())
    });
    let expected = "line 1: time 5000000000 is no date from 2000 to 2100 in seconds, ";
    assert!(plain.unwrap_err().to_string().starts_with(expected));
    assert_eq!(
        error("a.csv", b"key,time,time_us\na,1,1\n"),
        "line 1: two columns for `time_us`; take one by `?columns=time_us:NAME`"
    );
}

#[test]
fn one_row_stands_for_millions_of_operations_and_not_for_billions() {
    for requests in ["", ",request"] {
        let text = format!(
            "key,op_count{requests}\na,1{0}\nb,4000000000{0}\n",
            requests.replace("request", "7")
        );
        let mut n_rows = 0_u64;
        let mut count = |_: &Row<'_>| {
            n_rows += 1;
            ControlFlow::Continue(())
        };
        let fault = read_rows_of("a.csv", text.as_bytes(), None, &mut count).unwrap_err();
        let expected = "line 3: op_count 4000000000 is more operations than the 16777216 that one row may stand for; ";
        assert!(fault.to_string().starts_with(expected), "{fault}");
        assert_eq!(n_rows, 1 + (1 << 24));
        // The beginning of it is read.
        assert_eq!(Trace::read("a.csv", text.as_bytes(), None, Some(9)).unwrap().len(), 9);
    }
}

#[test]
fn the_files_of_a_trace_follow_the_numbers_in_their_names_or_their_dates() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
    for n in [1, 2, 9, 10, 11] {
        write(&format!("part-{n}.csv"), &format!("key\n{n}\n"));
        write(&format!("each-{n}.csv"), &format!("key,time\n{n},{}\n", 20 - n));
        write(&format!("back-{n}.csv"), &format!("key,time\n{n},{}\n", 1_700_000_020 - n));
        write(&format!("named-{n}.csv"), &format!("key,at\n{n},{}\n", 1_700_000_020 - n));
    }
    let keys = |pattern: &str| {
        let source: TraceSource = path(pattern).to_str().unwrap().parse().unwrap();
        let mut keys = Vec::new();
        let mut sink = |row: &Row<'_>| {
            let Key::Bytes(key) = row.key else { panic!("a hash") };
            keys.push(String::from_utf8(key.to_vec()).unwrap());
            ControlFlow::Continue(())
        };
        let about = read_rows(&source, &mut sink).unwrap();
        (keys.join(" "), about.notes)
    };
    assert_eq!(keys("part-*.csv"), ("1 2 9 10 11".into(), vec![]));
    // Clocks that begin anew in each file say nothing of their order.
    assert_eq!(keys("each-*.csv").0, "1 2 9 10 11");
    assert_eq!(keys("named-*.csv").0, "1 2 9 10 11");
    assert_eq!(keys("named-*.csv?columns=time:at").0, "11 10 9 2 1");
    let (order, notes) = keys("back-*.csv");
    assert_eq!(order, "11 10 9 2 1");
    let expected = "the files are read in the order of their times, because back-2.csv begins before back-1.csv";
    assert!(notes.contains(&expected.to_owned()), "{notes:?}");
    assert!(
        notes[0].starts_with("times are seconds, because the first, 1700000009, is"),
        "{notes:?}"
    );
}
