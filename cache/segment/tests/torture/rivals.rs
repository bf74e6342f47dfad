//! The same with rival caches: workers in other languages, on the same ledger, killed and stopped in the same way.
//!
//! When all workers of one hang for good, a new round begins with a new cache.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::ledger::Ledger;
use crate::run::{Outcome, Run};
use crate::sources::{Forked, Programs, Source};
use crate::support;

/// After each such time, all workers are asked whether they get on.
const TOGETHER: Duration = Duration::from_millis(500);

/// A rival cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rival {
    pub(crate) name: &'static str,
    pub(crate) needs: fn() -> Result<(), String>,
    source: fn(&Path) -> Box<dyn Source>,
}

pub(crate) const RIVALS: [Rival; 2] = [
    Rival {
        name: "Cache::FastMmap",
        needs: || can("perl", "use Cache::FastMmap", "libcache-fastmmap-perl"),
        source: fastmmap,
    },
    Rival {
        name: "APCu",
        needs: || {
            can(
                "php",
                "function_exists('apcu_fetch') && function_exists('pcntl_fork') || throw new Error;",
                "php-cli php-apcu",
            )
        },
        source: apcu,
    },
];

/// The need for a program that can do this; the error names the packages that bring it.
fn can(program: &str, what: &str, packages: &str) -> Result<(), String> {
    let option = if program == "php" { "-r" } else { "-e" };
    let here =
        Command::new(program).args([option, what]).output().is_ok_and(|it| it.status.success());
    let missing = || format!("`{program} {option} \"{what}\"` fails: apt-get install {packages}");
    if here { Ok(()) } else { Err(missing()) }
}

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torture").join(name)
}

fn fastmmap(folder: &Path) -> Box<dyn Source> {
    let folder = folder.to_owned();
    let command = move |what: &str| {
        let mut command = Command::new("perl");
        command.arg(script("fastmmap.pl")).arg(&folder).arg(what);
        // The workers' last report tells how they ended.
        command.stderr(std::process::Stdio::null());
        command
    };
    let made = command("make").status().expect("perl");
    assert!(made.success(), "no file for Cache::FastMmap: {made}");
    Box::new(Programs::new(move |number| command(&number.to_string())))
}

fn apcu(folder: &Path) -> Box<dyn Source> {
    let mut command = Command::new("php");
    command.args(["-d", "apc.enable_cli=1", "-d", "apc.shm_size=8M"]);
    command.arg(script("apcu.php")).arg(folder);
    Box::new(Forked::new(command))
}

/// Tortures a rival for this time.
pub(crate) fn torture(rival: &Rival, how_long: Duration) -> Outcome {
    let (mut outcome, began) = (Outcome::default(), Instant::now());
    while began.elapsed() < how_long {
        let folder = support::folder();
        let ledger = Ledger::open(folder.path());
        let mut run = Run::new((rival.source)(folder.path()), ledger);
        run.start_all();
        while began.elapsed() < how_long {
            if !run.torture(TOGETHER.min(how_long.saturating_sub(began.elapsed()))) {
                break;
            }
        }
        outcome.add(run.end(None));
    }
    outcome
}
