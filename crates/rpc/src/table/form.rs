//! How a dialect carries a method's arguments and its result.

use serde::Serialize;

use super::arguments::Read;
use crate::error::RpcError;
use crate::method::Outcome;

/// Appends a reply as a dialect writes it.
pub(super) type Write<R> = fn(&R, Vec<u8>) -> Outcome;

/// How a dialect reads the arguments `P` and writes the result `R`.
pub(super) struct Form<P, R> {
    pub(super) read: Read<P>,
    pub(super) write: Write<R>,
}

/// [`Write`] of the dialect with arguments by name.
pub(super) fn write<R: Serialize>(reply: &R, mut out: Vec<u8>) -> Outcome {
    esker_go_json::write(reply, &mut out).map_err(|error| RpcError::new(error.to_string()))?;
    Ok(out)
}

/// [`Write`] of the dialect with arguments by position, which has a code for a result that has no JSON form.
pub(super) fn write_list<R: Serialize>(reply: &R, mut out: Vec<u8>) -> Outcome {
    match esker_go_json::write(reply, &mut out) {
        Ok(()) => Ok(out),
        Err(error) => Err(RpcError::with_code(RpcError::INTERNAL, error.to_string())),
    }
}

pub(super) fn ran_twice() -> RpcError {
    RpcError::with_code(RpcError::INTERNAL, "the method ran already")
}
