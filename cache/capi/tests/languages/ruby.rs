//! The library as a program in Ruby has it: the package `bindings/ruby/` is compiled here, and its own tests run by Minitest.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs};

use larder_host::scratch::ScratchDir;
use larder_testkit::{MEMCACHED, has_program, trial, trial_where};
use libtest_mimic::Trial;

use crate::place::{Kind, Place, has, prefix, root, succeeds};

/// The environment variable with a folder of Rails' sources, for `ActiveSupport`'s own tests.
const RAILS: &str = "LARDER_RAILS";

pub(crate) fn trials() -> Vec<Trial> {
    let files = fs::read_dir(root().join("bindings/ruby/test")).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with("_test.rb"))
        .collect();
    names.sort();
    let mut trials: Vec<Trial> = names
        .into_iter()
        .map(|name| trial_where(has_ruby, &format!("ruby::{name}"), move || tests(&name)))
        .collect();
    trials.push(trial_where(has_ruby, "ruby::a_missing_library_is_one_clear_line", missing));
    trials.push(trial_where(has_ruby, "ruby::the_gem_has_all_its_files", gem));
    for kind in [Kind::File, Kind::Stack] {
        let name = format!("ruby::tests_of_active_support::{kind:?}");
        trials.push(trial_where(has_rails, &name, move || active_support(kind)));
    }
    trials.push(trial("ruby::the_version_is_that_of_larder", version));
    trials
}

fn has_ruby() -> Result<(), String> {
    has_program(&MEMCACHED)?;
    has("cc", "gcc")?;
    has("make", "make")?;
    let packages =
        "ruby ruby-dev ruby-minitest ruby-activesupport ruby-connection-pool ruby-rack rake";
    has("ruby", packages)?;
    let needed = "require 'mkmf'; require 'minitest'; require 'active_support'; require 'rack'";
    let found = Command::new("ruby").args(["-e", needed]).output().map_err(|it| it.to_string())?;
    if found.status.success() { Ok(()) } else { Err(format!("apt-get install {packages}")) }
}

/// The gem of `ActiveSupport` has no tests, so they are found where the sources of Rails are.
fn has_rails() -> Result<(), String> {
    has_ruby()?;
    rails().map(drop)
}

fn rails() -> Result<PathBuf, String> {
    let missing =
        || format!("no {RAILS}: `bindings/ruby/suites/fetch_rails FOLDER` brings Rails' sources");
    env::var_os(RAILS).map(PathBuf::from).ok_or_else(missing)
}

/// A folder with the package, its extension compiled.
fn package() -> &'static Path {
    static PACKAGE: OnceLock<ScratchDir> = OnceLock::new();
    let compile = || {
        let folder = ScratchDir::create("ruby").unwrap();
        let sources = root().join("bindings/ruby/ext/larder/extconf.rb");
        succeeds(Command::new("ruby").arg(sources).current_dir(folder.path()));
        succeeds(Command::new("make").arg("--silent").current_dir(folder.path()));
        let library = folder.path().join("lib");
        succeeds(Command::new("cp").arg("-r").arg(root().join("bindings/ruby/lib")).arg(&library));
        let extension = "larder_ext.so";
        fs::copy(folder.path().join(extension), library.join("larder").join(extension)).unwrap();
        folder
    };
    PACKAGE.get_or_init(compile).path()
}

/// Ruby with the package, and with the library as it is installed.
fn ruby() -> Command {
    let mut command = Command::new("ruby");
    command.current_dir(root().join("bindings/ruby")).arg("-I").arg(package().join("lib"));
    command.env("LARDER_LIBRARY", prefix().join("lib/liblarder.so.0.2"));
    command
}

fn tests(name: &str) {
    succeeds(ruby().args(["-w", "-I", "test"]).arg(Path::new("test").join(name)));
}

fn missing() {
    let output = ruby()
        .env("LARDER_LIBRARY", "/nowhere/liblarder.so")
        .args(["-e", "begin; require 'larder'; rescue LoadError => error; puts error.message; end"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    for part in ["/nowhere/liblarder.so", "packaging/capi", "LARDER_LIBRARY"] {
        assert!(said.contains(part), "{said}");
    }
}

/// A gem without a file that it needs would be noticed by its users only.
fn gem() {
    let folder = ScratchDir::create("ruby").unwrap();
    let file = folder.path().join("larder.gem");
    let mut command = Command::new("gem");
    command.current_dir(root().join("bindings/ruby")).args(["build", "--quiet", "larder.gemspec"]);
    succeeds(command.arg("--output").arg(&file));
    let mut command = Command::new("gem");
    command.args(["install", "--local", "--quiet", "--no-document", "--install-dir"]);
    command.arg(folder.path().join("gems")).arg(&file);
    succeeds(command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")));
    let installed = folder.path().join(concat!("gems/gems/larder-", env!("CARGO_PKG_VERSION")));
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let same = fs::read(installed.join(name)).unwrap() == fs::read(root().join(name)).unwrap();
        assert!(same, "{name} of the gem is not that of Larder");
    }
    let mut command = Command::new("ruby");
    command.env("GEM_PATH", folder.path().join("gems")).env("GEM_HOME", folder.path().join("gems"));
    command.env("LARDER_LIBRARY", prefix().join("lib/liblarder.so.0.2"));
    let used = "require 'larder'; Larder.open('memory:') { |cache| puts cache.fetch(:key) { 7 } }";
    let output = succeeds(command.args(["-e", used]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "7\n");
}

fn active_support(kind: Kind) {
    let place = Place::new(kind);
    let url = place.url().replace("size=1m", "size=16m");
    let rails = rails().unwrap();
    succeeds(ruby().arg("suites/active_support_suite.rb").arg(rails).arg(url));
}

fn version() {
    let text = fs::read_to_string(root().join("bindings/ruby/lib/larder/version.rb")).unwrap();
    let version = format!("VERSION = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "write {version} in {text}");
}
