//! Style and script of the page, and the policy that allows only these.

use std::fmt::Write;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::chart::palette::{COLOURS, on_dark, on_light};

/// Colours on light ground and on dark, as the declarations of a rule.
const LIGHT: &str = include_str!("css/light.css");
const DARK: &str = include_str!("css/dark.css");

/// The rules of a report, in the order of the page.
const REPORT_STYLES: &[&str] = &[
    include_str!("vendor/uplot/uPlot.min.css"),
    include_str!("css/base.css"),
    include_str!("css/head.css"),
    include_str!("css/answer.css"),
    include_str!("css/article.css"),
    include_str!("css/checks.css"),
    include_str!("css/charts.css"),
    include_str!("css/tables.css"),
    include_str!("css/environment.css"),
    include_str!("css/print.css"),
];

/// The rules of an index, which looks like a report.
const INDEX_STYLES: &[&str] = &[
    include_str!("css/base.css"),
    include_str!("css/head.css"),
    include_str!("css/answer.css"),
    include_str!("css/article.css"),
    include_str!("css/charts.css"),
    include_str!("css/environment.css"),
    include_str!("css/tables.css"),
    include_str!("css/index.css"),
    include_str!("css/print.css"),
];

/// The script that must run before the page is painted.
const EARLY: &str = include_str!("js/early.js");

/// The switch between light and dark.
const THEME: &str = include_str!("js/theme.js");

/// Each file has one purpose; together they are one function for the browser.
const SCRIPTS: &[&str] = &[
    include_str!("js/data.js"),
    include_str!("js/format.js"),
    include_str!("js/axis.js"),
    include_str!("js/relative.js"),
    include_str!("js/tooltip.js"),
    include_str!("js/paint.js"),
    include_str!("js/names.js"),
    include_str!("js/pointing.js"),
    include_str!("js/lines.js"),
    include_str!("js/strips.js"),
    include_str!("js/bars.js"),
    include_str!("js/legend.js"),
    include_str!("js/controls.js"),
    include_str!("js/panel.js"),
    include_str!("js/samples.js"),
    THEME,
    include_str!("js/page.js"),
];

const UPLOT: &str = include_str!("vendor/uplot/uPlot.iife.min.js");

/// Every copy of uPlot must carry it, so every page does.
const UPLOT_LICENSE: &str = include_str!("vendor/uplot/LICENSE");

/// The assets of a page.
pub(crate) struct Assets {
    /// The whole style.
    pub(crate) style: String,
    /// The script at the end of the page.
    pub(crate) script: String,
}

/// The assets of a report.
pub(crate) static REPORT: LazyLock<Assets> = LazyLock::new(|| {
    let ours = SCRIPTS.concat();
    let script =
        format!("/*\n{UPLOT_LICENSE}\n*/\n{UPLOT}\n(() => {{\n\"use strict\";\n{ours}}})();\n");
    Assets { style: themes() + &REPORT_STYLES.concat(), script }
});

/// The assets of an index, which has no interaction.
pub(super) static INDEX: LazyLock<Assets> = LazyLock::new(|| {
    let root = "const root = document.documentElement;\n";
    let script = format!("(() => {{\n\"use strict\";\n{root}{THEME}themes();\n}})();\n");
    Assets { style: themes() + &INDEX_STYLES.concat(), script }
});

/// The script before every page.
pub(super) fn early_script() -> &'static str {
    EARLY
}

impl Assets {
    /// Forbids every other style and script: nothing is fetched, and no foreign text becomes code.
    pub(super) fn policy(&self) -> String {
        format!(
            "default-src 'none'; style-src {}; script-src {} {}; img-src data:; base-uri 'none'; form-action 'none'",
            hash(&self.style),
            hash(early_script()),
            hash(&self.script)
        )
    }
}

fn hash(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// The colours: the system's, the reader's choice, and light on paper.
fn themes() -> String {
    let declared = |colours: &str, of: fn(usize) -> &'static str| {
        let mut text = colours.to_owned();
        for number in 0..COLOURS {
            let _ = write!(text, "--series-{number}:{};", of(number));
        }
        text
    };
    let (light, dark) = (declared(LIGHT, on_light), declared(DARK, on_dark));
    let mut style = format!(
        ":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n:root[data-theme=light]{{{light}}}\n\
         :root[data-theme=dark]{{{dark}}}\n@media print{{:root:root:root{{{light}}}}}\n"
    );
    for number in 0..COLOURS {
        let _ = writeln!(style, ".s{number}{{color:var(--series-{number})}}");
    }
    style
}
