//! Bundles, the unit that an engine orders.

use bytes::Bytes;
use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::{ChainId, Id};

/// Hash of a bundle's encoding.
pub type BundleId = Id;

/// Most blocks of one bundle. A bundle has at most one block of each chain, so this also limits the chains of a node.
pub const MAX_BUNDLE_BLOCKS: usize = 1024;

/// Most bytes of an encoded bundle.
pub const MAX_BUNDLE_SIZE: usize = 64 * 1024 * 1024;

/// The latest time of a bundle, Unix ms: the last moment of the year 9999.
pub const MAX_BUNDLE_TIME_MS: u64 = 253_402_300_799_999;

/// How far a bundle may be ahead of the verifying node's clock, in ms, unless its parent is equally far ahead.
pub const MAX_BUNDLE_AHEAD_MS: u64 = 10_000;

/// At most one block of each chain, in the order of the chains' declaration. Blocks of one bundle never depend on
/// each other: each reads shared memory as the parent bundle left it. A bundle without blocks is a heartbeat and
/// changes no chain.
///
/// Encoding: `u16 0 | version u16 | parent 32 | height u64 | timestamp_ms u64 | commitment 32 | u32 n | n * (chain ID 32
/// | u32 length | block)`, big-endian. Version 0 has no commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Version of this form; 0 or 1, and never lower than the parent's.
    pub version: u16,
    /// ID of the parent bundle; zero for the first bundle.
    pub parent: BundleId,
    /// The number of bundles before this one.
    pub height: u64,
    /// Time of the proposal, Unix ms; never before the parent's.
    pub timestamp_ms: u64,
    /// Commitment to the state after this bundle ([`crate::commitment`]); zero in version 0, which has none.
    pub commitment: Id,
    /// Blockchain ID and block bytes.
    pub blocks: Vec<(ChainId, Bytes)>,
}

impl Bundle {
    /// The version of new bundles. Version 0 is read too.
    pub const VERSION: u16 = 1;

    /// The version of the bundle of height 0. Its ID identifies the network, so its form never changes.
    pub const FIRST_VERSION: u16 = 0;

    /// sha256 of the encoding.
    pub fn id(&self) -> BundleId {
        Id::sha256(&self.to_versioned_bytes())
    }

    /// Commitment to the state after this bundle; `None` in version 0.
    #[must_use]
    pub fn state_commitment(&self) -> Option<Id> {
        has_commitment(self.version).then_some(self.commitment)
    }

    /// Bytes of the encoding.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        const HEAD: usize = 2 + 2 + Id::LEN + 8 + 8 + 4;
        let head = HEAD + self.state_commitment().map_or(0, |_| Id::LEN);
        let blocks = self.blocks.iter().map(|(_, block)| ChainId::LEN + 4 + block.len());
        blocks.fold(head, usize::saturating_add)
    }

    /// Parses a bundle. Any bytes give a result or an error.
    pub fn parse(bytes: &[u8]) -> Result<Self, CodecError> {
        Self::from_versioned_bytes(bytes, MAX_BUNDLE_SIZE)
    }
}

/// Whether bundles of a version have a commitment.
pub(crate) fn has_commitment(version: u16) -> bool {
    version > 0
}

impl Encode for Bundle {
    fn encode(&self, w: &mut Writer) {
        w.u16(self.version);
        w.id(&self.parent);
        w.u64(self.height);
        w.u64(self.timestamp_ms);
        if let Some(commitment) = self.state_commitment() {
            w.id(&commitment);
        }
        w.len(self.blocks.len());
        for (chain, block) in &self.blocks {
            w.id(chain);
            w.bytes(block);
        }
    }
}

impl Decode for Bundle {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let version = r.u16()?;
        let parent = r.id()?;
        let height = r.u64()?;
        let timestamp_ms = r.u64()?;
        let commitment = if has_commitment(version) { r.id()? } else { Id::ZERO };
        let n = r.slice_len()?;
        let mut blocks = Vec::with_capacity(n.min(MAX_BUNDLE_BLOCKS));
        for _ in 0..n {
            blocks.push((r.id()?, Bytes::copy_from_slice(r.bytes()?)));
        }
        Ok(Self { version, parent, height, timestamp_ms, commitment, blocks })
    }
}
