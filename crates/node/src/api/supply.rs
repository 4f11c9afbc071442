//! Genesis supply of the native asset.

use std::sync::OnceLock;

use alloy_primitives::U256;
use bytes::Bytes;
use esker_primitives::AssetId;
use esker_settings::networks::{EvmParameters, Network};
use esker_utxo::Utxo;

/// Wei in the smallest unit of the X-Chain.
const WEI_IN_NANO: u64 = 1_000_000_000;

/// The native asset in the chains' genesis and in the P-Chain's initial exports. The sum is computed on first use,
/// because a genesis may have many accounts.
#[derive(Clone, Debug)]
pub struct NativeSupply {
    native: AssetId,
    x_genesis: Option<Bytes>,
    /// The parameters of the EVM chain, and its genesis.
    evm: (EvmParameters, Bytes),
    exported: u64,
    sum: OnceLock<u64>,
}

impl NativeSupply {
    /// The supply of a network.
    pub fn for_network(network: &Network) -> Self {
        let native = network.native_asset_id;
        Self {
            native,
            x_genesis: network.x_chain().map(|chain| chain.genesis.clone()),
            evm: (network.evm_parameters().clone(), network.evm_chain().genesis.clone()),
            exported: sum_of(native, network.exported.iter().map(|exported| exported.utxo.clone())),
            sum: OnceLock::new(),
        }
    }

    /// The allocations in the network's definition, in the asset's smallest unit. Amounts that were burned since are
    /// included. Most of the main network's stakes are not, since the definition does not have them. The first call
    /// may take a second.
    pub fn nano(&self) -> u64 {
        *self.sum.get_or_init(|| {
            let x = self.x_genesis.as_deref().map(esker_xvm::genesis::Genesis::parse);
            let x = x.and_then(Result::ok);
            let assets = x.map(|genesis| genesis.assets).unwrap_or_default();
            let utxos =
                assets.iter().flat_map(|asset| asset.to_tx().produced_utxos().collect::<Vec<_>>());
            let on_x = sum_of(self.native, utxos);
            let (parameters, genesis) = &self.evm;
            let wei = parameters.genesis_wei(genesis);
            let on_evm: u64 = (wei / U256::from(WEI_IN_NANO)).saturating_to();
            on_x.saturating_add(on_evm).saturating_add(self.exported)
        })
    }
}

fn sum_of(asset: AssetId, utxos: impl Iterator<Item = Utxo>) -> u64 {
    utxos
        .filter(|utxo| utxo.asset_id == asset)
        .filter_map(|utxo| utxo.output.as_transfer().map(|out| out.amount))
        .fold(0, u64::saturating_add)
}
