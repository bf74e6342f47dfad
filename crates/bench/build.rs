//! Embeds the programs of the guests: every file of `guests/<language>/` but its tests, so that a module more is a file
//! more and nothing else.

use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold tests, or what a language leaves there when they run.
const LEFT_OUT: &[&str] = &["t", "tests", "__pycache__", "node_modules"];

fn main() -> Result<(), Box<dyn Error>> {
    let guests = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../guests");
    println!("cargo::rerun-if-changed={}", guests.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for language in fs::read_dir(&guests)? {
        let folder = language?.path();
        let Some(name) = folder.file_name().and_then(|name| name.to_str()) else { continue };
        if !folder.is_dir() {
            continue;
        }
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        files.sort();
        let mut list = String::from("&[\n");
        for file in &files {
            let within = file.strip_prefix(&folder)?.display().to_string();
            let file = file.display().to_string();
            writeln!(list, "    ({within:?}, include_bytes!({file:?})),")?;
        }
        list += "]\n";
        fs::write(out.join(format!("{name}.rs")), list)?;
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
