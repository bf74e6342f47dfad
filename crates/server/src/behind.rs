//! What stands behind the line of a request, and what a command did with it.

use larder_protocol::request::Fault;
use larder_store::SetMode;

use crate::context::Desk;
use crate::counts::Count;

/// What a command did.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Done {
    /// It is answered; so many bytes behind its line belong to it.
    Whole(usize),
    /// Keys in so many bytes at the end of its line are not answered yet.
    Part(usize),
    /// So many bytes from the beginning of the request are needed.
    Needs(usize),
    /// It is answered; so many bytes behind its line are thrown away.
    Skip(usize),
    /// Its line is wrong.
    Refused(Fault),
    /// It is left to an assistant.
    Away,
    /// The connection is to end.
    End,
}

/// The bytes from the line of a request on; in the binary protocol, a header with extras and key stands for the line.
pub(crate) struct Behind<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) line_len: usize,
    /// The bytes behind a value.
    pub(crate) end: &'static [u8],
    /// There is no room for more of the request.
    pub(crate) is_cut_off: bool,
}

/// The end of a value in the text and meta protocols.
pub(crate) const VALUE_END: &[u8] = b"\r\n";

/// The value behind the line of a request.
pub(crate) enum Value<'a> {
    /// All of it has arrived, without its end.
    Whole(&'a [u8]),
    /// So many bytes of the request are needed.
    Needs(usize),
    /// It is thrown away with its end.
    Refused(Refusal),
}

/// The reason why a value is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    TooLarge,
    NoRoom,
    WrongEnd,
}

impl Refusal {
    /// The line that tells it.
    pub(crate) fn line(self) -> &'static [u8] {
        match self {
            Self::TooLarge => b"SERVER_ERROR object too large for cache\r\n",
            Self::NoRoom => b"SERVER_ERROR out of memory storing object\r\n",
            Self::WrongEnd => Fault::Chunk.line(),
        }
    }
}

impl<'a> Behind<'a> {
    /// So many bytes behind the line; `None` where they have not arrived.
    pub(crate) fn bytes(&self, len: usize) -> Option<&'a [u8]> {
        self.input[self.line_len..].get(..len)
    }

    /// What is needed for so many bytes behind the line.
    pub(crate) fn needs(&self, len: usize) -> Done {
        if self.is_cut_off { Done::End } else { Done::Needs(self.line_len + len) }
    }

    /// The bytes of a value with its end.
    #[inline]
    pub(crate) fn with_end(&self, len: usize) -> usize {
        len + self.end.len()
    }

    /// The value of this length behind the line. A value that is refused for its length leaves no older value behind.
    #[inline]
    pub(crate) fn value(
        &self,
        key: &[u8],
        len: usize,
        mode: SetMode,
        desk: &mut Desk,
    ) -> Value<'a> {
        if len > desk.shared.settings.item_bytes {
            return refused(Refusal::TooLarge, Count::StoreTooLarge, key, mode, desk);
        }
        let behind = &self.input[self.line_len..];
        if behind.len() < self.with_end(len) {
            if self.is_cut_off {
                return refused(Refusal::NoRoom, Count::StoreNoMemory, key, mode, desk);
            }
            return Value::Needs(self.line_len + self.with_end(len));
        }
        let (value, end) = behind.split_at(len);
        if end.starts_with(self.end) {
            Value::Whole(value)
        } else {
            Value::Refused(Refusal::WrongEnd)
        }
    }
}

/// Refuses a value before it has arrived.
#[cold]
fn refused(
    refusal: Refusal,
    count: Count,
    key: &[u8],
    mode: SetMode,
    desk: &mut Desk,
) -> Value<'static> {
    desk.counts.add_one(count);
    if mode == SetMode::Set {
        // The client is told of the failure; the worst of a failed removal is that the older value stays.
        let _ = desk.session.delete(key);
        desk.shared.recaches.forget(key);
    }
    Value::Refused(refusal)
}
