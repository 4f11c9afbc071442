//! Chains of the primary network as their network's genesis makes them: IDs, the native asset, blocks of
//! height 0 (docs/protocol/x-chain-genesis.md, "Blockchain IDs").

use esker_primitives::codec::{VERSION, Writer};
use esker_primitives::ids::{BlockId, ChainId, Id, ShortId, SubnetId};
use esker_primitives::network::{MAIN_ID, TEST_ID};
use esker_transactions::xvm::Block;
use esker_utxo::FxKind;

use super::Genesis;
use super::define::{AssetDefinition, DefinitionError, Holder, genesis};

/// The asset VM. The ID is the name, padded with zeros.
pub const XVM_ID: Id = Id::from_ascii_name("avm");
/// The EVM.
pub const EVM_ID: Id = Id::from_ascii_name("evm");
/// The P-Chain's VM, whose chain has no `CreateChainTx`; its ID is zero.
pub const PLATFORM_VM_ID: Id = Id::from_ascii_name("platformvm");

/// Alias, name and symbol, decimal places of the native asset in the genesis of every network.
const NATIVE_ALIAS: &str = "AVAX";
const NATIVE_NAME: &str = "Avalanche";
const NATIVE_DENOMINATION: u8 = 9;

/// A chain as the P-Chain's `CreateChainTx` describes it.
#[derive(Clone, Copy, Debug)]
pub struct ChainDefinition<'a> {
    /// The network.
    pub network_id: u32,
    /// Zero: the primary network.
    pub subnet_id: SubnetId,
    /// `X-Chain`, `C-Chain`, or any other name.
    pub name: &'a str,
    /// The VM.
    pub vm_id: Id,
    /// Feature extensions in the order of their indices.
    pub fx_ids: &'a [Id],
    /// The chain's genesis bytes.
    pub genesis_data: &'a [u8],
}

impl ChainDefinition<'_> {
    /// Signed bytes of the `CreateChainTx`, as it stands in the P-Chain's genesis.
    pub fn create_chain_tx(&self) -> Vec<u8> {
        /// Type ID of `CreateChainTx` in the P-Chain's codec.
        const CREATE_CHAIN_TX: u32 = 15;
        /// Type ID of `secp256k1fx.Input` there: the empty authority of the subnet's owner.
        const SECP_INPUT: u32 = 10;
        let mut w = Writer::with_capacity(self.genesis_data.len().saturating_add(512));
        w.u16(VERSION);
        w.type_id(CREATE_CHAIN_TX);
        w.u32(self.network_id);
        w.id(&ChainId::ZERO);
        // No outputs, no inputs, no memo.
        w.len(0);
        w.len(0);
        w.len(0);
        w.id(&self.subnet_id);
        w.string_bytes(self.name.as_bytes());
        w.id(&self.vm_id);
        w.len(self.fx_ids.len());
        for fx_id in self.fx_ids {
            w.id(fx_id);
        }
        w.bytes(self.genesis_data);
        w.type_id(SECP_INPUT);
        w.len(0);
        w.len(0);
        w.into_vec()
    }

    /// Blockchain ID: the ID of the `CreateChainTx`.
    pub fn chain_id(&self) -> ChainId {
        Id::sha256(&self.create_chain_tx())
    }
}

/// Blockchain ID of the network's X-Chain with those genesis bytes.
pub fn x_chain_id(network_id: u32, genesis_data: &[u8]) -> ChainId {
    xvm_chain_id(network_id, "X-Chain", genesis_data)
}

/// Blockchain ID of an asset-VM chain of the primary network, with all three extensions.
pub fn xvm_chain_id(network_id: u32, name: &str, genesis_data: &[u8]) -> ChainId {
    let (subnet_id, vm_id) = (SubnetId::ZERO, XVM_ID);
    let fx_ids = &FxKind::ALL.map(FxKind::id);
    ChainDefinition { network_id, subnet_id, name, vm_id, fx_ids, genesis_data }.chain_id()
}

