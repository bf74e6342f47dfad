//! One series of each target, also where the target is open several times, with a capacity each.

use larder_report::Usage;

/// Adds up the series of each target. `place` maps the slot of a turn to the place of its target in the run.
pub(crate) fn sum_by_target(series: Vec<Usage>, place: impl Fn(u32) -> u32) -> Vec<Usage> {
    let mut targets: Vec<Usage> = Vec::new();
    for mut one in series {
        for turn in one.turn_target.iter_mut().flatten() {
            *turn = place(*turn);
        }
        let is_same = |known: &&mut Usage| {
            one.target.is_some() && (known.of, &known.target) == (one.of, &one.target)
        };
        match targets.iter_mut().find(is_same) {
            Some(known) => add(known, &one),
            None => targets.push(one),
        }
    }
    targets
}

fn add(usage: &mut Usage, other: &Usage) {
    sum(&mut usage.cpu_user_s, &other.cpu_user_s);
    sum(&mut usage.cpu_system_s, &other.cpu_system_s);
    sum(&mut usage.rss_bytes, &other.rss_bytes);
    sum(&mut usage.shared_bytes, &other.shared_bytes);
    sum(&mut usage.swap_bytes, &other.swap_bytes);
    sum(&mut usage.minor_faults, &other.minor_faults);
    sum(&mut usage.major_faults, &other.major_faults);
    sum(&mut usage.voluntary_switches, &other.voluntary_switches);
    sum(&mut usage.involuntary_switches, &other.involuntary_switches);
    sum(&mut usage.disk_read_bytes, &other.disk_read_bytes);
    sum(&mut usage.disk_written_bytes, &other.disk_written_bytes);
    sum(&mut usage.wire_received_bytes, &other.wire_received_bytes);
    sum(&mut usage.wire_sent_bytes, &other.wire_sent_bytes);
}

/// A sum is unknown where one of its figures is.
fn sum<T: Copy + std::ops::Add<Output = T>>(figures: &mut [Option<T>], others: &[Option<T>]) {
    for (figure, other) in figures.iter_mut().zip(others) {
        *figure = figure.zip(*other).map(|(figure, other)| figure + other);
    }
}

#[cfg(test)]
mod tests {
    use larder_report::UsageOf;

    use super::*;

    #[test]
    fn the_series_of_a_target_are_added_and_turns_are_its_own() {
        let of = |of, target: Option<&str>, rss: &[Option<u64>]| Usage {
            of,
            target: target.map(str::to_owned),
            rss_bytes: rss.to_vec(),
            turn_target: if target.is_none() { vec![Some(0), None, Some(2)] } else { Vec::new() },
            ..Usage::default()
        };
        let series = vec![
            of(UsageOf::Client, None, &[Some(1)]),
            of(UsageOf::Servers, Some("a:"), &[Some(1), Some(2)]),
            of(UsageOf::Servers, Some("a:"), &[Some(10), None]),
            of(UsageOf::Servers, Some("b:"), &[Some(5)]),
            of(UsageOf::Machine, None, &[Some(7)]),
        ];
        let all = sum_by_target(series, |slot| slot / 2);
        let rss: Vec<_> = all.iter().map(|usage| usage.rss_bytes.clone()).collect();
        let one = |bytes| vec![Some(bytes)];
        assert_eq!(rss, [one(1), vec![Some(11), None], one(5), one(7)]);
        assert_eq!(all[0].turn_target, [Some(0), None, Some(1)]);
    }
}
