//! Errors of LMDB as messages.

use std::io;
use std::path::Path;

use heed::MdbError;
use larder_host::disk;
use larder_store::{ByteSize, Error};

use super::SCHEME;
use super::databases::NAMESPACES;
use super::environment::DATA_FILE;
use super::map::Map;

/// What an error in a folder means to the user. `map` is the folder's, once it is open.
pub(super) fn in_words(folder: &Path, map: Option<&Map>, error: heed::Error) -> Error {
    let shown = folder.display();
    let data = folder.join(DATA_FILE);
    let corrupted = |what: &str| Error::Corrupted {
        engine: SCHEME,
        what: format!("{} {what}", data.display()),
    };
    let busy = |what: String| Error::Busy { engine: SCHEME, what };
    let unavailable = |what: String| Error::Unavailable { engine: SCHEME, what, source: None };
    let other = |source| disk::io_error(SCHEME, "using", folder, source);
    match error {
        // LMDB reports a short write as an error of the device.
        heed::Error::Io(source)
            if source.raw_os_error() == Some(libc::EIO) && disk::has_no_room(folder) =>
        {
            other(io::ErrorKind::StorageFull.into())
        }
        heed::Error::Io(source) if source.kind() == io::ErrorKind::ResourceBusy => {
            busy(source.to_string())
        }
        heed::Error::Io(source) if source.kind() == io::ErrorKind::OutOfMemory => {
            let reason =
                format!("no address space for the map of {shown}; lower `size` or `map_size`");
            Error::InvalidOptions { engine: SCHEME, reason }
        }
        heed::Error::Io(source) => other(source),
        heed::Error::Decoding(reason) => corrupted(&format!("holds {reason}; delete it")),
        heed::Error::EnvAlreadyOpened => {
            busy(format!("{shown} is open in this process by another user of LMDB"))
        }
        heed::Error::Mdb(MdbError::MapFull) => {
            let size = ByteSize(map.map_or(0, |map| map.size() as u64));
            Error::Full { engine: SCHEME, what: format!("the map of {size}; raise `map_size`") }
        }
        heed::Error::Mdb(MdbError::ReadersFull) => {
            let readers = map.map_or(0, |map| map.env().max_readers());
            busy(format!("all {readers} slots for reading threads in {shown}; raise `readers`"))
        }
        heed::Error::Mdb(MdbError::BadRslot) => {
            busy(format!("this thread is already reading from {shown}"))
        }
        heed::Error::Mdb(MdbError::DbsFull) => Error::InvalidOptions {
            engine: SCHEME,
            reason: format!("option `namespace`: {NAMESPACES} of {shown} are open in this process"),
        },
        heed::Error::Mdb(MdbError::MapResized) => unavailable(format!(
            "another process has just made the map of {shown} larger; try again"
        )),
        // LMDB gives up after a failed write of the page from which it finds all others. The file is as before it.
        heed::Error::Mdb(MdbError::Panic) => {
            unavailable(format!("a write to {shown} failed midway; open it again"))
        }
        heed::Error::Mdb(MdbError::Invalid | MdbError::VersionMismatch) => {
            corrupted("is not a file of this LMDB; delete it or choose another folder")
        }
        heed::Error::Mdb(error) => corrupted(&format!("cannot be used ({error}); delete it")),
        error @ heed::Error::Encoding(_) => other(io::Error::other(error)),
    }
}
