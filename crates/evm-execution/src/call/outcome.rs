//! The outcome of a call.

use alloy_primitives::{Bytes, Log, U256};

use crate::executor::{ExecutionEnd, VmError, abi};

/// `Error(string)`
const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
/// `Panic(uint256)`
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];

/// The outcome of a call, which may have failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOutcome {
    /// Gas used, after refunds.
    pub gas_used: u64,
    /// Gas used before refunds.
    pub max_gas_used: u64,
    /// Returned data, also that of a revert.
    pub output: Bytes,
    /// The error with which the call ended, if any.
    pub error: Option<VmError>,
    /// The logs.
    pub logs: Vec<Log>,
}

impl CallOutcome {
    pub(crate) fn from_end(ended: ExecutionEnd) -> Self {
        let ExecutionEnd { error, gas_used, max_gas_used, output, logs } = ended;
        Self { gas_used, max_gas_used, output, error, logs }
    }

    /// Whether the code reverted.
    pub fn has_reverted(&self) -> bool {
        self.error == Some(VmError::Reverted)
    }

    /// The data of a revert, if there are any. Such an error has its own error code, 3.
    pub fn revert_data(&self) -> Option<&Bytes> {
        (self.has_reverted() && !self.output.is_empty()).then_some(&self.output)
    }

    /// The error's text with the reason of a revert; empty if there is no error.
    pub fn message(&self) -> String {
        self.error.as_ref().map_or_else(String::new, |error| failure_text(error, &self.output))
    }
}

/// The text of an error with the reason of a revert, which is in the data.
pub fn failure_text(error: &VmError, output: &[u8]) -> String {
    match (*error == VmError::Reverted).then(|| revert_reason(output)).flatten() {
        Some(reason) => format!("{error}: {reason}"),
        None => error.to_string(),
    }
}

/// Why code reverted, in the two forms of Solidity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevertReason {
    /// `Error(string)`
    Text(String),
    /// `Panic(uint256)`
    Panic(U256),
}

impl RevertReason {
    /// Decodes the data of a revert; `None` if the data has another form.
    pub fn parse(data: &[u8]) -> Option<Self> {
        let (selector, arguments) = data.split_first_chunk::<4>()?;
        match *selector {
            ERROR => abi::bytes(arguments).ok().map(|bytes| Self::Text(text(bytes))),
            PANIC => abi::word(arguments).ok().map(Self::Panic),
            _ => None,
        }
    }
}

/// Why code reverted, if the data is an `Error(string)` or a `Panic(uint256)`.
pub fn revert_reason(data: &[u8]) -> Option<String> {
    Some(match RevertReason::parse(data)? {
        RevertReason::Text(text) => text,
        RevertReason::Panic(code) => panic_reason(code)
            .map_or_else(|| format!("unknown panic code: {code:#x}"), str::to_owned),
    })
}

/// A string as Go writes it into JSON: each byte that is not UTF-8 becomes U+FFFD.
fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

/// The meaning of a code of `Panic(uint256)`; `None` if Solidity does not use the code.
pub fn panic_reason(code: U256) -> Option<&'static str> {
    Some(match u64::try_from(code).ok()? {
        0x00 => "generic panic",
        0x01 => "assert(false)",
        0x11 => "arithmetic underflow or overflow",
        0x12 => "division or modulo by zero",
        0x21 => "enum overflow",
        0x22 => "invalid encoded storage byte array accessed",
        0x31 => "out-of-bounds array access; popping on an empty array",
        0x32 => "out-of-bounds access of an array or bytesN",
        0x41 => "out of memory",
        0x51 => "uninitialized function",
        _ => return None,
    })
}
