//! Runs that end in the middle: they say so, keep the measured rounds, and leave nothing behind.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use larder_report::{Operation, ReasonKind};
use larder_testkit::{PATIENCE, signal, within};

use crate::scene::Scene;
use crate::{Case, MEMCACHED, NOTHING, PERL};

pub(crate) const CASES: &[Case] = &[
    (MEMCACHED, "a_server_killed_in_mid_run_is_a_reason_and_a_failure", server_killed),
    (MEMCACHED, "nothing_is_left_when_larder_is_killed_in_mid_run", larder_killed),
    (NOTHING, "no_file_is_left_when_larder_is_killed_in_mid_run", larder_killed_without_servers),
    (PERL, "no_guest_is_left_when_larder_is_killed_while_it_works", larder_killed_with_guest),
    (PERL, "ctrl_c_ends_a_guest_soon_and_keeps_the_measured_rounds", ctrl_c_with_guest),
    (MEMCACHED, "ctrl_c_keeps_the_measured_rounds_and_leaves_nothing", ctrl_c),
    (NOTHING, "a_ctrl_c_that_arrives_more_than_once_is_one", ctrl_c_several_times),
    (MEMCACHED, "a_second_ctrl_c_ends_at_once_and_leaves_nothing", second_ctrl_c),
];

/// A run that takes longer than the patience of any test.
const ENDLESS: [&str; 6] = ["-k", "200", "-r", "1000", "-o", "out"];

fn server_killed() {
    let scene = Scene::new();
    let mut larder = scene.start(&[
        "compare",
        "moka:",
        "memcached:",
        "-k",
        "100",
        "-n",
        "60k",
        "-r",
        "4",
        "-o",
        "out",
    ]);
    // On the slowest machine, two rounds of each cell are still to come.
    larder.reaches("round 2 of 4");
    std::thread::sleep(Duration::from_millis(200));
    let servers = scene.memcacheds();
    assert_eq!(servers.len(), 1);
    signal(servers[0], libc::SIGKILL);
    assert_eq!(larder.ends(), Some(1));
    let mut results = scene.files("out");
    results.sort();
    assert_eq!(
        results,
        ["hdr", "report.html", "report.md", "run.json", "samples.csv", "usage.csv"]
    );

    let run = scene.run_json();
    assert!(!run.interrupted);
    let of_memcached: Vec<_> =
        run.cells.iter().filter(|cell| cell.target == "memcached:").collect();
    assert_eq!(of_memcached.len(), 2);
    for cell in &of_memcached {
        let reason = cell.reason.as_deref().unwrap();
        assert!(reason.starts_with("lost ") && !reason.contains("memcached: memcached:"));
        // The server died in the middle of a phase, or between two phases.
        let failed = reason.ends_with(" failed)");
        assert!(failed || reason.contains("refused the connection"), "{reason}");
        assert!(!failed || of_memcached.iter().any(|cell| cell.counts.errors > 0), "{cell:?}");
        assert!(cell.ops_per_s.is_none(), "{cell:?}");
    }
    let moka = run.cells.iter().filter(|cell| cell.target == "moka:");
    assert!(moka.into_iter().all(|cell| cell.reason.is_none() && cell.rounds == 4));
    scene.assert_nothing_left();
}

fn larder_killed() {
    let scene = Scene::new();
    let behind_relay = "memcached:?socket=on&via=delay:200us";
    let targets = ["memcached:?nodes=2", behind_relay, "file:", "lmdb:", "sqlite:"];
    let mut larder = scene.start(&[&["compare"], &targets[..], &ENDLESS].concat());
    larder.reaches("round 2 of");
    assert_eq!((scene.memcacheds().len(), scene.files("tmp").len()), (3, 6));
    larder.signal(libc::SIGKILL);
    assert_eq!(larder.ends(), None);
    scene.assert_nothing_left();
}

fn larder_killed_without_servers() {
    let scene = Scene::new();
    for name in ["files", "lmdb"] {
        fs::create_dir(scene.path(name)).unwrap();
    }
    scene.write("files/somebodys", "stays");
    scene.write("db", "stays");
    let targets = ["file:files", "lmdb:lmdb", "sqlite:db", "file:"];
    let mut larder = scene.start(&[&["compare"], &targets[..], &ENDLESS].concat());
    larder.reaches("round 2 of");
    let folders = [".", "tmp", "files", "lmdb"];
    let lying = || folders.map(|folder| scene.files(folder).len());
    assert_eq!(lying(), [6, 1, 2, 1]);
    larder.signal(libc::SIGKILL);
    assert_eq!(larder.ends(), None);
    scene.assert_nothing_left();
    assert!(within(PATIENCE, || lying() == [5, 0, 1, 0]), "{:?}", lying());
    assert_eq!(fs::read_to_string(scene.path("files/somebodys")).unwrap(), "stays");
    assert_eq!(fs::read_to_string(scene.path("db")).unwrap(), "stays");
}

/// A guest whose gets take longer than the patience of any test.
const WORKING_GUEST: [&str; 8] =
    ["compare", "perl+filecache:", "-k", "200", "--duration", "100s", "-o", "out"];

