//! The largest report that must be as quick as any: 10 targets, 20 points, 2 operations, 10 rounds.

use std::time::Duration;

use crate::Case;
use crate::made_up::largest;
use crate::page::{Page, View, report};

pub(crate) const CASES: &[Case] = &[(
    "the_largest_report_is_small_and_opens_at_once",
    the_largest_report_is_small_and_opens_at_once,
)];

const BYTES: usize = 2_000_000;

/// What opening it may cost the page's thread. Other programs cannot make it longer by taking the processor.
const WORK: Duration = Duration::from_secs(2);

fn the_largest_report_is_small_and_opens_at_once() {
    let html = report(&largest());
    assert!(html.len() < BYTES, "{} bytes", html.len());
    let page = Page::open(&html, View::DESK);
    page.measure_work();
    page.load();
    page.until_drawn();
    let work = page.work();
    assert!(Duration::ZERO < work && work < WORK, "opening it took {work:?} of the processor");
}
