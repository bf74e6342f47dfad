//! The clients, and the start of their programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use larder_host::managed;
use larder_store::{Recipe, Role, Source};
use larder_testkit::{has_perl_modules, has_php_extensions, has_program};

/// The seconds after which a program is taken to hang. A program waits some seconds for entries to expire.
const PATIENCE: &str = "120";

/// The needs of a trial.
pub(crate) type Need = fn() -> Result<(), String>;

/// The protocol of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Text,
    Binary,
}

/// A client, or one of the protocols that it speaks.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) protocol: Protocol,
    /// The client must be installed.
    pub(crate) needs: Need,
    /// The program, for the server at an address.
    pub(crate) command: fn(&str) -> Command,
}

/// Every client.
pub(crate) const PROGRAMS: &[Client] = &[
    Client {
        name: "memccapable_text",
        protocol: Protocol::Text,
        needs: || has_program(&MEMCCAPABLE),
        command: |address| memccapable("-a", address),
    },
    Client {
        name: "memccapable_binary",
        protocol: Protocol::Binary,
        needs: || has_program(&MEMCCAPABLE),
        command: |address| memccapable("-b", address),
    },
    Client {
        name: "pymemcache",
        protocol: Protocol::Text,
        needs: || has_program(&PYTHON),
        command: |address| program(found(&PYTHON), &["-B", "pymemcache/client.py", address]),
    },
    Client {
        name: "php_memcached_text",
        protocol: Protocol::Text,
        needs: || has_php_extensions(&["memcached"]),
        command: |address| program("php", &["php_memcached/client.php", address, "text"]),
    },
    Client {
        name: "php_memcached_binary",
        protocol: Protocol::Binary,
        needs: || has_php_extensions(&["memcached"]),
        command: |address| program("php", &["php_memcached/client.php", address, "binary"]),
    },
    Client {
        name: "cache_memcached_fast",
        protocol: Protocol::Text,
        needs: || has_perl_modules(&["Cache::Memcached::Fast"]),
        command: |address| program("perl", &["cache_memcached_fast/client.pl", address]),
    },
    Client {
        name: "spymemcached_text",
        protocol: Protocol::Text,
        needs: || has_program(&JAVAC).and_then(|()| has_program(&SPYMEMCACHED)),
        command: |address| spymemcached(address, "text"),
    },
    Client {
        name: "spymemcached_binary",
        protocol: Protocol::Binary,
        needs: || has_program(&JAVAC).and_then(|()| has_program(&SPYMEMCACHED)),
        command: |address| spymemcached(address, "binary"),
    },
    Client {
        name: "gomemcache",
        protocol: Protocol::Text,
        needs: || has_program(&GO).and_then(|()| has_program(&GOMEMCACHE)),
        command: |address| program(gomemcache(), &[address]),
    },
    Client {
        name: "memjs",
        protocol: Protocol::Binary,
        needs: || has_program(&NODE).and_then(|()| has_program(&MEMJS)),
        command: |address| {
            let library = found(&MEMJS);
            let library = library.parent().unwrap().to_str().unwrap();
            program("node", &["memjs/client.js", address, library])
        },
    },
];

const MEMCCAPABLE: Recipe = Recipe::new(Role::Interpreter, "memccapable", "libmemcached-tools");
const JAVAC: Recipe = Recipe::new(Role::Interpreter, "javac", "default-jdk-headless");
const GO: Recipe = Recipe::new(Role::Interpreter, "go", "golang-go");
const NODE: Recipe = Recipe::new(Role::Interpreter, "node", "nodejs");
const PYTHON: Recipe = brought("bin/python3", "python");
const SPYMEMCACHED: Recipe = brought("spymemcached.jar", "java");
const GOMEMCACHE: Recipe = brought("gomemcache/memcache.go", "clients");
const MEMJS: Recipe = brought("node_modules/memjs/package.json", "clients");

/// A file that `./setup.sh --with` this name brings.
const fn brought(file: &'static str, name: &'static str) -> Recipe {
    Recipe { source: Source::Setup(name), ..Recipe::new(Role::Library, file, "") }
}

fn found(recipe: &Recipe) -> PathBuf {
    managed::find("test", recipe).unwrap()
}

/// The folder of the clients' programs.
fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients"))
}

/// A program with its arguments, which starts in the folder and is killed when it hangs.
fn program(program: impl AsRef<Path>, arguments: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after", "5", PATIENCE]).arg(program.as_ref()).args(arguments);
    command.current_dir(folder());
    command
}

fn memccapable(protocol: &str, address: &str) -> Command {
    let (host, port) = address.rsplit_once(':').unwrap();
    program("memccapable", &["-h", host, "-p", port, "-t", "30", protocol])
}

/// Java compiles a program of one file when it starts.
fn spymemcached(address: &str, protocol: &str) -> Command {
    let jar = found(&SPYMEMCACHED);
    let libraries = jar.with_file_name("lib").join("*");
    let libraries = libraries.to_str().unwrap();
    program("java", &["-cp", libraries, "spymemcached/Client.java", address, protocol])
}

/// The program in Go. The first caller compiles it, without the network: `setup.sh` has brought the module.
fn gomemcache() -> &'static Path {
    static COMPILED: OnceLock<PathBuf> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let source = found(&GOMEMCACHE);
        // The link of the module lies beside the cache of modules.
        let modules = source.parent().unwrap().with_file_name("go");
        let compiled = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gomemcache");
        let ran = Command::new("go")
            .args(["build", "-mod=readonly", "-buildvcs=false", "-o"])
            .arg(&compiled)
            .env("GOMODCACHE", modules)
            .env("GOPROXY", "off")
            .env("GOFLAGS", "")
            .current_dir(folder().join("gomemcache"))
            .output()
            .unwrap();
        assert!(ran.status.success(), "go build: {}", String::from_utf8_lossy(&ran.stderr));
        compiled
    })
}
