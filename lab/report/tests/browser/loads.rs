//! An opened report shows itself, and does nothing else.

use crate::Case;
use crate::looks::keep;
use crate::made_up::hostile;
use crate::made_up::runs::sweep;
use crate::page::{Page, View, report};
use crate::probes::{GARBLED, OVERFLOW, SHIFT, STABLE_SHIFT, Shift};

pub(crate) const CASES: &[Case] = &[
    (
        "the_page_loads_in_silence_and_requests_nothing_else",
        the_page_loads_in_silence_and_requests_nothing_else,
    ),
    ("without_scripts_it_loads_in_silence_too", without_scripts_it_loads_in_silence_too),
    ("texts_of_others_do_no_harm", texts_of_others_do_no_harm),
    ("where_the_script_fails_the_still_pictures_stay", where_the_script_fails_pictures_stay),
    ("an_address_that_cannot_be_decoded_does_no_harm", a_strange_address_does_no_harm),
];

fn the_page_loads_in_silence_and_requests_nothing_else() {
    let page = Page::drawn(&sweep(), View::DESK);
    assert_eq!(page.requests(), [page.address()]);
    assert_eq!(page.complaints(), [""; 0]);
    let Shift { moved, lines } = page.value(SHIFT);
    assert!(moved < STABLE_SHIFT, "{lines:#?}");
}

fn without_scripts_it_loads_in_silence_too() {
    let page = Page::of(&sweep(), View { scripts: false, ..View::DESK });
    assert_eq!(page.requests(), [page.address()]);
    assert_eq!(page.complaints(), [""; 0]);
}

fn texts_of_others_do_no_harm() {
    let run = hostile();
    for view in [View::PHONE, View::DESK, View { scripts: false, ..View::DESK }] {
        let page = Page::of(&run, view);
        if view.scripts {
            page.until_drawn();
        }
        let name = format!(
            "hostile-{}{}.png",
            view.width,
            if view.scripts { "" } else { "-without-scripts" }
        );
        keep(&name, || page.picture());
        assert_ne!(page.value::<String>("document.title"), "taken");
        assert_eq!(page.requests(), [page.address()]);
        assert_eq!(page.complaints(), [""; 0]);
        assert_eq!(page.value::<Vec<String>>(OVERFLOW), [""; 0]);
        assert_eq!(page.value::<Vec<String>>(GARBLED), [""; 0]);
        let text: String = page.value("document.body.textContent");
        for target in &run.targets {
            assert!(text.contains(&target.name), "{} is not shown as it is", target.name);
        }
    }
}

fn where_the_script_fails_pictures_stay() {
    // The data of the charts are cut off.
    let html = report(&sweep());
    let (before, after) = html.split_once("<data id=\"drawn\" hidden value=\"").expect("data");
    let (_, after) = after.split_once('"').expect("the end of the data");
    let cut = format!("{before}<data id=\"drawn\" hidden value=\"H4sI\"{after}");
    let page = Page::open(&cut, View::DESK);
    page.until("!document.documentElement.classList.contains('js')");
    let shown: Vec<bool> = page.value(
        "[...document.querySelectorAll('.still, .legend')].map((it) => it.checkVisibility())",
    );
    assert_eq!(shown.iter().filter(|shown| **shown).count(), shown.len() - 1, "all but the legend");
}

fn a_strange_address_does_no_harm() {
    let page = Page::drawn(&sweep(), View::DESK);
    page.run("location.hash = '50%'");
    page.settle();
    assert!(page.value::<bool>("document.documentElement.classList.contains('js')"));
    assert_eq!(page.complaints(), [""; 0]);
}
