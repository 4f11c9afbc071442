//! The relation of an EVM chain's coin to other chains.

use esker_primitives::{AssetId, ChainId};

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
