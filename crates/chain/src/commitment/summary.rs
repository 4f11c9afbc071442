//! The content of the commitment: the checksums of the parts and the last block of each chain.

use std::collections::BTreeMap;

use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::{BlockId, ChainId, Id};

use super::StatePart;
use crate::bundle::MAX_BUNDLE_BLOCKS;

/// A chain in a [`StateSummary`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainState {
    /// Height of its last block, at least 1.
    pub height: u64,
    /// ID of its last block.
    pub block_id: BlockId,
    /// [`StatePart::checksum`] of its rows.
    pub checksum: Id,
}

/// The input from which the commitment of a state is computed.
///
/// Encoding: `shared memory's checksum 32 | u32 n | n * (chain ID 32 | height u64 | block ID 32 | checksum 32)`,
/// ascending by chain ID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateSummary {
    /// [`StatePart::checksum`] of the node-wide rows.
    pub shared: Id,
    /// The chains that have a block above height 0. Others change nothing: nodes may differ in them.
    pub chains: BTreeMap<ChainId, ChainState>,
}

impl StateSummary {
    /// The summary of a state without rows and blocks.
    #[must_use]
    pub fn empty() -> Self {
        Self { shared: StatePart::default().checksum(), chains: BTreeMap::new() }
    }

    /// The commitment: SHA-256 of the encoding.
    #[must_use]
    pub fn commitment(&self) -> Id {
        let mut w = Writer::new();
        self.encode(&mut w);
        Id::sha256(w.as_slice())
    }

    /// The checksum of a part: of the shared one, or of a chain with blocks.
    #[must_use]
    pub fn checksum_of(&self, part: &ChainId) -> Option<Id> {
        match *part == super::SHARED_PART {
            true => Some(self.shared),
            false => self.chains.get(part).map(|chain| chain.checksum),
        }
    }
}

impl Encode for StateSummary {
    fn encode(&self, w: &mut Writer) {
        w.id(&self.shared);
        w.len(self.chains.len());
        for (id, ChainState { height, block_id, checksum }) in &self.chains {
            w.id(id);
            w.u64(*height);
            w.id(block_id);
            w.id(checksum);
        }
    }
}

impl Decode for StateSummary {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let shared = r.id()?;
        let n = r.slice_len()?;
        let mut chains = Vec::with_capacity(n.min(MAX_BUNDLE_BLOCKS));
        for _ in 0..n {
            let id = r.id()?;
            let chain = ChainState { height: r.u64()?, block_id: r.id()?, checksum: r.id()? };
            chains.push((id, chain));
        }
        Ok(Self { shared, chains: chains.into_iter().collect() })
    }
}
