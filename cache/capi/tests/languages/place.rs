//! The stores that the programs open, and the library as they find it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use larder_host::scratch::ScratchDir;
use larder_testkit::{MEMCACHED, Memcached, has_program};

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Memory,
    File,
    Memcached,
    Stack,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Memory, Kind::File, Kind::Memcached, Kind::Stack];

impl Kind {
    pub(crate) fn has_server(self) -> bool {
        matches!(self, Self::Memcached | Self::Stack)
    }

    /// The reason why no store of this kind can be made here.
    pub(crate) fn needs(self) -> Result<(), String> {
        if self.has_server() { has_program(&MEMCACHED) } else { Ok(()) }
    }

    /// The word by which programs know what to expect.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Memory | Self::File => "own",
            Self::Memcached => "server",
            Self::Stack => "stack",
        }
    }
}

/// An empty store, which the programs open by its URL.
pub(crate) struct Place {
    pub(crate) kind: Kind,
    pub(crate) folder: ScratchDir,
    pub(crate) server: Option<Memcached>,
}

impl Place {
    pub(crate) fn new(kind: Kind) -> Self {
        let server = kind.has_server().then(Memcached::start);
        Self { kind, folder: ScratchDir::create("capi").unwrap(), server }
    }

    pub(crate) fn url(&self) -> String {
        match self.kind {
            Kind::Memory => "memory:?size=1m".into(),
            Kind::File => self.file(),
            Kind::Memcached => self.servers(),
            Kind::Stack => format!("tiered:{}|{}", self.file(), self.servers()),
        }
    }

    pub(crate) fn file(&self) -> String {
        format!("mmap:{}?size=1m", self.folder.path().join("cache").display())
    }

    pub(crate) fn servers(&self) -> String {
        format!("memcached://{}", self.server.as_ref().unwrap().address())
    }
}

/// The folder in which the library is installed, as `packaging/capi` does it.
pub(crate) fn prefix() -> &'static Path {
    static PREFIX: OnceLock<ScratchDir> = OnceLock::new();
    let install = || {
        let folder = ScratchDir::create("capi").unwrap();
        let built = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let mut script = Command::new(root().join("packaging/capi"));
        succeeds(script.arg("--built").arg(built).arg(folder.path()));
        folder
    };
    PREFIX.get_or_init(install).path()
}

/// The folder of the sources, which has the packages of the languages.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Fails unless a program is installed; `package` is Debian's package that has it.
pub(crate) fn has(program: &str, package: &str) -> Result<(), String> {
    let found = Command::new(program).arg("--version").output();
    found.map(drop).map_err(|error| format!("{program}: {error}; apt-get install {package}"))
}

/// Waits for the end of a program, which must succeed.
pub(crate) fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let said = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, said.concat());
    output
}