/// Blockchain ID of the network's C-Chain; `genesis_json` is its genesis text, byte for byte.
pub fn c_chain_id(network_id: u32, genesis_json: &[u8]) -> ChainId {
    evm_chain_id(network_id, "C-Chain", genesis_json)
}

/// Blockchain ID of an EVM chain of the primary network.
pub fn evm_chain_id(network_id: u32, name: &str, genesis_json: &[u8]) -> ChainId {
    let (subnet_id, vm_id, genesis_data) = (SubnetId::ZERO, EVM_ID, genesis_json);
    ChainDefinition { network_id, subnet_id, name, vm_id, fx_ids: &[], genesis_data }.chain_id()
}

/// An allocation of the network's genesis to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Amount on the X-Chain; 0: none.
    pub initial_amount: u64,
    /// Owner.
    pub address: ShortId,
    /// Goes into the asset's memo.
    pub eth_address: [u8; 20],
}

/// Genesis of the network's X-Chain: the native asset, given to the allocations.
pub fn x_chain_genesis(
    network_id: u32,
    allocations: &[Allocation],
) -> Result<Genesis, DefinitionError> {
    genesis(network_id, [native_asset(allocations)])
}

/// The native asset, given to the allocations. A network of one's own may add further assets, whose aliases
/// should sort behind [`native_alias`]: the first asset is the one that fees are paid in.
pub fn native_asset(allocations: &[Allocation]) -> AssetDefinition {
    let mut given: Vec<&Allocation> =
        allocations.iter().filter(|allocation| allocation.initial_amount > 0).collect();
    given.sort_by_key(|allocation| (allocation.initial_amount, allocation.address));
    let holder = |allocation: &&Allocation| Holder {
        amount: allocation.initial_amount,
        address: allocation.address,
    };
    AssetDefinition {
        alias: NATIVE_ALIAS.to_owned(),
        name: NATIVE_NAME.to_owned(),
        symbol: NATIVE_ALIAS.to_owned(),
        denomination: NATIVE_DENOMINATION,
        memo: given.iter().flat_map(|allocation| allocation.eth_address).collect(),
        fixed_cap: Some(given.iter().map(holder).collect()),
        ..AssetDefinition::default()
    }
}

/// Alias of the native asset in the genesis of every network.
pub const fn native_alias() -> &'static str {
    NATIVE_ALIAS
}

/// Time of the genesis block of every network that began without a DAG: 2020-12-05T05:00:00Z.
const FRESH_TIME_S: u64 = 1_607_144_400;
/// Mainnet's stop vertex and the time of its Cortina upgrade.
const MAIN: (&str, u64) = ("jrGWDh5Po9FMj54depyunNixpia5PN4aAYxfmNzU8n752Rjga", 1_682_434_800);
/// The same of the test network.
const TEST: (&str, u64) = ("2D1cmbiG36BqQMRyHt4kFhWarmatA1ighSpND3FeFgz3vFVtCZ", 1_680_793_200);

/// Block 0 of the network's X-Chain.
pub fn x_genesis_block(network_id: u32, x_chain_id: ChainId) -> Block {
    let known = match network_id {
        MAIN_ID => Some(MAIN),
        TEST_ID => Some(TEST),
        _ => None,
    };
    match known {
        Some((stop_vertex, time_s)) => {
            let parent_id = stop_vertex.parse().expect("the constants are cb58 IDs");
            Block::new(parent_id, 0, time_s, Vec::new())
        }
        None => fresh_genesis_block(x_chain_id),
    }
}

/// Block 0 of an asset-VM chain that never was a DAG.
pub fn fresh_genesis_block(chain_id: ChainId) -> Block {
    Block::new(stop_vertex(chain_id), 0, FRESH_TIME_S, Vec::new())
}

/// ID of the stop vertex of an empty DAG: the parent of block 0.
fn stop_vertex(chain_id: ChainId) -> BlockId {
    /// Version of the vertex format that has stop vertices.
    const STOP_VERTEX_VERSION: u16 = 1;
    let mut w = Writer::new();
    w.u16(STOP_VERTEX_VERSION);
    w.id(&chain_id);
    w.u64(0);
    w.len(0);
    Id::sha256(w.as_slice())
}
