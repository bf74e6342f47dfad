//! The cost of `file:` on top of reading a file: a session's `get` against bare open, read and close of the same file.
//!
//! Both run in alternating slices in one process, so that other work of the machine meets both. The bare side knows the
//! name beforehand, opens it relative to an open folder and reads into one buffer. `LARDER_FLOOR_DIR` names the folders
//! to measure in, separated by colons; the default is the temporary directory and `/dev/shm`.
//!
//! Run with `cargo bench -p larder-engines --bench floor_file`.

use std::ffi::CString;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use larder_engines::ENGINES;
use larder_store::{Session, SetOptions, StoreUrl};

const SLICES: usize = 300;
const OPERATIONS: u32 = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo test --benches` only wants to know that it runs.
    let slices = if std::env::args().any(|argument| argument == "--bench") { SLICES } else { 2 };
    let folders = std::env::var("LARDER_FLOOR_DIR")
        .unwrap_or_else(|_| format!("{}:/dev/shm", std::env::temp_dir().display()));
    for folder in folders.split(':').map(Path::new).filter(|folder| folder.is_dir()) {
        for len in [100, 4096] {
            measure(folder, len, slices)?;
        }
    }
    Ok(())
}

fn measure(folder: &Path, len: usize, slices: usize) -> Result<(), Box<dyn std::error::Error>> {
    let root = Folder(folder.join(format!("larder-floor-{}", std::process::id())));
    let url = StoreUrl::parse(&format!("file:{}", root.0.display()))?;
    let store = ENGINES.open(&url)?;
    let mut session = store.session()?;
    let key = b"the key of the floor";
    session.set(key, &vec![b'v'; len], &SetOptions::default())?;
    let data = store.info().data_paths.remove(0);
    let file = entry_under(&data)?.ok_or("the store has no file")?;
    let relative = CString::new(file.strip_prefix(&data)?.as_os_str().as_bytes())?;
    let data = File::open(&data)?;

    let mut value = Vec::new();
    session.get(key, &mut value)?.ok_or("the value is a miss")?;
    let mut buffer = vec![0; 64 << 10];
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for slice in 0..slices {
        // They take turns at going first, so that neither always finds the caches as the other left them.
        for turn in 0..2 {
            if (slice + turn) % 2 == 0 {
                ours.push(time(|| get(&mut *session, key, &mut value))?);
            } else {
                bare.push(time(|| read_file(data.as_raw_fd(), &relative, &mut buffer))?);
            }
        }
    }
    let mut ratios: Vec<f64> = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
    let [low, ratio, high] = [0.25, 0.5, 0.75].map(|q| quantile(&mut ratios, q));
    writeln!(
        io::stdout(),
        "{} {len:5} B: get {:7.1} ns, open-read-close {:7.1} ns, ratio {ratio:.3} (quartiles {low:.3} to {high:.3}, {slices} pairs of {OPERATIONS})",
        folder.display(),
        quantile(&mut ours, 0.5),
        quantile(&mut bare, 0.5),
    )?;
    Ok(())
}

/// Nanoseconds of one operation, over a slice of them.
fn time(mut operation: impl FnMut() -> io::Result<usize>) -> io::Result<f64> {
    let start = Instant::now();
    for _ in 0..OPERATIONS {
        black_box(operation()?);
    }
    Ok(start.elapsed().as_secs_f64() * 1e9 / f64::from(OPERATIONS))
}

fn get(session: &mut dyn Session, key: &[u8], value: &mut Vec<u8>) -> io::Result<usize> {
    let hit = session.get(black_box(key), value).map_err(io::Error::other)?;
    hit.ok_or(io::ErrorKind::NotFound)?;
    Ok(value.len())
}

fn read_file(folder: RawFd, name: &CString, buffer: &mut [u8]) -> io::Result<usize> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: `name` ends with a zero byte and outlives the call.
    let fd = unsafe { libc::openat(folder, black_box(name).as_ptr(), flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: openat has just made this descriptor and no other owner knows it.
    let file = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: the system writes at most as many bytes as the buffer has.
    let n = unsafe { libc::read(file.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// The first file below the folders of a store, which are named by two digits.
fn entry_under(folder: &Path) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_folder = entry.file_type()?.is_dir();
        match entry.file_name().len() {
            2 if is_folder => {
                if let Some(file) = entry_under(&entry.path())? {
                    return Ok(Some(file));
                }
            }
            8.. if !is_folder => return Ok(Some(entry.path())),
            _ => {}
        }
    }
    Ok(None)
}

fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index of a short list"
    )]
    let at = (q * (values.len() - 1) as f64).round() as usize;
    values[at]
}

/// A folder that vanishes with its owner.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // A few kilobytes stay behind in a temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}
