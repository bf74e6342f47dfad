//! `hit-ratio:FILE`: the hit ratios of the scenario `hit-ratio`, on the reads of a trace.

use super::made::{Made, quoted};
use super::web::stem;
use larder_workload::trace::TraceSource;

pub(super) const HIT_RATIO: Made = Made {
    name: "hit-ratio",
    argument: "FILE",
    is_file: true,
    summary: "hit ratios on the reads of a trace, of caches with room for a part of the values, beside an exact LRU and \
              the optimal choice; with --full, of the caches of all languages",
    needs: "a trace; without one, the reads follow a law of popularity",
    example: "web12.trace.xz",
    make,
};

/// The scenario with the reads of its laws.
const TEXT: &str = include_str!("../../../../scenarios/hit-ratio.toml");
/// The placeholder of the name, because two traces are two scenarios.
const NAME: &str = "name = \"hit-ratio\"\n";
/// The law of the short form, with its comment and its numbers of keys and reads, which a trace has itself.
const LAW: [&str; 2] =
    ["# The exponent of many measured caches", "# So large that a store's overhead"];
const READS: &str = "requests = 60000\n";
/// The sizes of values, for a trace that records them.
const SIZES: &str = "data-size = \"8k\"\n";
/// The first of the laws at full length.
const LAWS: &str = "[[full.part]]";

fn make(file: &str) -> Result<String, String> {
    let source: TraceSource = file.parse()?;
    let pattern = quoted(&format!("trace:{source}"));
    let named = TEXT.replace(NAME, &format!("name = \"hit-ratio-{}\"\n", stem(file)));
    let without_laws = named.split(LAWS).next().unwrap_or_default().replace(READS, "");
    let [from, to] = LAW.map(|line| without_laws.find(line).unwrap_or(without_laws.len()));
    let (before, after) = (&without_laws[..from], &without_laws[to..]);
    let text = format!("{before}key-pattern = {pattern}\n{after}");
    if source.may_have_sizes() {
        return Ok(text.replace(SIZES, ""));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reads_of_a_trace_take_the_place_of_every_law() {
        let text = make("web12.trace.xz").unwrap();
        let table: toml::Table = toml::from_str(&text).unwrap();
        assert_eq!(table["name"].as_str(), Some("hit-ratio-web12"));
        let workload = table["workload"].as_table().unwrap();
        assert_eq!(workload["key-pattern"].as_str(), Some("trace:web12.trace.xz"));
        assert!(!workload.contains_key("keys") && !workload.contains_key("requests"), "{text}");
        assert_eq!(workload["data-size"].as_str(), Some("8k"));
        let full = table["full"].as_table().unwrap();
        assert!(!full.contains_key("part") && full["targets"].as_array().unwrap().len() > 20);
        assert!(!text.contains("zipf"), "{text}");
        let with_sizes = make("web.csv").unwrap();
        assert!(
            !with_sizes.contains("data-size") && with_sizes.contains("capacity"),
            "{with_sizes}"
        );
    }
}
