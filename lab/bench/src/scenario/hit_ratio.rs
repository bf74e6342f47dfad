//! `hit-ratio:FILE`: the hit ratios of the scenario `hit-ratio`, on the reads of a trace.

use larder_workload::trace::TraceSource;
use toml_edit::{DocumentMut, TomlError, value};

use super::generated::GeneratedScenario;
use super::web::stem;

pub(super) const HIT_RATIO: GeneratedScenario = GeneratedScenario {
    name: "hit-ratio",
    argument: "FILE",
    is_file: true,
    summary: "hit ratios on the reads of a trace, of caches with room for a part of the values, beside an exact LRU and \
              the optimal choice; with --full, of the caches of all languages",
    needs: "a trace, such as builtin:web12; without one, the reads follow a law of popularity",
    example: "builtin:web12",
    make,
};

/// The scenario with the reads of its laws.
const TEXT: &str = include_str!("../../../../scenarios/hit-ratio.toml");

fn make(file: &str) -> Result<String, String> {
    let source: TraceSource = file.parse()?;
    let mut scenario: DocumentMut = TEXT.parse().map_err(|error: TomlError| error.to_string())?;
    // Two traces are two scenarios.
    scenario["name"] = value(format!("hit-ratio-{}", stem(file)));
    if let Some(full) = scenario["full"].as_table_mut() {
        full.remove("part");
    }
    if let Some(workload) = scenario["workload"].as_table_mut() {
        // A trace has its own keys and its own number of reads.
        for law in ["keys", "requests"] {
            workload.remove(law);
        }
        if source.has_sizes() {
            workload.remove("data-size");
        }
        // The comment above the pattern is about the law.
        if let Some(mut pattern) = workload.key_mut("key-pattern") {
            pattern.leaf_decor_mut().clear();
        }
        workload["key-pattern"] = value(format!("trace:{source}"));
    }
    Ok(scenario.to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;

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
    }

    #[test]
    fn values_have_the_sizes_of_a_trace_that_records_them() {
        let folder = tempfile::tempdir().unwrap();
        let made = |name: &str, rows: &str| {
            let file = folder.path().join(name);
            fs::write(&file, rows).unwrap();
            let text = make(file.to_str().unwrap()).unwrap();
            let table: toml::Table = toml::from_str(&text).unwrap();
            assert!(table["workload"].as_table().unwrap().contains_key("capacity"), "{text}");
            table["workload"].get("data-size").cloned()
        };
        assert_eq!(made("sizes.csv", "key,size\n1,200\n2,300\n"), None);
        assert_eq!(made("keys.csv", "key\n1\n2\n"), Some("8k".into()), "no column of sizes");
    }
}
