//! Real servers that Larder starts for itself and stops again.
//!
//! A [`Server`] is private: it has its own process group and temporary directory. It ends when its handle is dropped,
//! also by a panic; a watchdog ends it when this process is killed.

mod account;
mod group;
mod port;
mod private;
mod server;

pub use account::{Account, is_root};
pub use group::{Group, ended};
pub use port::{free_port, on_free_port};
pub use private::{random_password, write_private};
pub use server::{Server, end_all, last_words, run};

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use larder_store::{Error, Recipe, Result, Source};

/// The environment variable with the path of the program `larder`, for servers of Larder's own.
const OWN_PROGRAM: &str = "LARDER_PROGRAM";

/// The path of a recipe's program; the error names the command that installs it.
pub fn find(engine: &'static str, recipe: &Recipe) -> Result<PathBuf> {
    let found = match recipe.source {
        Source::Debian(_) | Source::Page(_) => installed(recipe),
        Source::Own => {
            let named = std::env::var_os(OWN_PROGRAM).filter(|named| !named.is_empty());
            let this = std::env::current_exe().ok();
            own(engine, recipe, named, this)?
        }
        Source::Setup(name) => {
            let file = data_folder().map(|folder| folder.join(name).join(recipe.program));
            file.filter(|file| file.is_file())
        }
        Source::Feature(_) => None,
    };
    found.ok_or_else(|| Error::Unavailable {
        engine,
        what: format!("{} is not installed: {}", recipe.program, recipe.source.command()),
        source: None,
    })
}

/// Whether a recipe's program is here, and everything that its source brings. Debian names the packages that are
/// installed, and puts their programs below `/usr`. A program of another place may lack what the package has, so it does
/// not count.
pub fn is_at_hand(engine: &'static str, recipe: &Recipe) -> bool {
    let Ok(program) = find(engine, recipe) else { return false };
    match recipe.source {
        Source::Debian(package) => {
            let program = program.canonicalize().unwrap_or(program);
            let is_debians = program.starts_with("/usr") && !program.starts_with("/usr/local");
            is_debians && is_package_installed(package)
        }
        Source::Setup(_) | Source::Own => true,
        Source::Page(_) | Source::Feature(_) => false,
    }
}

/// Whether Debian's package manager has installed the files of a package.
fn is_package_installed(package: &str) -> bool {
    let notes = Path::new("/var/lib/dpkg/info");
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    // The list of checksums goes with the files, while other notes stay until the configuration is purged.
    [format!("{package}.md5sums"), format!("{package}:{architecture}.md5sums")]
        .iter()
        .any(|note| notes.join(note).is_file())
}

/// A program on `PATH`, among the daemons, or in the recipe's own folders.
fn installed(recipe: &Recipe) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let daemons = ["/usr/local/sbin", "/usr/sbin"].map(PathBuf::from);
    let versions = recipe.folders.iter().flat_map(|pattern| folders(pattern));
    std::env::split_paths(&path)
        .chain(daemons)
        .chain(versions)
        .map(|directory| directory.join(recipe.program))
        .find(|file| is_program(file))
}

/// The program `larder`: the `named` one, or else `this` program if it has that name, or else an installed one.
fn own(
    engine: &'static str,
    recipe: &Recipe,
    named: Option<OsString>,
    this: Option<PathBuf>,
) -> Result<Option<PathBuf>> {
    if let Some(named) = named {
        // A server starts in a directory of its own, where a relative path means another file.
        let file = std::path::absolute(&named).ok().filter(|file| is_program(file));
        return file.map(Some).ok_or_else(|| {
            let what = format!(
                "{OWN_PROGRAM}={} is no program; name a build of {}",
                named.to_string_lossy(),
                recipe.program
            );
            Error::Unavailable { engine, what, source: None }
        });
    }
    let is_larder = |file: &PathBuf| {
        file.file_name().is_some_and(|name| name == recipe.program) && is_program(file)
    };
    Ok(this.filter(is_larder).or_else(|| installed(recipe)))
}

/// The folder into which `setup.sh --with` puts programs without a system package: `larder` in the user's data folder.
/// `None` where the user has no home.
pub fn data_folder() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let named = named.filter(|folder| folder.is_absolute());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share"));
    Some(named.or_else(home)?.join("larder"))
}

/// The folders that match a pattern with at most one `*` as a component, the newest version first.
fn folders(pattern: &str) -> Vec<PathBuf> {
    let Some((above, below)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let entries = std::fs::read_dir(above).into_iter().flatten().flatten();
    let version = |name: &str| name.split('.').map_while(|part| part.parse().ok()).collect();
    let mut versions: Vec<(Vec<u32>, PathBuf)> = entries
        .map(|entry| {
            let folder = entry.path().join(below.trim_start_matches('/'));
            (version(&entry.file_name().to_string_lossy()), folder)
        })
        .collect();
    versions.sort_unstable();
    versions.into_iter().rev().map(|(_, folder)| folder).collect()
}

/// Whether this is a file that can be run.
pub fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_larder_is_the_named_one_or_this_one() {
        let recipe = Recipe {
            source: Source::Own,
            ..Recipe::new(larder_store::Role::Server, "larder-of-a-test", "")
        };
        let scratch = crate::scratch::ScratchDir::create("own").unwrap();
        let [named, this, other] = ["named", "larder-of-a-test", "other-name"].map(|name| {
            let file = scratch.path().join(name);
            std::os::unix::fs::symlink("/bin/sh", &file).unwrap();
            file
        });
        let found = |named: Option<&PathBuf>, this: &PathBuf| {
            own("test", &recipe, named.map(|it| it.clone().into()), Some(this.clone())).unwrap()
        };
        assert_eq!(found(Some(&named), &this), Some(named));
        assert_eq!(found(None, &this), Some(this.clone()));
        assert_eq!(found(None, &other), None);
        let missing = own("test", &recipe, Some("/no/larder".into()), Some(this)).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "test: LARDER_PROGRAM=/no/larder is no program; name a build of larder-of-a-test"
        );
    }

    #[test]
    fn a_program_is_at_hand_only_with_its_package() {
        let shell = |package| Recipe::server("env", package);
        // Every Debian has the first package, and the second package does not exist. A link leads elsewhere.
        let is_of_system = |path: PathBuf| path.starts_with("/usr");
        let is_debian = Path::new("/var/lib/dpkg/info/coreutils.md5sums").is_file()
            && find("test", &shell("coreutils")).unwrap().canonicalize().is_ok_and(is_of_system);
        assert_eq!(is_at_hand("test", &shell("coreutils")), is_debian);
        assert!(!is_at_hand("test", &shell("no-such-package")));
        assert!(!is_at_hand("test", &Recipe::server("no-such-program", "coreutils")));
    }

    #[test]
    fn of_several_versions_the_newest_comes_first() {
        let scratch = crate::scratch::ScratchDir::create("folders").unwrap();
        let shown = scratch.path().display().to_string();
        for version in ["9.6", "15", "9.10"] {
            std::fs::create_dir(scratch.path().join(version)).unwrap();
        }
        let found = folders(&format!("{shown}/*/bin"));
        let wanted = ["15", "9.10", "9.6"].map(|it| scratch.path().join(it).join("bin"));
        assert_eq!(found, wanted);
        assert_eq!(folders("/opt/bin"), [PathBuf::from("/opt/bin")]);
        assert!(folders("/no/such/*/bin").is_empty());
    }
}
