//! Sizes: the accepted texts, the draws, and sweeps.

use std::fs;
use std::path::PathBuf;

use larder_workload::{SizeSpec, Sweep};
use proptest::prelude::*;

fn spec(text: &str) -> SizeSpec {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn draws(text: &str, n: u64) -> Vec<u32> {
    let spec = spec(text);
    (0..n).map(|index| spec.size_of(7, index)).collect()
}

/// The share of `sizes` that is at most `limit`.
fn share_upto(sizes: &[u32], limit: f64) -> f64 {
    let below = sizes.iter().filter(|&&size| f64::from(size) <= limit).count();
    share(below, sizes.len())
}

fn share(part: usize, all: usize) -> f64 {
    f64::from(u32::try_from(part).expect("small")) / f64::from(u32::try_from(all).expect("small"))
}

/// A file in the target directory, under a name that no other test uses.
fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("the target directory can be written");
    path
}

#[test]
fn a_size_shows_as_a_text_that_reads_the_same() {
    for (text, shown) in [
        ("4k", "4k"),
        (" fixed:4096 ", "4k"),
        ("2170k", "2170k"),
        ("1000", "1000"),
        ("1 MiB", "1m"),
        ("0", "0"),
        ("1g", "1g"),
        ("uniform:1k-65536", "uniform:1k-64k"),
        ("normal:4k,1k", "normal:4096,1024"),
        ("normal:10.5,0", "normal:10.5,0"),
        ("list:4k:1,72k:0.5", "list:4k:1,72k:0.5"),
        ("list:0.1k,7:3", "list:102:1,7:3"),
        ("gpareto:15,214.476,0.348238", "gpareto:15,214.476,0.348238"),
        ("pareto:0,16.0292,0", "gpareto:0,16.0292,0"),
        ("gev:-3,8.20449,-0.1", "gev:-3,8.20449,-0.1"),
        ("fb_key", "fb_key"),
        ("fb_value", "fb_value"),
    ] {
        assert_eq!(spec(text).to_string(), shown);
        assert_eq!(spec(shown), spec(text));
    }
    assert_eq!((spec("4k").as_fixed(), spec("uniform:1-1").as_fixed()), (Some(4096), None));
    assert_eq!(SizeSpec::fixed(u32::MAX), spec("1g"));
}

