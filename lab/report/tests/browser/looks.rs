//! The look of a report at the width of a telephone and of a desk, in light and dark mode. Nothing sticks out, every
//! text is readable, and nothing moves. Pictures remain for a person to judge the rest.

use std::path::PathBuf;

use crate::page::{Page, View};
use crate::probes::{CONTRAST, OVERFLOW, OVERLAP, SHIFT, STABLE_SHIFT, Shift};

/// Checks that a page reads well on every device and in both modes.
pub(crate) fn reads_well(name: &str, html: &str) {
    let mut defects = Vec::new();
    for (device, view) in [("phone", View::PHONE), ("desk", View::DESK)] {
        let page = Page::open(html, view);
        page.until_drawn();
        let mut found = |what: &str, list: Vec<String>| {
            defects.extend(list.into_iter().map(|defect| format!("{device}, {what}: {defect}")));
        };
        let Shift { moved, lines } = page.value(SHIFT);
        found("moves", if moved >= STABLE_SHIFT { lines } else { Vec::new() });
        found("overflow", page.value(OVERFLOW));
        found("overlap", page.value(OVERLAP));
        for (light, dark) in [("light", false), ("dark", true)] {
            page.prefer(dark);
            page.settle();
            found(&format!("contrast, {light}"), page.value(CONTRAST));
            keep(&format!("{name}-{device}-{light}.png"), || page.picture());
        }
        found("complains", page.complaints());
    }
    assert!(defects.is_empty(), "{name}:\n{}", defects.join("\n"));
}

/// Keeps a picture for a person, where `LARDER_SCREENSHOTS` asks for it.
pub(crate) fn keep(name: &str, picture: impl FnOnce() -> Vec<u8>) {
    if let Some(folder) = std::env::var_os("LARDER_SCREENSHOTS").map(PathBuf::from) {
        std::fs::create_dir_all(&folder).expect("the folder for pictures");
        std::fs::write(folder.join(name), picture()).expect("the picture can be written");
    }
}
