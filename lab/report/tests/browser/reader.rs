//! A reader beside the charts: follows links, stores the data, and uses keys alone.

use larder_report::{Run, samples_csv};
use serde::Deserialize;

use crate::Case;
use crate::made_up::article::article;
use crate::made_up::doubtful::{capacities, too_few_rounds, unlike_hits, withheld};
use crate::made_up::runs::{MadeUp, one_point, sweep};
use crate::page::{Key, Page, View};
use crate::probes::{FOCUS, LONG_LINES};

pub(crate) const CASES: &[Case] = &[
    ("a_check_leads_to_its_figures", a_check_leads_to_its_figures),
    ("the_answer_is_seen_before_anything_is_scrolled", the_answer_is_seen_at_once),
    ("the_width_is_used_and_lines_stay_readable", the_width_is_used),
    ("the_data_come_out_as_they_went_in", the_data_come_out_as_they_went_in),
    ("the_focus_can_always_be_seen", the_focus_can_always_be_seen),
    ("keys_alone_reach_every_control", keys_alone_reach_every_control),
];

fn a_check_leads_to_its_figures() {
    let run = sweep();
    let page = Page::drawn(&run, View::DESK);
    let links: usize = page.value("document.querySelectorAll('#checks a[href^=\"#\"]').length");
    assert!(links >= run.checks.len(), "{links} links for {} checks", run.checks.len());
    for link in 0..links {
        page.run(&format!("document.querySelectorAll('#checks a[href^=\"#\"]')[{link}].click()"));
        page.until(
            "(() => { const { top, bottom, height } = document.querySelector(':target').getBoundingClientRect(); \
               return height > 0 && top >= 0 && bottom <= innerHeight; })()",
        );
    }
}

/// A window on a small screen.
const LOW: View = View { height: 800, ..View::DESK };

fn the_answer_is_seen_at_once() {
    let runs: &[(MadeUp, &str)] = &[
        (("sweep", sweep), "#charts-rate .plot"),
        (("capacities", capacities), "#charts-hit_ratio .plot"),
        (("too few rounds", too_few_rounds), "#charts-rate .plot"),
        (("one point", one_point), ".verdict:last-of-type .podium"),
        (("withheld", withheld), ".verdict:last-of-type .podium"),
        (("unlike hits", unlike_hits), ".verdict:last-of-type .podium"),
    ];
    for ((name, run), picture) in runs {
        let page = Page::drawn(&run(), LOW);
        let bottom: f64 = page.value(&format!(
            "document.querySelector('#answer').querySelector({picture:?}).getBoundingClientRect().bottom"
        ));
        assert!(bottom > 100.0 && bottom <= 800.0, "{name}: {picture} ends at {bottom} px");
    }
    // Conclusions come first in a report that has any.
    let page = Page::drawn(&article(), LOW);
    let first: f64 = page.value("document.querySelector('.claim').getBoundingClientRect().bottom");
    assert!(first <= 800.0, "the first conclusion ends at {first} px");
}

fn the_width_is_used() {
    for run in [sweep(), one_point(), capacities()] {
        let page = Page::drawn(&run, View::DESK);
        let [left, right]: [f64; 2] = page.value(
            "(() => { const boxes = [...document.querySelectorAll('#answer :is(.plot, .grid, .podium)')]\
               .map((it) => it.getBoundingClientRect()); \
               return [Math.min(...boxes.map((it) => it.left)), Math.max(...boxes.map((it) => it.right))]; })()",
        );
        assert!(right - left > 1100.0, "from {left} to {right} px");
        let long: Vec<String> = page.value(LONG_LINES);
        assert_eq!(long, [""; 0]);
    }
}

fn the_data_come_out_as_they_went_in() {
    let run = sweep();
    let page = Page::drawn(&run, View::DESK);
    // The file that the page gives the browser to store is kept for the test.
    page.run(
        "(() => { const make = URL.createObjectURL; \
           URL.createObjectURL = (file) => { window.file = file; return make(file); }; })()",
    );
    let stored = |name: &str| -> String {
        page.run(&format!(
            "(window.file = null, document.querySelector('[download=\"{name}\"]').click())"
        ));
        page.until("window.file");
        page.value("window.file.text()")
    };
    let json = stored("run.json");
    assert!(Run::from_json(&json).expect("a run.json").to_json() == run.to_json());
    assert!(stored("samples.csv") == samples_csv(&run));
}

fn the_focus_can_always_be_seen() {
    #[derive(Deserialize)]
    struct Focus {
        looked: usize,
        unseen: Vec<String>,
    }
    for dark in [false, true] {
        let page = Page::drawn(&sweep(), View { dark, ..View::DESK });
        let focus: Focus = page.value(FOCUS);
        assert!(focus.looked > 10, "{}", focus.looked);
        assert_eq!(focus.unseen, [""; 0]);
    }
}

fn keys_alone_reach_every_control() {
    let page = Page::drawn(&sweep(), View::DESK);
    // The tab key reaches one of several radio buttons, and arrow keys the others.
    let controls: usize = page.value(
        "(window.left = new Set([...document.querySelectorAll('button, select, input, summary')]\
           .filter((it) => it.checkVisibility() && !it.disabled && (it.type !== 'radio' || it.checked)))).size",
    );
    assert!(controls > 5, "{controls}");
    page.run("addEventListener('focusin', ({ target }) => left.delete(target))");
    for _ in 0..1000 {
        page.press(Key::TAB);
        if page.value::<bool>("left.size === 0 || document.activeElement === document.body") {
            break;
        }
    }
    let left: Vec<String> = page.value("[...left].map((it) => it.outerHTML.slice(0, 80))");
    assert_eq!(left, [""; 0]);
}
