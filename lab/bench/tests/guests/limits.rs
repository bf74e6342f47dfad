//! What a guest cannot do is a reason, and what would be too much is refused.

use std::sync::atomic::AtomicBool;

use larder_bench::{Permissions, Plan, Silent, compare};
use larder_testkit::{has_perl_modules, trial_where};
use libtest_mimic::Trial;

use super::{CATALOG, cells, perl, run, support};

pub(super) fn trials() -> Vec<Trial> {
    let mmap = || has_perl_modules(&["Cache::Mmap"]);
    vec![
        trial_where(perl, "ways_to_read_that_a_guest_has_not_are_reasons", ways),
        trial_where(mmap, "a_ttl_that_a_guest_has_not_is_a_reason", no_ttl),
        trial_where(perl, "more_operations_than_memory_are_refused", too_much),
        trial_where(perl, "values_that_take_time_to_make_are_a_reason", load_time),
    ]
}

fn ways() {
    let workload = "keys = 100\ngroup = 10\noperations = 'get_each,get_tag,get_many'";
    let run = run(&["perl+fastmmap:"], workload);
    let [each, tag, many] = cells(&run, "perl+fastmmap:")[..] else { panic!("{:#?}", run.cells) };
    assert_eq!(each.reason.as_deref(), Some("a guest reads no groups one by one"));
    assert_eq!(tag.reason.as_deref(), Some("no reads by tag"));
    assert_eq!((&many.reason, many.counts.hits), (&None, 200));
}

fn no_ttl() {
    let url = "perl+mmap:";
    let run = run(&[url], "keys = 50\nttl = '1m'\noperations = 'set'");
    assert_eq!(cells(&run, url)[0].reason.as_deref(), Some("has no TTL"));
}

/// The plan writes all operations of a guest down, so they must fit into memory.
fn too_much() {
    let scenario =
        |target| support::scenario(&[target], "keys = 100\nrequests = '4000m'\nratio = '1:0'");
    let stop = AtomicBool::new(false);
    let refused = Plan::new(&scenario("perl+fastmmap:"), true, &CATALOG)
        .and_then(|plan| compare(&plan, &CATALOG, vec![], Permissions::default(), &Silent, &stop));
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("a guest's operations are written down before"), "{refused}");
    assert!(refused.contains("use fewer --requests"), "{refused}");
}

/// A guest cannot sleep between a miss and its fill, and says so.
fn load_time() {
    let workload = "keys = 50\nrounds = 1\non-miss = 'fill'\nload-time = '1ms'";
    let run = support::run(&CATALOG, &["perl+filecache:", "moka:"], workload);
    let reason = |engine: &str| {
        let cell = run.cells.iter().find(|cell| cell.target.starts_with(engine)).unwrap();
        cell.reason.clone()
    };
    let said = reason("perl").unwrap();
    assert_eq!(said, "a guest makes its values at once: leave out --load-time");
    assert_eq!(reason("moka"), None);
}