#[test]
fn a_wrong_size_gets_one_line_that_says_why() {
    for (text, needle) in [
        ("", "is not a size"),
        ("big", "is not a size"),
        ("2g", "size 2 GiB > limit 1 GiB"),
        ("list:4k:1,2g:1", "size 2 GiB > limit 1 GiB"),
        ("gauss:1,2", "no such distribution; known: fixed, uniform,"),
        ("uniform:64k-1k", "64k > 1k; the smaller one comes first"),
        ("uniform:64k", "write uniform:1k-64k"),
        ("normal:4k", "write normal:4k,1k"),
        ("normal:4k,-1", "deviation -1 < 0"),
        ("normal:nan,1", "`nan` is not a size"),
        ("list:4k:x", "weight `x` is not a number"),
        ("list:4k:-1", "weight -1 is not a number from 0"),
        ("list:4k:nan", "weight NaN is not a number from 0"),
        ("list:4k:0", "no size has a weight above 0"),
        ("gev:1,2", "location, scale and shape"),
        ("gpareto:1,0,1", "scale 0 is not above 0"),
        ("histogram:/nowhere/sizes.json", "`histogram:/nowhere/sizes.json`: No such file"),
        ("histogram:/dev/zero", "longer than 64 MiB"),
    ] {
        let error = text.parse::<SizeSpec>().unwrap_err();
        assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn a_size_follows_from_seed_and_index_alone() {
    // These sizes were computed separately, from SplitMix64 and the formulas. They are the same in every version and on
    // every machine.
    for (seed, index, expected) in [
        (1, 0, [3218, 6332, 1398, 21]),
        (1, 1, [59_990, 4150, 35, 53]),
        (1, 2, [57_580, 4342, 44, 49]),
        (2, 0, [55_406, 4505, 53, 46]),
        (0, u64::MAX, [24_651, 4012, 273, 31]),
    ] {
        let texts = [
            "uniform:1k-64k",
            "normal:4k,1k",
            "gpareto:15,214.476,0.348238",
            "gev:30.7984,8.20449,0.078688",
        ];
        assert_eq!(texts.map(|text| spec(text).size_of(seed, index)), expected, "{seed} {index}");
    }
    assert_eq!(spec("fb_key").size_of(1, 1), 53);
}

#[test]
fn uniform_sizes_fill_their_range_evenly_with_both_ends() {
    let sizes = draws("uniform:10-19", 100_000);
    let chi_square: f64 = (10..=19)
        .map(|size| {
            let seen = sizes.iter().filter(|&&drawn| drawn == size).count();
            (share(seen, 1) - 10_000.0).powi(2) / 10_000.0
        })
        .sum();
    // Nine degrees of freedom: above 27.9 once in a thousand seeds.
    assert!(chi_square < 27.9, "{chi_square}");
    assert!(sizes.iter().all(|size| (10..=19).contains(size)));
    assert_eq!(spec("uniform:10-19").mean(), Some(14.5));
}

#[test]
fn normal_sizes_have_their_mean_and_deviation_and_stop_at_zero() {
    let sizes = draws("normal:4k,1k", 200_000);
    // The shares within one, two and three deviations, and half below the mean.
    for (deviations, expected) in [(0.0, 0.5), (1.0, 0.841_34), (2.0, 0.977_25), (-1.0, 0.158_66)] {
        let share = share_upto(&sizes, 4096.0 + 1024.0 * deviations);
        assert!((share - expected).abs() < 0.004, "{deviations}: {share}");
    }
    let clamped = draws("normal:0,100", 10_000);
    assert!((share_upto(&clamped, 0.0) - 0.5).abs() < 0.02);
}

#[test]
fn listed_sizes_come_by_weight() {
    let sizes = draws("list:4k:1,72k:3,9:0", 100_000);
    assert!((share_upto(&sizes, 4096.0) - 0.25).abs() < 0.005);
    assert!(sizes.iter().all(|size| [4096, 73_728].contains(size)));
    assert_eq!(
        spec("list:4k:1,72k:3,9:0").mean(),
        Some(f64::midpoint(4096.0, 73_728.0) + 17_408.0)
    );
    assert_eq!(spec("list:4k:1,72k:3,1m:0").max(), 73_728);
}

#[test]
fn tails_have_the_quantiles_of_their_formulas() {
    let tail = |x: f64, [location, scale, shape]: [f64; 3]| {
        location + scale * if shape == 0.0 { -x.ln() } else { (x.powf(-shape) - 1.0) / shape }
    };
    for parameters in [[15.0, 214.476, 0.348_238], [0.0, 1000.0, 0.0], [100.0, 50.0, -0.3]] {
        let [location, scale, shape] = parameters;
        let pareto = draws(&format!("gpareto:{location},{scale},{shape}"), 100_000);
        let extreme = draws(&format!("gev:{},{scale},{shape}", location + 3000.0), 100_000);
        for q in [0.1, 0.5, 0.9, 0.99] {
            let share = share_upto(&pareto, tail(1.0 - q, parameters));
            assert!((share - q).abs() < 0.01, "gpareto {parameters:?} at {q}: {share}");
            let share = share_upto(&extreme, tail(-f64::ln(q), [location + 3000.0, scale, shape]));
            assert!((share - q).abs() < 0.01, "gev {parameters:?} at {q}: {share}");
        }
    }
}

#[test]
fn facebooks_values_are_mutilates() {
    let values = draws("fb_value", 200_000);
    // 2 and 11 bytes are the most frequent; 0.44155 in all are below 15.
    for (size, expected) in [(2, 0.17820), (3, 0.09239), (11, 0.08989), (0, 0.00536)] {
        let seen = values.iter().filter(|&&value| value == size).count();
        assert!((share(seen, values.len()) - expected).abs() < 0.003, "{size}");
    }
    assert!((share_upto(&values, 14.0) - 0.44155).abs() < 0.004);
    // Of the rest, half are below the median of the tail: 15 + 214.476 * (2^0.348238 - 1) / 0.348238.
    assert!((share_upto(&values, 183.1) - (0.44155 + 0.55845 / 2.0)).abs() < 0.004);
    let keys = draws("fb_key", 100_000);
    assert!((share_upto(&keys, 33.85) - 0.5).abs() < 0.02);
}

#[test]
fn histograms_are_read_in_all_their_forms() {
    let json =
        r#"{"valSizeRangeProbability": [3, 1.0], "valSizeRange": [31, 523487.0], "else": 1}"#;
    let discrete = spec(&format!("histogram:{}", file("discrete.json", json).display()));
    assert_eq!(discrete.mean(), Some((3.0 * 31.0 + 523_487.0) / 4.0));
    assert_eq!(discrete.max(), 523_487);
    let small = (0..10_000).filter(|&index| discrete.size_of(1, index) == 31).count();
    assert!((share(small, 10_000) - 0.75).abs() < 0.02);

    let json = r#"{"valSizeRange": [1, 11, 21], "valSizeRangeProbability": [0.25, 0.75]}"#;
    let ranges = spec(&format!("histogram:{}", file("ranges.json", json).display()));
    assert_eq!((ranges.mean(), ranges.max()), (Some(0.25 * 5.5 + 0.75 * 15.5), 20));
    let sizes: Vec<u32> = (0..50_000).map(|index| ranges.size_of(1, index)).collect();
    assert!((share_upto(&sizes, 10.0) - 0.25).abs() < 0.01);
    assert!((share_upto(&sizes, 15.0) - 0.625).abs() < 0.01);
    assert!(sizes.contains(&1) && sizes.contains(&20));

    let csv = "size,weight\n# mine\n4k, 1\n\n72k,3\n";
    let csv = file("sizes.csv", csv);
    let text = format!("histogram:{}", csv.display());
    assert_eq!(spec(&text).mean(), spec("list:4k:1,72k:3").mean());
    assert_eq!(spec(&text).to_string(), text);
}

#[test]
fn a_broken_histogram_names_its_fault() {
    for (name, text, needle) in [
        ("a.json", "{", "EOF while parsing"),
        ("b.json", r#"{"valSizeRange": [1]}"#, "missing field `valSizeRangeProbability`"),
        (
            "c.json",
            r#"{"valSizeRange": [1, 2, 3], "valSizeRangeProbability": [1]}"#,
            "3 sizes in valSizeRange, but 1 weight",
        ),
        (
            "d.json",
            r#"{"valSizeRange": [9, 3], "valSizeRangeProbability": [1]}"#,
            "limits in valSizeRange do not rise",
        ),
        (
            "e.json",
            r#"{"valSizeRange": [-1], "valSizeRangeProbability": [1]}"#,
            "size -1 is not from 0",
        ),
        ("f.csv", "4k,1\n4q,1\n", "line 2: `4q,1` is not a size up to 1 GiB and a weight"),
        ("g.csv", "", "no size has a weight above 0"),
        ("h.csv", "1,1\n2,-3", "weight -3 is not a number from 0"),
    ] {
        let path = file(&format!("broken-{name}"), text);
        let error = format!("histogram:{}", path.display()).parse::<SizeSpec>().unwrap_err();
        assert!(error.contains(needle) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_comma_sweeps_plain_sizes_and_belongs_to_a_distribution_otherwise() {
    for (text, shown, n) in [
        ("4k", "4k", 1),
        ("4k,72k, 1m", "4k,72k,1m", 3),
        ("list:4k:1,72k:1", "list:4k:1,72k:1", 1),
        ("normal:4k,1k;4k", "normal:4096,1024;4k", 2),
        ("4k;72k", "4k,72k", 2),
        ("fb_value,1k", "fb_value,1k", 2),
    ] {
        let sweep: Sweep<SizeSpec> = text.parse().unwrap();
        assert_eq!((sweep.len(), sweep.to_string().as_str()), (n, shown), "{text}");
        assert_eq!(shown.parse(), Ok(sweep));
    }
    for (text, needle) in [
        ("", "is not a size"),
        ("4k,", "`` is not a size"),
        ("4k,4096", "`4096` is given twice in `4k,4096`"),
        ("uniform:1-2,4k", "`2,4k` is not a size"),
    ] {
        let error = text.parse::<Sweep<SizeSpec>>().unwrap_err();
        assert!(error.contains(needle), "{text}: {error}");
    }
    let threads: Sweep<u32> = "1,2,4".parse().unwrap();
    assert_eq!(threads[..], [1, 2, 4]);
    assert_eq!(Sweep::from(3)[..], [3]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_size_is_above_the_maximum_and_sums_agree(
        text in prop::sample::select(vec![
            "100", "uniform:0-1g", "uniform:5-5", "normal:100,50", "list:7:1,9:2", "fb_value", "fb_key",
            "gpareto:0,1000,2", "gpareto:9,3,-0.5", "gev:10,5,1.5", "gev:10,5,-0.5", "gev:1,1,0",
        ]),
        seed: u64,
        n in 0..200_u64,
    ) {
        let spec = spec(text);
        let sizes: Vec<u32> = (0..n).map(|index| spec.size_of(seed, index)).collect();
        prop_assert!(sizes.iter().all(|&size| size <= spec.max() && size <= SizeSpec::LIMIT));
        prop_assert_eq!(spec.total(seed, n), sizes.iter().map(|&size| u64::from(size)).sum::<u64>());
        if n > 0 {
            prop_assert_eq!(Some(spec.largest(seed, n)), sizes.into_iter().max());
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(
        name in prop::sample::select(vec!["", "uniform:", "normal:", "list:", "gev:", "gpareto:", "fixed:"]),
        text in "[0-9a-z.,:;e+-]{0,20}",
    ) {
        let text = format!("{name}{text}");
        if let Ok(spec) = text.parse::<SizeSpec>() {
            prop_assert_eq!(spec.to_string().parse(), Ok(spec.clone()));
            prop_assert!(spec.size_of(1, 1) <= spec.max());
        }
        let _ = text.parse::<Sweep<SizeSpec>>();
    }
}
