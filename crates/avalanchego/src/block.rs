//! A chain's own block, as far as the order of the chains depends on it.

use std::fmt;

use bytes::Bytes;
use esker_primitives::{BlockId, ChainId, Id, TxId};
use esker_utxo::UtxoId;

use crate::error::PortError;

/// A chain that is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Chain {
    /// The P-Chain.
    P,
    /// The X-Chain.
    X,
    /// The C-Chain.
    C,
}

impl Chain {
    /// All, in the order in which blocks that depend on nothing are handed out.
    pub const ALL: [Self; 3] = [Self::P, Self::X, Self::C];

    /// The chain's alias, also in paths of AvalancheGo.
    pub const fn alias(self) -> &'static str {
        match self {
            Self::P => "P",
            Self::X => "X",
            Self::C => "C",
        }
    }

    pub(crate) const fn position(self) -> usize {
        match self {
            Self::P => 0,
            Self::X => 1,
            Self::C => 2,
        }
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-Chain", self.alias())
    }
}

/// The IDs of the followed chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainIds {
    /// ID of the X-Chain.
    pub x: ChainId,
    /// ID of the C-Chain.
    pub c: ChainId,
}

impl ChainIds {
    /// The ID of a chain; the P-Chain has the zero ID.
    pub const fn id_of(&self, chain: Chain) -> ChainId {
        match chain {
            Chain::P => ChainId::ZERO,
            Chain::X => self.x,
            Chain::C => self.c,
        }
    }

    /// The chain of an ID.
    pub fn chain(&self, id: &ChainId) -> Option<Chain> {
        Chain::ALL.into_iter().find(|chain| self.id_of(*chain) == *id)
    }
}

/// A UTXO that a block takes from another chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Import {
    /// The chain that exported it.
    pub source: ChainId,
    /// The UTXO.
    pub utxo: UtxoId,
}

/// A UTXO that a block leaves for another chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// The chain that may import it.
    pub destination: ChainId,
    /// Its key in shared memory.
    pub key: Id,
}

/// The part of a block that a [`BlockReader`] extracts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InnerBlock {
    /// Its ID; on C its hash.
    pub id: BlockId,
    /// The block before.
    pub parent: BlockId,
    /// The number of blocks before it.
    pub height: u64,
    /// The UTXOs that it imports.
    pub imports: Vec<Import>,
    /// The UTXOs that it exports.
    pub exports: Vec<Export>,
}

/// Reads the blocks of the chains. The node has the decoders of all of them.
pub trait BlockReader: Send + Sync + fmt::Debug {
    /// Parses a block.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    fn read(&self, chain: Chain, block: &[u8]) -> Result<InnerBlock, PortError>;
}

/// A block whose place in its chain has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its chain.
    pub chain: Chain,
    /// The number of blocks before it.
    pub height: u64,
    /// The chain's own bytes.
    pub bytes: Bytes,
    /// The UTXOs that it imports.
    pub imports: Vec<Import>,
    /// The UTXOs that it exports.
    pub exports: Vec<Export>,
}

/// A UTXO in the memory that two chains share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shared {
    /// The chain that exported it.
    pub source: ChainId,
    /// The chain that may import it.
    pub destination: ChainId,
    /// Its key.
    pub key: Id,
}

/// A block that waits for an import's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The block's chain.
    pub chain: Chain,
    /// Its height.
    pub height: u64,
    /// The chain whose export is missing.
    pub source: Chain,
    /// The exporting transaction.
    pub tx_id: TxId,
    /// The output's index.
    pub output_index: u32,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chain, height, source, tx_id, output_index } = self;
        write!(
            f,
            "block {height} of the {chain} imports output {output_index} of transaction {tx_id}, which the blocks of the \
             {source} so far do not export"
        )
    }
}
