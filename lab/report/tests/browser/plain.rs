//! A report without scripts, and on paper: every text and figure remains, and no control that needs a script.

use larder_report::sentences;

use crate::Case;
use crate::looks::keep;
use crate::made_up::runs::sweep;
use crate::page::{Page, View};
use crate::probes::{CONTRAST, OVERFLOW, OVERLAP};

pub(crate) const CASES: &[Case] = &[
    ("without_scripts_it_says_and_shows_everything", without_scripts_it_says_and_shows_everything),
    ("without_scripts_it_reads_well_too", without_scripts_it_reads_well_too),
    ("on_paper_it_has_all_and_no_controls", on_paper_it_has_all_and_no_controls),
];

/// The number of these elements that are visible.
fn shown(page: &Page, selector: &str) -> usize {
    let all = format!("[...document.querySelectorAll({selector:?})]");
    page.value(&format!("{all}.filter((element) => element.checkVisibility()).length"))
}

/// The readable text of the page, without line breaks and capitals.
fn read(page: &Page) -> String {
    // Folded parts can be unfolded without scripts.
    page.run("document.querySelectorAll('details').forEach((it) => it.open = true)");
    let text: String = page.value("document.body.innerText");
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn without_scripts_it_says_and_shows_everything() {
    let run = sweep();
    let page = Page::of(&run, View { scripts: false, ..View::DESK });
    assert!(shown(&page, "table") > 0);
    assert_eq!(shown(&page, "button, input, select"), 0, "controls that do nothing");
    let text = read(&page);
    for said in sentences(&run) {
        assert!(text.contains(&said.text.to_lowercase()), "not said: {}", said.text);
    }
    for check in &run.checks {
        assert!(text.contains(&check.text.to_lowercase()), "not said: {}", check.text);
    }
    // There are rates and two percentiles of latency, for each of two operations.
    assert_eq!(shown(&page, ".still svg"), 6);
    keep("sweep-without-scripts.png", || page.picture());
}

fn without_scripts_it_reads_well_too() {
    for view in [View::PHONE, View::DESK] {
        for dark in [false, true] {
            let page = Page::of(&sweep(), View { scripts: false, dark, ..view });
            for probe in [OVERFLOW, OVERLAP, CONTRAST] {
                assert_eq!(
                    page.value::<Vec<String>>(probe),
                    [""; 0],
                    "{} px, dark: {dark}",
                    view.width
                );
            }
        }
    }
}

fn on_paper_it_has_all_and_no_controls() {
    let page = Page::drawn(&sweep(), View::DESK);
    let folded = "[...document.querySelectorAll('details > :not(summary)')]\
                  .filter((it) => !it.checkVisibility()).length";
    let before: usize = page.value(folded);
    assert!(before > 0);
    let paper = page.print();
    assert!(paper.starts_with(b"%PDF"));
    keep("sweep-paper.pdf", || paper);
    assert_eq!(page.value::<usize>(folded), before, "printing has changed what is open");
    page.show_as_printed();
    assert_eq!(page.value::<usize>(folded), 0);
    assert_eq!(shown(&page, "button, input, select"), 0);
    assert!(shown(&page, "table") > 0);
    assert!(shown(&page, ".still svg, .plot canvas") > 0);
}
