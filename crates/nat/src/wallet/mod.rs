//! Building imports and exports from keys: what is taken, what it costs, who signs
//! (docs/protocol/atomic-transactions.md, "Transfers built from keys").
//!
//! Nothing is read here: UTXOs and accounts are handed in, the base fee and the time too.

mod export;
mod import;

use alloy_primitives::U256;
use esker_chain::ChainContext;
use esker_evm_state::state::StateError;
use esker_primitives::ids::{AssetId, ChainId};
use esker_transactions::nat::FeeError;

pub use export::{AccountFunds, Payer, export};
pub use import::Import;

/// The network, chain and asset that every transaction names, and the price of gas.
#[derive(Clone, Copy, Debug)]
pub struct TxParams {
    /// The network.
    pub network_id: u32,
    /// The chain.
    pub chain_id: ChainId,
    /// The asset that fees are paid in.
    pub native: AssetId,
    /// Wei a gas.
    pub base_fee: U256,
}

impl TxParams {
    /// Those of a chain.
    pub fn new(context: &ChainContext, base_fee: U256) -> Self {
        Self {
            network_id: context.network_id,
            chain_id: context.chain_id,
            native: context.native_asset_id,
            base_fee,
        }
    }
}

/// The reason why no transaction can be built. Texts are the reference's.
#[derive(Debug, thiserror::Error)]
pub enum WalletError {
    /// A sum exceeds 64 bits.
    #[error("overflow")]
    Overflow,
    /// The fee can't be computed.
    #[error(transparent)]
    Fee(#[from] FeeError),
    /// The UTXOs that can be imported do not cover the fee.
    #[error("insufficient AVAX funds to pay transaction fee")]
    ImportBelowFee,
    /// The fee takes all of what can be imported.
    #[error("tx has no EVM outputs")]
    NothingLeft,
    /// The accounts do not hold what is to be exported, and the fee.
    #[error("couldn't generate tx inputs/signers: {0}")]
    Inputs(InputsError),
}

/// The reason why accounts can't pay. Texts are the reference's.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// They hold too little.
    #[error("insufficient funds")]
    InsufficientFunds,
    /// A sum exceeds 64 bits.
    #[error("overflow")]
    Overflow,
    /// The fee can't be computed.
    #[error(transparent)]
    Fee(#[from] FeeError),
    /// The accounts can't be read.
    #[error(transparent)]
    State(#[from] StateError),
}
