//! Mounts of a test's own.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// Runs a program whose mounts stay invisible to all other programs. Root may do so; other users can in their own user
/// namespace.
pub fn with_mounts(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("unshare");
    if !is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.arg("--mount").arg(program);
    command
}

/// Whether these tests run as root.
pub fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0)
}

/// The need for a program that may mount.
pub fn may_mount() -> Result<(), String> {
    let tried = with_mounts("mount").args(["-t", "tmpfs", "tmpfs", "/mnt"]).output();
    let tried = tried.map_err(|error| format!("unshare: {error}"))?;
    let said = String::from_utf8_lossy(&tried.stderr);
    if tried.status.success() { Ok(()) } else { Err(format!("may not mount: {}", said.trim())) }
}
