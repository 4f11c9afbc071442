//! The relation of an EVM chain's coin to other chains.

use alloy_primitives::Address;
use esker_evm_execution::genesis::GenesisError as EvmGenesisError;
use esker_primitives::{AssetId, ChainId};
use thiserror::Error;

/// The relation of an EVM chain's coin to other chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coin {
    /// The network's native asset, exchanged with P and all chains of the asset VM. This is the coin of the C-Chain.
    Native,
    /// A coin that no other chain knows: it never leaves this chain.
    Own,
    /// An asset of other chains.
    Asset {
        /// Its ID.
        asset_id: AssetId,
        /// Its alias in a genesis, if the declaration used it.
        alias: Option<String>,
        /// The chains with which it is exchanged, ascending, each once.
        peers: Vec<ChainId>,
    },
}

/// The declared coin of a further EVM chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoinDeclaration {
    /// ID of the asset, or `CHAIN:ALIAS`: an asset of that chain's genesis. `None`: a coin of the chain's own.
    pub asset: Option<String>,
    /// Chains with which it is exchanged: alias, name or ID of each.
    pub peers: Vec<String>,
}

impl Coin {
    /// The values that decide which blocks are valid, by the name of their setting. The C-Chain has none.
    pub(super) fn values(&self) -> Vec<(&'static str, String)> {
        let (asset, peers) = match self {
            Self::Native => return Vec::new(),
            Self::Own => ("own".to_owned(), String::new()),
            Self::Asset { asset_id, peers, .. } => {
                let peers: Vec<_> = peers.iter().map(ToString::to_string).collect();
                (asset_id.to_string(), peers.join(" "))
            }
        };
        let peers = if peers.is_empty() { "none".to_owned() } else { peers };
        vec![("asset", asset), ("peers", peers)]
    }
}

/// The reason why the coin of a chain can't be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CoinError {
    /// A chain of the asset VM declares peers.
    #[error("peers: for chains of the EVM; those of the asset VM exchange with each other")]
    PeersOfXvm,
    /// A chain of the asset VM declares an asset.
    #[error("asset: for chains of the EVM; those of the asset VM have assets of their own")]
    AssetOfXvm,
    /// A chain with Ethereum's rules declares an asset or peers.
    #[error("{member}: a chain with Ethereum's rules has a coin of its own, which never leaves it")]
    NotExchanged {
        /// `asset` or `peers`.
        member: &'static str,
    },
    /// There are peers without an asset.
    #[error("peers: the asset that is exchanged with them is missing")]
    NoAsset,
    /// A peer is not known.
    #[error("peers: there is no chain \"{0}\"")]
    UnknownPeer(String),
    /// The chain is its own peer.
    #[error("peers: a chain can't be its own peer")]
    OwnPeer,
    /// The asset is neither an ID nor a chain with an alias.
    #[error("asset: \"{0}\" is neither an ID nor CHAIN:ALIAS, an asset of a chain's genesis")]
    AssetText(String),
    /// The asset's ID is zero.
    #[error("asset: the empty ID is no asset's")]
    ZeroAsset,
    /// The chain of the asset is not known.
    #[error("asset: there is no chain \"{0}\"")]
    UnknownChain(String),
    /// The chain's genesis does not have the asset.
    #[error("asset: no asset of chain \"{chain}\" is called \"{alias}\" in its genesis")]
    UnknownAsset {
        /// The chain.
        chain: String,
        /// Alias of the asset.
        alias: String,
    },
    /// The chain begins before Banff.
    #[error(
        "asset: the genesis has a banffBlockTimestamp of its own, and before Banff other assets could be moved too"
    )]
    BeforeBanff,
    /// P would be a peer for another asset.
    #[error("peers: P has the native asset alone")]
    AssetOfP,
    /// An EVM chain that is a peer has another coin.
    #[error("peers: chain {0} has another coin")]
    OtherCoin(String),
    /// A chain of the asset VM that is a peer has no such asset.
    #[error("peers: chain {0} does not know the asset: it is not in its genesis")]
    NotInGenesis(String),
    /// The genesis can't be read.
    #[error("genesis: {0}")]
    Genesis(#[from] EvmGenesisError),
    /// The genesis has balances of the native asset.
    #[error(
        "asset: the genesis gives {0} coins of the native asset, which nothing backs: a chain of the native asset begins \
         without balances, and imports them"
    )]
    Balance(Address),
}
