//! The engine `bdb:` under faults. `records.rs` has what it shares with others.
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

#[expect(
    dead_code,
    unused_imports,
    reason = "not all of what embedded engines are tried by fits one that a process has for itself"
)]
mod embedded;

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use embedded::{TestDir, open, open_session, url};
use larder_engines::ENGINES;
use larder_store::{Delta, Durability, Error, SetOptions};
use larder_testkit::{has_program, trial_where};
use libtest_mimic::{Arguments, Trial};

const SCHEME: &str = "bdb";

/// Asks another process to open a store.
const OPEN: &str = "LARDER_TEST_OPEN";

fn main() -> ExitCode {
    if std::env::var_os(OPEN).is_some() {
        return tell_why_nothing_opens();
    }
    let trials = vec![
        trial("foreign_databases_are_refused_and_left_alone", foreign_databases),
        trial("a_folder_keeps_how_its_entries_are_kept", another_type),
        trial("a_library_of_another_larder_is_refused", library_of_another_larder),
        trial("checkpoints_keep_the_log_short", checkpoints_keep_the_log_short),
        trial("threads_that_want_the_same_pages_all_come_to_an_end", many_threads),
        trial("durability_follows_from_the_options", durability_follows_from_the_options),
    ];
    libtest_mimic::run(&Arguments::from_args(), larder_testkit::nightly(trials).collect())
        .exit_code()
}

fn trial(name: &str, run: fn()) -> Trial {
    let recipe = &ENGINES.find(SCHEME).unwrap().recipes[0];
    trial_where(|| has_program(recipe), name, run)
}

fn refusal(url: &str) -> (Error, String) {
    let error = open(url).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    (error, text)
}

fn foreign_databases() {
    let directory = TestDir::create();
    let folder = directory.path().join("store");
    std::fs::create_dir(&folder).unwrap();
    let theirs = folder.join("theirs.db");
    std::fs::write(&theirs, "data").unwrap();
    let (_, text) = refusal(&url(SCHEME, directory.path(), ""));
    assert!(text.contains("databases that larder did not make"), "{text}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "data");
}

fn another_type() {
    for (made_with, wrong) in [("btree", "hash"), ("hash", "btree")] {
        let directory = TestDir::create();
        let url = |kind: &str| url(SCHEME, directory.path(), &format!("type={kind}"));
        open_session(&url(made_with)).set(b"key", b"value", &SetOptions::default()).unwrap();
        let (error, text) = refusal(&url(wrong));
        assert!(matches!(error, Error::InvalidOptions { .. }), "{text}");
        assert!(text.contains(&format!("was made with type={made_with}; write that")), "{text}");
        assert!(!text.contains("delete"), "{text}");
        let mut found = Vec::new();
        open_session(&url(made_with)).get(b"key", &mut found).unwrap();
        assert_eq!(found, b"value");
    }
}

fn library_of_another_larder() {
    let data = TestDir::create();
    let folder = data.path().join("larder/bdb");
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("old.c");
    std::fs::write(&source, "int larder_bdb_interface(void) { return 1; }\n").unwrap();
    // gcc is installed, because the right library was compiled with it.
    let mut compiler = Command::new("gcc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(folder.join("libbdb-shim.so")).arg(&source);
    assert!(compiler.status().unwrap().success());
    let mut other = Command::new(std::env::current_exe().unwrap());
    let output = other.env(OPEN, "").env("XDG_DATA_HOME", data.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("it has interface 1, and this larder needs "), "{text}");
    assert!(text.ends_with("; build it again: ./setup.sh --with bdb\n"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

/// In another process, whose library is a foreign one.
#[expect(clippy::print_stdout, reason = "how a second process answers the first")]
fn tell_why_nothing_opens() -> ExitCode {
    println!("{}", open("bdb:").map(drop).unwrap_err());
    ExitCode::SUCCESS
}

fn checkpoints_keep_the_log_short() {
    let directory = TestDir::create();
    let url = url(SCHEME, directory.path(), "checkpoint=50ms&log=10m");
    let store = open(&url).unwrap();
    let mut session = store.session().unwrap();
    let value = vec![7; 50_000];
    let folder = store.info().data_paths.remove(0);
    let n_logs = || {
        let entries = std::fs::read_dir(&folder).unwrap();
        let is_log = |name: &str| name.starts_with("log.");
        entries
            .filter(|entry| is_log(&entry.as_ref().unwrap().file_name().to_string_lossy()))
            .count()
    };
    // The writes fill ten files of the log.
    for i in 0..2000_u32 {
        session.set(&(i % 10).to_le_bytes(), &value, &SetOptions::default()).unwrap();
    }
    let until = Instant::now() + Duration::from_mins(5);
    while n_logs() > 2 {
        assert!(Instant::now() < until, "{} files of the log are left", n_logs());
        // The log since the beginning of a checkpoint stays until the next checkpoint, which comes only after a change.
        session.set(b"key", b"value", &SetOptions::default()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn many_threads() {
    let store = &open("bdb:?page_size=512").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            scope.spawn(move || {
                let mut session = store.session().unwrap();
                for i in 0..500_u32 {
                    let key = (i * (thread + 1) % 97).to_be_bytes();
                    session.set(&key, &[7; 100], &SetOptions::default()).unwrap();
                    session
                        .set(
                            b"count",
                            b"0",
                            &SetOptions {
                                mode: larder_store::SetMode::Add,
                                ..SetOptions::default()
                            },
                        )
                        .unwrap();
                    session.incr(b"count", Delta::Up(1), None).unwrap();
                }
            });
        }
    });
    let mut count = Vec::new();
    store.session().unwrap().get(b"count", &mut count).unwrap();
    assert_eq!(count, b"4000");
}

fn durability_follows_from_the_options() {
    let folder = TestDir::create();
    let of = |query: &str| {
        let info = open(&url(SCHEME, folder.path(), query)).unwrap().info();
        (info.durability, info.file_system.unwrap().is_memory())
    };
    let (_, is_memory) = of("");
    let on = |disk, memory| if is_memory { memory } else { disk };
    for (query, durability) in [
        ("", on(Durability::FsyncBatch, Durability::Volatile)),
        ("checkpoint=0", Durability::Volatile),
        ("sync=write", on(Durability::FsyncBatch, Durability::OsCache)),
        ("sync=write&checkpoint=0", Durability::OsCache),
        ("sync=group", on(Durability::FsyncEach, Durability::OsCache)),
    ] {
        assert_eq!(of(query).0, durability, "{query}");
    }
}
