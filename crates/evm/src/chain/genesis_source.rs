//! The source of a chain's genesis.

use std::error::Error;
use std::sync::Arc;

use bytes::Bytes;
use esker_chain::{ChainContext, ChainError};
use esker_evm_execution::genesis::Genesis;
use esker_evm_execution::rules::Rules;
use esker_evm_state::types::SealedHeader;
use esker_primitives::sync::Mutex;

use super::{ChainReadError, ChainView};
use crate::fork_point::ForkPoint;

/// Reads the JSON form of a chain's genesis.
pub type ParseGenesis = fn(&[u8]) -> Result<Genesis, Box<dyn Error + Send + Sync>>;

/// The genesis of a chain: its JSON, which is parsed on demand, or its definition.
///
/// A genesis may have many accounts. A chain with a stored first block does not need them.
#[derive(Debug)]
pub struct GenesisSource {
    json: Option<(Bytes, ParseGenesis)>,
    trusts_store: bool,
    fork: Option<ForkPoint>,
    number: u64,
    definition: Mutex<Option<Arc<Genesis>>>,
}

impl From<Genesis> for GenesisSource {
    fn from(definition: Genesis) -> Self {
        Self {
            json: None,
            trusts_store: false,
            fork: None,
            number: definition.number,
            definition: Mutex::new_named("evm.genesis", Some(Arc::new(definition))),
        }
    }
}

impl GenesisSource {
    /// A genesis in JSON. With `trusts_store` a stored first block is assumed to be made from this genesis under
    /// these rules; without, it is rebuilt and compared.
    pub fn json(json: Bytes, parse: ParseGenesis, trusts_store: bool) -> Self {
        let definition = Mutex::new_named("evm.genesis", None);
        Self { json: Some((json, parse)), trusts_store, fork: None, number: 0, definition }
    }

    /// The chain begins on a block of another node. Of its genesis only the block counts, not the accounts.
    #[must_use]
    pub fn with_fork(self, fork: Option<ForkPoint>) -> Self {
        Self { fork, ..self }
    }

    /// The number of the chain's first block is this one, and not that of its genesis in JSON, which is 0.
    #[must_use]
    pub fn with_number(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// The number of the chain's first block.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// The block on which the chain begins, unless it is its genesis.
    pub(super) fn fork(&self) -> Option<&ForkPoint> {
        self.fork.as_ref()
    }

    /// The definition, cached until [`Self::forget`].
    pub(super) fn definition(&self) -> Result<Arc<Genesis>, ChainError> {
        let mut definition = self.definition.lock();
        if let Some(definition) = &*definition {
            return Ok(Arc::clone(definition));
        }
        let (json, parse) = self.json.as_ref().expect("a source has a definition or a JSON form");
        let read = parse(json).map_err(|error| ChainError::Genesis(error.to_string()))?;
        let read = Genesis { number: self.number, ..read };
        Ok(Arc::clone(definition.insert(Arc::new(read))))
    }

    /// Drops a cached definition that can be parsed again.
    pub(super) fn forget(&self) {
        if self.json.is_some() {
            *self.definition.lock() = None;
        }
    }

    /// The stored header of the first block, if it is trusted.
    pub(super) fn stored_header(
        &self,
        context: &ChainContext,
        rules: &dyn Rules,
    ) -> Result<Option<SealedHeader>, ChainError> {
        if !self.trusts_store {
            return Ok(None);
        }
        let reader = context.store.snapshot()?;
        let view = ChainView::new(&*reader, context.scope, rules);
        let damaged = |error: ChainReadError| match error {
            ChainReadError::Storage(error) => ChainError::Storage(error),
            error => ChainError::Corrupted(error.to_string()),
        };
        let header = view.header(self.number).map_err(damaged)?;
        Ok(header.map(|header| SealedHeader { hash: rules.block_hash(&header), header }))
    }
}
