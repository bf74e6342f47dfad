//! What a release takes from the tree: one version in all places, a heading in the changelog, and whole crates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "every_package_has_the_version_of_the_program", versions),
    (NOTHING, "every_loader_of_the_library_asks_for_this_version", library_names),
    (NOTHING, "the_changelog_has_a_heading_of_the_version", changelog),
    (NOTHING, "every_crate_for_the_registry_is_packed_whole", crates),
];

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The crates that a program in Rust depends on.
const CRATES: [&str; 7] = ["store", "host", "segment", "protocol", "tiers", "engines", "library"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text_of(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn versions() {
    for (file, line) in [
        ("python/Cargo.toml", format!("version = \"{VERSION}\"")),
        ("perl/lib/Larder.pm", format!("our $VERSION = '{VERSION}';")),
        ("ruby/lib/larder/version.rb", format!("VERSION = \"{VERSION}\"")),
    ] {
        assert!(text_of(file).contains(&line), "write {line} into {file}");
    }
    let manifest = text_of("Cargo.toml");
    for name in CRATES {
        let line = format!("larder-{name} = {{ version = \"{VERSION}\"");
        assert!(manifest.contains(&line), "Cargo.toml needs {line}");
    }
}

fn library_names() {
    let (minor, _) = VERSION.rsplit_once('.').unwrap();
    let name = format!("liblarder.so.{minor}");
    for file in [
        "crates/bench/src/guest/library.rs",
        "guests/ruby/larder_guest/caches/larder.rb",
        "perl/lib/Larder/Library.pm",
        "php/src/Library.php",
        "php/src/larder.h",
        "ruby/ext/larder/library.c",
    ] {
        assert!(text_of(file).contains(&name), "{file} has no {name}");
    }
}

fn changelog() {
    let text = text_of("CHANGELOG.md");
    let heading = format!("\n## {VERSION} - 20");
    assert!(text.contains(&heading), "CHANGELOG.md has no `## {VERSION} - YEAR-MONTH-DAY`");
    assert!(text.contains("\n## Unreleased\n"), "CHANGELOG.md has no place for the next changes");
}

fn crates() {
    for name in CRATES {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["package", "--list", "--allow-dirty", "--offline", "--locked", "-p"]);
        let output = cargo.arg(format!("larder-{name}")).current_dir(root()).output().unwrap();
        let list = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for file in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(list.lines().any(|line| line == file), "larder-{name} has no {file}");
        }
        let manifest = text_of(&format!("crates/{name}/Cargo.toml"));
        for key in ["repository.workspace", "readme", "keywords", "categories", "documentation"] {
            assert!(manifest.contains(&format!("\n{key} = ")), "larder-{name} has no {key}");
        }
    }
}
