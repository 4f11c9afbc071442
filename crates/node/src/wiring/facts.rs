//! What the node's APIs tell about the network besides what its chains say themselves (x-chain.md 12).

use std::collections::BTreeMap;

use esker_primitives::network::{self, MAIN_ID, TEST_ID};
use esker_primitives::{Id, SubnetId};
use esker_utxo::FxKind;
use esker_xvm::genesis::primary;

use crate::api::{
    Blockchain, FeeConfig, MinStake, NetworkFacts, TxFees, UpgradeTimes, Versions,
};
use crate::networks::{Network, Vm};

/// Nano-units of one unit of the native asset.
const NANO: u64 = 1_000_000_000;

/// When the rules of a network that began with all of them took effect: 2020-12-05T05:00:00Z.
const INITIALLY_S: u64 = 1_607_144_400;

pub(super) fn network(network: &Network) -> NetworkFacts {
    NetworkFacts {
        id: network.id,
        name: network::name(network.id).into_owned(),
        hrp: network.hrp.to_owned(),
        native_asset_id: network.native_asset_id,
        start_time_s: network.start_time_s,
        fees: fees(network),
        upgrades: upgrades(network.id),
        fee_config: FeeConfig {
            weights: [1, 1000, 1000, 4],
            max_capacity: 1_000_000,
            max_per_second: 100_000,
            target_per_second: 50_000,
            min_price: 1,
            excess_conversion_constant: 2_164_043,
        },
        min_stake: match network.id {
            TEST_ID => MinStake { validator: NANO, delegator: NANO },
            _ => MinStake { validator: 2000 * NANO, delegator: 25 * NANO },
        },
        blockchains: blockchains(network),
        platform_utxos: Vec::new(),
    }
}

fn fees(network: &Network) -> TxFees {
    let (subnet, transform) = match network.id {
        MAIN_ID => (NANO, 10 * NANO),
        TEST_ID => (NANO / 10, NANO),
        _ => (NANO / 10, NANO / 10),
    };
    let x = network.x_chain().fees;
    TxFees {
        tx: x.tx_fee,
        create_asset: x.create_asset_tx_fee,
        create_subnet: subnet,
        transform_subnet: transform,
        create_blockchain: subnet,
        add_primary_network_validator: 0,
        add_primary_network_delegator: 0,
        add_subnet_validator: NANO / 1000,
        add_subnet_delegator: NANO / 1000,
    }
}

/// The times of c-chain.md 2; every network but main and test began with all rules.
fn upgrades(network_id: u32) -> UpgradeTimes {
    let (times, min_height, stop_vertex) = match network_id {
        MAIN_ID => (
            [
                1_617_199_200,
                1_620_644_400,
                1_629_813_600,
                1_632_344_400,
                1_638_468_000,
                1_662_341_400,
                1_662_494_400,
                1_662_519_600,
                1_666_108_800,
                1_682_434_800,
                1_709_740_800,
                1_734_368_400,
            ],
            793_005,
            true,
        ),
        TEST_ID => (
            [
                1_616_767_200,
                1_620_223_200,
                1_629_140_400,
                1_631_826_000,
                1_637_766_000,
                1_662_494_400,
                1_662_494_400,
                1_662_530_400,
                1_664_805_600,
                1_680_793_200,
                1_707_840_000,
                1_732_550_400,
            ],
            47_437,
            true,
        ),
        _ => ([INITIALLY_S; 12], 0, false),
    };
    let [ap1, ap2, ap3, ap4, ap5, pre6, ap6, post6, banff, cortina, durango, etna] = times;
    UpgradeTimes {
        apricot_phase_1: ap1,
        apricot_phase_2: ap2,
        apricot_phase_3: ap3,
        apricot_phase_4: ap4,
        apricot_phase_4_min_p_chain_height: min_height,
        apricot_phase_5: ap5,
        apricot_phase_pre_6: pre6,
        apricot_phase_6: ap6,
        apricot_phase_post_6: post6,
        banff,
        cortina,
        // The parent of the genesis block, where there was a DAG before it.
        cortina_x_chain_stop_vertex_id: match stop_vertex {
            true => primary::x_genesis_block(network_id, Id::ZERO).parent_id(),
            false => Id::ZERO,
        },
        durango,
        etna,
    }
}

/// The last created first: further chains, then C, which the P-Chain's genesis creates after X.
fn blockchains(network: &Network) -> Vec<Blockchain> {
    let blockchain = |chain: &crate::networks::ChainSpec| Blockchain {
        id: chain.id,
        name: chain.name.clone(),
        subnet_id: SubnetId::ZERO,
        vm_id: chain.vm.id(),
    };
    network.chains.iter().rev().map(blockchain).collect()
}

pub(super) fn versions() -> Versions {
    let version = format!("v{}", env!("CARGO_PKG_VERSION"));
    let vms = ["avm", "evm", "platform"].map(|name| (name.to_owned(), version.clone()));
    Versions {
        node: format!("esker/{}", env!("CARGO_PKG_VERSION")),
        database: format!("v{}.0.0", esker_storage::meta::SCHEMA_VERSION),
        rpc_protocol: 0,
        git_commit: option_env!("ESKER_GIT_COMMIT").unwrap_or_default().to_owned(),
        vms: BTreeMap::from(vms),
    }
}

/// Virtual machines with the names that clients of the reference know.
pub(super) fn vms() -> Vec<(Id, Vec<String>)> {
    vec![
        (Vm::Xvm.id(), vec!["avm".to_owned()]),
        (Vm::Evm.id(), vec!["evm".to_owned()]),
        (primary::PLATFORM_VM_ID, vec!["platform".to_owned()]),
    ]
}

pub(super) fn fxs() -> Vec<(Id, String)> {
    FxKind::ALL.into_iter().map(|fx| (fx.id(), fx.name().to_owned())).collect()
}
