//! The network's definition, for the node's APIs.

use esker_primitives::{AssetId, ChainId, Id, SubnetId, network};
use esker_settings::networks::Network;
use esker_utxo::Utxo;
use schemars::JsonSchema;
use serde::Serialize;

use super::supply::NativeSupply;

/// Time of all upgrades on networks that start with all of them: 2020-12-05T05:00Z.
const INITIALLY_ACTIVE: u64 = 1_607_144_400;
/// The last vertices of the X-Chains that were DAGs (docs/protocol/x-chain-genesis.md, "Genesis block").
const MAIN_STOP_VERTEX: &str = "jrGWDh5Po9FMj54depyunNixpia5PN4aAYxfmNzU8n752Rjga";
const TEST_STOP_VERTEX: &str = "2D1cmbiG36BqQMRyHt4kFhWarmatA1ighSpND3FeFgz3vFVtCZ";

/// The network's definition. It is constant while the node runs.
#[derive(Clone, Debug)]
pub struct NetworkFacts {
    /// ID of the network.
    pub id: u32,
    /// Whether it has an X-Chain, and P as its peer; else its only chain is one of the EVM.
    pub has_x_chain: bool,
    /// `mainnet`, `fuji`, `local`, `network-7`.
    pub name: String,
    /// Human-readable part of the addresses.
    pub hrp: String,
    /// The native asset, which pays fees and stakes.
    pub native_asset_id: AssetId,
    /// Start of the network, Unix seconds.
    pub start_time_s: u64,
    /// Fees in the smallest unit of the native asset.
    pub fees: TxFees,
    /// Times of the upgrades.
    pub upgrades: UpgradeTimes,
    /// Fee rules of the P-Chain.
    pub fee_config: FeeConfig,
    /// Minimum stakes.
    pub min_stake: MinStake,
    /// Every blockchain of the network's genesis, run by this node or not, without the P-Chain. In the order of
    /// `platform.getBlockchains`: the last created first.
    pub blockchains: Vec<Blockchain>,
    /// Genesis supply of the native asset.
    pub native_supply: NativeSupply,
    /// UTXOs on the P-Chain. Its exports are in the shared memory of their destinations.
    pub platform_utxos: Vec<Utxo>,
}

/// A blockchain that a transaction of the P-Chain created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blockchain {
    /// Hash of the creating transaction.
    pub id: ChainId,
    /// For example `X-Chain`.
    pub name: String,
    /// The subnet that validates it; the zero ID is the primary network.
    pub subnet_id: SubnetId,
    /// The virtual machine.
    pub vm_id: Id,
}

/// Fees in the smallest unit of the native asset, in the order of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxFees {
    /// A transaction without a specific fee.
    pub tx: u64,
    /// Creating an asset.
    pub create_asset: u64,
    /// Creating a subnet.
    pub create_subnet: u64,
    /// Transforming a subnet into one with a staking token.
    pub transform_subnet: u64,
    /// Creating a blockchain.
    pub create_blockchain: u64,
    /// Adding a validator of the primary network.
    pub add_primary_network_validator: u64,
    /// Adding a delegator of the primary network.
    pub add_primary_network_delegator: u64,
    /// Adding a subnet validator.
    pub add_subnet_validator: u64,
    /// Adding a subnet delegator.
    pub add_subnet_delegator: u64,
}

/// Times of the upgrades, Unix seconds, in the order of the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpgradeTimes {
    /// Apricot phase 1.
    pub apricot_phase_1: u64,
    /// Apricot phase 2.
    pub apricot_phase_2: u64,
    /// Apricot phase 3.
    pub apricot_phase_3: u64,
    /// Apricot phase 4.
    pub apricot_phase_4: u64,
    /// Minimum P-Chain height of apricot phase 4.
    pub apricot_phase_4_min_p_chain_height: u64,
    /// Apricot phase 5.
    pub apricot_phase_5: u64,
    /// Apricot phase before 6.
    pub apricot_phase_pre_6: u64,
    /// Apricot phase 6.
    pub apricot_phase_6: u64,
    /// Apricot phase after 6.
    pub apricot_phase_post_6: u64,
    /// Banff.
    pub banff: u64,
    /// Cortina.
    pub cortina: u64,
    /// The last vertex of the X-Chain as a DAG.
    pub cortina_x_chain_stop_vertex_id: Id,
    /// Durango.
    pub durango: u64,
    /// Etna.
    pub etna: u64,
}

/// Fee rules of the P-Chain since Etna.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeeConfig {
    /// Weights of bandwidth, reads, writes and computation.
    pub weights: [u64; 4],
    /// Maximum accumulated gas.
    pub max_capacity: u64,
    /// Gas that the capacity regains per second.
    pub max_per_second: u64,
    /// Gas used per second that keeps the price constant.
    pub target_per_second: u64,
    /// Minimum gas price.
    pub min_price: u64,
    /// How slowly the price reacts to the excess.
    pub excess_conversion_constant: u64,
}

impl FeeConfig {
    /// The rules of all networks.
    pub const DEFAULT: Self = Self {
        weights: [1, 1000, 1000, 4],
        max_capacity: 1_000_000,
        max_per_second: 100_000,
        target_per_second: 50_000,
        min_price: 1,
        excess_conversion_constant: 2_164_043,
    };
}

/// Minimum stakes in the primary network, in the smallest unit of the native asset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinStake {
    /// For validators.
    pub validator: u64,
    /// For delegators.
    pub delegator: u64,
}

