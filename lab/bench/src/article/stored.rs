//! The fate of the values that a target was given: stored, refused with an error, or acknowledged and gone.
//!
//! Ranks do not decide this: a single value that is refused or gone is enough.

use larder_report::{Cell, ClaimKind, ClaimVerdict, Operation, ReasonKind, Run, Stored};

use super::times::FigurePlace;

/// The fate of the values at a place, or why it is not known.
pub(super) fn find(run: &Run, place: &FigurePlace<'_>) -> Result<Stored, String> {
    let name = place.target;
    let target = run.targets.iter().find(|target| target.name == name);
    let target = target.ok_or_else(|| format!("{name} is not among the targets of this run"))?;
    if let Some(reason) = &target.reason {
        return Err(format!("{name} did not run: {reason}"));
    }
    let stores = |cell: &&Cell| {
        let named = place.operation.is_none_or(|named| named == cell.operation.as_str());
        named && cell.operation.may_store()
    };
    let mine = |cell: &&Cell| cell.target == target.url && place.holds(&cell.point);
    let mut cells = run.cells.iter().filter(mine).filter(stores);
    let cell = cells.next().ok_or("this run sets no values there")?;
    if cells.next().is_some() {
        return Err(format!("this run sweeps, and {name} was given values at several points"));
    }
    of_cell(cell, place).map_err(|reason| format!("{name}: {reason}"))
}

fn of_cell(cell: &Cell, place: &FigurePlace<'_>) -> Result<Stored, String> {
    let counts = &cell.counts;
    // Each miss of a get_or_set stores a value. A failed read stores no value, so no value is refused.
    let (given, refused) = match cell.operation {
        Operation::GetOrSet => (counts.misses, counts.failed_fills),
        _ => (counts.ops, counts.errors),
    };
    let mut errors = cell.samples.iter().filter_map(|sample| sample.first_error.clone());
    // Where reads failed too, the first error may belong to a read.
    let of_a_value = refused > 0 && (counts.errors == 0 || cell.operation.only_stores());
    let refusal = match cell.reason_kind {
        None | Some(ReasonKind::NothingSucceeded) => errors.next().filter(|_| of_a_value),
        Some(ReasonKind::Oversize | ReasonKind::Full) => cell.reason.clone(),
        Some(_) => return Err(cell.reason.clone().unwrap_or_default()),
    };
    Ok(Stored {
        at: place.at.cloned().unwrap_or_default(),
        given,
        refused,
        refusal,
        read_back: counts.read_back,
        gone: counts.read_back_absent + counts.read_back_wrong,
    })
}

/// The verdict of that fate on a conclusion of this kind.
pub(super) fn verdict(kind: ClaimKind, stored: &Stored) -> ClaimVerdict {
    let refused = stored.refused > 0 || stored.refusal.is_some();
    let dropped = stored.gone > 0;
    // Values that were not read back may be there or gone.
    let all = !refused && !dropped && stored.read_back > 0;
    match kind {
        ClaimKind::StoresAll if all => ClaimVerdict::Holds,
        ClaimKind::Refuses if refused => ClaimVerdict::Holds,
        ClaimKind::Drops if dropped => ClaimVerdict::Holds,
        ClaimKind::Refuses | ClaimKind::Drops if all => ClaimVerdict::TurnsRound,
        _ if refused || dropped => ClaimVerdict::DoesNotHold,
        _ => ClaimVerdict::CannotBeTold,
    }
}
