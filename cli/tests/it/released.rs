//! What a release takes from the tree: one version in all places, a heading in the changelog, and whole crates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "every_package_has_the_version_of_the_program", versions),
    (NOTHING, "the_readme_installs_what_is_released", install_lines),
    (NOTHING, "every_loader_of_the_library_asks_for_this_version", library_names),
    (NOTHING, "the_changelog_has_a_heading_of_the_version", changelog),
    (NOTHING, "every_crate_for_the_registry_is_packed_whole", crates),
];

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The crates that a program in Rust depends on: the folders in the chapter `cache`, and the names of the packages.
const CRATES: [(&str, &str); 7] = [
    ("store", "larder-store"),
    ("host", "larder-host"),
    ("segment", "larder-segment"),
    ("protocol", "larder-protocol"),
    ("tiers", "larder-tiers"),
    ("engines", "larder-engines"),
    ("library", "larder"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text_of(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn versions() {
    for (file, line) in [
        ("bindings/python/Cargo.toml", format!("version = \"{VERSION}\"")),
        ("bindings/perl/lib/Larder.pm", format!("our $VERSION = '{VERSION}';")),
        ("bindings/ruby/lib/larder/version.rb", format!("VERSION = \"{VERSION}\"")),
    ] {
        assert!(text_of(file).contains(&line), "write {line} into {file}");
    }
    let manifest = text_of("Cargo.toml");
    for (_, name) in CRATES {
        let line = format!("{name} = {{ version = \"{VERSION}\"");
        assert!(manifest.contains(&line), "Cargo.toml needs {line}");
    }
}

/// `cargo binstall` and `pip` take the names of packages, which are not the name of the program.
fn install_lines() {
    let readme = text_of("README.md");
    let wheel = text_of("packaging/release");
    let (package, wheel_name) = (env!("CARGO_PKG_NAME"), "larder-cache-cli");
    assert!(wheel.contains(wheel_name), "packaging/release makes no wheel {wheel_name}");
    for line in [
        format!("$ cargo binstall --git ADDRESS_OF_THE_REPOSITORY {package}\n"),
        format!("$ pip install {wheel_name}\n"),
        format!("larder_{VERSION}_amd64.deb"),
        format!("larder-{VERSION}-x86_64-unknown-linux-gnu.tar.gz"),
        format!("larder-{VERSION}-image.tar"),
    ] {
        assert!(readme.contains(&line), "README.md needs {line}");
    }
}

fn library_names() {
    let (minor, _) = VERSION.rsplit_once('.').unwrap();
    let name = "liblarder.so.";
    let mut n_named = 0;
    for folder in
        ["bindings", "cache", "cli", "docs", "examples", "lab", "serve", "setup.sh", "testkit"]
    {
        for (file, text) in texts_below(&root().join(folder)) {
            for (at, _) in text.match_indices(name) {
                let version = &text[at + name.len()..];
                if version.starts_with(|first: char| first.is_ascii_digit()) {
                    assert!(
                        version.starts_with(minor),
                        "write {name}{minor} into {}",
                        file.display()
                    );
                    n_named += 1;
                }
            }
        }
    }
    assert!(n_named >= 10, "only {n_named} places name the library");
}

/// The files of a folder that are text, or the file itself, with what is in them.
fn texts_below(path: &Path) -> Vec<(PathBuf, String)> {
    if !path.is_dir() {
        return fs::read_to_string(path).map(|text| (path.into(), text)).into_iter().collect();
    }
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
    // What is built here is not of this version alone.
    let kept = entries.filter(|entry| entry.file_name() != "target");
    kept.flat_map(|entry| texts_below(&entry.path())).collect()
}

fn changelog() {
    let text = text_of("CHANGELOG.md");
    let heading = format!("\n## {VERSION} - 20");
    assert!(text.contains(&heading), "CHANGELOG.md has no `## {VERSION} - YEAR-MONTH-DAY`");
    assert!(text.contains("\n## Unreleased\n"), "CHANGELOG.md has no place for the next changes");
}

fn crates() {
    for (folder, name) in CRATES {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["package", "--list", "--allow-dirty", "--offline", "--locked", "-p"]);
        let output = cargo.arg(name).current_dir(root()).output().unwrap();
        let list = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(list.lines().any(|line| line == file), "{name} has no {file}");
        }
        let manifest = text_of(&format!("cache/{folder}/Cargo.toml"));
        for key in ["repository.workspace", "readme", "keywords", "categories", "documentation"] {
            assert!(manifest.contains(&format!("\n{key} = ")), "{name} has no {key}");
        }
    }
}
