//! Published statistics: a user's file or a built-in one.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use larder_store::ByteSize;

/// The size limit: no published file is longer, and another file, such as a device, is not read to its end.
const MAX_FILE: ByteSize = ByteSize(64 << 20);
/// The prefix of built-in names.
const BUILT_IN: &str = "builtin:";

/// The built-in files: a name behind `builtin:`, and the text.
pub(super) type BuiltIn = (&'static str, &'static str);

/// The text of a file, or of the built-in text under `builtin:NAME`.
pub(super) fn read(path: &Path, built_in: &[BuiltIn]) -> Result<Cow<'static, str>, String> {
    let Some(name) = path.to_str().and_then(|path| path.strip_prefix(BUILT_IN)) else {
        return read_file(path).map(Cow::Owned).map_err(|error| error.to_string());
    };
    let found = built_in.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| Cow::Borrowed(*text)).ok_or_else(|| {
        let known: Vec<_> = built_in.iter().map(|(name, _)| format!("{BUILT_IN}{name}")).collect();
        format!("no built-in file `{name}`; known: {}", known.join(", "))
    })
}

fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE.0 + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE.0 {
        return Err(io::Error::other(format!(
            "longer than {MAX_FILE}, the limit of a file of statistics"
        )));
    }
    Ok(text)
}

/// The rows of a text, each with its line number: without empty lines, comments, and the header of column names.
pub(super) fn rows<'a>(text: &'a str, columns: &str) -> impl Iterator<Item = (usize, &'a str)> {
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    lines.filter(move |(_, line)| !line.is_empty() && !line.starts_with('#') && *line != columns)
}

/// The part of a line that a message shows.
pub(super) fn shown(line: &str) -> String {
    line.chars().take(40).collect()
}
