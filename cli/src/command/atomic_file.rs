//! Files that appear whole.

use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::exit::Usage;

/// The permissions of a file that everybody may read, as far as the process allows it.
pub(super) const FOR_ALL: u32 = 0o666;

/// The permissions of a file with entries or traffic, which nobody but the owner may read.
pub(super) const FOR_OWNER: u32 = 0o600;

/// The most links that lead from one to the other, as the kernel follows them.
const MOST_LINKS: usize = 40;

/// The unfinished files of [`write_for_long`]; `None` before the first.
static UNFINISHED: Mutex<Option<Vec<PathBuf>>> = Mutex::new(None);

/// Writes a file beside `path`, and gives it that name once it is whole and on the disk. The existing file stays until
/// then. A link stays, and the file that it leads to is written.
///
/// # Errors
///
/// A usage error where there is no regular file at `path`. Errors of `content` and of the disk, with the path. Nothing of
/// the file is left then.
pub(super) fn write<T>(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let target = regular(path)?;
    write_beside(path, &target, &unfinished(&target), FOR_ALL, content)
}

/// As [`write`], for a command that does nothing else, for as long as that takes, and with these permissions. A signal that
/// ends the process leaves nothing of the file.
///
/// # Errors
///
/// As for [`write`].
pub(super) fn write_for_long<T>(
    path: &Path,
    mode: u32,
    content: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let target = regular(path)?;
    let beside = unfinished(&target);
    remove_at_a_signal(beside.clone())?;
    write_beside(path, &target, &beside, mode, content)
}

fn write_beside<T>(
    path: &Path,
    target: &Path,
    beside: &Path,
    mode: u32,
    content: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let written = (|| {
        let mut options = File::options();
        options.write(true).create_new(true).mode(mode);
        let mut out = BufWriter::new(options.open(beside)?);
        let told = content(&mut out)?;
        out.into_inner()?.sync_all()?;
        fs::rename(beside, target)?;
        Ok::<_, anyhow::Error>(told)
    })();
    if written.is_err() {
        // It is of no use, and a result folder takes one that stays for Larder's.
        let _ = fs::remove_file(beside);
    }
    written.with_context(|| format!("writing {}", path.display()))
}

/// The file at a path, or at the end of its links; a device, a pipe or a folder is no place for a file.
fn regular(path: &Path) -> anyhow::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&target) else { break };
        target = target.parent().unwrap_or(Path::new("")).join(next);
    }
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let shown = path.display();
            let what = if found.is_dir() { "a folder" } else { "no regular file" };
            bail!(Usage(format!("{shown} is {what}, and cannot be replaced; name a file")))
        }
        _ => Ok(target),
    }
}

/// A name beside a file that no other file has: those of other processes have other numbers.
fn unfinished(target: &Path) -> PathBuf {
    let name = |number: u32| target.with_file_name(format!(".tmp{}-{number}", std::process::id()));
    let is_free =
        |path: &PathBuf| path.symlink_metadata().is_err_and(|it| it.kind() == ErrorKind::NotFound);
    (0..u32::MAX).map(name).find(is_free).unwrap_or_else(|| name(u32::MAX))
}

/// Removes a file when a signal ends the process.
fn remove_at_a_signal(path: PathBuf) -> anyhow::Result<()> {
    let mut unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    if unfinished.is_none() {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let listen = move || {
            for signal in &mut signals {
                // The lock stays, so that no further file begins.
                let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
                for path in unfinished.iter().flatten() {
                    let _ = fs::remove_file(path);
                }
                let _ = emulate_default_handler(signal);
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(listen)?;
    }
    unfinished.get_or_insert_default().push(path);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn text(text: &str) -> impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()> {
        let text = text.to_owned();
        move |out| Ok(out.write_all(text.as_bytes())?)
    }

    #[test]
    fn a_link_stays_and_leads_to_the_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("data")).unwrap();
        fs::write(at("data/file"), "old").unwrap();
        symlink("data/file", at("link")).unwrap();
        symlink("link", at("link-to-link")).unwrap();
        symlink("data/new", at("to-nothing")).unwrap();
        for (link, file) in [("link-to-link", "data/file"), ("to-nothing", "data/new")] {
            write(&at(link), text("new")).unwrap();
            assert!(at(link).is_symlink(), "{link}");
            assert_eq!(fs::read_to_string(at(file)).unwrap(), "new", "{link}");
        }
        assert_eq!(fs::read_dir(at("data")).unwrap().count(), 2);
    }

    #[test]
    fn what_is_no_file_is_not_replaced_and_files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file.new"), "mine").unwrap();
        write(&at("file"), text("new")).unwrap();
        assert_eq!(fs::read_to_string(at("file.new")).unwrap(), "mine");
        symlink("/dev/null", at("null")).unwrap();
        let told = |path: &Path| write(path, text("new")).unwrap_err().to_string();
        assert!(
            told(&at("null"))
                .ends_with("null is no regular file, and cannot be replaced; name a file")
        );
        assert!(told(folder.path()).ends_with("is a folder, and cannot be replaced; name a file"));
        let failed = write(&at("file"), |_| Err::<(), _>(anyhow::anyhow!("broken"))).unwrap_err();
        assert!(failed.to_string().starts_with("writing "), "{failed}");
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    }

    #[test]
    fn a_file_has_the_permissions_that_were_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for mode in [0o600, 0o400] {
            write_for_long(&path, mode, text("new")).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }
}
