//! How the processes of a guest share the work of a plan, and the floor below each language.

use larder_report::{Floor, Run};
use larder_store::StoreUrl;
use larder_testkit::trial_where;
use libtest_mimic::Trial;

use super::{CATALOG, cells, perl, run, support};

pub(super) fn trials() -> Vec<Trial> {
    let trial = |name: &str, case: fn()| trial_where(perl, name, case);
    vec![
        trial("processes_share_the_work_of_a_plan", processes),
        trial("processes_without_work_are_no_reason", idle),
        trial("a_guest_has_as_many_processes_as_others_have_threads", threads),
        trial("time_ends_a_phase", duration),
        trial("a_floor_is_that_of_the_targets_language", floors),
        trial("each_interpreter_of_a_language_has_its_own_floor", interpreters),
        trial("an_interpreter_that_is_not_there_is_a_reason", no_interpreter),
    ]
}

fn processes() {
    let url = "perl+fastmmap:";
    let run = run(&[url], "keys = 400\nprocesses = 3\nratio = '1:4'\nrequests = 1000");
    let cells = cells(&run, url);
    assert_eq!(cells.iter().map(|cell| cell.counts.ops).sum::<u64>(), 2000);
    for cell in cells {
        assert_eq!((cell.counts.wrong, cell.counts.errors), (0, 0), "{cell:#?}");
        assert!(cell.reason.is_none(), "{cell:#?}");
    }
}

/// There are more processes than keys and requests: a process without work is no reason.
fn idle() {
    let url = "perl+fastmmap:";
    let run = run(&[url], "keys = 4\nprocesses = 7\nrequests = 5\noperations = 'get'");
    let cell = cells(&run, url)[0];
    let counts = cell.counts;
    assert_eq!((counts.ops, counts.hits, cell.reason.as_deref()), (10, 10, None), "{cell:#?}");
}

fn threads() {
    let url = "perl+fastmmap:";
    let workload = "keys = 50\nthreads = [1, 4]\noperations = 'set'\nrounds = 6";
    let workers = |run: &Run, url: &str| {
        let cells = cells(run, url);
        cells.iter().map(|cell| (cell.workers, cell.reason.clone())).collect::<Vec<_>>()
    };
    let alike = support::run(&CATALOG, &[url, "moka:"], workload);
    assert_eq!(workers(&alike, url), [(1, None), (4, None)]);
    assert_eq!((alike.comparisons.len(), alike.notes.len()), (2, 0), "{:?}", alike.notes);
    // The option `processes` fixes their number, and the ranking then compares only the point with as many threads.
    let told = support::run(&CATALOG, &[url, "moka:"], &format!("{workload}\nprocesses = 4"));
    assert_eq!(workers(&told, url), [(4, None), (4, None)]);
    let compared: Vec<_> =
        told.comparisons.iter().map(|pair| pair.point["threads"].to_string()).collect();
    assert_eq!(compared, ["4"]);
    assert!(told.notes[0].contains("guests work with 4 processes"), "{:?}", told.notes);
}

fn duration() {
    let url = "perl+fastmmap:";
    let run = run(&[url], "keys = 100\nduration = '300ms'\noperations = ['set', 'get']");
    let get = *cells(&run, url).last().unwrap();
    let seconds = get.wall_s.unwrap();
    // Two rounds of 300 ms each, and more where the machine is busy.
    assert!(seconds >= 0.55, "{seconds}");
    assert!(run.notes[0].contains("a guest repeats one list"), "{:?}", run.notes);
    assert_eq!((get.counts.hits, get.counts.distinct_keys), (get.counts.ops, 100), "{get:#?}");
}

fn floors() {
    let run = run(&["perl+fastmmap:", "moka:"], "keys = 300\noperations = 'set'");
    let languages: Vec<_> = run.floors.iter().map(|floor| floor.language.as_deref()).collect();
    assert_eq!(languages, [Some("perl"), None]);
    for (target, floor) in run.targets.iter().zip(&run.floors) {
        assert_eq!(target.language, floor.language);
        let cell = cells(&run, &target.url)[0];
        let share = larder_report::floor_share(&run, cell).unwrap();
        let expected = floor.ns_per_op * cell.ops_per_s.unwrap() / 1e9;
        assert!((share - expected).abs() < 1e-9, "{share} is not {expected}");
    }
}

/// The same Perl by its own path stands for another one: which version answers, the report tells of each.
fn interpreters() {
    let (own, named) = ("perl+fastmmap:", "perl+fastmmap:?interpreter=perl");
    let run = run(&[own, named], "keys = 300\noperations = 'set'");
    let [first, second] = &run.targets[..] else { panic!("{:#?}", run.targets) };
    let path = &second.settings["interpreter"];
    assert!(path.ends_with("/perl"), "{path}");
    assert_eq!(first.settings.get("interpreter"), None);
    assert_eq!(first.language.as_deref(), Some("perl"));
    assert_eq!(second.language, Some(format!("perl by {path}")));
    for target in [first, second] {
        let version = target.version.as_deref().unwrap();
        assert!(version.contains("perl 5."), "{version}");
        let is_own = |floor: &&Floor| floor.language == target.language;
        assert_eq!(run.floors.iter().filter(is_own).count(), 1, "{:#?}", run.floors);
        let cell = cells(&run, &target.url)[0];
        assert_eq!((cell.counts.ops, &cell.reason), (600, &None), "{cell:#?}");
    }
}

fn no_interpreter() {
    let targets = [
        "perl+fastmmap:",
        "perl+fastmmap:?interpreter=/no/perl",
        "perl+fastmmap:?interpreter=/bin/true",
    ];
    let run = support::run(&CATALOG, &targets, "rounds = 1\nkeys = 10\noperations = 'set'");
    let reason = |n: usize| run.targets[n].reason.as_deref().unwrap_or_default();
    assert_eq!(reason(0), "");
    let said = "there is no program `/no/perl`; write the path of an existing program";
    assert!(reason(1).ends_with(said), "{}", reason(1));
    assert!(reason(2).contains("ended too early"), "{}", reason(2));
    let of_tier = StoreUrl::parse("perl+tiered:fastmmap:?interpreter=perl|fastmmap:").unwrap();
    let refused = CATALOG.open(&of_tier).map(drop).unwrap_err().to_string();
    let said =
        "one program runs all tiers; write the option behind the last tier, `…|?interpreter=PATH`";
    assert!(refused.contains(said), "{refused}");
}
