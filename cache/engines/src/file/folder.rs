//! The folder of a store: made, recognised, and written to so that files appear whole.

use std::ffi::{CStr, CString, OsStr};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use larder_store::{Error, Mount, Result};

use super::SCHEME;
use super::config::FileConfig;
use super::name::Name;
use super::sys;
use larder_host::disk;

/// The age at which a temporary file counts as abandoned: a writer at work changes its file all the time.
const ABANDONED_AFTER: Duration = Duration::from_mins(10);

/// The first line of the file `format`.
const FORMAT: &str = "larder file store 1";

/// An open folder of a store.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    fd: OwnedFd,
    depth: u8,
    sync: bool,
    mount: Option<Mount>,
}

impl Folder {
    /// Opens the namespace's folder under `root`, and makes both where they are missing. A folder that holds
    /// anything but a store of this format is refused, and so is a depth that is not the store's.
    pub(super) fn open(root: &Path, config: &FileConfig) -> Result<Self> {
        let path = root.join(&config.namespace);
        let failed = |what: &str, path: &Path| {
            let (what, path) = (what.to_owned(), path.to_owned());
            move |source| disk::io_error(SCHEME, &what, &path, source)
        };
        fs::create_dir_all(root).map_err(failed("creating", root))?;
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !path.is_dir() => {
                return Err(failed("creating", &path)(error));
            }
            _ => {}
        }
        let depth = match read_format(&path).map_err(failed("reading", &path.join("format")))? {
            Some(text) => parse_format(&text).ok_or_else(|| foreign(&path))?,
            None => make_format(&path, config.depth_when_new())?,
        };
        if config.depth.is_some_and(|wanted| wanted != depth) {
            return Err(Error::InvalidOptions {
                engine: SCHEME,
                reason: format!(
                    "option `depth`: {} was made with depth {depth}; open it with that depth, or choose another \
                     namespace",
                    path.display()
                ),
            });
        }
        let fd = File::open(&path).map_err(failed("opening", &path))?.into();
        sweep(&path.join("tmp"));
        Ok(Self { path, fd, depth, sync: config.sync, mount: config.mount })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn depth(&self) -> u8 {
        self.depth
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// An error on a file of this folder.
    #[cold]
    pub(super) fn error(&self, what: &str, name: &CStr, source: io::Error) -> Error {
        let path = self.path.join(OsStr::from_bytes(name.to_bytes()));
        match (disk::io_error(SCHEME, what, &path, source), self.mount) {
            // The path of a mounted store says nothing: it is a new path each time.
            (Error::Full { engine, .. }, Some(mount)) => {
                let what = format!("no room left on its {mount}; mount a larger one");
                Error::Full { engine, what }
            }
            (error, _) => error,
        }
    }

    /// Puts a file under `name`, whole or not at all. The caller has the turn on the name.
    pub(super) fn put(
        &self,
        name: &Name,
        temporary: &mut Temporary,
        value: &[u8],
        tail: &[u8],
    ) -> Result<()> {
        let written = self.write_temporary(temporary, value, tail);
        let renamed = written.and_then(|()| self.rename(temporary, name));
        renamed.inspect_err(|_| {
            // A half written file must not stay; where even the removal fails, the next open sweeps the file.
            let _ = sys::remove(self.as_fd(), &temporary.name);
        })
    }

    fn write_temporary(&self, temporary: &mut Temporary, value: &[u8], tail: &[u8]) -> Result<()> {
        let file = loop {
            match sys::create_new(self.as_fd(), &temporary.name) {
                Ok(file) => break file,
                // A killed process that had our process id left this file behind.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    *temporary = Temporary::new();
                }
                Err(error) => return Err(self.error("creating", &temporary.name, error)),
            }
        };
        let written = sys::write_all(file.as_fd(), value, tail)
            .and_then(|()| if self.sync { sys::sync(file.as_fd()) } else { Ok(()) });
        written.map_err(|error| self.error("writing", &temporary.name, error))
    }

