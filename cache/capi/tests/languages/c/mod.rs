//! The library as a C program has it: installed, found by pkg-config, and used by programs that a C compiler makes here.
//!
//! The programs use a real memcached and a file, and run again under Valgrind: no leak, no wrong access.

mod header;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use larder_testkit::{PATIENCE, is_running, nightly_if, signal, trial, trial_where, within};
use libtest_mimic::Trial;

use super::place::{KINDS, Kind, Place, has, prefix, succeeds};

/// The number of programs that were compiled.
static N_PROGRAMS: AtomicU32 = AtomicU32::new(0);

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![
        trial("c::the_header_is_that_of_the_code", header::the_header_is_that_of_the_code),
        trial_where(has_pkg_config, "c::a_program_is_linked_statically", || {
            let (place, program) = (Place::new(Kind::Memory), compiled("verbs.c", Library::Static));
            succeeds(Command::new(program).arg(place.url()).arg("own"));
        }),
        trial_where(
            has_pkg_config,
            "c::the_example_of_the_page_runs",
            the_example_of_the_page_runs,
        ),
    ];
    for kind in KINDS {
        trials.push(trial_of(kind, false, &format!("c::every_function::{kind:?}"), verbs));
        trials.push(trial_of(kind, true, &format!("c::every_function::{kind:?}::valgrind"), verbs));
        trials.push(trial_of(kind, false, &format!("c::threads::{kind:?}"), threads));
    }
    trials.push(trial_of(Kind::Stack, true, "c::threads::Stack::valgrind", threads));
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::Memory) {
        trials.push(trial_of(kind, false, &format!("c::kept::{kind:?}"), kept));
    }
    trials.push(trial_of(Kind::Stack, true, "c::kept::Stack::valgrind", kept));
    for kind in KINDS.into_iter().filter(|kind| kind.has_server()) {
        trials.push(trial_of(kind, false, &format!("c::a_server_that_ends::{kind:?}"), lost));
    }
    for checked in [false, true] {
        let name = format!("c::a_forked_child{}", if checked { "::valgrind" } else { "" });
        trials.push(trial_of(Kind::Memcached, checked, &name, fork));
    }
    trials
}

/// A trial of a store, which may run under Valgrind.
fn trial_of(kind: Kind, checked: bool, name: &str, run: fn(&Place, bool)) -> Trial {
    let need = move || {
        has_pkg_config()?;
        kind.needs()?;
        if checked { has("valgrind", "valgrind") } else { Ok(()) }
    };
    nightly_if(checked, trial_where(need, name, move || run(&Place::new(kind), checked)))
}

fn has_pkg_config() -> Result<(), String> {
    has("pkg-config", "pkg-config")?;
    has("cc", "gcc")
}

fn verbs(place: &Place, checked: bool) {
    let mut command = running(&compiled("verbs.c", Library::Shared), checked);
    succeeds(command.args([place.url().as_str(), place.kind.as_str()]));
}

fn threads(place: &Place, checked: bool) {
    succeeds(running(&compiled("threads.c", Library::Shared), checked).arg(place.url()));
}

fn kept(place: &Place, checked: bool) {
    let mut command = running(&compiled("kept.c", Library::Shared), checked);
    command.arg(place.url());
    if checked {
        // A child frees no memory of what its parent keeps, which Valgrind would take for a leak.
        command.arg("alone");
    }
    succeeds(&mut command);
}

/// The server ends while the program is connected.
fn lost(place: &Place, checked: bool) {
    let mut command = running(&compiled("lost.c", Library::Shared), checked);
    command
        .args([place.url().as_str(), place.kind.as_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut program = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(program.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    if line == "connected\n" {
        let server = place.server.as_ref().unwrap();
        signal(server.pid(), libc::SIGKILL);
        assert!(within(PATIENCE, || !is_running(&server.pid().to_string())));
        program.stdin.as_mut().unwrap().write_all(b"it has ended\n").unwrap();
    }
    let output = program.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(line == "connected\n" && output.status.success(), "{}\n{said}", output.status);
}

fn fork(place: &Place, checked: bool) {
    let mut command = running(&compiled("fork.c", Library::Shared), checked);
    command.args([place.file(), place.servers()]);
    if checked {
        // A child frees no memory of its parent's store, which Valgrind would take for a leak once its handle is closed.
        command.arg("keep");
    }
    succeeds(&mut command);
}

fn the_example_of_the_page_runs() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/c.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```c\n").unwrap();
    let (example, rest) = rest.split_once("```").unwrap();
    assert!(!rest.contains("```c\n"), "the page has one program");
    let place = Place::new(Kind::File);
    let source = place.folder.path().join("example.c");
    fs::write(&source, example).unwrap();
    let program = compiled(source.to_str().unwrap(), Library::Shared);
    let output = succeeds(running(&program, false).arg(place.url()));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "loaded: Ada\n");
    let output = succeeds(running(&program, false).arg(place.url()));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "found: Ada\n");
}

/// The form of the library that a program is linked with.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Library {
    Shared,
    Static,
}

/// Compiles a program of this folder, or one elsewhere, with the flags of pkg-config.
fn compiled(source: &str, library: Library) -> PathBuf {
    let mut asked = Command::new("pkg-config");
    asked.args(["--cflags", "--libs", "larder"]);
    if library == Library::Static {
        asked.arg("--static");
    }
    asked.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    let told = succeeds(&mut asked);
    let told = String::from_utf8(told.stdout).unwrap();
    // The linker takes the shared library where it finds both.
    let archive = prefix().join("lib/liblarder.a").display().to_string();
    let told = told.split_whitespace().map(|flag| match flag {
        "-llarder" if library == Library::Static => archive.as_str(),
        flag => flag,
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages/c");
    let source = folder.join(source);
    let number = N_PROGRAMS.fetch_add(1, Ordering::Relaxed);
    let program = prefix().join(format!("program-{number}"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-D_GNU_SOURCE", "-pedantic", "-Wall", "-Wextra", "-Werror", "-g"]);
    compiler.arg("-I").arg(&folder).arg("-o").arg(&program).arg(source);
    succeeds(compiler.args(told).arg("-lpthread"));
    program
}

/// A run of a program, which finds the library where it is installed.
fn running(program: &Path, checked: bool) -> Command {
    let mut command = if checked {
        let mut valgrind = Command::new("valgrind");
        // One thread runs at a time. Without turns, a thread with a lock may wait for longer than others wait for the lock.
        valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--fair-sched=yes"]);
        valgrind.args(["--errors-for-leak-kinds=definite,indirect", "--"]).arg(program);
        valgrind
    } else {
        Command::new(program)
    };
    command.env("LD_LIBRARY_PATH", prefix().join("lib"));
    command
}
