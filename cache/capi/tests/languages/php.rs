//! The library as a program in PHP has it: the package `bindings/php/` loads it by FFI, and its own tests run by `PHPUnit`.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use larder_host::scratch::ScratchDir;
use larder_testkit::{MEMCACHED, has_program, trial_where};
use libtest_mimic::Trial;

use crate::place::{has, prefix, root, succeeds};

/// The groups of tests of the package, which run beside each other: those of the published suites sleep.
const GROUPS: [&str; 4] = ["own", "psr6", "psr16", "symfony"];

/// The groups that run with the extension. `just php` runs all of them with it.
const WITH_EXTENSION: [&str; 3] = ["extension", "own", "psr6"];

pub(crate) fn trials() -> Vec<Trial> {
    let own =
        GROUPS.map(|group| trial_where(has_php, &format!("php::{group}"), move || tests(group)));
    let compiled = WITH_EXTENSION.map(|group| {
        let name = format!("php::with_the_extension::{group}");
        trial_where(has_phpize, &name, move || tests_with_extension(group))
    });
    let workers = trial_where(has_fpm, "php::a_rolling_restart_of_php_fpm", rolling_restart);
    own.into_iter().chain(compiled).chain([workers]).collect()
}

fn has_php() -> Result<(), String> {
    has_program(&MEMCACHED)?;
    has("php", "php-cli php-xml php-symfony-cache php-psr-simple-cache")?;
    has("phpunit", "phpunit")?;
    let suites = "require 'Cache/IntegrationTests/autoload.php'; require 'Symfony/Component/Cache/autoload.php';";
    let found =
        Command::new("php").args(["-r", suites]).output().map_err(|error| error.to_string())?;
    let install =
        "apt-get install php-cache-integration-tests php-symfony-cache php-psr-simple-cache";
    if found.status.success() { Ok(()) } else { Err(format!("no suites for PHP; {install}")) }
}

fn has_phpize() -> Result<(), String> {
    has_php()?;
    has("phpize", "php-dev")?;
    has("pkg-config", "pkg-config")
}

fn has_fpm() -> Result<(), String> {
    has_php()?;
    let mut asked = Command::new("php");
    let told = succeeds(asked.args(["-r", "echo PHP_MAJOR_VERSION.'.'.PHP_MINOR_VERSION;"]));
    let version = String::from_utf8_lossy(&told.stdout).into_owned();
    has(&format!("/usr/sbin/php-fpm{version}"), &format!("php{version}-fpm"))
}

/// PHP with the library as it is installed. Symfony's component checks keys in assertions.
fn php() -> Command {
    let mut command = Command::new("php");
    command.current_dir(root().join("bindings/php")).args(["-d", "zend.assertions=1"]);
    command.env("LARDER_LIBRARY", prefix().join("lib/liblarder.so.0.2"));
    command
}

/// A folder with the settings of a PHP that has the extension, which is compiled as users do it.
fn extension() -> &'static Path {
    static FOLDER: OnceLock<ScratchDir> = OnceLock::new();
    let compile = || {
        let folder = ScratchDir::create("php").unwrap();
        for file in ["config.m4", "larder.c"] {
            fs::copy(root().join("bindings/php/ext").join(file), folder.path().join(file)).unwrap();
        }
        let steps: [&[&str]; 3] = [
            &["phpize"],
            &["./configure", "--quiet"],
            &["make", "--silent", "CFLAGS=-O2 -Wall -Werror"],
        ];
        for step in steps {
            let mut command = Command::new(step[0]);
            command.args(&step[1..]).current_dir(folder.path());
            command.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
            succeeds(&mut command);
        }
        let module = folder.path().join("modules/larder.so");
        let settings = folder.path().join("settings");
        fs::create_dir(&settings).unwrap();
        fs::write(settings.join("larder.ini"), format!("extension={}\n", module.display()))
            .unwrap();
        folder
    };
    FOLDER.get_or_init(compile).path()
}

fn tests(suite: &str) {
    run(php(), suite);
}

/// PHP begins without an extension that it cannot load, and only warns. The group `extension` fails there.
fn tests_with_extension(suite: &str) {
    let mut command = php();
    command.env("PHP_INI_SCAN_DIR", format!(":{}", extension().join("settings").display()));
    run(command, suite);
}

fn run(mut php: Command, suite: &str) {
    let mut command = Command::new("which");
    let phpunit = succeeds(command.arg("phpunit"));
    let phpunit = String::from_utf8_lossy(&phpunit.stdout).trim().to_owned();
    succeeds(php.args([&phpunit, "--testsuite", suite]));
}

/// The example judges itself: no request fails, and no row is loaded a second time.
fn rolling_restart() {
    succeeds(php().args(["../../examples/php-fpm/run.php", "5"]));
}
