//! Decompression, recognised by magic bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use larder_store::count;
use liblzma::bufread::XzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

use super::gzip::Members;
use super::{frame, scratch};

/// The number of bytes that are read to recognise a format. Header lines are far shorter.
const HEAD: u64 = 4096;

const XZ: &[u8] = b"\xfd7zXZ\0";
const GZIP: &[u8] = b"\x1f\x8b\x08";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// The last three bytes of a skippable frame's magic number; files of several frames may begin with such a frame.
const ZSTD_SKIPPABLE: &[u8] = b"\x2a\x4d\x18";

/// The bytes of a trace.
pub(super) struct Input<'a> {
    /// The beginning of the decompressed data.
    pub(super) head: Vec<u8>,
    /// All the decompressed data, including the beginning.
    pub(super) stream: Box<dyn BufRead + 'a>,
    /// The file with just these bytes, where there is one.
    file: Option<File>,
}

impl<'a> Input<'a> {
    /// The input, which may be a file.
    pub(super) fn of(input: impl Read + 'a, file: Option<File>) -> io::Result<Self> {
        let (magic, input) = peek(input, frame::HEADER)?;
        let is_file = |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file());
        let file = file.filter(|file| !is_compressed(&magic) && is_file(file));
        let mut data = decoded(&magic, input)?;
        let mut head = Vec::new();
        data.by_ref().take(HEAD).read_to_end(&mut head)?;
        let stream = io::Cursor::new(head.clone()).chain(BufReader::new(data));
        Ok(Self { head, stream: Box::new(stream), file })
    }

    /// A file with the decompressed data. A pipe or compressed data are written to a temporary file without a name.
    pub(super) fn into_file(self) -> io::Result<File> {
        self.file.map_or_else(|| scratch::file_of(self.stream), Ok)
    }
}

fn is_compressed(magic: &[u8]) -> bool {
    magic.starts_with(XZ) || magic.starts_with(GZIP) || is_zstd(magic)
}

fn is_zstd(magic: &[u8]) -> bool {
    magic.starts_with(ZSTD) || magic.get(1..4) == Some(ZSTD_SKIPPABLE)
}

/// The bytes of a file without its compression: xz, gzip or zstd, recognised by the first bytes.
///
/// # Errors
///
/// The beginning cannot be read, or its decompression would take too much memory.
pub fn decompressed<R: Read>(input: R) -> io::Result<impl Read + use<R>> {
    let (magic, input) = peek(input, frame::HEADER)?;
    decoded(&magic, input)
}

fn decoded<R: BufRead>(magic: &[u8], input: R) -> io::Result<Decoded<R>> {
    Ok(if magic.starts_with(XZ) {
        Decoded::Xz(Named::new("xz", XzDecoder::new_multi_decoder(input)))
    } else if magic.starts_with(GZIP) {
        Decoded::Gzip(Named::new("gzip", Members::new(input)))
    } else if is_zstd(magic) {
        frame::check_window(magic)?;
        let mut decoder = ZstdDecoder::with_buffer(input)?;
        decoder.window_log_max(frame::MAX_WINDOW_LOG)?;
        Decoded::Zstd(Named::new("zstd", decoder))
    } else {
        Decoded::Plain(input)
    })
}

/// An input without its compression.
enum Decoded<R: BufRead> {
    Xz(Named<XzDecoder<R>>),
    Gzip(Named<Members<R>>),
    Zstd(Named<ZstdDecoder<'static, R>>),
    Plain(R),
}

impl<R: BufRead> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Xz(data) => data.read(buffer),
            Self::Gzip(data) => data.read(buffer),
            Self::Zstd(data) => data.read(buffer),
            Self::Plain(data) => data.read(buffer),
        }
    }
}

/// The first bytes of an input, and the whole input including them.
fn peek<R: Read>(mut input: R, length: u64) -> io::Result<(Vec<u8>, impl BufRead + use<R>)> {
    let mut head = Vec::new();
    input.by_ref().take(length).read_to_end(&mut head)?;
    Ok((head.clone(), BufReader::new(io::Cursor::new(head).chain(input))))
}

/// A reader whose errors name the failed compression and the offset.
struct Named<R> {
    compression: &'static str,
    data: R,
    offset: u64,
}

impl<R> Named<R> {
    fn new(compression: &'static str, data: R) -> Self {
        Self { compression, data, offset: 0 }
    }
}

impl<R: Read> Read for Named<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { compression, offset, .. } = *self;
        match self.data.read(buffer) {
            Ok(length) => {
                self.offset += length as u64;
                Ok(length)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!(
                    "{compression} data cut off or broken after {} of trace: {error}",
                    count(offset, "byte")
                ),
            )),
        }
    }
}
