//! The file engine in real conditions: a full disk, a read-only disk, killed writers, several processes, and foreign
//! files.
//!
//! The other processes are this program again; an environment variable gives them their task.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use larder_engines::ENGINES;
use larder_store::{Delta, Error, Session, SetOptions, Store, StoreUrl};
use larder_testkit::{PATIENCE, Random, may_mount, trial, trial_where, with_mounts, within};
use libtest_mimic::Arguments;

/// The task of another process, and the store for it.
const ROLE: &str = "LARDER_FILE_ROLE";
const URL: &str = "LARDER_FILE_URL";

fn main() -> ExitCode {
    if let Ok(role) = std::env::var(ROLE) {
        return play(&role, &std::env::var(URL).unwrap());
    }
    let trials = vec![
        trial_where(may_mount, "a_full_disk_is_an_error_and_leaves_no_debris", || {
            run_with_mounts("full disk");
        }),
        trial_where(may_mount, "a_disk_that_may_only_be_read_is_read", || {
            run_with_mounts("read-only disk");
        }),
        trial_where(may_mount, "a_store_mounts_its_file_system_and_unmounts_it", || {
            run_with_mounts("own mount");
        }),
        trial_where(may_mount, "its_own_tmpfs_may_fill_up", || run_with_mounts("own tmpfs")),
        trial_where(may_mount, "its_own_ramfs_has_no_limit", || run_with_mounts("own ramfs")),
        trial("a_killed_writer_leaves_only_whole_files", a_killed_writer_leaves_only_whole_files),
        trial(
            "temporary_files_of_a_killed_writer_are_removed",
            temporary_files_of_a_killed_writer_are_removed,
        ),
        trial("processes_keep_to_one_size_limit", processes_keep_to_one_size_limit),
        trial("processes_lose_no_count", processes_lose_no_count),
        trial("the_oldest_make_room", the_oldest_make_room),
        trial("foreign_files_are_left_alone", foreign_files_are_left_alone),
        trial("a_folder_that_is_no_store_is_refused", a_folder_that_is_no_store_is_refused),
        trial("a_store_keeps_its_depth", a_store_keeps_its_depth),
        trial("namespaces_do_not_meet", namespaces_do_not_meet),
        trial("a_store_without_a_path_vanishes", a_store_without_a_path_vanishes),
        trial("a_wrong_url_is_refused", a_wrong_url_is_refused),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

// The other processes.

fn play(role: &str, url: &str) -> ExitCode {
    match role {
        "full disk" => a_full_disk_is_an_error(&SmallDisk::mount()),
        "read-only disk" => a_disk_that_may_only_be_read_is_read(&SmallDisk::mount()),
        "own mount" => a_store_mounts_its_file_system(),
        "own tmpfs" => its_own_tmpfs_may_fill_up(),
        "own ramfs" => its_own_ramfs_has_no_limit(),
        _ => work(role, url),
    }
    ExitCode::SUCCESS
}

fn work(role: &str, url: &str) {
    let store = open(url);
    let mut session = store.session().unwrap();
    match role {
        // Writes until it is killed.
        "write" => loop {
            for i in 0..KEYS {
                put(&mut *session, &key(i), &value(i, u64::from(std::process::id())));
            }
        },
        "fill" => {
            let own = u64::from(std::process::id());
            let mut random = Random::new(own);
            for _ in 0..600 {
                // Some keys return, with a value of another length.
                let key = format!("{own} {}", random.below(200));
                let len = 10_000 + random.below(20_000);
                put(&mut *session, key.as_bytes(), &random.bytes(len));
            }
        }
        "count" => {
            for _ in 0..300 {
                session.incr(b"counter", Delta::Up(1), None).unwrap().unwrap();
            }
        }
        role => panic!("no such role: {role}"),
    }
}

/// This program in another process, which is killed when this is dropped.
struct Other(Child);

impl Other {
    fn start(role: &str, url: &str) -> Self {
        let program = std::env::current_exe().unwrap();
        Self(Command::new(program).env(ROLE, role).env(URL, url).spawn().unwrap())
    }

    fn finish(mut self) {
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // A process that has ended by itself cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

// The fixtures of tests.

const KEYS: usize = 40;

fn key(i: usize) -> Vec<u8> {
    format!("key {i}").into_bytes()
}

/// A value of one of many lengths, which names its key and its round.
fn value(i: usize, round: u64) -> Vec<u8> {
    let mut value = format!("{i} {round} ").into_bytes();
    let mut random = Random::new(round.wrapping_mul(1000) + i as u64);
    let len = random.below(60_000);
    value.extend(random.bytes(len));
    value
}

fn open(url: &str) -> Arc<dyn Store> {
    ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap()
}

fn refusal(url: &str) -> String {
    ENGINES.open(&StoreUrl::parse(url).unwrap()).unwrap_err().to_string()
}

fn put(session: &mut dyn Session, key: &[u8], value: &[u8]) {
    session.set(key, value, &SetOptions::default()).unwrap();
}

fn get(session: &mut dyn Session, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    session.get(key, &mut value).unwrap().map(|_| value)
}

/// A new directory, which vanishes with its owner.
struct TestDir(PathBuf);

impl TestDir {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("larder-files-{}-{n}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn url(&self, options: &str) -> String {
        format!("file:{}{options}", self.0.display())
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        // A failed cleanup is no failure of the test.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Plays a role that mounts a disk.
fn run_with_mounts(role: &str) {
    let mut program = with_mounts(std::env::current_exe().unwrap());
    let output = program.env(ROLE, role).env(URL, "").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A tmpfs of 2 MiB that only this process sees, unmounted with its owner.
struct SmallDisk(TestDir);

impl SmallDisk {
    fn mount() -> Self {
        let disk = Self(TestDir::new());
        disk.mount_with("size=2m");
        disk
    }

    fn make_read_only(&self) {
        self.mount_with("remount,ro");
    }

    fn mount_with(&self, options: &str) {
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&self.0.0).status();
        assert!(mount.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A file system that is still mounted then shows as a folder that cannot be removed.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0.0).status();
    }
}

fn temporary_files(root: &Path) -> usize {
    fs::read_dir(root.join("cache/tmp")).unwrap().count()
}

/// The files under a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

/// The files of entries: names of digits.
fn entries(root: &Path) -> Vec<PathBuf> {
    let is_digits = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.len() >= 8 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    files(&root.join("cache")).into_iter().filter(is_digits).collect()
}

/// The size of files, in whole blocks.
fn disk_bytes(files: &[PathBuf]) -> u64 {
    let cost = |file: fs::Metadata| file.len().next_multiple_of(file.blksize());
    files.iter().map(|file| file.metadata().map_or(0, cost)).sum()
}

// The tests.

fn a_full_disk_is_an_error(disk: &SmallDisk) {
    let root = &disk.0.0;
    let store = open(&disk.0.url(""));
    let mut session = store.session().unwrap();
    let mut stored = 0;
    let refused = loop {
        assert!(stored < 1000, "2 MiB took {stored} values of 30 kB");
        let set = session.set(&key(stored), &vec![7; 30_000], &SetOptions::default());
        match set {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, Error::Full { .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains(root.to_str().unwrap()) && text.contains("no room"), "{text}");
    assert_eq!(temporary_files(root), 0);
    assert_eq!(entries(root).len(), stored);

    // A value that does not fit does not destroy the older value, and freed room is used again.
    let replaced = session.set(&key(0), &vec![8; 1 << 20], &SetOptions::default());
    assert!(matches!(replaced, Err(Error::Full { .. })), "{replaced:?}");
    assert_eq!(temporary_files(root), 0);
    for i in 0..stored {
        assert_eq!(get(&mut *session, &key(i)).unwrap(), vec![7; 30_000], "key {i}");
    }
    for i in 1..stored {
        assert!(session.delete(&key(i)).unwrap());
    }
    put(&mut *session, &key(0), &vec![8; 1 << 20]);
    assert_eq!(get(&mut *session, &key(0)).unwrap(), vec![8; 1 << 20]);
}

fn a_disk_that_may_only_be_read_is_read(disk: &SmallDisk) {
    let url = disk.0.url("");
    let mut session = open(&url).session().unwrap();
    put(&mut *session, b"key", b"value");
    let mortal = SetOptions { ttl: Some(Duration::from_millis(1)), ..SetOptions::default() };
    session.set(b"mortal", b"value", &mortal).unwrap();
    drop(session);
    sleep(Duration::from_millis(5));
    disk.make_read_only();

    let mut session = open(&url).session().unwrap();
    assert_eq!(get(&mut *session, b"key").unwrap(), b"value");
    assert_eq!(get(&mut *session, b"absent"), None);
    assert_eq!(get(&mut *session, b"mortal"), None);
    let set = session.set(b"key", b"other", &SetOptions::default()).unwrap_err();
    let delete = session.delete(b"key").unwrap_err();
    for error in [set, delete] {
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert!(error.to_string().contains(disk.0.0.to_str().unwrap()), "{error}");
    }
    assert_eq!(get(&mut *session, b"key").unwrap(), b"value");
}

fn a_store_mounts_its_file_system() {
    let folder = TestDir::new();
    for (url, under) in [
        ("file:?mount=tmpfs:2m".into(), std::env::temp_dir()),
        (folder.url("?mount=ramfs"), folder.0.clone()),
    ] {
        let store = open(&url);
        let info = store.info();
        let path = info.data_paths[0].clone();
        assert!(path.starts_with(&under) && path != under.join("cache"), "{}", path.display());
        let system = info.file_system.unwrap();
        assert!(system.is_own && url.contains(&system.kind), "{system:?}");
        let mut session = store.session().unwrap();
        put(&mut *session, b"key", b"value");
        drop(store);
        assert_eq!(get(&mut *session, b"key").unwrap(), b"value");
        drop(session);
        assert!(!path.exists() && !path.parent().unwrap().exists());
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(path.parent().unwrap().to_str().unwrap()), "{mounts}");
    }
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    let text = refusal("file:/no/such/folder?mount=tmpfs:2m");
    assert!(text.contains("no folder"), "{text}");
}

fn its_own_tmpfs_may_fill_up() {
    let store = open("file:?mount=tmpfs:1m");
    assert_eq!(store.stats().unwrap().capacity_bytes, Some(1 << 20));
    assert_eq!(store.info().settings["mount"], "tmpfs, size=1 MiB");
    let mut session = store.session().unwrap();
    put(&mut *session, &key(0), &vec![7; 600_000]);
    for key in [key(0), key(1)] {
        let full = session.set(&key, &vec![8; 600_000], &SetOptions::default()).unwrap_err();
        let text = "file: full: no room left on its tmpfs, size=1 MiB; mount a larger one";
        assert_eq!(full.to_string(), text);
    }
    let root = store.info().data_paths[0].parent().unwrap().to_owned();
    assert_eq!((temporary_files(&root), entries(&root).len()), (0, 1));
    assert_eq!(get(&mut *session, &key(0)).unwrap(), vec![7; 600_000], "what was there is whole");
    assert_eq!(get(&mut *session, &key(1)), None);

    // With a size limit below that of the mount there is always room.
    let store = open("file:?mount=tmpfs:4m&size=2m");
    assert_eq!(store.stats().unwrap().capacity_bytes, Some(2 << 20));
    let mut session = store.session().unwrap();
    for i in 0..100 {
        put(&mut *session, &key(i), &vec![7; 100_000]);
    }
    assert!(store.stats().unwrap().evictions > Some(0));
}

fn its_own_ramfs_has_no_limit() {
    let store = open("file:?mount=ramfs:1m");
    assert_eq!(store.stats().unwrap().capacity_bytes, None);
    assert_eq!(store.info().settings["mount"], "ramfs, size=1 MiB is ignored by ramfs");
    let mut session = store.session().unwrap();
    for i in 0..30 {
        put(&mut *session, &key(i), &vec![7; 100_000]);
    }
    for i in 0..30 {
        assert_eq!(get(&mut *session, &key(i)).unwrap(), vec![7; 100_000], "key {i}");
    }
}

fn a_killed_writer_leaves_only_whole_files() {
    let folder = TestDir::new();
    let url = folder.url("");
    let mut writers = HashSet::new();
    for round in 0..8 {
        let writer = Other::start("write", &url);
        writers.insert(u64::from(writer.0.id()));
        let (n_wanted, mark) = (if round == 0 { KEYS } else { 1 }, format!(" {} ", writer.0.id()));
        let has_written =
            || folder.0.join("cache").exists() && n_files(&folder.0, &mark) >= n_wanted;
        assert!(within(PATIENCE, has_written), "round {round}: the writer does not get on");
        sleep(Duration::from_millis(7 * round));
        drop(writer);
        let mut session = open(&url).session().unwrap();
        for i in 0..KEYS {
            let found = get(&mut *session, &key(i)).expect("written and never deleted");
            assert!(writers.iter().any(|writer| found == value(i, *writer)), "key {i} is torn");
        }
        // No lock is left either, so writes go on.
        put(&mut *session, &key(0), &value(0, *writers.iter().next().unwrap()));
    }
    assert!(temporary_files(&folder.0) <= writers.len());
}

/// How many files of entries contain this text.
fn n_files(root: &Path, text: &str) -> usize {
    let has_it = |path: &PathBuf| {
        let bytes = fs::read(path).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    };
    entries(root).iter().filter(|path| has_it(path)).count()
}

fn temporary_files_of_a_killed_writer_are_removed() {
    let folder = TestDir::new();
    drop(open(&folder.url("")));
    let minutes_ago = |minutes| SystemTime::now() - Duration::from_mins(minutes);
    let tmp = folder.0.join("cache/tmp");
    for (name, minutes) in [("77-1", 11), ("77-2", 9), ("notes", 11), ("7-x", 11)] {
        let file = File::create(tmp.join(name)).unwrap();
        file.set_modified(minutes_ago(minutes)).unwrap();
    }
    drop(open(&folder.url("")));
    let mut left: Vec<_> =
        files(&tmp).iter().map(|path| path.strip_prefix(&tmp).unwrap().to_owned()).collect();
    left.sort();
    assert_eq!(left, ["7-x", "77-2", "notes"].map(PathBuf::from));
}

fn processes_keep_to_one_size_limit() {
    const LIMIT: u64 = 4 << 20;
    let folder = TestDir::new();
    let url = folder.url("?size=4m");
    let store = open(&url);
    let others = [Other::start("fill", &url), Other::start("fill", &url)];
    for other in others {
        other.finish();
    }
    let stats = store.stats().unwrap();
    let (bytes, items) = (stats.bytes.unwrap(), stats.items.unwrap());
    let entries = entries(&folder.0);
    assert!(bytes <= LIMIT, "{bytes} bytes are counted of {LIMIT}");
    assert_eq!(items, entries.len() as u64);
    assert_eq!(bytes, disk_bytes(&entries));
    assert!(bytes > LIMIT / 2, "only {bytes} bytes of {LIMIT} are used");

    // A killed writer may leave the count too high. The next process that opens the store alone corrects it.
    let writer = Other::start("write", &url);
    let mut session = store.session().unwrap();
    let has_written = || (0..KEYS).any(|i| get(&mut *session, &key(i)).is_some());
    assert!(within(PATIENCE, has_written), "the writer stores nothing");
    sleep(Duration::from_millis(20));
    drop((writer, session, store));
    let stats = open(&url).stats().unwrap();
    let entries = self::entries(&folder.0);
    assert_eq!(
        (stats.items, stats.bytes),
        (Some(entries.len() as u64), Some(disk_bytes(&entries)))
    );
    assert!(stats.bytes.unwrap() <= LIMIT);
}

fn processes_lose_no_count() {
    let folder = TestDir::new();
    let url = folder.url("");
    let mut session = open(&url).session().unwrap();
    put(&mut *session, b"counter", b"0");
    let others = [(); 3].map(|()| Other::start("count", &url));
    for other in others {
        other.finish();
    }
    assert_eq!(get(&mut *session, b"counter").unwrap(), b"900");
}

fn the_oldest_make_room() {
    let folder = TestDir::new();
    let store = open(&folder.url("?size=4m"));
    let mut session = store.session().unwrap();
    let of_age = |age: &str, i: usize| format!("{age} {i}").into_bytes();
    for i in 0..100 {
        put(&mut *session, &of_age("old", i), &[1; 16_000]);
    }
    // File times are as coarse as the clock ticks of the system.
    sleep(Duration::from_millis(30));
    for i in 0..150 {
        put(&mut *session, &of_age("new", i), &[1; 16_000]);
    }
    sleep(Duration::from_millis(30));
    for i in 0..50 {
        put(&mut *session, &of_age("newest", i), &[1; 16_000]);
    }
    let mut left = |age: &str, n: usize| {
        (0..n).filter(|i| get(&mut *session, &of_age(age, *i)).is_some()).count()
    };
    let (old, new, newest) = (left("old", 100), left("new", 150), left("newest", 50));
    assert_eq!(newest, 50, "what was written last is there");
    assert!(old < 60 && new > 140, "{old} of 100 old and {new} of 150 new entries are left");
    let evicted = store.stats().unwrap().evictions.unwrap();
    assert_eq!(evicted, (300 - old - new - newest) as u64);
}

fn foreign_files_are_left_alone() {
    let folder = TestDir::new();
    let notes = folder.0.join("notes.txt");
    fs::write(&notes, "mine").unwrap();
    let store = open(&folder.url("?depth=1"));
    let mut session = store.session().unwrap();
    for i in 0..KEYS {
        put(&mut *session, &key(i), b"value");
    }
    // These foreign files are in the store's own folders.
    let inside = entries(&folder.0)[0].parent().unwrap().to_owned();
    let others = ["README", "00ff", "0123456789ABCD", "0123456789abcde", "0123456789abc"];
    for name in others {
        fs::write(inside.join(name), "mine").unwrap();
    }
    fs::create_dir_all(folder.0.join("cache/zz/0123456789abcd")).unwrap();
    session.clear().unwrap();
    assert!(entries(&folder.0).iter().all(|path| fs::read(path).unwrap() == b"mine"));
    for name in others {
        assert_eq!(fs::read_to_string(inside.join(name)).unwrap(), "mine");
    }
    assert_eq!(fs::read_to_string(notes).unwrap(), "mine");
    assert!(folder.0.join("cache/zz/0123456789abcd").is_dir());
    assert_eq!(get(&mut *session, &key(0)), None);
}

fn a_folder_that_is_no_store_is_refused() {
    let folder = TestDir::new();
    let cache = folder.0.join("cache");
    fs::create_dir(&cache).unwrap();
    fs::write(cache.join("notes.txt"), "mine").unwrap();
    let text = refusal(&folder.url(""));
    assert!(text.contains(cache.to_str().unwrap()) && text.contains("namespace"), "{text}");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 1);

    // Another namespace solves this, and so does an empty folder.
    drop(open(&folder.url("?namespace=other")));
    fs::remove_file(cache.join("notes.txt")).unwrap();
    drop(open(&folder.url("")));
    fs::write(cache.join("format"), "larder file store 2\ndepth 2\n").unwrap();
    let text = refusal(&folder.url(""));
    assert!(text.contains("not a store of this format"), "{text}");
}

fn a_store_keeps_its_depth() {
    let folder = TestDir::new();
    put(&mut *open(&folder.url("?depth=3")).session().unwrap(), b"key", b"value");
    let text = refusal(&folder.url("?depth=1"));
    assert!(text.contains("depth 3"), "{text}");
    let store = open(&folder.url(""));
    assert_eq!(store.info().settings["depth"], "3");
    assert_eq!(get(&mut *store.session().unwrap(), b"key").unwrap(), b"value");
}

fn namespaces_do_not_meet() {
    let folder = TestDir::new();
    let mut one = open(&folder.url("?namespace=one")).session().unwrap();
    let mut two = open(&folder.url("?namespace=two")).session().unwrap();
    put(&mut *one, b"key", b"of one");
    put(&mut *two, b"key", b"of two");
    assert_eq!(get(&mut *one, b"key").unwrap(), b"of one");
    two.clear().unwrap();
    assert_eq!(get(&mut *one, b"key").unwrap(), b"of one");
}

fn a_store_without_a_path_vanishes() {
    let store = open("file:");
    let mut session = store.session().unwrap();
    let path = store.info().data_paths.remove(0);
    drop(store);
    put(&mut *session, b"key", b"value");
    assert!(path.exists());
    drop(session);
    assert!(!path.exists() && !path.parent().unwrap().exists());
}

fn a_wrong_url_is_refused() {
    let text = refusal("file://host/var/tmp");
    assert!(text.contains("a path and no host; write `file:/host/var/tmp`"), "{text}");
    let folder = TestDir::new();
    let file = folder.0.join("file");
    File::create(&file).unwrap().write_all(b"mine").unwrap();
    let text = refusal("file:?mount=ext4");
    assert!(text.contains("option `mount`") && text.contains("tmpfs:1g"), "{text}");
    let text = refusal(&format!("file:{}", file.display()));
    assert!(text.contains(file.to_str().unwrap()), "{text}");
}
