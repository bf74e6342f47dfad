//! Embeds the programs of the guests: every file of `lab/guests/<language>/` but its tests, so that a module more is a file
//! more and nothing else. The sources of Larder's own package for a language, if it has any, lie in `package` beside them.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of Larder's packages for languages, below the root, which their guests load.
const PACKAGES: &[(&str, &str)] = &[("perl", "bindings/perl/lib"), ("php", "bindings/php/src")];

/// Folders that hold tests, or what a language leaves there when they run.
const LEFT_OUT: &[&str] = &["t", "tests", "__pycache__", "node_modules"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let guests = root.join("lab/guests");
    println!("cargo::rerun-if-changed={}", guests.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for language in fs::read_dir(&guests)? {
        let folder = language?.path();
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
        if !folder.is_dir() {
            continue;
        }
        let mut list = String::from("&[\n");
        write_files(&mut list, &folder, Path::new(""))?;
        if let Some((_, package)) = PACKAGES.iter().find(|(language, _)| *language == name) {
            let package = root.join(package);
            println!("cargo::rerun-if-changed={}", package.display());
            write_files(&mut list, &package, Path::new("package"))?;
        }
        list += "]\n";
        fs::write(out.join(format!("{name}.rs")), list)?;
    }
    Ok(())
}

/// Writes a line for every file below a folder: its path in the guest's own folder, and its contents.
fn write_files(list: &mut String, folder: &Path, within: &Path) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    files.sort();
    for file in &files {
        let path = within.join(file.strip_prefix(folder)?).display().to_string();
        let file = file.display().to_string();
        writeln!(list, "    ({path:?}, include_bytes!({file:?})),")?;
    }
    Ok(())
}

/// Every file below a folder, but those of its tests.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() && LEFT_OUT.iter().all(|name| !path.ends_with(name)) {
            collect(&path, files)?;
        } else if path.is_file() && !is_hidden {
            files.push(path);
        }
    }
    Ok(())
}
