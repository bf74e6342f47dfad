//! Files that are no trace of any format: what they are, as far as their beginning tells, and what to do with them.

use super::error::TraceFault;
use super::format::Head;
use super::lines::shown;

/// The first bytes of other files, each with what completes "trace FILE: …".
const OTHERS: &[(&[u8], &str)] = &[
    (b"BZh", "is compressed by bzip2, which is not read; unpack it by bunzip2"),
    (b"LZIP", "is compressed by lzip, which is not read; unpack it by lzip -d"),
    (b"\x04\x22\x4d\x18", "is compressed by lz4, which is not read; unpack it by lz4 -d"),
    (b"\x1f\x9d", "is compressed by compress, which is not read; unpack it by gzip -d"),
    (b"7z\xbc\xaf\x27\x1c", "is an archive of 7-Zip; unpack the trace by 7z x"),
    (b"PK\x03\x04", "is a zip archive; unpack the trace by unzip"),
    (b"\xa1\xb2\xc3\xd4", CAPTURE),
    (b"\xd4\xc3\xb2\xa1", CAPTURE),
    (b"\xa1\xb2\x3c\x4d", CAPTURE),
    (b"\x4d\x3c\xb2\xa1", CAPTURE),
    (b"\x0a\x0d\x0d\x0a", CAPTURE),
    (b"ARROW1", "is a file of Arrow (Feather), which is not read; write it as Parquet"),
    (b"FEA1", "is a file of Feather, which is not read; write it as Parquet"),
    (b"PARE", "is an encrypted Parquet file; write it without encryption"),
    (b"ORC", "is a file of ORC, which is not read; write it as Parquet"),
    (b"Obj\x01", "is a file of Avro, which is not read; write it as Parquet"),
    (b"\x89HDF", "is a file of HDF5, which is not read; write it as Parquet"),
    (b"SQLite format 3\0", "is a database of SQLite; write its table as CSV or Parquet"),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
];

const CAPTURE: &str =
    "is a capture of packets; larder record --from pcap:FILE --upstream URL makes a trace of it";
const UTF_16: &str =
    "is text in UTF-16; write it in UTF-8, as by iconv -f UTF-16 -t UTF-8 FILE > NEW";
const LZMA: &str = "is compressed by lzma, which is not read; unpack it by unlzma";
const TAR: &str = "is a tar archive; unpack the trace by tar xf";

/// The place of its mark in a tar archive.
const TAR_MARK: usize = 257;

/// The letters by which UTF-16 is recognised: the most that are looked at, and the fewest that are needed without a mark and
/// behind one.
const LETTERS: usize = 64;
const SURE: usize = 8;
const SURE_BEHIND_MARK: usize = 2;

/// The fault of a file of another kind, told by its first bytes.
pub(super) fn by_first_bytes(head: &Head<'_>) -> Option<TraceFault> {
    let bytes = head.bytes;
    let other = OTHERS.iter().find(|(magic, _)| bytes.starts_with(magic) && is_sure(magic, bytes));
    let reason = match other {
        Some((_, reason)) => reason,
        None if is_lzma(bytes) => LZMA,
        None if bytes.get(TAR_MARK..).is_some_and(|rest| rest.starts_with(b"ustar")) => TAR,
        None if is_utf_16(bytes, SURE) => UTF_16,
        None => return None,
    };
    Some(TraceFault::Structure { reason: reason.into() })
}

/// Whether the bytes behind a short mark of letters agree, because a text may begin with the same letters.
fn is_sure(magic: &[u8], bytes: &[u8]) -> bool {
    match magic {
        b"BZh" => bytes.get(4..10) == Some(b"1AY&SY"),
        b"\xff\xfe" | b"\xfe\xff" => is_utf_16(&bytes[2..], SURE_BEHIND_MARK),
        _ => !is_text(bytes),
    }
}

/// A `.lzma` file has no mark, but its default properties, a dictionary of whole kibibytes, and a length that is unknown or
/// below 2⁴⁰.
fn is_lzma(bytes: &[u8]) -> bool {
    let Some([0x5d, 0, dictionary, _, _, length @ ..]) = bytes.first_chunk::<13>() else {
        return false;
    };
    *dictionary == 0 && (*length == [0xff; 8] || length[5..] == [0; 3])
}