/// Process ids of the guests of a scene, whose files are in its temporary directory.
fn guests(scene: &Scene) -> Vec<String> {
    let mark = scene.path("tmp").to_str().unwrap().to_owned();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let guests = processes.filter(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        line.contains("guest.pl") && line.contains(&mark)
    });
    guests.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

fn larder_killed_with_guest() {
    let scene = Scene::new();
    let processes: [&str; 2] = ["--processes", "3"];
    let mut larder = scene.start(&[&WORKING_GUEST[..], &processes].concat());
    larder.reaches("round 1 of");
    // One process waits and three work.
    assert!(within(PATIENCE, || guests(&scene).len() == 4), "{:?}", guests(&scene));
    assert!(!scene.files("tmp").is_empty());
    larder.signal(libc::SIGKILL);
    assert_eq!(larder.ends(), None);
    scene.assert_nothing_left();
    assert!(within(PATIENCE, || guests(&scene).is_empty()), "{:?}", guests(&scene));
}

/// The files below a folder. A guest in files has one for each key that it has set.
fn files_below(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files_below(&entry.path()),
        _ => 1,
    };
    entries.map(below).sum()
}

/// The processor time of a process so far, in ticks of 10 ms.
fn processor_ticks(pid: &str) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let fields: Vec<&str> = fields.split(' ').collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn ctrl_c_with_guest() {
    let scene = Scene::new();
    let mut larder = scene.start(&WORKING_GUEST);
    larder.reaches("round 1 of");
    assert!(within(PATIENCE, || guests(&scene).len() == 1), "{:?}", guests(&scene));
    assert!(within(PATIENCE, || files_below(&scene.path("tmp")) >= 200), "no sets");
    // After its sets, the program only works for the gets.
    let guest = guests(&scene).remove(0);
    let before = processor_ticks(&guest);
    assert!(within(PATIENCE, || processor_ticks(&guest) >= before + 20), "no gets");
    larder.signal(libc::SIGINT);
    assert_eq!(larder.ends(), Some(130));
    scene.assert_nothing_left();
    assert_eq!(guests(&scene), Vec::<String>::new());
    let run = scene.run_json();
    assert!(run.interrupted);
    let set = run.cells.iter().find(|cell| cell.operation == Operation::Set).unwrap();
    assert_eq!((set.rounds, set.counts.ops, set.reason.as_deref()), (1, 200, None));
    // Nothing waited for the end of the gets, which would have figures then.
    let get = run.cells.iter().find(|cell| cell.operation == Operation::Get).unwrap();
    assert_eq!(get.reason_kind, Some(ReasonKind::Interrupted));
}

fn ctrl_c() {
    let scene = Scene::new();
    let targets = ["moka:", "memcached:", "file:", "lmdb:", "sqlite:"];
    let mut larder = scene.start(&[&["compare"], &targets[..], &ENDLESS].concat());
    larder.reaches("round 3 of");
    larder.signal(libc::SIGINT);
    assert_eq!(larder.ends(), Some(130));
    scene.assert_nothing_left();

    let run = scene.run_json();
    assert!(run.interrupted);
    assert_eq!(run.cells.len(), targets.len() * 2);
    for cell in &run.cells {
        assert!(cell.rounds >= 2 && cell.reason.is_none() && cell.ops_per_s.is_some(), "{cell:?}");
    }
    let sets = run.cells.iter().filter(|cell| cell.operation == Operation::Set);
    assert!(sets.into_iter().all(|cell| cell.counts.ops >= 400 && cell.counts.wrong == 0));
    let report = fs::read_to_string(scene.path("out/report.md")).unwrap();
    assert!(report.contains("nterrupted"), "{report}");
}

fn ctrl_c_several_times() {
    let scene = Scene::new();
    let mut larder = scene.start(&[&["compare", "moka:", "file:"], &ENDLESS[..]].concat());
    larder.reaches("round 2 of");
    for _ in 0..3 {
        larder.signal(libc::SIGINT);
    }
    assert_eq!(larder.ends(), Some(130));
    assert!(scene.run_json().interrupted);
    scene.assert_nothing_left();
}

fn second_ctrl_c() {
    let scene = Scene::new();
    // This server accepts connections and never answers, so an orderly end would take as long as the timeout.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("memcached://{}?timeout=10m", silent.local_addr().unwrap());
    let mut larder =
        scene.start(&[&["compare", "memcached:", "file:", &deaf], &ENDLESS[..]].concat());
    larder.reaches("opening memcached://");
    assert_eq!((scene.memcacheds().len(), scene.files("tmp").len()), (1, 2));
    let first = Instant::now();
    // Signals in quick succession count as one. The test sends the signal again and again until that time
    // has passed.
    let status = larder.ends_after(|larder| larder.signal(libc::SIGINT));
    assert_eq!(status, Some(130));
    assert!(first.elapsed() >= Duration::from_millis(500), "{:?}", first.elapsed());
    let said = larder.rest();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("larder: interrupted again: nothing is kept"), "{said}");
    assert!(!scene.path("out").exists());
    scene.assert_nothing_left();
}
