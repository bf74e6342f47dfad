//! Tells the program which commit it is made from, for `larder --version`.
//!
//! A release is built from an archive without history, so `LARDER_COMMIT` names its commit: 12 hexadecimal digits and a
//! date. In a checkout, git tells both. Debug builds name no commit, because each commit would compile the tests again.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=LARDER_COMMIT");
    let variable = |name| env::var(name).unwrap_or_default();
    let target = variable("TARGET");
    println!("cargo::rustc-env=LARDER_TARGET={target}, {} build", variable("PROFILE"));
    let told = variable("LARDER_COMMIT");
    let commit = if told.is_empty() { commit_of_checkout() } else { Some(told) };
    if let Some(commit) = commit {
        println!("cargo::rustc-env=LARDER_COMMIT={commit}");
    }
}

/// The commit of this checkout and its date, where the program is built for use from a checkout of its own.
fn commit_of_checkout() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Sources that lie within another project's checkout have no commit of that project.
    if env::var("PROFILE").ok()? != "release" || !root.join(".git").exists() {
        return None;
    }
    // Each commit and each change of branch adds a line to this file.
    let log = root.join(git(&root, &["rev-parse", "--git-path", "logs/HEAD"])?);
    if log.exists() {
        println!("cargo::rerun-if-changed={}", log.display());
    }
    git(&root, &["log", "-1", "--abbrev=12", "--format=%h %cs"])
}

/// The first line that git prints, unless it fails or is not installed.
fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
