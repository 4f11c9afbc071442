//! The machine's rows, in [`Scope::NODE`](esker_storage::Scope).
//!
//! Tags 0x10 to 0x1f of the node-wide scope belong to this file.

use std::convert::Infallible;

use bytes::Bytes;
use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_primitives::{ChainId, Id};
use esker_storage::{KvRead, Scope, StorageResult, Table, ValueCodec, WriteSet};

use crate::bundle::{Bundle, BundleId, has_commitment};
use crate::commitment::{StatePart, StateSummary};

/// Final bundles by height, without the blocks' bytes. Each chain stores its blocks.
pub const BUNDLES: Table<u64, BundleRecord> = Table::new(0x10, "bundle");

/// Height and ID of the last final bundle; one row.
pub const POSITION: Table<(), Position> = Table::new(0x11, "position");

/// Chains whose genesis is in the store.
pub const CHAINS: Table<[u8; ChainId::LEN], ()> = Table::new(0x12, "chain");

/// Undo rows of the last final bundles, by height (docs/protocol/bundles.md, "Rewinding bundles").
pub const UNDO: Table<u64, UndoRow> = Table::new(0x13, "undo");

/// Where the history of this store begins, if the node joined from a snapshot; one row, absent otherwise.
pub const HISTORY_START: Table<(), HistoryStart> = Table::new(0x14, "history-start");

/// The set hash of each part of the state that has rows, by the part's ID (docs/protocol/bundles.md, "State commitment").
pub const STATE_PARTS: Table<[u8; ChainId::LEN], StatePart> = Table::new(0x15, "state-part");

/// The hashes and last blocks that the commitment of the state covers; one row.
pub const STATE: Table<(), StateSummary> = Table::new(0x16, "state");

/// Heights of final bundles by ID, on a node that does not decide alone: peers ask for bundles by ID. Bundles that
/// became final before the node had this table are absent.
pub const BUNDLE_HEIGHTS: Table<[u8; Id::LEN], u64> = Table::new(0x18, "bundle-height");

/// Present while a snapshot of the state is being written: the store has a part of a state, and no node runs on it.
pub const UNFINISHED: Table<(), ()> = Table::new(0x17, "unfinished-snapshot");

/// Snapshots of a development node by their IDs, and under 0 the last ID that was given (u64). Their form is that of
/// `esker_evm::control`.
pub const SNAPSHOTS: Table<u64, Vec<u8>> = Table::new(0x19, "snapshot");

/// Present between the writes of a rewind that takes several; one row.
pub const REWIND: Table<(), RewindTarget> = Table::new(0x1a, "rewind");

/// The height at which a rewind ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewindTarget {
    /// Height of the last bundle then.
    pub to: u64,
    /// Changes that its last write makes besides.
    pub also: WriteSet,
}

/// The height (u64), the changes.
impl ValueCodec for RewindTarget {
    fn encode_value(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to.to_be_bytes());
        out.extend_from_slice(&self.also.to_bytes());
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        let (to, also) = bytes.split_first_chunk()?;
        Some(Self { to: u64::from_be_bytes(*to), also: WriteSet::from_bytes(also)? })
    }
}

/// The bundles that a reorg of a development node replaces, by height, until it is done; under [`u64::MAX`] what else is
/// needed to put them back. Their form is that of `esker_evm::control`.
pub const REPLACED: Table<u64, Vec<u8>> = Table::new(0x1b, "replaced-bundle");

/// The lowest heights that a store has. Everything below them was never in this store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryStart {
    /// Height of the first stored bundle record: the bundle of the snapshot. The record of height 0 is always stored.
    pub bundle: u64,
    /// For each chain whose history does not begin at height 0: the chain ID, and the height of the first stored block. Without a
    /// snapshot (`bundle` is 0) that is the block on which the chain began.
    pub blocks: Vec<(ChainId, u64)>,
}

impl HistoryStart {
    /// The history start of a store: zero heights if the node did not join from a snapshot.
    pub fn read(reader: &dyn KvRead) -> StorageResult<Self> {
        Ok(HISTORY_START.get(reader, Scope::NODE, &())?.unwrap_or_default())
    }

    /// Number of a chain's genesis block. It is 0, unless the chain began at another one here.
    #[must_use]
    pub fn genesis(&self, chain: &ChainId) -> u64 {
        if self.bundle == 0 { self.first_block(chain) } else { 0 }
    }

    /// Height of the first stored block of a chain; the genesis block is always stored in addition.
    #[must_use]
    pub fn first_block(&self, chain: &ChainId) -> u64 {
        self.blocks.iter().find(|(id, _)| id == chain).map_or(0, |(_, height)| *height)
    }
}

impl Encode for HistoryStart {
    fn encode(&self, w: &mut Writer) {
        w.u64(self.bundle);
        w.len(self.blocks.len());
        for (chain, height) in &self.blocks {
            w.id(chain);
            w.u64(*height);
        }
    }
}

