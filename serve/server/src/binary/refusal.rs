//! The answer to an operation that the store could not do.

use larder_protocol::binary::reply::{encode_error, encode_error_text};
use larder_protocol::binary::{Echo, Status};
use larder_store::Error;

use crate::context::Context;
use crate::counts::Count;

/// Answers an operation that the store could not do.
#[cold]
pub(super) fn refuse(echo: Echo, error: &Error, context: &Context, out: &mut Vec<u8>) {
    let status = match error {
        Error::ValueTooLarge { .. } => {
            context.counts.add_one(Count::StoreTooLarge);
            Status::TooLarge
        }
        Error::Full { .. } => {
            context.counts.add_one(Count::StoreNoMemory);
            Status::OutOfMemory
        }
        Error::NotANumber { .. } => Status::NonNumeric,
        Error::KeyTooLong { .. } | Error::InvalidKey { .. } => Status::InvalidArguments,
        Error::Unsupported { .. } => Status::NotSupported,
        _ if error.is_retryable() => Status::TemporaryFailure,
        _ => Status::Internal,
    };
    match status {
        Status::NotSupported | Status::TemporaryFailure | Status::Internal => {
            encode_error_text(out, echo, status, error.to_string().as_bytes());
        }
        _ => encode_error(out, echo, status),
    }
}
