//! `web:FILE`: the recorded accesses of a web site on caches that are too small for all of its pages.

use std::path::Path;

use super::generated::{GeneratedScenario, quoted};
use larder_workload::trace::TraceSource;

pub(super) const WEB: GeneratedScenario = GeneratedScenario {
    name: "web",
    argument: "FILE",
    is_file: true,
    summary: "recorded accesses of a web site, get-or-set on caches without room for all pages: which cache keeps \
              the pages that are requested again",
    needs: "a trace: web07.trace.xz and web12.trace.xz of https://github.com/cache2k/cache2k-benchmark (product \
            pages of a shop, CC BY 4.0), builtin:web12, which has the first reads of the latter, or your own; kvcache and \
            twitter:N need no trace",
    example: "builtin:web12",
    make,
};

/// The scenario without the trace.
const TEXT: &str = include_str!("../../../../scenarios/web.toml");
/// The placeholder of the name, because two traces are two scenarios.
const NAME: &str = "name = \"web\"\n";
/// The placeholder of the trace.
const PLACE: &str = "\"trace:FILE\"\n";
/// The size of values where the trace records no sizes.
const SIZES: &str = "# The trace has no sizes: product pages from half a kilobyte on, of 8 KiB on average, most of \
                     them smaller.
data-size = \"gpareto:512,7680,0\"
";

fn make(file: &str) -> Result<String, String> {
    let source: TraceSource = file.parse()?;
    let sizes = if source.has_sizes() { "" } else { SIZES };
    let pattern = quoted(&format!("trace:{source}"));
    let named = TEXT.replace(NAME, &format!("name = \"web-{}\"\n", stem(file)));
    Ok(named.replace(PLACE, &format!("{pattern}\n{sizes}")))
}

/// The name of a trace, in the letters that a name may have: `web12` of `traces/web12.trace.xz?format=cache2k`.
pub(super) fn stem(file: &str) -> String {
    let path = file.split('?').next().unwrap_or_default();
    let name = TraceSource::from(Path::new(path)).name();
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("trace");
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    stem.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_is_called_after_its_trace() {
        for (file, expected) in [
            ("web12.trace.xz", "web12"),
            ("a.b/web07.trace?format=cache2k", "web07"),
            (".hidden.csv", "hidden"),
            ("März 1.csv", "M-rz-1"),
            ("builtin:web12", "web12"),
            ("..", "trace"),
        ] {
            assert_eq!(stem(file), expected);
        }
    }
}
