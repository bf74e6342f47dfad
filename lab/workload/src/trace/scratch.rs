//! A temporary file without a name, for formats that are read in any order where the bytes come from a pipe or are compressed.

use std::env;
use std::fs::File;
use std::io::{self, Read, Write};

use larder_store::ByteSize;

/// The most bytes of the file. The folder of temporary files may be memory, and a small file may unpack to any size.
const LIMIT: u64 = 4 << 30;

/// Copies all bytes into a new file.
pub(super) fn file_of(input: impl Read) -> io::Result<File> {
    let mut file = tempfile::tempfile().map_err(unwritten)?;
    copy(input, &mut file, LIMIT)?;
    Ok(file)
}

fn copy(input: impl Read, file: impl Write, limit: u64) -> io::Result<()> {
    let mut file = Checked(file);
    let n_bytes = io::copy(&mut input.take(limit + 1), &mut file)?;
    if n_bytes > limit {
        let limit = ByteSize(limit);
        return Err(io::Error::other(format!(
            "compressed Parquet, or one from a pipe, becomes a temporary file of {limit} at most, and this one is larger; \
             unpack it to a file by gunzip, unxz or zstd -d, and read that"
        )));
    }
    Ok(())
}

/// A file whose errors name the folder, which the user has not named.
struct Checked<W>(W);

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(unwritten)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(unwritten)
    }
}

fn unwritten(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::Interrupted {
        return error;
    }
    let folder = env::temp_dir();
    io::Error::new(
        error.kind(),
        format!(
            "cannot be unpacked into a temporary file in {}: {error}; unpack it to a file, or name another folder by TMPDIR",
            folder.display()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device without room.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_small_file_does_not_unpack_without_limit() {
        let mut copied = Vec::new();
        copy([7; 3000].as_slice(), &mut copied, 3000).unwrap();
        assert_eq!(copied, [7; 3000]);
        let mut copied = Vec::new();
        let error = copy(io::repeat(7), &mut copied, 4096).unwrap_err().to_string();
        assert!(error.contains("of 4 KiB at most, and this one is larger; unpack it"), "{error}");
        assert_eq!(copied.len(), 4097);
        let error = copy(io::repeat(7), Full, 4096).unwrap_err().to_string();
        assert!(error.starts_with("cannot be unpacked into a temporary file in /"), "{error}");
    }
}
