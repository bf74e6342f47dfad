//! Going through the entries of a store, folder by folder. A walk sees only names with the layout of a store.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;

use super::folder::Folder;
use super::name::Name;
use super::sys;

/// The visit of each entry.
type Visit<'a> = dyn FnMut(Name) -> ControlFlow<()> + 'a;

/// Visits entries until a visit breaks: first the folders from `start` on, one byte a level, then those before. The
/// walk may see or miss entries that come or go meanwhile.
pub(super) fn walk(folder: &Folder, start: u64, visit: &mut Visit<'_>) -> io::Result<()> {
    let start = start.to_be_bytes();
    let mut digits = Vec::new();
    let mut path = folder.path().to_owned();
    let levels = &start[..usize::from(folder.depth())];
    level(folder.depth(), levels, &mut path, &mut digits, visit).map(drop)
}

fn level(
    depth: u8,
    start: &[u8],
    path: &mut PathBuf,
    digits: &mut Vec<u8>,
    visit: &mut Visit<'_>,
) -> io::Result<ControlFlow<()>> {
    let Some(entries) = fs::read_dir(&*path).map(Some).or_else(sys::absent_is_none)? else {
        return Ok(ControlFlow::Continue(()));
    };
    let Some((first, start)) = start.split_first() else {
        for entry in entries {
            let above = digits.len();
            digits.extend_from_slice(entry?.file_name().as_encoded_bytes());
            let name = Name::from_digits(digits, depth);
            digits.truncate(above);
            if name.is_some_and(|name| visit(name).is_break()) {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    };
    let mut folders = Vec::new();
    for entry in entries {
        folders.extend(folder_byte(entry?.file_name().as_encoded_bytes()));
    }
    folders.sort_unstable_by_key(|byte| byte.wrapping_sub(*first));
    for byte in folders {
        let name = format!("{byte:02x}");
        path.push(&name);
        digits.extend_from_slice(name.as_bytes());
        let flow = level(depth, start, path, digits, visit)?;
        digits.truncate(digits.len() - name.len());
        path.pop();
        if flow.is_break() {
            return Ok(flow);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The byte that a folder stands for: two small hexadecimal digits, as names are written.
fn folder_byte(name: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(name).ok().filter(|text| text.len() == 2)?;
    let byte = u8::from_str_radix(text, 16).ok()?;
    (format!("{byte:02x}") == text).then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_small_digits_are_a_folder() {
        assert_eq!(folder_byte(b"3f"), Some(0x3f));
        for other in [&b"3F"[..], b"+3", b"3", b"03f", b"tmp", b"lock"] {
            assert_eq!(folder_byte(other), None);
        }
    }
}
