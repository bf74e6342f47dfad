//! Real servers that Larder starts for itself and stops again.
//!
//! A [`Server`] is private: it has its own process group and temporary directory. It ends when its handle is dropped,
//! also by a panic; a watchdog ends it when this process is killed.

mod account;
mod group;
mod port;
mod private;
mod server;
pub(crate) mod watchdog;

pub use account::Account;
pub use group::{Group, ended};
pub use port::{free_port, on_free_port};
pub use private::{random_password, write_private};
pub use server::{Server, end_all, last_words, run};

use std::path::{Path, PathBuf};

use larder_store::{Error, Recipe, Result, Source};

/// The path of a recipe's program; the error names the command that installs it.
pub fn find(engine: &'static str, recipe: &Recipe) -> Result<PathBuf> {
    let found = match recipe.source {
        Source::Debian(_) | Source::Page(_) => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let daemons = ["/usr/local/sbin", "/usr/sbin"].map(PathBuf::from);
            let versions = recipe.folders.iter().flat_map(|pattern| folders(pattern));
            std::env::split_paths(&path)
                .chain(daemons)
                .chain(versions)
                .map(|directory| directory.join(recipe.program))
                .find(|file| is_program(file))
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
