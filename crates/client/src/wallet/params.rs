//! The chain parameters that a wallet needs, and what it accepts of them from a node.

use std::net::SocketAddr;

use esker_primitives::{AssetId, ChainId, ShortId, address, network};

use crate::http::HttpClient;
use crate::rpc::{CallError, RpcClient};
use crate::xvm::XvmClient;

/// The greatest fee of a transaction that a wallet pays if nobody says otherwise, in units of the fee asset: a tenth of
/// the native asset, a hundred times the fee of a payment on the known networks.
pub const MAX_FEE: u64 = 100_000_000;

/// The user's values for a chain. The wallet does not believe a node with other values: whoever alters its answers
/// could make the wallet sign for another network, or pay all that it has as a fee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Number of the network.
    pub network_id: u32,
    /// The chain; none accepts what the node says.
    pub chain_id: Option<ChainId>,
    /// The asset in which fees are paid; none accepts what the node says.
    pub fee_asset_id: Option<AssetId>,
    /// The greatest fee, in units of the fee asset.
    pub max_fee: u64,
}

impl Expected {
    /// Any chain of a network, with fees up to [`MAX_FEE`].
    pub const fn network(network_id: u32) -> Self {
        Self { network_id, chain_id: None, fee_asset_id: None, max_fee: MAX_FEE }
    }

    /// Any chain of a development network: that of `esker dev`, or the local one.
    pub const fn development() -> Self {
        Self::network(network::LOCAL_ID)
    }
}

/// The reason why the parameters of a chain were not taken from a node.
#[derive(Debug, thiserror::Error)]
pub enum ParamsError {
    /// The node does not answer.
    #[error("{method}: {error}")]
    Call {
        /// The method.
        method: &'static str,
        /// The reason why not.
        #[source]
        error: CallError,
    },
    /// It is of another network, or serves another chain or asset.
    #[error("the node says that its {what} is {found}, and {expected} is expected")]
    Other {
        /// The property that differs.
        what: &'static str,
        /// The node's value.
        found: String,
        /// The user's value.
        expected: String,
    },
    /// A fee is too high.
    #[error("the node asks for a fee of {fee} units, and {max} are the most that the wallet pays")]
    Fee {
        /// The fee that the node requires.
        fee: u64,
        /// The limit.
        max: u64,
    },
}

/// Identity and fees of one asset-VM chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainParams {
    /// Number of the network.
    pub network_id: u32,
    /// The chain that the transactions are for.
    pub chain_id: ChainId,
    /// Prefix of the chain's addresses.
    pub alias: String,
    /// Human-readable part of the network's addresses.
    pub hrp: String,
    /// The asset in which fees are paid.
    pub fee_asset_id: AssetId,
    /// Fee of every transaction but those that create an asset.
    pub tx_fee: u64,
    /// Fee of creating an asset.
    pub create_asset_fee: u64,
}

impl ChainParams {
    /// Fetches the parameters of a chain of a development network: see [`Self::fetch_expected`] for others.
    ///
    /// # Errors
    /// See [`Self::fetch_expected`] of [`Expected::development`].
    pub fn fetch(address: SocketAddr, alias: &str, fee_asset: &str) -> Result<Self, ParamsError> {
        let node = HttpClient::new(address);
        Self::fetch_expected(&node, alias, fee_asset, &Expected::development())
    }

    /// Fetches network and chain ID, fees, and the asset that `fee_asset` names on that chain from a node, and compares
    /// them with what the user knows.
    ///
    /// # Errors
    /// The node does not answer, is of another network, or asks for too much.
    pub fn fetch_expected(
        node: &HttpClient,
        alias: &str,
        fee_asset: &str,
        expected: &Expected,
    ) -> Result<Self, ParamsError> {
        let found = Self::fetch_unchecked(node, alias, fee_asset)?;
        compare("network", &found.network_id, Some(&expected.network_id))?;
        compare("chain", &found.chain_id, expected.chain_id.as_ref())?;
        compare("asset of fees", &found.fee_asset_id, expected.fee_asset_id.as_ref())?;
        // Creating an asset may cost more: its builder says so.
        let (fee, max) = (found.tx_fee, expected.max_fee);
        if fee > max {
            return Err(ParamsError::Fee { fee, max });
        }
        Ok(found)
    }

    /// Fetches what the node says, and believes it. For a caller that shows it to its user first.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn fetch_unchecked(
        node: &HttpClient,
        alias: &str,
        fee_asset: &str,
    ) -> Result<Self, ParamsError> {
        let call = |method| move |error| ParamsError::Call { method, error };
        let mut info = RpcClient::over(node.clone());
        let method = "info.getNetworkID";
        let network: crate::xvm::reply::NetworkId =
            info.call("/ext/info", method, serde_json::json!({})).map_err(call(method))?;
        let method = "info.getBlockchainID";
        let params = serde_json::json!({ "alias": alias });
        let chain: crate::xvm::reply::BlockchainId =
            info.call("/ext/info", method, params).map_err(call(method))?;
        let mut x = XvmClient::over(RpcClient::over(node.clone()), alias);
        let fees = x.get_tx_fee().map_err(call("xvm.getTxFee"))?;
        let asset = x.get_asset_description(fee_asset);
        let asset = asset.map_err(call("xvm.getAssetDescription"))?;
        Ok(Self {
            network_id: network.network_id,
            chain_id: chain.blockchain_id,
            alias: alias.to_owned(),
            hrp: network::hrp(network.network_id).to_owned(),
            fee_asset_id: asset.asset_id,
            tx_fee: fees.tx_fee,
            create_asset_fee: fees.create_asset_tx_fee,
        })
    }

    /// The text of an address of this chain.
    pub fn address(&self, address: &ShortId) -> String {
        address::format(&self.alias, &self.hrp, address)
    }
}

fn compare<T: PartialEq + ToString>(
    what: &'static str,
    found: &T,
    expected: Option<&T>,
) -> Result<(), ParamsError> {
    match expected {
        Some(expected) if expected != found => {
            let (found, expected) = (found.to_string(), expected.to_string());
            Err(ParamsError::Other { what, found, expected })
        }
        _ => Ok(()),
    }
}
