//! Real forks: parent and child work on, with the store of the parent or one of the child's own.
//!
//! The test program is started a second time for it. There only the engine has threads, and the child of a fork has just
//! one thread.

use libtest_mimic::Failed;

use super::case::Case;
use super::child;
use super::fixture::{Fixture, TestDir};
use super::need::{ACKNOWLEDGED, KEEPS_FILES, SHARES_FILES, STORES};

/// A case that forks.
macro_rules! forks {
    ($run:ident $(, $need:ident)*) => {
        Case { name: stringify!($run), needs: &[STORES, ACKNOWLEDGED $(, $need)*], spawns: true, run: $run }
    };
}

pub(super) const CASES: &[Case] = &[
    forks!(a_forked_child_works_on_or_is_refused_in_one_line),
    forks!(a_forked_child_opens_the_store_again),
    forks!(a_forked_child_opens_the_same_files_again, SHARES_FILES),
];

fn a_forked_child_works_on_or_is_refused_in_one_line(fixture: &Fixture) -> Result<(), Failed> {
    child::forks(fixture.url(), "", &fixture.key("fork"))
}

/// Files that only one store may open are other files.
fn a_forked_child_opens_the_store_again(fixture: &Fixture) -> Result<(), Failed> {
    let url = fixture.url();
    if !fixture.has(KEEPS_FILES)? {
        return child::forks(url, url, &fixture.key("fork"));
    }
    let (ours, others) = (TestDir::create()?, TestDir::create()?);
    let at = |directory: &TestDir| fixture.url_at(&directory.path());
    child::forks(&at(&ours), &at(&others), &fixture.key("fork"))
}

fn a_forked_child_opens_the_same_files_again(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    child::forks(&url, &url, &fixture.key("fork"))
}
