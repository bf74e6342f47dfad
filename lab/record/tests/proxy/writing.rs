//! The writing of rows: what is too slow, the files, and what a process has left behind.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use larder_record::{Batch, Files, Limits, Notify, RowSink};
use larder_testkit::{Memcached, PATIENCE, within};
use larder_workload::trace::{About, Journal, Key, Row, TraceSource, read_rows};

use crate::setup::{Kept, Running, Start, ask, silent};
use crate::{Case, NOTHING, WITH_MEMCACHED};

pub(crate) const CASES: &[Case] = &[
    (WITH_MEMCACHED, "a_writer_that_is_too_slow_drops_rows_and_counts_them", too_slow),
    (WITH_MEMCACHED, "a_recording_of_one_file_is_a_journal_and_then_parquet", one_file),
    (WITH_MEMCACHED, "files_rotate_and_old_ones_go", rotated),
    (NOTHING, "a_recording_that_exists_is_not_written_over", refused),
    (NOTHING, "journals_that_were_left_behind_are_finished", left_behind),
    (NOTHING, "a_second_crash_leaves_nothing_unfinished", crashed_twice),
    (NOTHING, "a_recording_is_replaced_where_asked", replaced),
    (NOTHING, "a_journal_that_finds_no_room_is_tried_again_and_told", tried_again),
];

/// A sink that takes nothing before it may.
#[derive(Clone, Default)]
struct Slow {
    gate: Arc<(Mutex<bool>, Condvar)>,
    kept: Kept,
}

impl Slow {
    fn open(&self) {
        *self.gate.0.lock().unwrap() = true;
        self.gate.1.notify_all();
    }
}

impl RowSink for Slow {
    fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let is_open = self.gate.0.lock().unwrap();
        drop(self.gate.1.wait_while(is_open, |is_open| !*is_open).unwrap());
        self.kept.write(batch)
    }

    fn drop_rows(&mut self, n_rows: u64) {
        self.kept.drop_rows(n_rows);
    }

    fn tick(&mut self) {}

    fn finish(&mut self) {}
}

fn too_slow() {
    let server = Memcached::start();
    let slow = Slow::default();
    let upstream = format!("memcached://{}", server.address());
    let proxy = Running::start(&upstream, Start::default(), slow.clone());
    // More rows than the queue holds: each has 64 bytes and its key, and the queue about 64 MiB.
    let keys: Vec<String> = (0..200).map(|number| format!("{number:0200}")).collect();
    let get = format!("get {}\r\n", keys.join(" "));
    let requests = get.repeat(50) + "quit\r\n";
    let mut n_asked = 0;
    while proxy.watch.totals().counts.operations < 400_000 {
        let answer = ask(proxy.connect(), requests.as_bytes());
        // The traffic goes on as if nothing were recorded.
        assert!(answer == b"END\r\n".repeat(50));
        n_asked += 10_000;
    }
    slow.open();
    let (seen, dropped) = proxy.end();
    assert_eq!(seen.counts.operations, n_asked);
    assert!(dropped > 0, "nothing was dropped");
    assert_eq!(slow.kept.rows().len() as u64 + dropped, n_asked);
    assert_eq!(slow.kept.dropped(), dropped);
}

fn about() -> About {
    About { sample: Some(0.5), upstream: Some("memcached".into()), ..About::default() }
}

/// The number of rows of a file, and what it tells of itself.
fn read(path: &Path) -> (u64, About) {
    let mut n_rows = 0;
    let mut count = |_: &Row<'_>| {
        n_rows += 1;
        std::ops::ControlFlow::Continue(())
    };
    let source = TraceSource::from(path);
    let about = read_rows(&source, &mut count).unwrap();
    (n_rows, about)
}

/// The files of a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn files(folder: &Path, limits: Limits) -> Files {
    Files::begin(&folder.join("calls.parquet"), about(), limits, silent()).unwrap()
}

fn one_file() {
    let folder = tempfile::tempdir().unwrap();
    let server = Memcached::start();
    let upstream = format!("memcached://{}", server.address());
    let sink = files(folder.path(), Limits::default());
    let written = sink.written();
    let proxy = Running::start(&upstream, Start::default(), sink);
    let mut client = proxy.connect();
    client.write_all(b"get a b\r\n").unwrap();
    // A reader sees what was asked a moment ago.
    let journal = folder.path().join("calls.journal");
    assert!(within(PATIENCE, || read(&journal).0 == 2));
    drop(client);
    proxy.end();
    assert_eq!(names(folder.path()), ["calls.parquet"]);
    let parquet = folder.path().join("calls.parquet");
    let (n_rows, told) = read(&parquet);
    assert_eq!((n_rows, told), (2, about()));
    assert_eq!(written.lock().unwrap().files, [parquet]);
}

