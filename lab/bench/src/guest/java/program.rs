//! The compiled program of Java's guests: the jar that `setup.sh` has made, or classes that this process compiles.
//!
//! The compiler takes seconds of processor time. `larder compare` would pay them in each run, and a test in each of its
//! processes.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use larder_host::disk;
use larder_host::managed;
use larder_host::scratch::ScratchDir;
use larder_store::{Error, PerProcess, Result};

use super::super::interpreter::Interpreter;
use super::{JAVA, LIBRARIES};

/// The extra of `setup.sh`. Its folder has the libraries, the sources that it has compiled, and the program.
pub(super) const FOLDER: &str = "java";
const JARS: &str = "lib";
const SOURCES: &str = "src";
const PROGRAM: &str = "larder-java.jar";

/// The program in the folder of a store: a link to a jar or to a folder of classes. Java reads the one as the other.
const CLASSES: &str = "classes";

/// The longest time for the compiler, which takes three seconds on an idle machine.
const COMPILING: Duration = Duration::from_mins(2);

/// The program in this folder of a store, and all libraries.
pub(super) fn class_path(home: &Path) -> OsString {
    let mut path = home.join(CLASSES).into_os_string();
    if let Some(jars) = jars() {
        path.push(":");
        path.push(jars.join("*"));
    }
    path
}

/// Links the program of the set-up where it fits. Otherwise the program is compiled once for each virtual machine that
/// the stores of this process use. An older virtual machine cannot run the classes of a newer compiler.
pub(super) fn prepare(engine: &'static str, home: &Path, interpreter: &Interpreter) -> Result<()> {
    static COMPILED: PerProcess<Mutex<BTreeMap<PathBuf, ScratchDir>>> = PerProcess::new();
    if let Some(library) = LIBRARIES.iter().find(|library| library.scheme == engine) {
        managed::find(engine, &library.jar)?;
    }
    let link = home.join(CLASSES);
    let linked = |program: &Path| {
        symlink(program, &link).map_err(|error| disk::io_error(engine, "linking", &link, error))
    };
    if let Some(jar) = brought().and_then(|folder| jar_of_setup(&folder, interpreter)) {
        return linked(&jar);
    }
    let mut compiled = COMPILED.get().lock().unwrap_or_else(PoisonError::into_inner);
    let folder = match compiled.entry(interpreter.program.clone()) {
        Entry::Occupied(folder) => folder.into_mut(),
        Entry::Vacant(none) => none.insert(compile(engine, home, &interpreter.program)?),
    };
    linked(&folder.path().join(CLASSES))
}

/// The program that `setup.sh` has compiled, unless this Larder has other sources. A virtual machine that the URL names
/// runs what its own compiler makes, because it may be older than the classes of the set-up.
fn jar_of_setup(folder: &Path, interpreter: &Interpreter) -> Option<PathBuf> {
    let jar = folder.join(PROGRAM);
    let is_usable = !interpreter.is_named && jar.is_file();
    (is_usable && JAVA.has_sources_in(&folder.join(SOURCES))).then_some(jar)
}

/// The folder of the extra of `setup.sh`.
fn brought() -> Option<PathBuf> {
    Some(managed::data_folder()?.join(FOLDER))
}

/// The folder of the clients and their libraries.
fn jars() -> Option<PathBuf> {
    Some(brought()?.join(JARS))
}

/// Compiles the program into a new folder, without the sources whose library is missing. So a Java that `setup.sh` has
/// not prepared still runs the caches that need no library.
fn compile(engine: &'static str, home: &Path, java: &Path) -> Result<ScratchDir> {
    // `PATH` may have only a link to one of several installed versions.
    let javac = java.canonicalize().unwrap_or_else(|_| java.into()).with_file_name("javac");
    if !javac.is_file() {
        let what =
            format!("{} is not there: {}", javac.display(), JAVA.interpreter.source.command());
        return Err(Error::Unavailable { engine, what, source: None });
    }
    let missing: Vec<&[u8]> = LIBRARIES
        .iter()
        .filter(|library| managed::find(engine, &library.jar).is_err())
        .map(|library| library.package.as_bytes())
        .collect();
    let has_all = |text: &[u8]| {
        let imports = |package: &&[u8]| text.windows(package.len()).any(|part| part == *package);
        !missing.iter().any(imports)
    };
    let sources = JAVA.program.iter().filter(|(_, text)| has_all(text)).map(|(name, _)| *name);
    let folder = ScratchDir::create(engine)?;
    let mut command = Command::new(javac);
    command.args(["-proc:none", "-encoding", "UTF-8", "-d"]).arg(folder.path().join(CLASSES));
    if let Some(jars) = jars() {
        command.arg("-cp").arg(jars.join("*"));
    }
    command.args(sources.map(|source| home.join(source)));
    managed::run(engine, command, &folder, None, COMPILING)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A folder as `setup.sh` leaves it, with the sources of this Larder.
    fn extra() -> TempDir {
        let folder = TempDir::new().unwrap();
        for (name, text) in JAVA.program {
            let file = folder.path().join(SOURCES).join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        fs::write(folder.path().join(PROGRAM), "a jar").unwrap();
        folder
    }

    fn java(is_named: bool) -> Interpreter {
        Interpreter { program: "/usr/bin/java".into(), is_named }
    }

    #[test]
    fn the_jar_of_the_set_up_is_used_while_its_sources_are_these() {
        let folder = extra();
        let jar = folder.path().join(PROGRAM);
        assert_eq!(jar_of_setup(folder.path(), &java(false)), Some(jar.clone()));
        assert_eq!(jar_of_setup(folder.path(), &java(true)), None, "of a named Java");
        fs::remove_file(jar).unwrap();
        assert_eq!(jar_of_setup(folder.path(), &java(false)), None, "without a jar");
    }

    #[test]
    fn a_jar_of_other_sources_is_not_used() {
        for (name, text) in JAVA.program {
            let folder = extra();
            let source = folder.path().join(SOURCES).join(name);
            fs::write(&source, [text, b"\n" as &[u8]].concat()).unwrap();
            assert_eq!(jar_of_setup(folder.path(), &java(false)), None, "changed: {name}");
            fs::remove_file(source).unwrap();
            assert_eq!(jar_of_setup(folder.path(), &java(false)), None, "missing: {name}");
        }
    }
}
