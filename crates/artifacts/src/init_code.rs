//! The code that creates a contract, before the arguments of its constructor.

use alloy_primitives::B256;

use crate::bytecode::{key, parse_hex};
use crate::error::ArtifactError;
use crate::vyper;

/// The init code of an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InitCode {
    length: usize,
    key: B256,
    /// Bytes of immutables that it puts after the runtime code.
    pub(crate) appended: usize,
}

impl InitCode {
    /// The init code of an artifact's hex digits; `None` if there is none.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, ArtifactError> {
        let (code, _) = parse_hex(text)?;
        let appended = vyper::immutables(&code).unwrap_or_default();
        let code = Self { length: code.len(), key: key(&code), appended };
        Ok((code.length > 0).then_some(code))
    }

    /// What follows this code in the data of a creation; `None` if the data begin with another code.
    pub(crate) fn arguments<'d>(&self, data: &'d [u8]) -> Option<&'d [u8]> {
        let (code, arguments) = data.split_at_checked(self.length)?;
        (key(code) == self.key).then_some(arguments)
    }
}
