//! URLs as they may be shown: without their passwords, even where a URL is wrong.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::percent_decode_str;

use super::stack;

/// The URL with `***` in place of its secrets: the password between `:` and `@`, and options with a secret's name.
pub(super) fn mask(text: &str) -> String {
    if stack::is_stack(text) { mask_stack(text) } else { mask_one(text) }
}

/// The URL of a stack with the secrets of each tier masked. A possible password with a `|` in it is masked up to its
/// `@`. A secret option is masked up to the next tier. The parser reads neither as one secret.
fn mask_stack(text: &str) -> String {
    let (scheme, rest) = text.split_once(':').unwrap_or((text, ""));
    let parts: Vec<&str> = rest.split('|').collect();
    let mut shown = String::new();
    let mut at = 0;
    while at < parts.len() {
        let end = at + stack::len_of_part(&parts[at..]);
        shown.push(if at == 0 { ':' } else { '|' });
        shown.push_str(&mask_one(&parts[at..end].join("|")));
        at = end;
    }
    format!("{scheme}{shown}")
}

fn mask_one(text: &str) -> String {
    let password = user_info(text)
        .and_then(|range| Some(range.start + text[range.clone()].find(':')?..range.end));
    let Some(password) = password else { return mask_options(text) };
    format!("{}:***{}", &text[..password.start], mask_options(&text[password.end..]))
}

fn mask_options(text: &str) -> String {
    let Some((place, query)) = text.split_once('?') else { return text.into() };
    let mut masked = format!("{place}?");
    for (i, pair) in query.split('&').enumerate() {
        if i > 0 {
            masked.push('&');
        }
        match pair.split_once('=') {
            Some((name, _)) if is_secret(name) => {
                masked.push_str(name);
                masked.push_str("=***");
            }
            Some((name, value)) => {
                masked.push_str(name);
                masked.push('=');
                masked.push_str(&mask_value(value));
            }
            None => masked.push_str(pair),
        }
    }
    masked
}

/// The value of an option, which may be a whole URL. One with a secret is shown decoded, but for the characters that end a
/// value.
fn mask_value(value: &str) -> Cow<'_, str> {
    let decoded = percent_decode_str(value).decode_utf8_lossy();
    let is_url = decoded.split_once("://").is_some_and(|(scheme, _)| stack::is_scheme(scheme));
    let shown = if is_url { mask_one(&decoded) } else { decoded.to_string() };
    if shown == decoded {
        return Cow::Borrowed(value);
    }
    Cow::Owned(shown.replace('%', "%25").replace('&', "%26").replace('|', "%7C"))
}

/// The range of the user and the password of a URL: between `//` and `@`. A wrong URL is masked all the same: where an
/// `@` behind the hosts cannot belong there, the text before the last `@` is masked. It is a password with a `/` or `?`
/// that is not percent-encoded.
pub(super) fn user_info(text: &str) -> Option<Range<usize>> {
    let (_, rest) = text.split_at(text.find(['/', '?'])?);
    let rest = rest.strip_prefix("//")?;
    let (authority, behind) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let part = if has_stray_at(authority, behind) { rest } else { authority };
    let start = text.len() - rest.len();
    Some(start..start + part.rfind('@')?)
}

/// Whether there is an `@` behind the hosts other than in an option's value, or in a value when the supposed hosts
/// cannot be hosts. A path without hosts, such as a socket's, may hold any character.
fn has_stray_at(authority: &str, behind: &str) -> bool {
    let (path, query) = behind.split_once('?').unwrap_or((behind, ""));
    let in_name = |pair: &str| pair.split('=').next().is_some_and(|name| name.contains('@'));
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    !authority.is_empty()
        && (path.contains('@')
            || query.split('&').any(in_name)
            || query.contains('@') && !hosts.split(',').all(is_host))
}

/// Whether a text may be a host, alone or with a port: `h`, `h:11211`, `[::1]:11211`.
pub(super) fn is_host(text: &str) -> bool {
    let port = match text.rsplit_once(']') {
        Some((address, port)) if address.starts_with('[') => port,
        _ => text.find(':').map_or("", |colon| &text[colon..]),
    };
    let is_number = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    !text.starts_with(':') && (port.is_empty() || port.strip_prefix(':').is_some_and(is_number))
}

pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "secret", "token"].iter().any(|word| name.contains(word))
}