/// Whether every other byte is 0, and those between are text.
fn is_utf_16(bytes: &[u8], fewest: usize) -> bool {
    let (pairs, _) = bytes[..bytes.len().min(2 * LETTERS)].as_chunks::<2>();
    let are_letters =
        |high: usize| pairs.iter().all(|pair| pair[high] == 0 && is_text(&pair[1 - high..][..1]));
    pairs.len() >= fewest && (are_letters(0) || are_letters(1))
}

/// Whether bytes are text in UTF-8, or in an encoding of Latin letters. The last letter may be cut off.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let is_utf_8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    let n_ascii = bytes.iter().filter(|byte| byte.is_ascii()).count();
    let is_latin = n_ascii * 4 >= bytes.len() * 3;
    !bytes.is_empty() && (is_utf_8 || is_latin) && !bytes.iter().any(is_odd)
}

/// The fault of a file whose format is not recognised, with the way on where its first line shows what was meant.
pub(super) fn unknown(head: &Head<'_>) -> TraceFault {
    let line = first_line(head.bytes);
    let lower = String::from_utf8_lossy(line).to_ascii_lowercase();
    let columns = |separator: char| lower.split(separator).any(|name| name.trim() == "key");
    if head.bytes.is_empty() {
        return TraceFault::Header { reason: "it is empty".into() };
    }
    if let Some(separator) = [';', '\t', '|'].into_iter().find(|other| columns(*other)) {
        let separator = separator.escape_default();
        let reason = format!("its first line has `{separator}` between the columns");
        return TraceFault::Header { reason };
    }
    if !head.is_text() {
        return TraceFault::unknown("its bytes are no text, and nothing in its name tells of what");
    }
    let shown = shown(line);
    if is_header(&lower) {
        return TraceFault::unknown(&format!(
            "its first line `{shown}` has no column `key`; name columns by `?columns=key:NAME,size:NAME`"
        ));
    }
    if has_a_word_a_line(head.bytes) {
        return TraceFault::unknown(
            "each line is a word; where these are keys, write `?format=keys`",
        );
    }
    TraceFault::unknown(&format!(
        "its first line is `{shown}`, which names no columns as key,op,size does"
    ))
}

/// The first line with a text that is no comment, or the available part of it.
fn first_line(bytes: &[u8]) -> &[u8] {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).find(|line| line[0] != b'#').unwrap_or_default()
}

/// Whether a line has several names with commas between, or semicolons or tabs.
fn is_header(line: &str) -> bool {
    [',', ';', '\t'].into_iter().any(|separator| has_names(line, separator))
}

fn has_names(line: &str, separator: char) -> bool {
    let is_name = |field: &str| {
        let field = field.trim().trim_matches('"');
        field.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
            && field.chars().all(|c| c.is_alphanumeric() || "_-. ()[]".contains(c))
    };
    let mut names = line.split(separator).filter(|field| !field.trim().is_empty());
    names.clone().count() > 1 && names.all(is_name)
}

/// Whether each line is one word. The last of them may be cut off.
fn has_a_word_a_line(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    lines.into_iter().all(|line| !line.iter().any(|byte| b" \t,;|".contains(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_numbers() {
        for text in ["GET /index.html 200\n", "1\n", "Grüße", "ключ\n"] {
            assert!(is_text(text.as_bytes()), "{text}");
        }
        assert!(is_text(&"ключ".as_bytes()[..3]), "cut within a letter");
        assert!(is_text(b"gr\xfc\xdfe an alle\n"), "Latin letters");
        for bytes in [&b""[..], b"\0\0\0\x01", b"key\0", b"\xff\xff\xff\xff", b"\xd0", b"\x07bell"]
        {
            assert!(!is_text(bytes), "{bytes:?}");
        }
    }

    #[test]
    fn a_header_has_names_and_a_row_has_numbers() {
        for header in
            ["url,at,bytes", "\"Cache Key\",size (bytes)", ",time,id", "url;bytes", "\turl\tbytes"]
        {
            assert!(is_header(&header.to_lowercase()), "{header}");
        }
        for other in ["url", "1,k,2", "100,7,4096,-1", "GET /a, b", ""] {
            assert!(!is_header(other), "{other}");
        }
    }
}
