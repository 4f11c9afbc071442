//! A compiled contract.

use std::sync::Arc;

use crate::abi::Abi;
use crate::bytecode::Bytecode;
use crate::init_code::InitCode;

/// A compiled contract.
#[derive(Clone, Debug)]
pub struct Contract {
    pub(crate) name: Arc<str>,
    /// The file that it is from, for the order of contracts with the same code.
    pub(crate) origin: Arc<str>,
    pub(crate) abi: Abi,
    pub(crate) code: Bytecode,
    /// `None` if the artifact has none.
    pub(crate) init_code: Option<InitCode>,
}

impl Contract {
    /// Its name. It has one line and no control characters.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn size(&self) -> usize {
        self.code.len().saturating_add(self.abi.size())
    }

    /// Its functions, events and errors.
    pub fn abi(&self) -> &Abi {
        &self.abi
    }
}
