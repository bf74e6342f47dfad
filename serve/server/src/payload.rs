//! The payload of a request: the bytes after its line. And what a command did with both.

use larder_protocol::request::Fault;
use larder_store::SetMode;

use crate::context::Context;
use crate::counts::Count;

/// What a command did.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Done {
    /// It is answered. Its payload has this length.
    Answered(usize),
    /// It is answered in part. The keys in the last bytes of its line, of this number, are not answered yet.
    Partial(usize),
    /// More of the request is needed: this length with its line.
    Needs(usize),
    /// It is answered. A payload of this length is discarded.
    Skip(usize),
    /// Its line is wrong.
    Refused(Fault),
    /// It is offloaded to a storage thread.
    Offload,
    /// The connection is to end.
    End,
}

/// A request from its line on, as far as it has arrived. In the binary protocol the header with extras and key is the line.
pub(crate) struct Payload<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) line_len: usize,
    /// The bytes that must follow a value.
    pub(crate) end: &'static [u8],
    /// No memory is left for the rest of the request.
    pub(crate) is_out_of_memory: bool,
}

/// The end of a value in the text and meta protocols.
pub(crate) const VALUE_END: &[u8] = b"\r\n";

/// The value in a payload.
pub(crate) enum Value<'a> {
    /// All of it has arrived, without its end.
    Complete(&'a [u8]),
    /// More of the request is needed: this length with its line.
    Needs(usize),
    /// It is discarded with its end.
    Refused(Refusal),
}

/// The reason why a value is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    TooLarge,
    NoMemory,
    WrongEnd,
}

impl Refusal {
    /// The line that the client gets.
    pub(crate) fn line(self) -> &'static [u8] {
        match self {
            Self::TooLarge => b"SERVER_ERROR object too large for cache\r\n",
            Self::NoMemory => b"SERVER_ERROR out of memory storing object\r\n",
            Self::WrongEnd => Fault::Chunk.line(),
        }
    }
}

impl<'a> Payload<'a> {
    /// The first bytes of the payload; `None` if fewer have arrived.
    pub(crate) fn bytes(&self, len: usize) -> Option<&'a [u8]> {
        self.input[self.line_len..].get(..len)
    }

    /// What a command did that needs a payload of this length, and does not have it yet.
    pub(crate) fn needs(&self, len: usize) -> Done {
        if self.is_out_of_memory { Done::End } else { Done::Needs(self.line_len + len) }
    }

    /// The length of a value with its end.
    #[inline]
    pub(crate) fn len_with_end(&self, len: usize) -> usize {
        len + self.end.len()
    }

    /// The value of this length. If it is refused for its length, an older value under the key is deleted.
    #[inline]
    pub(crate) fn value(
        &self,
        key: &[u8],
        len: usize,
        mode: SetMode,
        context: &mut Context,
    ) -> Value<'a> {
        if len > context.shared.settings.item_bytes {
            return refuse_value(Refusal::TooLarge, Count::StoreTooLarge, key, mode, context);
        }
        let payload = &self.input[self.line_len..];
        if payload.len() < self.len_with_end(len) {
            if self.is_out_of_memory {
                return refuse_value(Refusal::NoMemory, Count::StoreNoMemory, key, mode, context);
            }
            return Value::Needs(self.line_len + self.len_with_end(len));
        }
        let (value, end) = payload.split_at(len);
        if end.starts_with(self.end) {
            Value::Complete(value)
        } else {
            Value::Refused(Refusal::WrongEnd)
        }
    }
}

/// Refuses a value before it has arrived.
#[cold]
fn refuse_value(
    refusal: Refusal,
    count: Count,
    key: &[u8],
    mode: SetMode,
    context: &mut Context,
) -> Value<'static> {
    context.counts.add_one(count);
    if mode == SetMode::Set {
        // The client reads of the failure. If this removal fails too, the older value stays.
        let _ = context.session.delete(key);
        context.shared.recaches.forget(key);
    }
    Value::Refused(refusal)
}
