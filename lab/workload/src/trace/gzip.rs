//! gzip data of several members, as compressors that work in parallel or append write them. Zeros behind a member are padding,
//! which tapes and block devices leave: as gzip itself, the reader passes over them.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The decompressed data of all members.
pub(super) struct Members<R>(State<R>);

enum State<R> {
    Within(GzDecoder<R>),
    /// Behind all members.
    Over,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(input: R) -> Self {
        Self(State::Within(GzDecoder::new(input)))
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let State::Within(member) = &mut self.0 else { return Ok(0) };
            let len = member.read(buffer)?;
            if len > 0 || buffer.is_empty() {
                return Ok(len);
            }
            if is_over(member.get_mut())? {
                self.0 = State::Over;
            } else if let State::Within(member) = std::mem::replace(&mut self.0, State::Over) {
                self.0 = State::Within(GzDecoder::new(member.into_inner()));
            }
        }
    }
}

/// Passes over zeros, and tells whether nothing is behind them.
fn is_over(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(true);
        }
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let is_all = zeros == bytes.len();
        input.consume(zeros);
        if !is_all {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn members_follow_each_other_with_zeros_between_and_behind() {
        let (zeros, empty) = (vec![0; 70_000], packed(b""));
        for (parts, expected) in [
            (&[packed(b"one"), packed(b"two")][..], Ok("onetwo")),
            (&[packed(b"one"), zeros.clone(), packed(b"two"), zeros.clone()], Ok("onetwo")),
            (&[empty.clone(), packed(b"one"), vec![0]], Ok("one")),
            (&[packed(b"one"), empty, packed(b"two")], Ok("onetwo")),
            (
                &[packed(b"one"), zeros, b"a text, and no member".to_vec()],
                Err("invalid gzip header"),
            ),
        ] {
            let (bytes, mut read) = (parts.concat(), String::new());
            let outcome = Members::new(bytes.as_slice()).read_to_string(&mut read);
            let outcome = outcome.map(|_| read.as_str()).map_err(|error| error.to_string());
            assert_eq!(outcome, expected.map_err(str::to_owned));
        }
        let whole = packed(b"one");
        for len in 1..whole.len() {
            let cut = Members::new(&whole[..len]).read_to_end(&mut Vec::new());
            assert!(cut.is_err(), "{len}");
        }
    }
}
