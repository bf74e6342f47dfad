//! The page that a command writes to a file which its user names.

use std::io::Write;
use std::path::Path;

use anyhow::bail;

use super::atomic_file;
use crate::exit::Usage;

/// Refuses standard output, and to write a page over a file that is no page of the same command.
pub(super) fn refuse_other_file(
    page: &Path,
    command: &str,
    is_page: fn(&str) -> bool,
) -> anyhow::Result<()> {
    let shown = page.display();
    if page == Path::new("-") {
        bail!(Usage(format!(
            "--html {shown}: a page is written to a file; name one, or print the page with --format html"
        )));
    }
    let is_ours = match std::fs::metadata(page) {
        Err(_) => return Ok(()),
        // What is no file may have no end.
        Ok(found) => {
            found.is_file()
                && std::fs::read(page).is_ok_and(|bytes| is_page(&String::from_utf8_lossy(&bytes)))
        }
    };
    if !is_ours {
        bail!(Usage(format!(
            "--html {shown}: exists, and is no page of `larder {command}`; name another file"
        )));
    }
    Ok(())
}

/// Writes a page, and says where it is.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    atomic_file::write(path, |out| Ok(out.write_all(text.as_bytes())?))?;
    anstream::eprintln!("larder: the page is {}", path.display());
    Ok(())
}
