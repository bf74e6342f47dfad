//! Key patterns: the accepted texts, and how often each key is drawn.

use larder_workload::{Distribution, KeyPattern, Picker};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

fn picker(text: &str, n_keys: u32) -> Picker {
    let distribution: Distribution = text.parse().unwrap_or_else(|error| panic!("{error}"));
    Picker::new(distribution, n_keys, 11)
}

fn draw(text: &str, n_keys: u32, n_ops: usize) -> Vec<u32> {
    let mut keys = vec![0; n_ops];
    picker(text, n_keys).fill(&mut Xoshiro256PlusPlus::seed_from_u64(5), 0, &mut keys);
    keys
}

/// The number of draws of each key.
fn counts(n_keys: u32, draws: &[u32]) -> Vec<u32> {
    let mut counts = vec![0; n_keys as usize];
    for &key in draws {
        counts[key as usize] += 1;
    }
    counts
}

fn sorted(mut counts: Vec<u32>) -> Vec<u32> {
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

fn sum(counts: &[u32]) -> f64 {
    f64::from(counts.iter().sum::<u32>())
}

#[test]
fn a_pattern_shows_as_a_text_that_reads_the_same() {
    for (text, shown) in [
        ("seq", "seq"),
        ("S", "seq"),
        ("first", "first"),
        ("uniform", "uniform"),
        ("R", "uniform"),
        ("zipf", "zipf:0.99"),
        ("zipf:1.0", "zipf:1"),
        ("zipf:0", "zipf:0"),
        ("Z", "zipf:1"),
        ("gauss", "gauss"),
        ("G", "gauss"),
        ("hotspot", "hotspot:0.2,0.8"),
        (" hotspot:0.01, 0.5", "hotspot:0.01,0.5"),
        ("latest", "latest"),
        ("trace:/data/web.trace.xz", "trace:/data/web.trace.xz"),
        ("trace:x?format=twitter", "trace:x?format=twitter"),
    ] {
        let pattern: KeyPattern = text.parse().unwrap();
        assert_eq!(pattern.to_string(), shown);
        assert_eq!(shown.parse(), Ok(pattern));
    }
}

#[test]
fn a_wrong_pattern_gets_one_line_that_says_why() {
    for (text, needle) in [
        ("", "no key pattern ``; known: seq, first, uniform, zipf:0.99,"),
        ("random", "no key pattern `random`"),
        ("P", "no key pattern `P`"),
        ("uniform:3", "no key pattern `uniform:3`"),
        ("zipf:-1", "the exponent is not from 0 to 10"),
        ("zipf:11", "the exponent is not from 0 to 10"),
        ("zipf:nan", "the exponent is not from 0 to 10"),
        ("hotspot:0.2", "write hotspot:0.2,0.8"),
        ("hotspot:0.2,1.5", "write hotspot:0.2,0.8"),
        ("trace:", "no file; write trace:FILE"),
        (
            "trace:x?format=y",
            "no trace format `y`; known: parquet, journal, csv, twitter, oracleGeneral, arc, lirs, cache2k",
        ),
    ] {
        let error = text.parse::<KeyPattern>().unwrap_err();
        assert!(error.contains(needle) && !error.contains('\n'), "{text}: {error}");
    }
}

#[test]
fn the_pattern_first_draws_nothing_else() {
    assert!(draw("first", 5, 100).iter().all(|&key| key == 0));
    assert!((picker("first", 5).expected_distinct(100) - 1.0).abs() < 1e-12);
}

#[test]
fn sequential_keys_follow_each_other_and_wrap() {
    let picker = picker("seq", 5);
    let mut keys = [0; 7];
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    picker.fill(&mut rng, 3, &mut keys);
    assert_eq!(keys, [3, 4, 0, 1, 2, 3, 4]);
    picker.fill(&mut rng, u64::MAX, &mut keys[..2]);
    assert_eq!(keys[..2], [0, 1], "2^64 - 1 is a multiple of five");
}

#[test]
fn uniform_keys_come_equally_often() {
    let counts = counts(100, &draw("uniform", 100, 1_000_000));
    let chi_square: f64 =
        counts.iter().map(|&seen| (f64::from(seen) - 10_000.0).powi(2) / 10_000.0).sum();
    // 99 degrees of freedom: above 148.2 once in a thousand seeds.
    assert!(chi_square < 148.2, "{chi_square}");
}

#[test]
fn zipfs_frequent_keys_come_as_often_as_their_rank_says() {
    const OPS: u32 = 1_000_000;
    for theta in [0.5, 0.99, 1.0, 1.5] {
        let n = 10_000;
        let counts = sorted(counts(n, &draw(&format!("zipf:{theta}"), n, OPS as usize)));
        let all: f64 = (1..=n).map(|rank| f64::from(rank).powf(-theta)).sum();
        let expected = |rank: usize| {
            f64::from(OPS) * f64::from(u32::try_from(rank).unwrap()).powf(-theta) / all
        };
        // The first ranks differ enough to keep their order.
        for rank in [1, 2, 3] {
            let (seen, expected) = (f64::from(counts[rank - 1]), expected(rank));
            assert!(
                (seen - expected).abs() < 4.0 * expected.sqrt() + 0.005 * expected,
                "theta {theta}, rank {rank}: {seen} for {expected}"
            );
        }
        let tenth: f64 = (1..=1000).map(expected).sum();
        let seen = sum(&counts[..1000]);
        assert!((seen - tenth).abs() < 0.03 * f64::from(OPS), "theta {theta}: {seen} for {tenth}");
    }
}

#[test]
fn a_bell_is_a_sixth_as_wide_as_the_keys_and_scattered_over_them() {
    let n = 10_000;
    let counts = counts(n, &draw("gauss", n, 2_000_000));
    // Two thirds of the operations lie within one deviation, and so fall on a third of the keys.
    let by_frequency = sorted(counts.clone());
    let middle = sum(&by_frequency[..n as usize / 3]) / 2e6;
    assert!((middle - 0.6827 / 0.9973).abs() < 0.01, "{middle}");
    let top = f64::from(by_frequency[0]);
    // 2e6 / (sqrt(2 pi) n / 6) at the top of the bell.
    assert!((top / 478.7 - 1.0).abs() < 0.2, "{top}");
    for tenth in counts.chunks(1000) {
        assert!((sum(tenth) / 2e5 - 1.0).abs() < 0.15, "scattered: {}", sum(tenth));
    }
}

#[test]
fn hot_spots_get_their_share() {
    let counts = sorted(counts(1000, &draw("hotspot:0.1,0.9", 1000, 1_000_000)));
    let hot = sum(&counts[..100]);
    assert!((hot / 1e6 - 0.9).abs() < 0.002, "{hot}");
    assert!(f64::from(counts[0]) < 1.1 * 9000.0 && f64::from(counts[99]) > 0.9 * 9000.0);
    assert!(f64::from(counts[100]) < 1.5 * 111.0 && counts[999] > 55);
    // At least one key is hot; where all keys are hot, they take all operations.
    let one = sorted(self::counts(50, &draw("hotspot:0,0.5", 50, 10_000)));
    assert!((f64::from(one[0]) / 5000.0 - 1.0).abs() < 0.06, "{}", one[0]);
    assert_eq!(self::counts(3, &draw("hotspot:1,0", 3, 100)).iter().sum::<u32>(), 100);
}

#[test]
fn the_latest_key_is_the_most_frequent() {
    let counts = counts(100, &draw("latest", 100, 300_000));
    let all: f64 = (1..=100).map(|rank| f64::from(rank).powf(-0.99)).sum();
    for age in [0, 1, 2, 9, 50, 99_u32] {
        let expected = 300_000.0 * f64::from(age + 1).powf(-0.99) / all;
        let seen = f64::from(counts[99 - age as usize]);
        assert!((seen - expected).abs() < 4.5 * expected.sqrt(), "{age}: {seen} for {expected}");
    }
}

#[test]
fn frequent_keys_are_scattered_and_the_seed_decides_where() {
    let n = 100_000;
    let hottest = |seed| {
        let mut keys = vec![0; 400_000];
        let picker = Picker::new(Distribution::Zipf { theta: 0.99 }, n, seed);
        picker.fill(&mut Xoshiro256PlusPlus::seed_from_u64(1), 0, &mut keys);
        let counts = counts(n, &keys);
        let mut order: Vec<u32> = (0..n).collect();
        order.sort_by_key(|&key| std::cmp::Reverse(counts[key as usize]));
        order.truncate(50);
        order
    };
    let (one, two) = (hottest(1), hottest(2));
    assert!(one.iter().filter(|key| two.contains(key)).count() < 5);
    for half in [0..n / 2, n / 2..n] {
        let count = one.iter().filter(|key| half.contains(key)).count();
        assert!((15..=35).contains(&count), "{count} of 50 in {half:?}");
    }
    let adjacent = one.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < n / 100).count();
    assert!(adjacent < 5, "{adjacent}");
}

