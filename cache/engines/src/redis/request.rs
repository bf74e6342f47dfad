//! Commands in the format of the wire, and the limits that are checked before.

use crate::decimal::Digits;

/// One command or several, packed one behind the other into memory that is used again.
///
/// The library's own `Cmd` copies every argument twice: when it is given, and when the command is packed.
#[derive(Debug, Default)]
pub(super) struct Request {
    bytes: Vec<u8>,
    n_commands: usize,
    /// The place in `bytes` of a large value, which is sent without a copy.
    gap: Option<usize>,
}

/// Up to this length a value is copied into the request, which is cheaper than to send it on its own.
pub(super) const COPIED_LEN: usize = 128 * 1024;

impl Request {
    /// Empties the request.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.n_commands = 0;
        self.gap = None;
    }

    /// Adds a command: its name, and its arguments.
    pub(super) fn add(&mut self, arguments: &[&[u8]]) {
        self.begin(arguments.len());
        for argument in arguments {
            self.argument(argument);
        }
    }

    /// Adds the head of a command with this number of arguments, its name included; the arguments must follow one by one.
    pub(super) fn begin(&mut self, n_arguments: usize) {
        self.n_commands += 1;
        begin(&mut self.bytes, n_arguments);
    }

    /// Adds an argument of the command that was begun.
    pub(super) fn argument(&mut self, argument: &[u8]) {
        add_argument(&mut self.bytes, argument);
    }

    /// Adds a value as the next argument, or leaves a gap for a large value. A request has one value.
    pub(super) fn value(&mut self, value: &[u8]) {
        if value.len() <= COPIED_LEN {
            return self.argument(value);
        }
        begin_argument(&mut self.bytes, value.len());
        self.gap = Some(self.bytes.len());
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// The same request with another command before its first.
    pub(super) fn behind(&self, arguments: &[&[u8]]) -> Self {
        let mut request = Self::default();
        request.add(arguments);
        request.n_commands += self.n_commands;
        request.gap = self.gap.map(|gap| request.bytes.len() + gap);
        request.bytes.extend_from_slice(&self.bytes);
        request
    }

    /// The request, where there is no gap.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The parts of the request before and after its gap.
    pub(super) fn around_gap(&self) -> Option<(&[u8], &[u8])> {
        self.gap.map(|gap| self.bytes.split_at(gap))
    }

    /// The number of answers to the request.
    pub(super) fn n_commands(&self) -> usize {
        self.n_commands
    }
}

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
        let mut request = Request::default();
        request.add(&[b"GET", b"stale"]);
        request.clear();
        request.add(&[b"SET", b"key", b""]);
        request.begin(2);
        request.argument(b"DEL");
        request.argument(&[b'k'; 12]);
        let packed =
            b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n*2\r\n$3\r\nDEL\r\n$12\r\nkkkkkkkkkkkk\r\n";
        assert_eq!((request.bytes(), request.n_commands()), (&packed[..], 2));
    }

    #[test]
    fn a_large_value_has_its_place_between_the_bytes_before_and_after() {
        let mut request = Request::default();
        for (len, whole) in [(COPIED_LEN, true), (COPIED_LEN + 1, false)] {
            request.clear();
            request.begin(4);
            request.argument(b"SET");
            request.argument(b"key");
            request.value(&vec![b'v'; len]);
            request.argument(b"NX");
            assert_eq!(request.around_gap().is_none(), whole);
        }
        let (before, after) = request.around_gap().unwrap();
        assert_eq!(before, b"*4\r\n$3\r\nSET\r\n$3\r\nkey\r\n$131073\r\n");
        assert_eq!(after, b"\r\n$2\r\nNX\r\n");
        let behind = request.behind(&[b"ASKING"]);
        let (before, after) = behind.around_gap().unwrap();
        assert_eq!(before, b"*1\r\n$6\r\nASKING\r\n*4\r\n$3\r\nSET\r\n$3\r\nkey\r\n$131073\r\n");
        assert_eq!((after, behind.n_commands()), (&b"\r\n$2\r\nNX\r\n"[..], 2));
    }
}
