//! Published measurements: draws agree with the tables.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use larder_workload::{Distribution, KeyPattern, Picker, SizeSpec};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

const POPULARITY: &str = include_str!("../../../scenarios/kvcache-popularity.csv");
const SIZES: &str = include_str!("../../../scenarios/kvcache-sizes.csv");

/// The two columns of a table.
fn table(text: &str) -> Vec<(f64, f64)> {
    let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let row = |line: &str| {
        let (a, b) = line.split_once(',').unwrap();
        (a.parse().unwrap(), b.parse().unwrap())
    };
    rows.map(row).collect()
}

/// The sum over all rows of (seen - expected)^2 / expected is near the degrees of freedom. Rare rows are counted
/// together.
fn assert_chi_square(rows: impl Iterator<Item = (f64, f64)>) {
    let (mut sum, mut groups, mut rare) = (0.0, 0.0_f64, (0.0, 0.0));
    for (expected, seen) in rows {
        rare = (rare.0 + expected, rare.1 + seen);
        if rare.0 >= 10.0 {
            sum += (rare.1 - rare.0).powi(2) / rare.0;
            groups += 1.0;
            rare = (0.0, 0.0);
        }
    }
    let limit = groups + 4.0 * (2.0 * groups).sqrt();
    assert!(groups > 50.0 && sum < limit, "{sum} > {limit} of {groups} groups");
}

#[test]
fn values_are_as_large_as_those_of_the_production_cache() {
    let spec: SizeSpec = "histogram:builtin:kvcache".parse().unwrap();
    let table = table(SIZES);
    let all: f64 = table.iter().map(|(_, weight)| weight).sum();
    let published = table.iter().map(|(size, weight)| size * weight).sum::<f64>() / all;
    assert!((spec.mean().unwrap() - published).abs() < 1e-6);
    assert!((published - 335.2).abs() < 0.1, "{published}");
    let n = 400_000;
    let mut seen = std::collections::HashMap::<u64, f64>::new();
    for index in 0..n {
        *seen.entry(f64::from(spec.size_of(3, index)).to_bits()).or_default() += 1.0;
    }
    let all_seen: f64 = table.iter().filter_map(|(size, _)| seen.get(&size.to_bits())).sum();
    assert!((all_seen - 400_000.0).abs() < 0.5, "only sizes of the table: {all_seen}");
    let rows = table.iter().map(|(size, weight)| {
        (weight / all * 400_000.0, seen.get(&size.to_bits()).copied().unwrap_or(0.0))
    });
    assert_chi_square(rows);
}

/// The share of the requests that fall on the most frequent keys, for this share of all keys.
fn requests_of(table: &[(f64, f64)], share: f64) -> f64 {
    let (keys, requests) = table.iter().fold((0.0, 0.0), |all, row| (all.0 + row.0, all.1 + row.1));
    let (mut left, mut sum) = (share * keys, 0.0);
    for row in table {
        let taken = left.min(row.0);
        sum += row.1 * taken / row.0;
        left -= taken;
    }
    sum / requests
}

#[test]
fn keys_come_as_often_as_those_of_the_production_cache() {
    let pattern: Distribution = "popularity:builtin:kvcache".parse().unwrap();
    let table = table(POPULARITY);
    let (n, n_ops) = (100_000_u32, 1_000_000);
    let mut draws = vec![0; n_ops];
    let picker = Picker::new(pattern, n, 11);
    picker.fill(&mut Xoshiro256PlusPlus::seed_from_u64(5), 0, &mut draws);
    let mut counts = vec![0.0_f64; n as usize];
    for key in draws {
        counts[key as usize] += 1.0;
    }
    counts.sort_by(|a, b| b.total_cmp(a));
    // The most frequent keys are seen in the published order.
    let mut upto = 0.0;
    for rank in 0..30_u32 {
        let published = requests_of(&table, f64::from(rank + 1) / f64::from(n)) * 1e6;
        upto += counts[rank as usize];
        assert!((upto - published).abs() < 4.0 * published.sqrt(), "{rank}: {upto}, {published}");
    }
    let seen = counts.iter().filter(|count| **count > 0.0).map(|_| 1.0).sum::<f64>();
    let expected = picker.expected_distinct(1_000_000);
    assert!((seen / expected - 1.0).abs() < 0.01, "{seen} of {expected}");
}

#[test]
fn a_file_says_the_same_in_json_and_in_lines() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        format!("popularity:{}", path.display())
    };
    let json =
        r#"{"popularityBuckets": [10, 90], "popularityWeights": [900, 100], "oneHits": 0.1}"#;
    // The rows are in another order, with a comment.
    for text in [json, "# mine\nkeys,requests\n90,100\n\n10, 900\n"] {
        let name = write("mine", text);
        let pattern: KeyPattern = name.parse().unwrap();
        assert_eq!(pattern.to_string(), name);
        let KeyPattern::Drawn(distribution) = pattern else { panic!("{pattern}") };
        let mut draws = vec![0; 100_000];
        let picker = Picker::new(distribution, 1000, 2);
        picker.fill(&mut Xoshiro256PlusPlus::seed_from_u64(5), 0, &mut draws);
        let mut counts = vec![0; 1000];
        for key in draws {
            counts[key as usize] += 1;
        }
        counts.sort_unstable();
        let frequent: i32 = counts[900..].iter().sum();
        assert!((89_600..90_400).contains(&frequent), "{frequent}");
    }
    for (text, needle) in [
        ("{\"popularityBuckets\": [1]}", "popularityWeights"),
        (
            r#"{"popularityBuckets": [1], "popularityWeights": [1, 2]}"#,
            "1 popularityBuckets, but 2",
        ),
        ("10;20\n", "line 1: `10;20` is not a number of keys and their requests; write 10,400"),
        ("10,0\n", "no key has requests"),
        ("0,10\n", "0 keys with 10 requests"),
        ("1,-1\n", "1 key with -1 requests"),
        ("", "no key has requests"),
    ] {
        let error = write("broken", text).parse::<KeyPattern>().unwrap_err();
        assert!(error.contains(needle) && !error.contains('\n'), "{needle}: {error}");
    }
    for (text, needle) in [
        ("popularity:builtin:web", "no built-in file `web`; known: builtin:kvcache"),
        ("popularity:/nowhere/pop.json", "No such file"),
        ("popularity:", "known: seq, first"),
        ("popularity", "known: seq, first"),
    ] {
        let error = text.parse::<KeyPattern>().unwrap_err();
        assert!(error.contains(needle) && !error.contains('\n'), "{needle}: {error}");
    }
    let error = "histogram:builtin:web".parse::<SizeSpec>().unwrap_err();
    assert!(error.contains("no built-in file `web`"), "{error}");
}
