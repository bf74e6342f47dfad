//! What `architecture.toml` says: the chapters, the crates, what each may use, and the layers of modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Architecture {
    #[serde(rename = "chapter")]
    pub(crate) chapters: Vec<Chapter>,
    #[serde(rename = "crate")]
    pub(crate) crates: Vec<Crate>,
    /// The modules of a crate, by layer.
    pub(crate) layers: BTreeMap<String, Vec<Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chapter {
    pub(crate) name: String,
    pub(crate) is: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Crate {
    pub(crate) name: String,
    /// Its folder below the root.
    pub(crate) folder: String,
    pub(crate) is: String,
    /// The crates that it may use.
    pub(crate) uses: BTreeSet<String>,
    /// The crates that only its tests may use.
    #[serde(default)]
    pub(crate) in_tests: BTreeSet<String>,
}

impl Architecture {
    pub(crate) fn read() -> Self {
        toml::from_str(&fs::read_to_string(path("architecture.toml")).unwrap()).unwrap()
    }

    /// The crates of a chapter.
    pub(crate) fn crates_of(&self, chapter: &str) -> impl Iterator<Item = &Crate> {
        self.crates.iter().filter(move |it| it.folder.split('/').next() == Some(chapter))
    }
}

/// A path below the root of the repository.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}
