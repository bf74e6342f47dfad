//! Trials that need a server or a privilege of the machine.

use std::num::NonZero;
use std::process::{Command, ExitCode};
use std::thread::available_parallelism;

use larder_host::managed;
use larder_store::Recipe;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Whether every trial must run: `LARDER_REQUIRE=all` in the environment, as continuous integration sets it.
pub fn everything_is_required() -> bool {
    std::env::var("LARDER_REQUIRE").is_ok_and(|what| what == "all")
}

/// A trial that needs nothing. A test that panics has failed.
pub fn trial(name: &str, run: impl FnOnce() + Send + 'static) -> Trial {
    trial_where(|| Ok(()), name, run)
}

/// A trial that runs where `need` is met. Elsewhere it shows as ignored with the reason, or fails when
/// [`everything_is_required`]. A test that panics has failed.
pub fn trial_where(
    need: impl FnOnce() -> Result<(), String> + Send + 'static,
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || match need() {
        Ok(()) => {
            run();
            Ok(Completion::Completed)
        }
        Err(reason) if everything_is_required() => Err(Failed::from(reason)),
        Err(reason) => Ok(Completion::ignored_with(reason)),
    })
}

/// Runs trials most of which wait: for servers, disks and other processes. Twice as many run at once as there are
/// processors. The `main` of a test with `harness = false`.
pub fn run_waiting(trials: Vec<Trial>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    let at_once = 2 * available_parallelism().map_or(1, NonZero::get);
    arguments.test_threads.get_or_insert(at_once);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The need for the program of a recipe; the error names the missing program and its package.
pub fn has_program(recipe: &Recipe) -> Result<(), String> {
    managed::find("test", recipe).map(drop).map_err(|error| error.to_string())
}

/// The need for PHP with these extensions; the error names a missing extension.
pub fn has_php_extensions(names: &[&str]) -> Result<(), String> {
    let output = Command::new("php").arg("-m").output().map_err(|_| missing("php", "php-cli"))?;
    let loaded = String::from_utf8_lossy(&output.stdout);
    let unknown = names.iter().find(|name| !loaded.lines().any(|line| line == **name));
    unknown.map_or(Ok(()), |name| Err(format!("PHP has no extension {name} here")))
}

/// The need for Perl with these modules; the error is Perl's message about the first missing module.
pub fn has_perl_modules(names: &[&str]) -> Result<(), String> {
    let uses = names.iter().flat_map(|name| ["-e".to_owned(), format!("use {name};")]);
    let output = Command::new("perl").args(uses).output().map_err(|_| missing("perl", "perl"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said.lines().take(1).collect()) }
}

fn missing(program: &str, package: &str) -> String {
    format!("{program} is not installed: apt-get install {package}")
}
