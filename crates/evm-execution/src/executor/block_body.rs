//! The parts of a block that its rules need besides its transactions.

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::B256;
use esker_evm_state::types::{Block, Header};

use super::BlockContext;
use crate::rules::RunningBlock;

/// The parts of a block besides its transactions, its ext data and what code sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockBody<'a> {
    /// Hash of the parent.
    pub parent_hash: B256,
    /// The parent's beacon root.
    pub beacon_root: Option<B256>,
    /// Headers of its uncles.
    pub uncles: &'a [Header],
    /// Withdrawals of validators.
    pub withdrawals: Option<&'a [Withdrawal]>,
}

impl<'a> BlockBody<'a> {
    /// The parts of a block.
    pub fn of(block: &'a Block) -> Self {
        let (uncles, withdrawals) = (&*block.uncles, block.withdrawals.as_deref());
        Self { uncles, withdrawals, ..Self::of_header(&block.header) }
    }

    /// The parts of a block that are in its header.
    pub fn of_header(header: &Header) -> Self {
        let (parent_hash, beacon_root) = (header.parent_hash, header.parent_beacon_root);
        Self { parent_hash, beacon_root, ..Self::default() }
    }

    /// The block as its rules see it.
    pub(crate) fn running(&self, context: &BlockContext) -> RunningBlock<'a> {
        let Self { parent_hash, beacon_root, uncles, withdrawals } = *self;
        RunningBlock {
            point: context.point(),
            parent_hash,
            coinbase: context.coinbase,
            beacon_root,
            uncles,
            withdrawals,
            rules: context.rules,
        }
    }
}
