//! However a program ends, it leaves nothing.

use std::fs;
use std::thread;
use std::time::Duration;

use larder_bench::guest::protocol::{HandPhase, HandPlan, Program, Step};
use larder_report::Operation;
use larder_testkit::signal;

use super::{Case, Language, Shares, store};

pub(super) const CASES: &[(&str, Case)] = &[
    ("the_end_of_standard_input_ends_it_and_its_children", closed),
    ("when_it_is_killed_in_a_phase_its_children_end", killed),
    ("a_child_that_dies_is_named_and_the_guest_goes_on", child_dies),
];

/// A program whose processes work without end.
fn endless(language: &'static Language, processes: u32) -> Program {
    let mut program = language.replaying();
    let mut plan = HandPlan::new("endless-", 1, processes, 4096);
    let sets = vec![Step::set(0, plan.value(0, 100)); 100];
    plan.phase(HandPhase {
        shares: vec![sets; processes as usize],
        time_limit: Some(Duration::from_mins(10)),
        ..HandPhase::new(&[Operation::Set], Vec::new())
    });
    program.load(&plan).unwrap();
    program.tell("run 0", &[]).unwrap();
    assert!(program.answer().unwrap()["alive"].as_u64().unwrap() > 0);
    program
}

fn children_of(program: &Program) -> Vec<u32> {
    let pid = program.pid();
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Whether a language forks; a language with threads has no children to lose.
fn forks(language: &Language) -> bool {
    language.shares == Shares::Processes
}

fn closed(language: &'static Language) {
    for processes in [1, 3] {
        let program = endless(language, processes);
        let children = children_of(&program);
        let forked = if forks(language) && processes > 1 { processes as usize } else { 0 };
        assert_eq!(children.len(), forked);
        assert_eq!(program.close(), "exit status 0");
        children.into_iter().for_each(wait_until_gone);
    }
}

fn killed(language: &'static Language) {
    let program = endless(language, 2);
    let children = children_of(&program);
    assert_eq!(children.len(), if forks(language) { 2 } else { 0 });
    signal(program.pid(), libc::SIGKILL);
    children.into_iter().for_each(wait_until_gone);
}

fn child_dies(language: &'static Language) {
    if !forks(language) {
        return;
    }
    let mut program = endless(language, 3);
    let children = children_of(&program);
    signal(children[1], libc::SIGKILL);
    let mut answer = program.answer().unwrap();
    while answer.get("alive").is_some() {
        answer = program.answer().unwrap();
    }
    let error = answer["error"].as_str().unwrap();
    assert!(error.ends_with(" of 3 was ended by signal 9 before its share was done"), "{answer}");
    children.into_iter().for_each(wait_until_gone);
    store(&mut program, b"a", b"b");
    program.end().unwrap();
}

/// Returns when a process is gone, or is a zombie.
pub(super) fn wait_until_gone(pid: u32) {
    while let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) {
        if stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')) {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
