//! A wallet: keys, the UTXOs they can spend, and transactions built and signed from them.
//!
//! Builders are pure: they choose coins among the known ones, add change, sort as the chain requires, and sign.
//! [`Wallet::apply`] applies a transaction as if it were accepted, so that chains of unaccepted transactions can be
//! built without a call to the node.

mod build;
mod coins;
mod params;
#[cfg(test)]
mod tests;

pub use build::Wallet;
pub use coins::Coins;
pub use params::{ChainParams, Expected, MAX_FEE, ParamsError};

use esker_primitives::AssetId;

/// The reason why a transaction could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalletError {
    /// The spendable coins of an asset do not cover what is wanted of it, the fee included.
    #[error("want to spend {wanted} of asset {asset} but only have {available}")]
    InsufficientFunds {
        /// The asset.
        asset: AssetId,
        /// Units needed.
        wanted: u64,
        /// Units of coins that can be spent now.
        available: u64,
    },
    /// No coin of the asset gives the right to do this.
    #[error("no output of asset {0} allows this operation")]
    NoAuthority(AssetId),
    /// Nothing to import is spendable with these keys.
    #[error("nothing to import")]
    NothingToImport,
    /// The chain's fee is above what the wallet pays: [`Wallet::with_max_fee`] raises that.
    #[error("the fee is {fee} units, and {max} are the most that the wallet pays")]
    Fee {
        /// The chain's fee.
        fee: u64,
        /// The limit.
        max: u64,
    },
    /// A sum exceeds 64 bits.
    #[error("overflow")]
    Overflow,
}
