//! Copies the segment cache's sources, with the model checker's memory and locks in place of their own. There is one
//! unchanged copy, and with the feature `mutants` one for each mutant. The build fails where a mutant's text is not in the
//! sources, with or without that feature, so that mutants keep up with the code.

use std::path::Path;
use std::{env, fs};

include!("src/mutants.rs");

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=../cache/segment/src");
    let out = env::var("OUT_DIR").expect("cargo tells where");
    let mut all = String::new();
    for mutant in MUTANTS {
        let folder = Path::new(&out).join(mutant.name);
        write(mutant, &folder);
        let is_compiled = mutant.changes.is_empty() || env::var_os("CARGO_FEATURE_MUTANTS").is_some();
        if !is_compiled {
            continue;
        }
        let path = folder.join("mod.rs");
        all += &format!("#[path = {path:?}]\nmod {};\n", mutant.name);
    }
    fs::write(Path::new(&out).join("all.rs"), all).expect("a file of the build");
}

/// Writes one copy.
fn write(mutant: &Mutant, folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("a folder of the build");
    let mut left = BASE.len() + mutant.changes.len();
    for entry in fs::read_dir("../cache/segment/src").expect("the sources") {
        let path = entry.expect("a source").path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let (own, to) = match name {
            "memory.rs" | "futex.rs" | "pages.rs" => (Path::new("src").join(name), name),
            "lib.rs" => (path.clone(), "mod.rs"),
            _ => (path.clone(), name),
        };
        let mut text = fs::read_to_string(own).expect("a source");
        for change in BASE.iter().chain(mutant.changes).filter(|change| change.file == name) {
            let times = text.matches(change.is).count();
            assert_eq!(times, 1, "{}: {times} times in {name}: {}", mutant.name, change.is);
            text = text.replace(change.is, change.becomes);
            left -= 1;
        }
        if name == "lib.rs" {
            let code: Vec<&str> = text.lines().filter(|line| !line.starts_with("//!")).collect();
            text = code.join("\n") + "\npub(crate) mod scenes;\n";
        }
        fs::write(folder.join(to), placed(&text, mutant.name)).expect("a file of the build");
    }
    assert_eq!(left, 0, "{}: a change of a file that is not there", mutant.name);
    let scenes = fs::read_to_string("src/scenes.rs").expect("the scenes");
    fs::write(folder.join("scenes.rs"), placed(&scenes, mutant.name)).expect("a file of the build");
}

/// Moves a source into a module of this crate, without its own tests.
fn placed(text: &str, name: &str) -> String {
    text.replace("crate::", &format!("crate::{name}::"))
        .replace("#[cfg(test)]", "#[cfg(any())]")
        .replace("#[cfg(all(test,", "#[cfg(all(any(),")
}
