//! The files of a trace on this machine: which they are, and their content in short.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::TraceSource;

/// The bytes that are hashed at a time.
const PIECE: usize = 1 << 20;

/// The most pieces of a file that are hashed: all of a file of 256 MiB, and of a larger one so many that lie evenly in it.
const MOST_PIECES: u64 = 256;

impl TraceSource {
    /// The files that are there, in the order of their names; none of a trace that is built in.
    pub fn paths(&self) -> Vec<PathBuf> {
        if self.is_built_in() {
            return Vec::new();
        }
        let mut files = self.files().unwrap_or_default();
        files.retain(|file| file.exists());
        files
    }

    /// Whether a path leads to one of its files, by whatever name: what is written there would destroy the trace.
    pub fn is_read_from(&self, path: &Path) -> bool {
        let place = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
        let written = place(path);
        written.is_some() && self.paths().iter().any(|file| place(file) == written)
    }

    /// The size in bytes and a hash of its files: another text is another trace. `None` for a trace that is built in, which
    /// never changes, and where a file cannot be read twice, as a pipe.
    pub fn content(&self) -> Option<String> {
        let files = self.paths();
        let (mut bytes, mut hash) = (0, 0);
        for file in &files {
            let (len, of_file) = hashed(file, hash).ok()??;
            (bytes, hash) = (bytes + len, of_file);
        }
        (!files.is_empty()).then(|| format!("{bytes} bytes {hash:016x}"))
    }
}

/// The length of a file and its hash, which goes on from that of the file before; `None` for what is no regular file.
fn hashed(path: &Path, mut hash: u64) -> io::Result<Option<(u64, u64)>> {
    // A pipe is not even opened: that may wait for ever.
    let len = fs::metadata(path)?;
    if !len.is_file() {
        return Ok(None);
    }
    let (len, piece) = (len.len(), PIECE as u64);
    let mut file = File::open(path)?;
    let step = (len / MOST_PIECES).max(piece);
    // The hash so far stands before each piece.
    let mut room = Vec::with_capacity(PIECE + size_of::<u64>());
    let mut at = 0;
    loop {
        room.clear();
        room.extend_from_slice(&hash.to_le_bytes());
        file.seek(SeekFrom::Start(at))?;
        file.by_ref().take(piece).read_to_end(&mut room)?;
        hash = rapidhash::v3::rapidhash_v3(&room);
        at += step;
        if at >= len {
            return Ok(Some((len, hash)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(path: &Path) -> String {
        TraceSource::from(path).content().unwrap()
    }

    #[test]
    fn another_byte_is_another_content_and_another_name_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a.csv"), "key\na\nb\n").unwrap();
        fs::write(at("b.csv"), "key\na\nb\n").unwrap();
        assert_eq!(content(&at("a.csv")), content(&at("b.csv")));
        let both = content(&at("*.csv"));
        assert_ne!(both, content(&at("a.csv")));
        fs::write(at("b.csv"), "key\na\nc\n").unwrap();
        assert_ne!(content(&at("a.csv")), content(&at("b.csv")));
        assert_ne!(content(&at("*.csv")), both);
        assert_eq!("builtin:web12".parse::<TraceSource>().unwrap().content(), None);
        assert_eq!(TraceSource::from(folder.path()).content(), None);
    }

    #[test]
    fn a_large_file_is_told_by_pieces_from_its_beginning_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.csv");
        let len = MOST_PIECES * PIECE as u64 * 2;
        let mut contents = Vec::new();
        for changed in [None, Some(0), Some(len / 2)] {
            // A file of nothing but zeros takes no room.
            let mut file = File::create(&path).unwrap();
            file.set_len(len).unwrap();
            if let Some(at) = changed {
                file.seek(SeekFrom::Start(at)).unwrap();
                io::Write::write_all(&mut file, b"x").unwrap();
            }
            contents.push(content(&path));
        }
        contents.sort();
        contents.dedup();
        assert_eq!(contents.len(), 3, "{contents:?}");
    }

    #[test]
    fn a_trace_is_read_from_each_of_its_files_by_whatever_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["part-1.csv", "part-2.csv", "other.csv"] {
            fs::write(at(name), "key\na\n").unwrap();
        }
        fs::hard_link(at("part-2.csv"), at("same")).unwrap();
        std::os::unix::fs::symlink(at("part-1.csv"), at("link")).unwrap();
        let trace = TraceSource::from(&*at("part-*.csv"));
        for (name, is_read) in
            [("part-1.csv", true), ("same", true), ("link", true), ("other.csv", false)]
        {
            assert_eq!(trace.is_read_from(&at(name)), is_read, "{name}");
        }
        assert!(!trace.is_read_from(&at("missing.csv")));
    }
}