impl NetworkFacts {
    /// The facts of a network.
    pub fn for_network(network: &Network) -> Self {
        let blockchain = |chain: &esker_settings::networks::ChainSpec| Blockchain {
            id: chain.id,
            name: chain.name.clone(),
            subnet_id: SubnetId::ZERO,
            vm_id: chain.parameters.vm().id(),
        };
        Self {
            id: network.id,
            has_x_chain: network.x_chain().is_some(),
            name: match network.x_chain() {
                Some(_) => network::name(network.id).into_owned(),
                None => network.name.clone(),
            },
            hrp: network.hrp.to_owned(),
            native_asset_id: network.native_asset_id,
            start_time_s: network.start_time_s,
            fees: TxFees {
                tx: network.x_fees().tx_fee,
                create_asset: network.x_fees().create_asset_tx_fee,
                ..TxFees::of_network(network.id)
            },
            upgrades: UpgradeTimes::of_network(network.id),
            fee_config: FeeConfig::DEFAULT,
            min_stake: MinStake::of_network(network.id),
            blockchains: network.chains.iter().rev().map(blockchain).collect(),
            native_supply: NativeSupply::for_network(network),
            platform_utxos: Vec::new(),
        }
    }
}

impl TxFees {
    /// The fees of a network (docs/api/info.md, "info.getTxFee").
    pub const fn of_network(network_id: u32) -> Self {
        let (asset, subnet, transform, blockchain) = match network_id {
            network::MAIN_ID => (10_000_000, 1_000_000_000, 10_000_000_000, 1_000_000_000),
            network::TEST_ID => (10_000_000, 100_000_000, 1_000_000_000, 100_000_000),
            _ => (1_000_000, 100_000_000, 100_000_000, 100_000_000),
        };
        Self {
            tx: 1_000_000,
            create_asset: asset,
            create_subnet: subnet,
            transform_subnet: transform,
            create_blockchain: blockchain,
            add_primary_network_validator: 0,
            add_primary_network_delegator: 0,
            add_subnet_validator: 1_000_000,
            add_subnet_delegator: 1_000_000,
        }
    }
}

impl MinStake {
    /// The minimum stakes of a network.
    pub const fn of_network(network_id: u32) -> Self {
        match network_id {
            network::TEST_ID => Self { validator: 1_000_000_000, delegator: 1_000_000_000 },
            _ => Self { validator: 2_000_000_000_000, delegator: 25_000_000_000 },
        }
    }
}

impl UpgradeTimes {
    /// The upgrade times of a network: history on the main and test networks, all at the start elsewhere.
    pub fn of_network(network_id: u32) -> Self {
        let stop_vertex = |text: &str| text.parse().expect("the constants are IDs");
        match network_id {
            network::MAIN_ID => Self {
                apricot_phase_1: 1_617_199_200,
                apricot_phase_2: 1_620_644_400,
                apricot_phase_3: 1_629_813_600,
                apricot_phase_4: 1_632_344_400,
                apricot_phase_4_min_p_chain_height: 793_005,
                apricot_phase_5: 1_638_468_000,
                apricot_phase_pre_6: 1_662_341_400,
                apricot_phase_6: 1_662_494_400,
                apricot_phase_post_6: 1_662_519_600,
                banff: 1_666_108_800,
                cortina: 1_682_434_800,
                cortina_x_chain_stop_vertex_id: stop_vertex(MAIN_STOP_VERTEX),
                durango: 1_709_740_800,
                etna: 1_734_368_400,
            },
            network::TEST_ID => Self {
                apricot_phase_1: 1_616_767_200,
                apricot_phase_2: 1_620_223_200,
                apricot_phase_3: 1_629_140_400,
                apricot_phase_4: 1_631_826_000,
                apricot_phase_4_min_p_chain_height: 47_437,
                apricot_phase_5: 1_637_766_000,
                apricot_phase_pre_6: 1_662_494_400,
                apricot_phase_6: 1_662_494_400,
                apricot_phase_post_6: 1_662_530_400,
                banff: 1_664_805_600,
                cortina: 1_680_793_200,
                cortina_x_chain_stop_vertex_id: stop_vertex(TEST_STOP_VERTEX),
                durango: 1_707_840_000,
                etna: 1_732_550_400,
            },
            _ => Self {
                apricot_phase_1: INITIALLY_ACTIVE,
                apricot_phase_2: INITIALLY_ACTIVE,
                apricot_phase_3: INITIALLY_ACTIVE,
                apricot_phase_4: INITIALLY_ACTIVE,
                apricot_phase_4_min_p_chain_height: 0,
                apricot_phase_5: INITIALLY_ACTIVE,
                apricot_phase_pre_6: INITIALLY_ACTIVE,
                apricot_phase_6: INITIALLY_ACTIVE,
                apricot_phase_post_6: INITIALLY_ACTIVE,
                banff: INITIALLY_ACTIVE,
                cortina: INITIALLY_ACTIVE,
                cortina_x_chain_stop_vertex_id: Id::ZERO,
                durango: INITIALLY_ACTIVE,
                etna: INITIALLY_ACTIVE,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use esker_settings::networks::Preset;

    use super::*;

    #[test]
    fn of_the_presets() {
        for (preset, id, name, etna, create_asset) in [
            (Preset::Main, 1, "mainnet", 1_734_368_400, 10_000_000),
            (Preset::Test, 5, "fuji", 1_732_550_400, 10_000_000),
            (Preset::Local, 12345, "local", INITIALLY_ACTIVE, 1_000_000),
        ] {
            let facts = NetworkFacts::for_network(&preset.network());
            assert_eq!((facts.id, facts.name.as_str()), (id, name));
            assert_eq!((facts.upgrades.etna, facts.fees.create_asset), (etna, create_asset));
            let names: Vec<_> = facts.blockchains.iter().map(|chain| chain.name.as_str()).collect();
            assert_eq!(names, ["C-Chain", "X-Chain"], "the last created first");
        }
    }
}