    fn rename(&self, temporary: &Temporary, name: &Name) -> Result<()> {
        let path = name.path();
        let renamed = self.take_name(&temporary.name, path.as_c_str()).or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            self.make_folders(name)?;
            self.take_name(&temporary.name, path.as_c_str())
        });
        renamed
            .and_then(|()| self.sync_folder_of(name))
            .map_err(|error| self.error("writing", path.as_c_str(), error))
    }

    /// Gives a file its name. An older file is exchanged for the new one and then removed: a plain rename over it makes
    /// ext4 write the new file to the disk at once. The store needs no such write, because readers notice a file that a
    /// loss of power cut short, and count it as a miss.
    fn take_name(&self, temporary: &CStr, name: &CStr) -> io::Result<()> {
        let folder = self.as_fd();
        match sys::rename_new(folder, temporary, name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if sys::is_unknown(&error) => return sys::rename(folder, temporary, name),
            done => return done,
        }
        match sys::exchange(folder, temporary, name) {
            // Where this fails, the older file is no more than debris, and is swept as such.
            Ok(()) => sys::remove(folder, temporary).or(Ok(())),
            Err(error) if sys::is_unknown(&error) => sys::rename(folder, temporary, name),
            Err(error) => Err(error),
        }
    }

    /// Makes the folders above an entry, the first time that an entry is stored there.
    fn make_folders(&self, name: &Name) -> io::Result<()> {
        let mut above = c".".to_owned();
        for folder in name.path().folders() {
            let folder = CString::new(folder)?;
            sys::make_folder(self.as_fd(), &folder)?;
            if self.sync {
                sys::sync(sys::open_read(self.as_fd(), &above)?.as_fd())?;
            }
            above = folder;
        }
        Ok(())
    }

    /// Removes the file under `name`; `false` when there is no such file. The caller has the turn on the name.
    pub(super) fn remove(&self, name: &Name) -> Result<bool> {
        let removed = match sys::remove(self.as_fd(), name.path().as_c_str()) {
            Ok(()) => self.sync_folder_of(name).map(|()| Some(())),
            Err(error) => sys::absent_is_none(error),
        };
        let removed =
            removed.map_err(|error| self.error("removing", name.path().as_c_str(), error))?;
        Ok(removed.is_some())
    }

    /// With `sync`, waits until a name that was added or removed is on the disk too.
    fn sync_folder_of(&self, name: &Name) -> io::Result<()> {
        if !self.sync {
            return Ok(());
        }
        let folder = CString::new(name.path().folders().last().unwrap_or("."))?;
        sys::sync(sys::open_read(self.as_fd(), &folder)?.as_fd())
    }
}

/// The name under which a session writes its files until they are whole.
#[derive(Debug)]
pub(super) struct Temporary {
    name: CString,
}

impl Temporary {
    /// A name that no other session of this process has.
    pub(super) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tmp/{}-{n}", std::process::id());
        Self { name: CString::new(name).expect("digits and a slash") }
    }

    /// Whether a file in `tmp` has a name of this kind.
    fn is_one(name: &OsStr) -> bool {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let parts = name.to_str().and_then(|name| name.split_once('-'));
        parts.is_some_and(|(process, n)| is_number(process) && is_number(n))
    }
}

/// The text of the file `format`; `None` for a new folder.
fn read_format(path: &Path) -> io::Result<Option<String>> {
    fs::read_to_string(path.join("format")).map(Some).or_else(sys::absent_is_none)
}

fn parse_format(text: &str) -> Option<u8> {
    let depth = text.strip_prefix(FORMAT)?.strip_prefix("\ndepth ")?.trim_end().parse().ok()?;
    (depth <= super::name::MAX_DEPTH).then_some(depth)
}

/// Makes an empty folder a store. When two processes do so at once, one wins, and both use its depth.
fn make_format(path: &Path, depth: u8) -> Result<u8> {
    let failed = |what: &'static str, source| disk::io_error(SCHEME, what, path, source);
    let entries = fs::read_dir(path).map_err(|error| failed("reading", error))?;
    // A process that was killed in this function left at most the folder `tmp`.
    if entries.flatten().any(|entry| entry.file_name() != "tmp") {
        // Another process may have made the store just now.
        let text = read_format(path).map_err(|error| failed("reading", error))?;
        return text.and_then(|text| parse_format(&text)).ok_or_else(|| foreign(path));
    }
    let temporary = path.join(OsStr::from_bytes(Temporary::new().name.to_bytes()));
    let made = DirBuilder::new().mode(0o700).recursive(true).create(path.join("tmp"));
    let written = made
        .and_then(|()| write_synced(&temporary, &format!("{FORMAT}\ndepth {depth}\n")))
        .and_then(|()| fs::hard_link(&temporary, path.join("format")));
    // Where this fails, the next open sweeps the file.
    let _ = fs::remove_file(&temporary);
    match written {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(failed("making a store in", error));
        }
        _ => {}
    }
    let text = read_format(path).map_err(|error| failed("reading", error))?;
    text.and_then(|text| parse_format(&text)).ok_or_else(|| foreign(path))
}

/// Writes a file and waits for the disk, whatever the options say: with an empty `format`, all entries of the store would be
/// refused after a loss of power.
fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)?;
    File::open(path)?.sync_all()
}

fn foreign(path: &Path) -> Error {
    Error::InvalidOptions {
        engine: SCHEME,
        reason: format!(
            "{} holds files that are not a store of this format; choose another path or namespace",
            path.display()
        ),
    }
}

/// Removes the temporary files of killed writers. Nothing depends on this, so errors are ignored.
fn sweep(path: &Path) {
    let Ok(entries) = fs::read_dir(path) else { return };
    for entry in entries.flatten().filter(|entry| Temporary::is_one(&entry.file_name())) {
        let age = entry.metadata().and_then(|file| file.modified()).map(|at| at.elapsed());
        if let Ok(Ok(age)) = age
            && age > ABANDONED_AFTER
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}
