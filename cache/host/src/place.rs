//! The places of the files of engines.

use std::path::{Path, PathBuf};

use larder_store::{Error, FileSystem, Mount, Result, StoreUrl};

use crate::disk;
use crate::mount::Mounted;
use crate::scratch::ScratchDir;

/// The place of an engine's files.
#[derive(Debug)]
pub enum Place {
    /// At the path of the URL; the files stay when the store is closed.
    Given(PathBuf),
    /// In a directory that vanishes with the store.
    Own(ScratchDir),
    /// In a file system that is mounted for the store and vanishes with it.
    Mounted(Mounted),
}

impl Place {
    /// The place that a URL asks for: its path. Without a path, or where the URL asks for a store that vanishes, it is
    /// a new directory. That directory is under the temporary one, or under the path or its parent folder.
    pub fn of(engine: &'static str, url: &StoreUrl) -> Result<Self> {
        refuse_host(engine, url)?;
        let path = Path::new(url.path());
        if !url.path().is_empty() && !url.is_scratch() {
            return Ok(Self::Given(path.into()));
        }
        ScratchDir::create_in(engine, &Self::parent(engine, url)?).map(Self::Own)
    }

    /// As [`Place::of`] for an engine with the option `mount`. Where the option is given, a file system is mounted on a
    /// new directory in that place, whatever else the URL asks for.
    pub fn on(engine: &'static str, url: &StoreUrl, mount: Option<Mount>) -> Result<Self> {
        match mount {
            None => Self::of(engine, url),
            Some(mount) => {
                refuse_host(engine, url)?;
                Mounted::create_in(engine, &Self::parent(engine, url)?, mount).map(Self::Mounted)
            }
        }
    }

    /// The parent folder of a directory that vanishes.
    fn parent(engine: &'static str, url: &StoreUrl) -> Result<PathBuf> {
        if url.path().is_empty() {
            return Ok(std::env::temp_dir());
        }
        let path = Path::new(url.path());
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let what = format!("there is no folder {}; make it or name another", folder.display());
            return Err(Error::Unavailable { engine, what, source: None });
        }
        Ok(folder.into())
    }

    /// The path, or the directory that vanishes.
    pub fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Own(directory) => directory.path(),
            Self::Mounted(mounted) => mounted.path(),
        }
    }

    /// Whether its files stay when the store is closed.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Given(_))
    }

    /// The file system of the place, once it exists.
    pub fn file_system(&self) -> Option<FileSystem> {
        let system = disk::file_system(self.path()).ok()?;
        Some(FileSystem { is_own: matches!(self, Self::Mounted(_)), ..system })
    }

    /// The kind of mount that was made for the place.
    pub fn mount(&self) -> Option<Mount> {
        match self {
            Self::Mounted(mounted) => Some(mounted.what()),
            _ => None,
        }
    }

    /// The size of the file system that was mounted for the place; `None` without a mount or without a limit.
    pub fn limit_bytes(&self) -> Option<u64> {
        match self {
            Self::Mounted(mounted) => mounted.limit_bytes(),
            _ => None,
        }
    }
}

/// Refuses a URL with a host: files have only a path, and an apparent host is a path with a slash too many.
fn refuse_host(engine: &'static str, url: &StoreUrl) -> Result<()> {
    if url.hosts().is_empty() {
        return Ok(());
    }
    let meant = format!("{engine}:/{}{}", url.hosts().join(","), url.path());
    let reason = format!("files have a path and no host; write `{meant}`");
    Err(Error::InvalidUrl { url: url.to_string(), reason })
}
