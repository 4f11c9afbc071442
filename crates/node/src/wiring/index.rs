//! The source of the index API: the blocks of a chain.

use std::sync::Arc;

use esker_evm::chain::Evm;
use esker_evm::view::ChainReader as _;
use esker_primitives::Id;
use esker_storage::StorageError;
use esker_xvm::Xvm;

use crate::api::{Container, IndexSource};
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

fn error_text(error: StorageError) -> String {
    error.to_string()
}

impl IndexSource for XvmIndex {
    fn last_height(&self) -> Result<u64, String> {
        // The stored height: a block is listed when it is accepted.
        self.0.view().and_then(|view| view.height()).map_err(error_text)
    }

    fn container_at(&self, height: u64) -> Result<Option<Container>, String> {
        let view = self.0.view().map_err(error_text)?;
        let Some(bytes) = view.block_by_height(height).map_err(error_text)? else {
            let first = self.0.first_block();
            return match height < first {
                true => Err(format!(
                    "block {height} is not available: this node's history begins at block {first} (it joined from \
                     a snapshot)"
                )),
                false => Ok(None),
            };
        };
        let accepted_ms = view.accepted_at(height).map_err(error_text)?.unwrap_or_default();
        Ok(Some(Container { id: Id::sha256(&bytes), bytes, accepted_ms }))
    }

    fn height_of(&self, id: &Id) -> Result<Option<u64>, String> {
        let view = self.0.view().map_err(error_text)?;
        view.state().block_height(id).map_err(error_text)
    }
}

/// Accepted blocks of the EVM by height; their IDs are their hashes, and their times are their timestamps.
#[derive(Debug)]
struct EvmIndex(Arc<Evm>);

impl IndexSource for EvmIndex {
    fn last_height(&self) -> Result<u64, String> {
        Ok(self.0.head().header.number)
    }

    fn container_at(&self, height: u64) -> Result<Option<Container>, String> {
        let found = self.0.encoded_block(height).map_err(|error| error.to_string())?;
        Ok(found.map(|block| Container {
            id: Id::new(block.hash.0),
            bytes: block.bytes.into(),
            accepted_ms: block.time.saturating_mul(1000),
        }))
    }

    fn height_of(&self, id: &Id) -> Result<Option<u64>, String> {
        let hash = (*id.as_bytes()).into();
        self.0.height_of(hash).map_err(|error| error.to_string())
    }
}
