//! Tie letters: targets that share a letter cannot be told apart.
//!
//! The compact letter display of Piepho, "An Algorithm for a Letter-Based Representation of All-Pairwise Comparisons"
//! (2004). It starts with one group of all, splits each group at every pair that differs, and drops groups within other
//! groups.

/// Letters for `count` targets in the order of their ranking, the best first. A target that differs from all others has
/// no letter.
pub(crate) fn letters(count: usize, differ: impl Fn(usize, usize) -> bool) -> Vec<String> {
    let mut shared: Vec<Vec<usize>> =
        groups(count, differ).into_iter().filter(|group| group.len() > 1).collect();
    shared.sort();
    let mut letters = vec![String::new(); count];
    // The alphabet is longer than any readable table of targets.
    for (group, letter) in shared.iter().zip(('a'..='z').chain('A'..='Z')) {
        for member in group {
            letters[*member].push(letter);
        }
    }
    letters
}

fn groups(count: usize, differ: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = vec![(0..count).collect()];
    for a in 0..count {
        for b in a + 1..count {
            if differ(a, b) {
                groups = groups.into_iter().flat_map(|group| split(group, a, b)).collect();
                absorb(&mut groups);
            }
        }
    }
    groups
}

/// The group without `a` and the group without `b`, or the group itself where it does not hold both.
fn split(group: Vec<usize>, a: usize, b: usize) -> Vec<Vec<usize>> {
    if !(group.contains(&a) && group.contains(&b)) {
        return vec![group];
    }
    let without = |gone: usize| group.iter().copied().filter(|member| *member != gone).collect();
    vec![without(a), without(b)]
}

/// Drops each group that lies within another group.
fn absorb(groups: &mut Vec<Vec<usize>>) {
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let mut kept: Vec<Vec<usize>> = Vec::new();
    for group in groups.drain(..) {
        if !kept.iter().any(|other| group.iter().all(|member| other.contains(member))) {
            kept.push(group);
        }
    }
    *groups = kept;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters where only the listed pairs are tied.
    fn with_ties(count: usize, ties: &[(usize, usize)]) -> Vec<String> {
        letters(count, |a, b| !ties.contains(&(a, b)))
    }

    #[test]
    fn targets_that_all_differ_have_no_letters() {
        assert_eq!(with_ties(3, &[]), ["", "", ""]);
        assert_eq!(with_ties(1, &[]), [""]);
        assert!(with_ties(0, &[]).is_empty());
    }

    #[test]
    fn targets_that_are_all_tied_share_one_letter() {
        assert_eq!(with_ties(3, &[(0, 1), (0, 2), (1, 2)]), ["a", "a", "a"]);
    }

    #[test]
    fn a_chain_of_ties_has_two_letters_in_its_middle() {
        assert_eq!(with_ties(4, &[(0, 1), (1, 2)]), ["a", "ab", "b", ""]);
    }

    #[test]
    fn two_targets_share_a_letter_exactly_when_they_are_tied() {
        // Every tie graph on five targets.
        let pairs: Vec<(usize, usize)> =
            (0..5).flat_map(|a| (a + 1..5).map(move |b| (a, b))).collect();
        for graph in 0..1_u32 << pairs.len() {
            let tied = |a, b| {
                pairs.iter().position(|pair| *pair == (a, b)).is_some_and(|i| graph >> i & 1 == 1)
            };
            let letters = letters(5, |a, b| !tied(a, b));
            for &(a, b) in &pairs {
                let share = letters[a].chars().any(|letter| letters[b].contains(letter));
                assert_eq!(share, tied(a, b), "graph {graph}, pair {a} {b}: {letters:?}");
            }
        }
    }
}
