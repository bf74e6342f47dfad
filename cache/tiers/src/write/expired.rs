//! Expired entries of the lowest tier that are kept for the time of grace. To a condition they are absent.

use std::time::Duration;

use larder_store::{Facts, Leased, Leases, Result, SetOptions};

use crate::stack::Stack;

/// Removes an expired entry of the lowest tier, before an operation that depends on whether the key is there. The
/// entry is kept for its loaders only. A value that comes meanwhile stays.
///
/// If that fails, so does the operation that follows.
pub(super) fn remove_expired(stack: &mut Stack, key: &[u8]) {
    let Some(facts) = find_expired(stack, key) else { return };
    let grace = stack.rules.grace;
    let session = &mut *stack.split().0.session;
    let _ = match (facts.meta.version, session.leases()) {
        (Some(version), _) => session.delete_if(key, version).map(drop),
        (None, Some(leases)) => remove_by_lease(leases, key, grace),
        (None, None) => session.delete(key).map(drop),
    };
}

/// Removes an expired entry from a tier without versions: the lease ends where another value comes.
fn remove_by_lease(leases: &mut dyn Leases, key: &[u8], grace: Duration) -> Result<()> {
    let leased = leases.get_or_lease_early(key, &mut Vec::new(), Duration::from_secs(1), grace)?;
    let Leased::Load { token, .. } = leased else { return Ok(()) };
    let gone = SetOptions { ttl: Some(Duration::ZERO), ..SetOptions::default() };
    leases.fill(key, b"", &gone, &token).map(drop)
}

/// The entry of the lowest tier, if it has expired.
pub(super) fn find_expired(stack: &mut Stack, key: &[u8]) -> Option<Facts> {
    let grace = stack.rules.grace;
    if grace.is_zero() {
        return None;
    }
    let facts = stack.split().0.session.look(key).ok().flatten();
    facts.filter(|facts| facts.meta.ttl.ends_within(grace))
}

/// The places of the keys whose entries in the lowest tier have expired.
pub(super) fn find_many_expired(stack: &mut Stack, keys: &[&[u8]]) -> Vec<usize> {
    let (grace, mut expired) = (stack.rules.grace, Vec::new());
    if !grace.is_zero() {
        // A key that the tier refuses spoils the batch; then an expired entry counts as one that was there.
        let _ = stack.split().0.session.get_many(keys, &mut |i, _, meta| {
            if meta.ttl.ends_within(grace) {
                expired.push(i);
            }
        });
    }
    expired
}
