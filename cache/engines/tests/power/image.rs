//! The files of a folder at one moment, in memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Files whose contents come through a memory map, which the journal does not see. Their users make them anew when no
/// other process has the store open: LMDB's slots of readers, and SQLite's index of its log.
const MAPPED: [&str; 2] = ["lock.mdb", "-shm"];

/// The file that names the start of the machine since which a store has been open.
const RUNNING: &str = "running";

/// The number of the machine's present start.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The files by their names, and the folders for them.
#[derive(Debug)]
pub(crate) struct Image {
    files: BTreeMap<String, Vec<u8>>,
    folders: Vec<String>,
}

impl Image {
    /// Folders stand before those in them.
    pub(crate) fn new(files: BTreeMap<String, Vec<u8>>, folders: Vec<String>) -> Self {
        Self { files, folders }
    }

    /// The files that are really in a folder.
    pub(crate) fn of(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        collect(folder, "", &mut files);
        Self { files, folders: Vec::new() }
    }

    /// The files and their names.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&String, &Vec<u8>)> {
        self.files.iter()
    }

    /// Makes the files look as if the machine had started again: a file that names its present start names another one.
    pub(crate) fn after_another_start(mut self) -> Self {
        let now = fs::read_to_string(BOOT).unwrap();
        for (name, bytes) in &mut self.files {
            if base(name) == RUNNING {
                let text = String::from_utf8_lossy(bytes);
                let earlier = "0".repeat(now.trim().len());
                *bytes = text.replace(now.trim(), &earlier).into_bytes();
            }
        }
        self
    }

    /// Writes the files into a new folder.
    pub(crate) fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        self.folders.iter().for_each(|name| fs::create_dir(folder.join(name)).unwrap());
        for (name, bytes) in &self.files {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }

    /// The first file that differs from the other image, apart from the files that come through a map.
    pub(crate) fn difference(&self, other: &Self) -> Option<String> {
        let mut names: Vec<&String> = self.files.keys().chain(other.files.keys()).collect();
        names.retain(|name| !MAPPED.iter().any(|mapped| name.ends_with(mapped)));
        let [one, two] = [self, other].map(|image| |name: &str| image.files.get(name));
        let differs = names.into_iter().find(|name| one(name) != two(name))?;
        let told = [one(differs), two(differs)].map(|bytes| match bytes {
            None => "missing".into(),
            Some(bytes) => format!("{} bytes", bytes.len()),
        });
        Some(format!("{differs}: {} and {}", told[0], told[1]))
    }
}

/// The last part of a name.
pub(crate) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn collect(folder: &Path, before: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{before}{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), files);
        } else {
            files.insert(name, fs::read(entry.path()).unwrap());
        }
    }
}
