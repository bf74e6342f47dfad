//! Commands in the format of the wire.

use crate::decimal::Digits;

/// Adds a command to `out`: its name, and its arguments.
#[inline]
pub(super) fn add(out: &mut Vec<u8>, arguments: &[&[u8]]) {
    begin(out, arguments.len());
    for argument in arguments {
        add_argument(out, argument);
    }
}

/// Adds the head of a command with this number of arguments, its name included.
#[inline]
pub(super) fn begin(out: &mut Vec<u8>, n_arguments: usize) {
    add_length(out, b'*', n_arguments);
}

/// Adds an argument.
#[inline]
pub(super) fn add_argument(out: &mut Vec<u8>, argument: &[u8]) {
    begin_argument(out, argument.len());
    out.extend_from_slice(argument);
    out.extend_from_slice(b"\r\n");
}

/// Adds the head of an argument of this length. Its bytes and the end of a line must follow.
#[inline]
pub(super) fn begin_argument(out: &mut Vec<u8>, len: usize) {
    add_length(out, b'$', len);
}

/// Adds a line with a number. Arrays of a known length are copied without a call.
#[inline]
fn add_length(out: &mut Vec<u8>, kind: u8, len: usize) {
    let digit = |n: usize| b"0123456789"[n % 10];
    match len {
        0..10 => out.extend_from_slice(&[kind, digit(len), b'\r', b'\n']),
        10..100 => out.extend_from_slice(&[kind, digit(len / 10), digit(len), b'\r', b'\n']),
        _ => add_long_length(out, kind, len),
    }
}

fn add_long_length(out: &mut Vec<u8>, kind: u8, len: usize) {
    out.push(kind);
    out.extend_from_slice(Digits::new(len as u64).as_bytes());
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_one_behind_the_other() {
        let mut out = Vec::new();
        add(&mut out, &[b"SET", b"key", b""]);
        begin(&mut out, 2);
        add_argument(&mut out, b"DEL");
        add_argument(&mut out, &[b'k'; 12]);
        begin_argument(&mut out, 131_073);
        assert_eq!(
            out,
            b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n*2\r\n$3\r\nDEL\r\n$12\r\nkkkkkkkkkkkk\r\n$131073\r\n"
        );
    }
}
