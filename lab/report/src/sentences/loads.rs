//! The loads of a missed value, where several threads miss it at once.

use super::{Role, Sentence};
use crate::figures::significant;
use crate::points::short_label;
use crate::ranking::{Group, Row};

/// One sentence for an operation at a point where loads took time and several threads loaded the same value: the loads
/// for each needed value. `None` where no value was loaded twice. Figures that are no result are left out.
pub(super) fn repeated(swept: &[&str], group: &Group<'_>) -> Option<Sentence> {
    let mut loads: Vec<(f64, &str)> = group
        .rows
        .iter()
        .filter(|row| !Row::is_withheld(row))
        .filter_map(|row| {
            Some((loads_a_value(row.cell.counts.misses, row.cell.counts.repeated_loads)?, row.name))
        })
        .collect();
    loads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((least, few), (most, many)) = (*loads.first()?, *loads.last()?);
    if loads.iter().all(|(loads, _)| *loads <= 1.0) {
        return None;
    }
    let times = |loads: f64| significant(loads, 3);
    let made = match &loads[..] {
        [_] => format!("{} times", times(least)),
        _ if times(least) == times(most) => format!("{} times by every target", times(least)),
        _ => format!("{} ({few}) to {} times ({many})", times(least), times(most)),
    };
    let point = short_label(group.point, swept);
    let place = if point.is_empty() { String::new() } else { format!(", {point}") };
    Some(Sentence {
        role: Role::Remark,
        operation: Some(group.operation),
        point: Some(group.point.clone()),
        subject: format!("{}{place}", group.operation),
        text: format!(
            "each missing value was loaded {made}, because several threads missed it before the first one stored it; \
             one load would be enough"
        ),
    })
}

/// Loads for each value that had to be loaded; `None` without such values.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn loads_a_value(loads: u64, repeated: u64) -> Option<f64> {
    let values = loads.checked_sub(repeated).filter(|values| *values > 0)?;
    Some(loads as f64 / values as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_load_of_each_value_is_needed_and_the_others_are_not() {
        assert_eq!(loads_a_value(10, 0), Some(1.0));
        assert_eq!(loads_a_value(64, 60), Some(16.0));
        assert_eq!(loads_a_value(0, 0), None);
        assert_eq!(loads_a_value(3, 3), None, "what was repeated began in another round");
    }
}
