//! The header of a zstd frame, which names the memory that its decompression takes.

use std::io;

use larder_store::ByteSize;

/// The longest header of a frame, with its magic number.
pub(super) const HEADER: u64 = 18;

/// The largest window that is decompressed: 2 GiB, that of `zstd --long=31`, and the largest that the library takes. A trace from
/// elsewhere decides on its window, and the window is in memory as far as the data fill it.
pub(super) const MAX_WINDOW_LOG: u32 = 31;

/// Refuses a frame with a larger window. The library refuses such a frame that comes after others, without the figures.
pub(super) fn check_window(header: &[u8]) -> io::Result<()> {
    match window(header) {
        Some(window) if window > 1 << MAX_WINDOW_LOG => {
            let (window, limit) = (ByteSize(window), ByteSize(1 << MAX_WINDOW_LOG));
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!(
                    "zstd data with a window of {window}, which is more than the limit {limit}; compress the trace with \
                     zstd --long={MAX_WINDOW_LOG} at most"
                ),
            ))
        }
        _ => Ok(()),
    }
}

/// The window of a frame by its header, as RFC 8878 defines it; `None` for a skippable frame, and where bytes are missing.
fn window(header: &[u8]) -> Option<u64> {
    let rest = header.strip_prefix(b"\x28\xb5\x2f\xfd")?;
    let (descriptor, rest) = rest.split_first()?;
    let is_single_segment = descriptor & 0x20 != 0;
    if !is_single_segment {
        let first = rest.first()?;
        let base = 1_u64 << (10 + (first >> 3));
        return Some(base + base / 8 * u64::from(first & 7));
    }
    // The window is the whole content, whose length follows the number of a dictionary.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let length = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let bytes = rest.get(dictionary..dictionary + length)?;
    let number = bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
    Some(if length == 2 { number + 256 } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";

    fn header(rest: &[u8]) -> Vec<u8> {
        [MAGIC, rest].concat()
    }

    #[test]
    fn a_header_names_its_window() {
        for (rest, expected) in [
            (&[0x00, 0x00][..], Some(1 << 10)),
            (&[0x00, 0x8f], Some((1 << 27) + (1 << 24) * 7)),
            (&[0x20, 5], Some(5)),
            (&[0x60, 1, 1], Some(256 + 257)),
            (&[0xa1, 9, 0, 0, 0, 1], Some(1 << 24)),
            (&[0xe3, 9, 9, 9, 9, 0, 0, 0, 0, 1, 0, 0, 0], Some(1 << 32)),
            (&[0xe3, 9, 9, 9, 9, 0, 0, 0], None),
            (&[0x00], None),
            (&[], None),
        ] {
            assert_eq!(window(&header(rest)), expected, "{rest:x?}");
        }
        assert_eq!(window(b"\x50\x2a\x4d\x18\x03\0\0\0abc"), None, "skippable");
    }

    #[test]
    fn a_window_beyond_the_limit_is_refused_with_a_command_that_helps() {
        for window in [0x88, 0x90, 0xa8] {
            check_window(&header(&[0x00, window])).unwrap();
        }
        let refusal = check_window(&header(&[0x00, 0xb0])).unwrap_err().to_string();
        let expected = "zstd data with a window of 4 GiB, which is more than the limit 2 GiB; compress the trace with \
                        zstd --long=31 at most";
        assert_eq!(refusal, expected);
        let refusal =
            check_window(&header(&[0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]));
        assert!(refusal.unwrap_err().to_string().ends_with("--long=31 at most"));
    }
}
