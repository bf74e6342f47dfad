//! Stacks of stores: which texts are stacks, and which `|` may separate no tiers.

use super::mask::{is_host, is_secret};

/// The advice about a `|` that separates no tiers.
pub(super) const HINT: &str =
    "`|` separates tiers; in a path, a password or an option it is written `%7C`";

/// Whether a text may name an engine.
pub(super) fn is_scheme(text: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-_".contains(c);
    !text.is_empty() && text.chars().all(letter)
}

/// Whether a text is a stack: two colons before the first `|`, an engine before each colon.
pub(super) fn is_stack(text: &str) -> bool {
    let part = |text: &str| text.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme));
    let first = text.split_once(':').and_then(|(_, rest)| Some(rest.split_once('|')?.0));
    first.is_some_and(part)
}

/// Whether a `|` in a password or in a secret option has cut a part in two, so that the text would be misread.
pub(super) fn is_cut(rest: &str) -> bool {
    let parts: Vec<&str> = rest.split('|').collect();
    (0..parts.len()).any(|at| len_of_part(&parts[at..]) > 1)
}

/// The number of pieces in the first part. A `|` in a secret option may have cut the part: then it ends before a piece
/// that can only begin another part. A `|` in a password may have cut it: then it ends at the last `@` without a user.
pub(super) fn len_of_part(pieces: &[&str]) -> usize {
    let len = len_of_password(pieces);
    let rest = pieces.get(len..).unwrap_or_default();
    match pieces.get(len - 1) {
        Some(last) if ends_in_secret(last) => {
            len + rest.iter().take_while(|piece| !begins_part(piece)).count()
        }
        _ => len,
    }
}

fn len_of_password(pieces: &[&str]) -> usize {
    if !pieces.first().is_some_and(|piece| may_go_on(piece)) {
        return 1;
    }
    let rest = pieces.iter().skip(1).take_while(|piece| !piece.contains("://"));
    rest.collect::<Vec<_>>().iter().rposition(|piece| has_bare_at(piece)).map_or(1, |at| at + 2)
}

/// Whether the last option of a piece is a secret.
fn ends_in_secret(piece: &str) -> bool {
    let last = piece.split_once('?').and_then(|(_, query)| query.rsplit('&').next());
    last.and_then(|pair| pair.split_once('=')).is_some_and(|(name, _)| is_secret(name))
}

/// Whether a piece can begin a part. It can if it is the options of the stack, or an engine followed by nothing, a
/// path from the root, servers or options. A piece behind a secret that can begin no part is the rest of the secret.
fn begins_part(piece: &str) -> bool {
    let engine = |(scheme, rest): (&str, &str)| {
        is_scheme(scheme) && (rest.is_empty() || rest.starts_with(['/', '?']))
    };
    piece.starts_with('?') || piece.split_once(':').is_some_and(engine)
}

/// Whether a piece may have been cut in its password: the place of its hosts has no user and may hold a user.
fn may_go_on(piece: &str) -> bool {
    let Some((_, place)) = piece.split_once("://") else { return false };
    let place = place.split(['/', '?']).next().unwrap_or_default();
    let looks_whole = || !place.contains(':') && place.split(',').all(is_host);
    !place.is_empty() && !place.contains('@') && !looks_whole()
}

/// Whether there is an `@` before the options, or in the name of an option.
fn has_bare_at(piece: &str) -> bool {
    let (place, query) = piece.split_once('?').unwrap_or((piece, ""));
    let in_name = |pair: &str| pair.split('=').next().is_some_and(|name| name.contains('@'));
    place.contains('@') || query.split('&').any(in_name)
}
