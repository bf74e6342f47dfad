//! A disk that fills up: an error that says so, and a server that goes on.
//!
//! The disk is a small file system in memory. Only a second process sees it, which is this binary again.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use larder_host::scratch::ScratchDir;
use larder_store::SetOptions;
use larder_testkit::{POSTGRES, has_program, trial_where};
use libtest_mimic::Trial;

use crate::bytes;
use crate::session_support::{failure, get, open, set};

/// Asks a second process to fill a disk in this folder.
const FILL: &str = "LARDER_TEST_FILL";

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial_where(can_mount, "a_full_disk_is_an_error_and_reads_go_on", a_full_disk)]
}

/// The server runs as another user than this process, so a user namespace, which has one user only, is not enough.
fn can_mount() -> Result<(), String> {
    has_program(&POSTGRES)?;
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Err("only root may mount for two users".into());
    }
    let tried =
        Command::new("unshare").args(["--mount", "mount", "-t", "tmpfs", "none", "/mnt"]).output();
    let tried = tried.map_err(|error| format!("unshare: {error}"))?;
    let said = String::from_utf8_lossy(&tried.stderr);
    if tried.status.success() { Ok(()) } else { Err(format!("may not mount: {}", said.trim())) }
}

fn a_full_disk() {
    let folder = ScratchDir::create("test").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", r#"mount -t tmpfs -o size=100m none "$0" && exec "$1""#])
        .args([folder.path(), &std::env::current_exe().unwrap()])
        .env(FILL, folder.path())
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// In a second process: fills the disk.
#[expect(clippy::exit, reason = "the part of a test, which has no trials of its own")]
pub(crate) fn fill_if_asked() {
    if std::env::var_os(FILL).is_none() {
        return;
    }
    let store = open("postgresql:?shared_buffers=1m");
    let session = &mut *store.session().unwrap();
    set(session, "first", b"value");
    let value = bytes(1 << 20);
    let refused = (0..200).find_map(|i| {
        session.set(format!("key:{i}").as_bytes(), &value, &SetOptions::default()).err()
    });
    let message = failure(refused.map_or(Ok(()), Err), "full");
    assert!(message.contains("No space left on device"), "{message}");
    assert_eq!(get(session, "first"), Some(b"value".to_vec()));
    assert_eq!(get(session, "key:0"), Some(value));
    drop(store);
    std::process::exit(0);
}
