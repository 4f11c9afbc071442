//! What the X-Chain took over from another network, for people.

use esker_xvm::Takeover;
use serde::{Deserialize, Serialize};

/// What the X-Chain took over from another network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TakenOver {
    /// The node that was asked, without credentials and keys.
    pub url: String,
    /// The other network.
    #[serde(rename = "networkID")]
    pub network_id: u32,
    /// Height of its X-Chain then.
    pub height: u64,
    /// Number of addresses.
    pub addresses: usize,
    /// Number of outputs.
    pub outputs: usize,
    /// Number of assets besides the native one.
    pub assets: usize,
}

impl TakenOver {
    pub(crate) fn of(takeover: &Takeover) -> Self {
        let origin = &takeover.origin;
        Self {
            url: origin.url.clone(),
            network_id: origin.network_id,
            height: origin.height,
            addresses: origin.addresses.len(),
            outputs: takeover.utxos.len(),
            assets: takeover.assets.len(),
        }
    }

    /// What was taken over.
    pub fn counts_text(&self) -> String {
        let Self { outputs, assets, addresses, .. } = self;
        format!("{outputs} outputs, {assets} assets, {addresses} addresses")
    }

    /// Where it is from.
    pub fn origin_text(&self) -> String {
        let Self { url, network_id, height, .. } = self;
        format!("{url}, network {network_id}, height {height}")
    }
}