fn rotated() {
    let folder = tempfile::tempdir().unwrap();
    let server = Memcached::start();
    let upstream = format!("memcached://{}", server.address());
    let rotate_every = Some(Duration::from_millis(1));
    let limits = Limits { rotate_every, keep: Some(2), ..Limits::default() };
    let proxy = Running::start(&upstream, Start::default(), files(folder.path(), limits));
    let mut n_finished = 0;
    let mut last = Vec::new();
    assert!(within(PATIENCE, || {
        ask(proxy.connect(), b"get a\r\nquit\r\n");
        let mut now = names(folder.path());
        now.retain(|name| name.ends_with(".parquet"));
        n_finished += now.iter().filter(|name| !last.contains(*name)).count();
        last = now;
        n_finished >= 5
    }));
    proxy.end();
    let left = names(folder.path());
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().all(|name| name.starts_with("calls-") && name.ends_with(".parquet")));
}

fn refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.parquet");
    fs::write(&path, "somebody's").unwrap();
    let begin = || Files::begin(&path, about(), Limits::default(), silent());
    assert!(begin().unwrap_err().contains("exists; take another name"));
    assert_eq!(fs::read(&path).unwrap(), b"somebody's");
    fs::remove_file(&path).unwrap();
    let first = begin().unwrap();
    assert!(begin().unwrap_err().contains("another process is recording there"));
    drop(first);
}

/// Leaves a journal with rows of this time, in microseconds since 1970.
fn leave(path: &Path, time_us: Option<u64>) {
    let mut journal = Journal::create(path, &about()).unwrap();
    for number in 0..3 {
        let time_us = time_us.map(|time| time + number);
        journal.push(&Row { time_us, ..Row::get(Key::Hash(7)) }).unwrap();
    }
    journal.flush().unwrap();
}

fn crashed_twice() {
    const FIRST_US: u64 = 1_700_000_000_000_007;
    for limits in [Limits::default(), Limits { rotate_bytes: Some(1 << 20), ..Limits::default() }] {
        let folder = tempfile::tempdir().unwrap();
        // The first journal was left while it was being finished, the second one while it was written.
        leave(&folder.path().join("calls-20231114T221320.000001Z.journal"), Some(FIRST_US));
        fs::write(folder.path().join("calls-20231114T221320.000001Z.parquet.new"), "PAR1").unwrap();
        leave(&folder.path().join("calls.journal"), Some(FIRST_US));
        let mut sink = files(folder.path(), limits);
        sink.finish();
        let left = names(folder.path());
        assert_eq!(left.len(), 3, "{left:?}");
        // A journal's name has the time of its first row.
        assert_eq!(
            left[..2],
            ["calls-20231114T221320.000001Z.parquet", "calls-20231114T221320.000007Z.parquet"]
        );
        let n_rows: u64 = left.iter().map(|name| read(&folder.path().join(name)).0).sum();
        assert_eq!(n_rows, 6);
        assert!(sink.written().lock().unwrap().unfinished.is_empty());
    }
}

fn replaced() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("calls.parquet"), "the one of before").unwrap();
    let path = folder.path().join("calls.parquet");
    let limits = Limits { overwrites: true, ..Limits::default() };
    // The old file stays where nothing comes.
    files(folder.path(), Limits { drops_empty: true, ..limits }).finish();
    assert_eq!(names(folder.path()), ["calls.parquet"]);
    assert_eq!(fs::read(&path).unwrap(), b"the one of before");
    files(folder.path(), limits).finish();
    assert_eq!(names(folder.path()), ["calls.parquet"]);
    assert_eq!(read(&path).0, 0);
}

fn tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let left = "calls-20231114T221320.000001Z";
    leave(&folder.path().join(format!("{left}.journal")), None);
    // No file can be written where a folder is.
    let obstacle = folder.path().join(format!("{left}.parquet.new"));
    fs::create_dir(&obstacle).unwrap();
    let (sender, told) = mpsc::channel();
    let tell: Notify = Arc::new(move |_, event: &str, _: &str| {
        let _ = sender.send(event.to_owned());
    });
    let path = folder.path().join("calls.parquet");
    let mut sink = Files::begin(&path, about(), Limits::default(), tell).unwrap();
    while told.recv_timeout(PATIENCE).unwrap() != "not_finished" {}
    fs::remove_dir(&obstacle).unwrap();
    sink.finish();
    assert_eq!(names(folder.path()), [format!("{left}.parquet"), "calls.parquet".to_owned()]);
    // The recording's own journal is left at its end.
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("calls.parquet.new")).unwrap();
    let mut sink = files(folder.path(), Limits::default());
    sink.finish();
    let written = sink.written().lock().unwrap().clone();
    assert_eq!(written.unfinished, [folder.path().join("calls.journal")]);
    assert!(written.files.is_empty());
}

fn left_behind() {
    for (limits, name, end) in [
        (Limits::default(), "calls.journal", "calls.parquet"),
        (
            Limits { rotate_bytes: Some(1 << 20), ..Limits::default() },
            "calls-20270115T080000.000000Z.journal",
            "",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        leave(&folder.path().join(name), None);
        let mut sink = files(folder.path(), limits);
        sink.finish();
        let left = names(folder.path());
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(left.iter().all(|name| name.ends_with(".parquet")), "{left:?}");
        assert!(end.is_empty() || left.contains(&end.to_owned()), "{left:?}");
        let n_rows: u64 = left.iter().map(|name| read(&folder.path().join(name)).0).sum();
        assert_eq!(n_rows, 3);
    }
}
