//! `web:FILE`: the recorded accesses of a web site on caches that have no room for all of it.

use super::made::{Made, quoted};
use crate::trace::TraceSource;

pub(super) const WEB: Made = Made {
    name: "web",
    argument: "FILE",
    summary: "recorded accesses of a web site, get-or-set on caches that have no room for all of it: which of them keeps \
              what is asked for again",
    needs: "a trace: web07.trace.xz and web12.trace.xz of https://github.com/cache2k/cache2k-benchmark (product pages of a \
            shop, CC BY 4.0), or your own; kvcache and twitter:N need none",
    example: "web12.trace.xz",
    make,
};

/// All but the trace.
const TEXT: &str = include_str!("../../../../scenarios/web.toml");
/// What the trace stands in for.
const PLACE: &str = "\"trace:FILE\"\n";
/// What values measure where the trace does not say.
const SIZES: &str = "\
# The trace says no sizes: product pages from half a kilobyte on, of 8 KiB on average, most of them smaller.
data-size = \"gpareto:512,7680,0\"
";

fn make(file: &str) -> Result<String, String> {
    let source: TraceSource = file.parse()?;
    let sizes = if source.may_have_sizes() { "" } else { SIZES };
    let pattern = quoted(&format!("trace:{source}"));
    Ok(TEXT.replace(PLACE, &format!("{pattern}\n{sizes}")))
}
