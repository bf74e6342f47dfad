//! Many comparisons at once: the correction of Holm (1979).

/// The p of each comparison, corrected for the number of comparisons, in the order given.
///
/// Without the correction, one of a hundred comparisons between equal targets would have p < 0.01 by chance. A
/// corrected p bounds the probability of *any* false verdict in the run. The correction is never weaker than
/// Bonferroni's and assumes as little: nothing about how the comparisons depend on each other.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&x, &y| p[x].total_cmp(&p[y]));
    let mut corrected = vec![1.0; p.len()];
    let mut largest = 0.0_f64;
    for (done, &at) in order.iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "a number of comparisons")]
        let left = (p.len() - done) as f64;
        largest = largest.max(p[at] * left).min(1.0);
        corrected[at] = largest;
    }
    corrected
}
