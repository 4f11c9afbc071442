//! The chain parameters that a wallet needs.

use std::net::SocketAddr;

use esker_primitives::{AssetId, ChainId, ShortId, address, network};

use crate::rpc::{CallError, RpcClient};
use crate::xvm::XvmClient;

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
    /// Fetches network and chain ID, fees, and the asset that `fee_asset` names on that chain from a node.
    pub fn fetch(address: SocketAddr, alias: &str, fee_asset: &str) -> Result<Self, CallError> {
        let mut node = RpcClient::new(address);
        let network: crate::xvm::reply::NetworkId =
            node.call("/ext/info", "info.getNetworkID", serde_json::json!({}))?;
        let chain: crate::xvm::reply::BlockchainId =
            node.call("/ext/info", "info.getBlockchainID", serde_json::json!({ "alias": alias }))?;
        let mut x = XvmClient::new(address, alias);
        let fees = x.get_tx_fee()?;
        Ok(Self {
            network_id: network.network_id,
            chain_id: chain.blockchain_id,
            alias: alias.to_owned(),
            hrp: network::hrp(network.network_id).to_owned(),
            fee_asset_id: x.get_asset_description(fee_asset)?.asset_id,
            tx_fee: fees.tx_fee,
            create_asset_fee: fees.create_asset_tx_fee,
        })
    }

    /// The text of an address of this chain.
    pub fn address(&self, address: &ShortId) -> String {
        address::format(&self.alias, &self.hrp, address)
    }
}
