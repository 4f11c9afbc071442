//! Transactions that the node builds for users whose keys it holds.
//!
//! [`Coins`] says which UTXOs there are and in which order they are taken; [`choose`] takes as many as cover what
//! is wanted (docs/protocol/x-chain-services.md, "Coin selection"); [`Payer`] turns that
//! into signed transactions whose bytes follow from their arguments alone (RFC 6979 signatures, sorted inputs and
//! outputs). Nothing here issues, and nothing reads a keystore or a clock.

mod build;
mod choose;
mod coins;
mod operations;

pub use build::{FundedBase, NewAsset, Payer};
pub use choose::{Amounts, Chosen, ImportLimits, MAX_IMPORTED, choose, choose_imports};
pub use coins::{Coins, ExportedCoins, PendingCoins, PoolCoins, Visit};
pub use operations::{AuthorisedOperation, mint, mint_nft, send_nft};

use esker_primitives::AssetId;
use esker_storage::StorageError;
use thiserror::Error;

/// The reason why a transaction can't be built. Texts are the reference's.
#[derive(Debug, Error)]
pub enum SpendError {
    /// The spendable coins of an asset do not cover what is wanted of it, the fee included.
    #[error("want to spend {wanted} of asset {asset} but only have {available}")]
    InsufficientFunds {
        /// The asset.
        asset: AssetId,
        /// Units needed.
        wanted: u64,
        /// Units that can be spent now.
        available: u64,
    },
    /// The requested amount of an asset, with the fee, exceeds 64 bits.
    #[error("problem calculating required spend amount: overflow")]
    WantedOverflow,
    /// The coins that would cover what is wanted exceed 64 bits together.
    #[error("spent amount overflows uint64")]
    SpentOverflow,
    /// No mint output of the asset can be used with the keys.
    #[error("provided addresses don't have the authority to mint the provided asset")]
    NoAuthority,
    /// No NFT of the asset and group can be spent with the keys.
    #[error("insufficient funds")]
    NoNft,
    /// A pending transaction of the wallet spends what is not there any more.
    #[error("missing utxo")]
    MissingUtxo,
    /// The store failed, or what it holds is damaged.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