impl Decode for HistoryStart {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let bundle = r.u64()?;
        let n = r.slice_len()?;
        let mut blocks = Vec::with_capacity(n.min(crate::bundle::MAX_BUNDLE_BLOCKS));
        for _ in 0..n {
            blocks.push((r.id()?, r.u64()?));
        }
        Ok(Self { bundle, blocks })
    }
}

/// Restores the rows that a final bundle changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoRow {
    /// When this node accepted the bundle, Unix ms.
    pub accepted_ms: u64,
    /// The previous values of the rows that the bundle's commit changed, except rows of [`UNDO`].
    pub old_rows: WriteSet,
}

impl UndoRow {
    /// The stored bytes of a row whose changes `append` encodes ([`WriteSet::to_bytes`]).
    ///
    /// # Errors
    /// The error of `append`.
    pub(crate) fn encoded<E>(
        accepted_ms: u64,
        append: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let mut out = vec![0; Id::LEN];
        out.extend_from_slice(&accepted_ms.to_be_bytes());
        append(&mut out)?;
        let (digest, content) = out.split_at_mut(Id::LEN);
        digest.copy_from_slice(Id::sha256(content).as_bytes());
        Ok(out)
    }
}

/// The SHA-256 of the rest, the time (u64), the changes.
impl ValueCodec for UndoRow {
    fn encode_value(&self, out: &mut Vec<u8>) {
        let changes = self.old_rows.to_bytes();
        let Ok(bytes) = Self::encoded(self.accepted_ms, |row| {
            row.extend_from_slice(&changes);
            Ok::<_, Infallible>(())
        });
        out.extend_from_slice(&bytes);
    }

    fn decode_value(bytes: &[u8]) -> Option<Self> {
        let (digest, content) = bytes.split_first_chunk::<{ Id::LEN }>()?;
        if Id::sha256(content).as_bytes() != digest {
            return None;
        }
        let (accepted_ms, old_rows) = content.split_first_chunk()?;
        let old_rows = WriteSet::from_bytes(old_rows)?;
        Some(Self { accepted_ms: u64::from_be_bytes(*accepted_ms), old_rows })
    }
}

/// A final bundle as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleRecord {
    /// Like [`crate::Bundle::version`].
    pub version: u16,
    /// ID of the parent bundle.
    pub parent: BundleId,
    /// Unix ms.
    pub timestamp_ms: u64,
    /// Like [`crate::Bundle::commitment`].
    pub commitment: Id,
    /// The chain ID and the height of each block.
    pub blocks: Vec<(ChainId, u64)>,
    /// The engine's proof of finality; empty for none.
    pub proof: Vec<u8>,
}

impl BundleRecord {
    /// Like [`crate::Bundle::state_commitment`].
    #[must_use]
    pub fn state_commitment(&self) -> Option<Id> {
        has_commitment(self.version).then_some(self.commitment)
    }

    /// The record of a bundle, with the height of each of its blocks.
    pub(crate) fn new(bundle: &Bundle, blocks: Vec<(ChainId, u64)>, proof: Option<Bytes>) -> Self {
        Self {
            version: bundle.version,
            parent: bundle.parent,
            timestamp_ms: bundle.timestamp_ms,
            commitment: bundle.commitment,
            blocks,
            proof: proof.map(Vec::from).unwrap_or_default(),
        }
    }
}

/// The last final bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Its height.
    pub height: u64,
    /// Its ID.
    pub id: BundleId,
    /// Its time, Unix ms.
    pub timestamp_ms: u64,
}

impl Encode for BundleRecord {
    fn encode(&self, w: &mut Writer) {
        w.u16(self.version);
        w.id(&self.parent);
        w.u64(self.timestamp_ms);
        if let Some(commitment) = self.state_commitment() {
            w.id(&commitment);
        }
        w.len(self.blocks.len());
        for (chain, height) in &self.blocks {
            w.id(chain);
            w.u64(*height);
        }
        w.bytes(&self.proof);
    }
}

impl Decode for BundleRecord {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        let version = r.u16()?;
        let parent = r.id()?;
        let timestamp_ms = r.u64()?;
        let commitment = if has_commitment(version) { r.id()? } else { Id::ZERO };
        let n = r.slice_len()?;
        let mut blocks = Vec::with_capacity(n.min(crate::bundle::MAX_BUNDLE_BLOCKS));
        for _ in 0..n {
            blocks.push((r.id()?, r.u64()?));
        }
        let proof = r.bytes()?.to_vec();
        Ok(Self { version, parent, timestamp_ms, commitment, blocks, proof })
    }
}

impl Encode for Position {
    fn encode(&self, w: &mut Writer) {
        w.u64(self.height);
        w.id(&self.id);
        w.u64(self.timestamp_ms);
    }
}

impl Decode for Position {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { height: r.u64()?, id: r.id()?, timestamp_ms: r.u64()? })
    }
}

crate::stored_as_codec!(BundleRecord, Position, HistoryStart, StateSummary);
