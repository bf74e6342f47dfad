//! Real servers that Larder starts for itself and stops again.
//!
//! A [`Server`] is private: in a process group and a temporary directory of its own. It ends when its handle is
//! dropped, also by a panic; and when this process is killed a watchdog ends it.

mod account;
mod group;
mod server;
pub(crate) mod watchdog;

pub use account::Account;
pub use group::Group;
pub use server::{Server, last_words};

use std::path::{Path, PathBuf};

use larder_store::{Error, Recipe, Result};

/// Where the program of a recipe is, on `PATH` or among the daemons; the error names the package that brings it.
pub fn find(engine: &'static str, recipe: &Recipe) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let daemons = ["/usr/local/sbin", "/usr/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(daemons)
        .map(|directory| directory.join(recipe.program))
        .find(|file| is_program(file))
        .ok_or_else(|| Error::Unavailable {
            engine,
            what: format!(
                "{} is not installed: apt-get install {}",
                recipe.program, recipe.package
            ),
            source: None,
        })
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}
