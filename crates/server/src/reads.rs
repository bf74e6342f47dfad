//! The requests that change nothing, told by their first bytes.

use larder_protocol::binary::opcode;

/// The flags of a meta get that change nothing.
const READING_FLAGS: &[u8] = b"bcfhklOqstv";

/// The binary requests that change nothing.
const READING_OPCODES: [u8; 8] = [
    opcode::GET,
    opcode::GETQ,
    opcode::GETK,
    opcode::GETKQ,
    opcode::NOOP,
    opcode::VERSION,
    opcode::QUIT,
    opcode::QUITQ,
];

/// Whether the first request of `input` only reads, or needs no store. A request that has not arrived as far as its verb, or
/// a meta get as far as its flags, is none that changes anything yet.
pub(crate) fn only_reads(input: &[u8], is_binary: bool) -> bool {
    if is_binary {
        return input.get(1).is_none_or(|code| READING_OPCODES.contains(code));
    }
    let Some(end) = input.iter().position(|byte| *byte == b'\n') else { return true };
    let mut words =
        input[..end].split(|byte| matches!(byte, b' ' | b'\r')).filter(|it| !it.is_empty());
    match words.next() {
        Some(b"get" | b"gets" | b"mn" | b"version" | b"quit" | b"verbosity") => true,
        Some(b"mg") => words.skip(1).all(|flag| READING_FLAGS.contains(&flag[0])),
        _ => false,
    }
}
