//! Every table of the observed P-Chain, in the chain's own scope.

use esker_chain::stored_as_codec;
use esker_primitives::BlockId;
use esker_primitives::codec::{CodecError, Decode, Encode, Reader, Writer};
use esker_storage::{KvRead, Scope, StorageError, StorageResult, Table};

/// The last block; one row. Of height 0 the ID is zero: the genesis of P is not known.
pub(crate) const TIP: Table<(), Tip> = Table::new(0x01, "tip");

/// Blocks by height, from 1 on, as they travel.
pub(crate) const BLOCKS: Table<u64, Vec<u8>> = Table::new(0x02, "block");

/// The last block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) id: BlockId,
    pub(crate) height: u64,
    /// Unix seconds; 0 where no block had a time.
    pub(crate) time_s: u64,
}

impl Tip {
    pub(crate) fn read(reader: &dyn KvRead, scope: Scope) -> StorageResult<Self> {
        let missing = || StorageError::Corrupted("the P-Chain has no last block".into());
        TIP.get(reader, scope, &())?.ok_or_else(missing)
    }
}

impl Encode for Tip {
    fn encode(&self, w: &mut Writer) {
        w.id(&self.id);
        w.u64(self.height);
        w.u64(self.time_s);
    }
}

impl Decode for Tip {
    fn decode(r: &mut Reader<'_>) -> Result<Self, CodecError> {
        Ok(Self { id: r.id()?, height: r.u64()?, time_s: r.u64()? })
    }
}

stored_as_codec!(Tip);
