//! The stored form of a value.
//!
//! The first byte names the format. No text in UTF-8 has one of these bytes, so a value that a program without the layer
//! has stored is not taken for one of its forms.
//!
//! | byte | then |
//! |---|---|
//! | 0xC0 | the value as it is |
//! | 0xC1 | its length and the beginning of its checksum, each 4 bytes, little-endian; a frame of zstd |
//! | 0xF5 | the same; a block of LZ4 |
//!
//! The checksum is rapidhash v3. Neither compression notices every damage by itself.

use larder_store::count;
use rapidhash::v3::rapidhash_v3;
use zstd::bulk::{Compressor, Decompressor};

use super::Format;

const RAW: u8 = 0xC0;
const ZSTD: u8 = 0xC1;
const LZ4: u8 = 0xF5;

/// Bytes before a value that is stored as it is.
pub(super) const HEADER_LEN: usize = 1;
/// Bytes before a value that is compressed.
const PACKED_LEN: usize = 9;

/// Compresses and decompresses the values of one session.
#[derive(Default)]
pub(super) struct Packer {
    compressor: Option<Compressor<'static>>,
    decompressor: Option<Decompressor<'static>>,
}

/// The description of a stored form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form<'s> {
    /// The value as it is.
    Raw(&'s [u8]),
    /// A compressed value.
    Packed { format: Format, len: usize, sum: u32, packed: &'s [u8] },
}

impl<'s> Form<'s> {
    /// The form; `Ok(None)` where the format is unknown. `Err` names the damage.
    pub(super) fn of(stored: &'s [u8]) -> Result<Option<Self>, String> {
        let Some((id, rest)) = stored.split_first() else { return Ok(None) };
        let format = match *id {
            RAW => return Ok(Some(Self::Raw(rest))),
            ZSTD => Format::Zstd,
            LZ4 => Format::Lz4,
            _ => return Ok(None),
        };
        let numbers = rest.split_first_chunk::<4>();
        let numbers = numbers.and_then(|(len, rest)| Some((len, rest.split_first_chunk::<4>()?)));
        let Some((len, (sum, packed))) = numbers else {
            return Err(format!(
                "a compressed value of {} bytes has no room for its header",
                stored.len()
            ));
        };
        let (len, sum) = (u32::from_le_bytes(*len) as usize, u32::from_le_bytes(*sum));
        Ok(Some(Self::Packed { format, len, sum, packed }))
    }
}

/// Writes a value as it is.
pub(super) fn write_raw(value: &[u8], out: &mut Vec<u8>) {
    out.reserve(HEADER_LEN + value.len());
    out.push(RAW);
    out.extend_from_slice(value);
}

impl Packer {
    /// Writes the compressed form of a value; `false`, and nothing written, where that would not be shorter.
    pub(super) fn pack(
        &mut self,
        format: Format,
        level: i32,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let before = out.len();
        let shorter = value.len().saturating_sub(PACKED_LEN);
        let Ok(len) = u32::try_from(value.len()) else { return false };
        out.push(if format == Format::Zstd { ZSTD } else { LZ4 });
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&checksum(value).to_le_bytes());
        let start = out.len();
        let packed_len = match format {
            Format::Zstd => {
                out.resize(start + shorter, 0);
                self.compressor(level)
                    .and_then(|zstd| zstd.compress_to_buffer(value, &mut out[start..]).ok())
            }
            Format::Lz4 => {
                out.resize(start + lz4_flex::block::get_maximum_output_size(value.len()), 0);
                lz4_flex::block::compress_into(value, &mut out[start..]).ok()
            }
        };
        let packed_len = packed_len.filter(|len| *len < shorter);
        out.truncate(packed_len.map_or(before, |len| start + len));
        packed_len.is_some()
    }

    fn compressor(&mut self, level: i32) -> Option<&mut Compressor<'static>> {
        if self.compressor.is_none() {
            self.compressor = Compressor::new(level).ok();
        }
        self.compressor.as_mut()
    }

    /// Writes the value of a compressed form behind the bytes in `value`. `Err` names the damage, and `value` may have
    /// more bytes then.
    pub(super) fn unpack(
        &mut self,
        format: Format,
        len: usize,
        sum: u32,
        packed: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<(), String> {
        let start = value.len();
        value.resize(start + len, 0);
        let out = &mut value[start..];
        let written = match format {
            Format::Zstd => self
                .decompressor()
                .and_then(|zstd| zstd.decompress_to_buffer(packed, out))
                .map_err(|error| error.to_string()),
            Format::Lz4 => lz4_flex::block::decompress_into(packed, out)
                .map_err(|error| error.to_string().replace('\n', " ")),
        };
        let problem = match written {
            Ok(written) if written != len => {
                format!("{} in place of {len}", count(written, "byte"))
            }
            Ok(_) if checksum(&value[start..]) != sum => "a wrong checksum".into(),
            Ok(_) => return Ok(()),
            Err(problem) => problem,
        };
        Err(format!("a value compressed by {format}: {problem}"))
    }

    fn decompressor(&mut self) -> std::io::Result<&mut Decompressor<'static>> {
        if self.decompressor.is_none() {
            self.decompressor = Some(Decompressor::new()?);
        }
        self.decompressor.as_mut().ok_or_else(|| std::io::Error::other("no decompressor"))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the form has 4 bytes of the checksum")]
fn checksum(value: &[u8]) -> u32 {
    rapidhash_v3(value) as u32
}
