//! The source of the index API: the blocks of a chain.

use std::sync::Arc;

use esker_evm::chain::Evm;
use esker_evm::view::ChainReader as _;
use esker_primitives::Id;
use esker_xvm::Xvm;

use crate::api::{Container, IndexError, IndexSource};
use crate::chains::Chain;

/// The blocks of a chain, for the index API.
pub(super) fn source(chain: &Chain) -> Arc<dyn IndexSource> {
    match chain {
        Chain::Xvm(xvm) => Arc::new(XvmIndex(Arc::clone(xvm))),
        Chain::Evm(chain) => Arc::new(EvmIndex(Arc::clone(chain.evm()))),
    }
}

/// Accepted blocks of the asset VM by height.
#[derive(Debug)]
struct XvmIndex(Arc<Xvm>);

impl IndexSource for XvmIndex {
    fn last_height(&self) -> Result<u64, IndexError> {
        // The stored height: a block is listed when it is accepted.
        Ok(self.0.view()?.height()?)
    }

    fn container_at(&self, height: u64) -> Result<Option<Container>, IndexError> {
        let view = self.0.view()?;
        let Some(bytes) = view.block_by_height(height)? else {
            let first = self.0.first_block();
            return match height < first {
                true => Err(IndexError::BeforeHistory { height, first }),
                false => Ok(None),
            };
        };
        let accepted_ms = view.accepted_at(height)?.unwrap_or_default();
        Ok(Some(Container { id: Id::sha256(&bytes), bytes, accepted_ms }))
    }

    fn height_of(&self, id: &Id) -> Result<Option<u64>, IndexError> {
        let view = self.0.view()?;
        Ok(view.state().block_height(id)?)
    }
}

/// Accepted blocks of the EVM by height; their IDs are their hashes, and their times are their timestamps.
#[derive(Debug)]
struct EvmIndex(Arc<Evm>);

impl IndexSource for EvmIndex {
    fn last_height(&self) -> Result<u64, IndexError> {
        Ok(self.0.head().header.number)
    }

    fn container_at(&self, height: u64) -> Result<Option<Container>, IndexError> {
        let found = self.0.encoded_block(height)?;
        Ok(found.map(|block| Container {
            id: Id::new(block.hash.0),
            bytes: block.bytes.into(),
            accepted_ms: block.time.saturating_mul(1000),
        }))
    }

    fn height_of(&self, id: &Id) -> Result<Option<u64>, IndexError> {
        let hash = (*id.as_bytes()).into();
        Ok(self.0.height_of(hash)?)
    }
}