#[test]
fn the_expected_number_of_distinct_keys_comes_out() {
    for text in [
        "seq",
        "uniform",
        "zipf:0",
        "zipf:0.7",
        "zipf:1",
        "zipf:2",
        "gauss",
        "hotspot",
        "latest",
        "popularity:builtin:kvcache",
    ] {
        for (n, ops) in [(1, 10), (100, 50), (3000, 3000), (50_000, 20_000), (2000, 100_000)] {
            let keys = draw(text, n, ops);
            let seen = counts(n, &keys).iter().filter(|&&count| count > 0).count();
            let seen = f64::from(u32::try_from(seen).unwrap());
            let expected = picker(text, n).expected_distinct(ops as u64);
            // The number varies by less than its square root.
            let limit = 4.0 * expected.sqrt().min(0.02 * expected + 4.0);
            assert!((seen - expected).abs() < limit, "{text} {n} {ops}: {seen} for {expected}");
        }
        assert!(picker(text, 9).expected_distinct(0).abs() < 1e-12);
        let all = picker(text, 100).expected_distinct(u64::MAX);
        assert!((all - 100.0).abs() < 1e-6, "{text}: {all}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_stay_in_range_and_blocks_do_not_matter(
        text in prop::sample::select(vec![
            "seq", "first", "uniform", "zipf:0", "zipf:0.99", "zipf:1", "zipf:10", "gauss", "hotspot:0.5,0.9",
            "hotspot:0,1", "latest", "popularity:builtin:kvcache",
        ]),
        n in prop_oneof![0..5_u32, any::<u32>()],
        first_op: u32,
        seed: u64,
        cut in 0..64_usize,
    ) {
        let picker = Picker::new(text.parse().unwrap(), n, seed);
        prop_assert_eq!(picker.n_keys(), n.max(1));
        let first_op = u64::from(first_op);
        let mut whole = [0; 64];
        picker.fill(&mut Xoshiro256PlusPlus::seed_from_u64(seed), first_op, &mut whole);
        prop_assert!(whole.iter().all(|&key| key < n.max(1)));
        let mut parts = [0; 64];
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        picker.fill(&mut rng, first_op, &mut parts[..cut]);
        picker.fill(&mut rng, first_op + cut as u64, &mut parts[cut..]);
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn no_text_makes_the_parser_panic(
        name in prop::sample::select(vec!["", "zipf:", "hotspot:", "trace:"]),
        text in "[0-9a-z.,:?=e+-]{0,20}",
    ) {
        let text = format!("{name}{text}");
        if let Ok(pattern) = text.parse::<KeyPattern>() {
            prop_assert_eq!(pattern.to_string().parse(), Ok(pattern));
        }
    }
}
