//! The X-Chain and the C-Chain of the local network under one machine, and transactions that move assets between
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_consensus::{SignableTransaction, TxEip1559};
use alloy_primitives::{Address, Signature, TxKind, U256};
use esker_chain::forward::{ExchangePools, ForwardLimits, Forwarding, TxForwarder};
use esker_chain::{
    Bundle, ChainContext, ChainMachine, ChainVm, FixedAliases, Machine, MachineConfig, ProposeCtx,
};
use esker_evm::accounts::address_of_key;
use esker_evm::chain::{Evm, EvmConfig};
use esker_evm_execution::executor::ChainParams;
use esker_evm_execution::genesis::Genesis as EvmGenesis;
use esker_evm_execution::rules::{CChainRules, FeeOverrides, ForkSchedule};
use esker_evm_state::types::Transaction;
use esker_nat::{AtomicExtension, Nat};
use esker_primitives::clock::{Clock, ManualClock};
use esker_primitives::codec::Decode;
use esker_primitives::keys::PrivateKey;
use esker_primitives::network::LOCAL_ID;
use esker_primitives::{AssetId, ChainId, ShortId};
use esker_shared_memory::indexed;
use esker_storage::{KvStore, MemoryStore, Scope, Store};
use esker_transactions::nat::{
    AtomicTx, EvmInput, EvmOutput, UnsignedAtomicTx, UnsignedExport, UnsignedImport,
};
use esker_transactions::xvm::{BaseTx, ExportTx, Tx, UnsignedTx};
use esker_utxo::{
    FxKind, OutputOwners, TransferInput, TransferOutput, TransferableInput, TransferableOutput,
    Utxo,
};
use esker_xvm::genesis::{Genesis, primary};
use esker_xvm::{Xvm, XvmConfig};
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// A time after the last recorded block, and before the one that is too far ahead.
pub const NOW_MS: u64 = 1_795_264_980_000;
/// The X-Chain's fee.
pub const X_FEE: u64 = 1_000_000;
/// One unit of the native asset, in billionths.
pub const ONE: u64 = 1_000_000_000;

pub const EASY: FeeOverrides = FeeOverrides {
    min_base_fee: Some(ONE),
    target_gas: Some(u64::MAX),
    block_gas_cost_step: Some(0),
    gas_limit: None,
};

pub fn test_file(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

/// The key that both chains' genesis funds.
pub fn well_known() -> PrivateKey {
    "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN".parse().unwrap()
}

/// The key of that number.
pub fn key(number: u8) -> PrivateKey {
    PrivateKey::from_slice(&[number; 32]).unwrap()
}

pub fn account(key: &PrivateKey) -> Address {
    address_of_key(&key.public_key())
}

/// Rows of the reasons of lost transactions. Scope and tag.
const LOST_TXS: [[u8; 3]; 6] =
    [[0, 1, 0x0c], [0, 1, 0x0d], [0, 2, 0x58], [0, 2, 0x59], [0, 2, 0x61], [0, 2, 0x62]];

/// The parts of a world.
pub struct WorldParts {
    pub kv: Arc<dyn KvStore>,
    pub schedule: ForkSchedule,
    pub overrides: FeeOverrides,
    pub clock: Arc<ManualClock>,
    pub forwarding: Option<Arc<Forwarding>>,
    pub exchange: Option<Arc<ExchangePools>>,
    /// The X-Chain's genesis, encoded.
    pub x_genesis: Vec<u8>,
    /// The C-Chain's genesis, as JSON.
    pub c_genesis: Vec<u8>,
    pub machine: MachineConfig,
}

pub struct World {
    pub store: Store,
    pub clock: Arc<ManualClock>,
    pub machine: Arc<Machine>,
    pub x: Arc<Xvm>,
    pub nat: Nat,
}

impl World {
    /// The local network with its exact rules.
    pub fn local() -> Self {
        Self::with(Arc::new(MemoryStore::new()), ForkSchedule::LOCAL, FeeOverrides::default())
    }

    /// A network with a base fee of 1 gwei and no block gas cost, as the development network.
    pub fn easy() -> Self {
        Self::with(Arc::new(MemoryStore::new()), ForkSchedule::LOCAL, EASY)
    }

    pub fn with(kv: Arc<dyn KvStore>, schedule: ForkSchedule, overrides: FeeOverrides) -> Self {
        Self::at(kv, schedule, overrides, Arc::new(ManualClock::new(NOW_MS)), None)
    }

    /// Like [`Self::easy`], over a given store and a shared clock.
    pub fn easy_at(kv: Arc<dyn KvStore>, clock: &Arc<ManualClock>) -> Self {
        Self::at(kv, ForkSchedule::LOCAL, EASY, Arc::clone(clock), None)
    }

    /// Like [`Self::easy`], as a follower of another node that decides.
    pub fn following(forwarder: Arc<dyn TxForwarder>, limits: ForwardLimits) -> Self {
        let clock = Arc::new(ManualClock::new(NOW_MS));
        let forwarding = Forwarding::new(
            forwarder,
            Arc::clone(&clock) as Arc<dyn Clock>,
            Handle::current(),
            limits,
        );
        Self::at(Arc::new(MemoryStore::new()), ForkSchedule::LOCAL, EASY, clock, Some(forwarding))
    }

    fn at(
        kv: Arc<dyn KvStore>,
        schedule: ForkSchedule,
        overrides: FeeOverrides,
        clock: Arc<ManualClock>,
        forwarding: Option<Arc<Forwarding>>,
    ) -> Self {
        let machine = MachineConfig {
            check_proposals: true,
            decides_alone: true,
            ..MachineConfig::default()
        };
        Self::open(WorldParts {
            kv,
            schedule,
            overrides,
            clock,
            forwarding,
            exchange: None,
            x_genesis: test_file("vectors/genesis/local-x.bin"),
            c_genesis: test_file("vectors/genesis/local-c.json"),
            machine,
        })
    }

    pub fn open(parts: WorldParts) -> Self {
        let WorldParts {
            kv,
            schedule,
            overrides,
            clock,
            forwarding,
            exchange,
            x_genesis,
            c_genesis,
            machine,
        } = parts;
        let genesis = Genesis::parse(&x_genesis).unwrap();
        let x_id = primary::x_chain_id(LOCAL_ID, &x_genesis);
        let c_id = "2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC".parse().unwrap();
        let store = Store::new(kv).unwrap();
        let work = Arc::new(Notify::new());
        let names = Arc::new(FixedAliases(vec![("X", x_id), ("C", c_id), ("P", ChainId::ZERO)]));
        let context = |scope, chain_id| ChainContext {
            network_id: LOCAL_ID,
            hrp: "local".into(),
            chain_id,
            scope: Scope(scope),
            native_asset_id: genesis.fee_asset_id().unwrap(),
            native_aliases: vec!["NAT".into(), "AVAX".into()],
            aliases: names.clone(),
            clock: clock.clone(),
            store: store.clone(),
            peers: Arc::new(vec![ChainId::ZERO, x_id, c_id]),
            work: work.clone(),
            forwarding: forwarding.clone(),
            exchange: exchange.clone(),
            block_waits: None,
            impersonations: None,
        };
        let block = primary::x_genesis_block(LOCAL_ID, x_id);
        let x = Xvm::new(context(1, x_id), XvmConfig::default(), genesis.clone(), block).unwrap();
        let c = context(2, c_id);
        let rules = CChainRules::new(43112, schedule, overrides);
        let params = ChainParams::new(Arc::new(rules.clone()), LOCAL_ID, c_id);
        let extension = Arc::new(AtomicExtension::new(c.clone(), rules));
        let evm_genesis = EvmGenesis::parse(&c_genesis).unwrap();
        // All optional tables.
        let evm_config = EvmConfig { preimages: true, ..EvmConfig::default() };
        let evm = Evm::new(c, params, evm_config, evm_genesis, extension.clone(), None).unwrap();
        let nat = Nat::new(evm.clone(), extension);
        let chains: Vec<Arc<dyn ChainVm>> = vec![x.clone(), evm];
        let machine = Machine::open(chains, store.clone(), clock.clone(), work, machine).unwrap();
        Self { store, clock, machine, x, nat }
    }

    pub fn evm(&self) -> &Arc<Evm> {
        self.nat.evm()
    }

    pub fn x_id(&self) -> ChainId {
        self.x.context().chain_id
    }

    pub fn c_id(&self) -> ChainId {
        self.nat.context().chain_id
    }

    pub fn native(&self) -> AssetId {
        self.nat.context().native_asset_id
    }

    /// Makes a bundle of these blocks on the last final one final, or returns the reason why not.
    pub async fn offer(&self, chain: ChainId, block: &[u8]) -> Result<(), String> {
        let (_, last) = self.machine.last_final();
        let blocks = vec![(chain, block.to_vec().into())];
        match self.machine.compose(&last, blocks).await.unwrap() {
            Ok(bundle) => {
                self.machine.finalize(&bundle, None).await.unwrap();
                Ok(())
            }
            Err(refused) => Err(refused.to_string()),
        }
    }

    /// A bundle of these blocks on a parent.
    pub async fn compose(&self, parent: &Bundle, blocks: Vec<(ChainId, bytes::Bytes)>) -> Bundle {
        self.machine.compose(&parent.id(), blocks).await.unwrap().unwrap()
    }

    /// A bundle of the waiting transactions, on a parent.
    pub async fn propose_on(&self, parent: &Bundle) -> Option<Bundle> {
        let at = ProposeCtx {
            height: parent.height + 1,
            parent: parent.id(),
            ancestry: &[],
            wait_until_ms: self.clock.now_ms(),
        };
        self.machine.propose(at).await.unwrap()
    }

    pub fn last(&self) -> Bundle {
        let (height, _) = self.machine.last_final();
        self.machine.bundle_at(height).unwrap().unwrap().0
    }

    /// Makes one bundle of the waiting transactions final; false if none wait.
    pub async fn step(&self) -> bool {
        let Some(bundle) = self.propose_on(&self.last()).await else { return false };
        self.machine.finalize(&bundle, None).await.unwrap();
        true
    }

    pub async fn settle(&self) {
        while self.step().await {}
    }

    /// Lets time pass.
    pub fn wait_s(&self, seconds: u64) {
        self.clock.set(self.clock.now_ms() + seconds * 1000);
    }

    pub fn balance(&self, address: Address) -> U256 {
        let reader = self.store.snapshot().unwrap();
        let account = self.evm().view(&*reader).latest_state().account(&address).unwrap();
        account.unwrap_or_default().balance
    }

    pub fn nonce(&self, address: Address) -> u64 {
        let reader = self.store.snapshot().unwrap();
        let account = self.evm().view(&*reader).latest_state().account(&address).unwrap();
        account.unwrap_or_default().nonce
    }

    /// The UTXOs that `source` exported to an owner on `destination`, by ID.
    pub fn shared(&self, destination: ChainId, source: ChainId, owner: &PrivateKey) -> Vec<Utxo> {
        let reader = self.store.snapshot().unwrap();
        let traits = BTreeSet::from([owner.address().as_bytes().to_vec()]);
        let page = indexed(&*reader, &destination, &source, &traits, None, 10_000).unwrap();
        let utxos = page.values.iter();
        utxos.map(|bytes| Utxo::from_versioned_bytes(bytes, usize::MAX).unwrap()).collect()
    }

    /// The UTXOs that X exported to an owner on C.
    pub fn exported_to_c(&self, owner: &PrivateKey) -> Vec<Utxo> {
        self.shared(self.c_id(), self.x_id(), owner)
    }

    /// UTXOs of an owner on X.
    pub fn x_utxos(&self, owner: &ShortId) -> Vec<Utxo> {
        let mut found = Vec::new();
        self.x
            .view()
            .unwrap()
            .visit_utxos_of(owner, |_, raw| {
                found.push(Utxo::from_versioned_bytes(raw.bytes(), usize::MAX).unwrap());
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        found
    }

    /// An export of the well-known key's funds from X, to be issued.
    pub fn x_export(&self, outputs: Vec<TransferableOutput>) -> Tx {
        let native = self.native();
        let owner = well_known();
        let total = X_FEE + outputs.iter().map(|out| out.output.amount).sum::<u64>();
        let utxo = self
            .x_utxos(&owner.address())
            .into_iter()
            .find(|utxo| {
                utxo.asset_id == native
                    && utxo.output.as_transfer().is_some_and(|out| {
                        out.amount >= total
                            && out.owners.locktime == 0
                            && out.owners.addresses == [owner.address()]
                    })
            })
            .unwrap();
        let amount = utxo.output.as_transfer().unwrap().amount;
        let change = output(native, amount - total, OutputOwners::single(owner.address()));
        let base = BaseTx {
            network_id: LOCAL_ID,
            blockchain_id: self.x_id(),
            outputs: if amount > total { vec![change] } else { Vec::new() },
            inputs: vec![input(&utxo, vec![0])],
            memo: Vec::new(),
        };
        let export = ExportTx { base, destination_chain: self.c_id(), exported_outputs: outputs };
        Tx::sign(UnsignedTx::Export(export), &[(FxKind::Secp256k1, vec![&owner])])
    }

    /// Exports amounts of the native asset from X to an owner on C, each in a UTXO of its own, in a separate block.
    pub async fn fund(&self, owner: &PrivateKey, amounts: &[u64]) -> Vec<Utxo> {
        let owners = OutputOwners::single(owner.address());
        let mut outputs: Vec<_> =
            amounts.iter().map(|n| output(self.native(), *n, owners.clone())).collect();
        TransferableOutput::sort(&mut outputs);
        let tx = self.x_export(outputs);
        self.x.issue(tx.bytes()).unwrap();
        self.settle().await;
        let found: Vec<Utxo> = tx.exported_utxos().collect();
        let there = self.exported_to_c(owner);
        assert!(found.iter().all(|utxo| there.contains(utxo)), "X has exported");
        found
    }

    /// An import of UTXOs that `owner` alone owns: all but `burned`, to an account.
    pub fn import(&self, utxos: &[Utxo], owner: &PrivateKey, to: Address, burned: u64) -> AtomicTx {
        let total: u64 = utxos.iter().map(|utxo| utxo.output.as_transfer().unwrap().amount).sum();
        let mut unsigned = self.unsigned_import(utxos);
        unsigned.outputs =
            vec![EvmOutput { address: to, amount: total - burned, asset_id: self.native() }];
        AtomicTx::sign(UnsignedAtomicTx::Import(unsigned), &vec![vec![owner]; utxos.len()])
    }

    /// An import without outputs.
    pub fn unsigned_import(&self, utxos: &[Utxo]) -> UnsignedImport {
        let mut inputs: Vec<_> = utxos.iter().map(|utxo| input(utxo, vec![0])).collect();
        inputs.sort_by_key(|input| input.utxo_id);
        UnsignedImport {
            network_id: LOCAL_ID,
            blockchain_id: self.c_id(),
            source_chain: self.x_id(),
            imported_inputs: inputs,
            outputs: Vec::new(),
        }
    }

    /// An export of one account to one owner on X.
    pub fn export(
        &self,
        from: &PrivateKey,
        nonce: u64,
        amount: u64,
        burned: u64,
        to: ShortId,
    ) -> AtomicTx {
        let unsigned = self.unsigned_export(
            vec![EvmInput {
                address: account(from),
                amount: amount + burned,
                asset_id: self.native(),
                nonce,
            }],
            vec![output(self.native(), amount, OutputOwners::single(to))],
        );
        AtomicTx::sign(UnsignedAtomicTx::Export(unsigned), &[vec![from]])
    }

    pub fn unsigned_export(
        &self,
        inputs: Vec<EvmInput>,
        exported_outputs: Vec<TransferableOutput>,
    ) -> UnsignedExport {
        UnsignedExport {
            network_id: LOCAL_ID,
            blockchain_id: self.c_id(),
            destination_chain: self.x_id(),
            inputs,
            exported_outputs,
        }
    }

    /// All rows of the store except the reasons of lost transactions, and except `others` (scope and tag).
    pub fn rows_without(&self, others: &[[u8; 3]]) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut rows = self.rows();
        rows.retain(|key, _| !LOST_TXS.iter().chain(others).any(|prefix| key.starts_with(prefix)));
        rows
    }

    /// All rows of the store.
    pub fn rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut rows = BTreeMap::new();
        let mut add = |key: &[u8], value: &[u8]| {
            rows.insert(key.to_vec(), value.to_vec());
            std::ops::ControlFlow::Continue(())
        };
        self.store.snapshot().unwrap().scan(&[], None, &mut add).unwrap();
        rows
    }
}

pub fn output(asset_id: AssetId, amount: u64, owners: OutputOwners) -> TransferableOutput {
    TransferableOutput { asset_id, output: TransferOutput { amount, owners } }
}

pub fn input(utxo: &Utxo, sig_indices: Vec<u32>) -> TransferableInput {
    let amount = utxo.output.as_transfer().unwrap().amount;
    TransferableInput {
        utxo_id: utxo.utxo_id,
        asset_id: utxo.asset_id,
        input: TransferInput { amount, sig_indices },
    }
}

/// A transfer of the EVM, without a tip.
pub fn evm_transfer(key: &PrivateKey, nonce: u64, to: Address) -> Transaction {
    signed(key, TxEip1559 { value: U256::from(5), ..evm_tx(nonce, TxKind::Call(to)) })
}

/// A creation that loops until its gas is used up, without a tip.
pub fn evm_burn(key: &PrivateKey, nonce: u64, gas_limit: u64) -> Transaction {
    // JUMPDEST, PUSH1 0, JUMP.
    let input = vec![0x5b, 0x60, 0x00, 0x56].into();
    signed(key, TxEip1559 { gas_limit, input, ..evm_tx(nonce, TxKind::Create) })
}

fn evm_tx(nonce: u64, to: TxKind) -> TxEip1559 {
    TxEip1559 {
        chain_id: 43112,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 300 * u128::from(ONE),
        max_priority_fee_per_gas: 0,
        to,
        ..Default::default()
    }
}

fn signed(key: &PrivateKey, tx: TxEip1559) -> Transaction {
    let signed = key.sign_hash(&tx.signature_hash().0);
    let bytes = signed.as_bytes();
    let signature = Signature::from_bytes_and_parity(&bytes[..64], bytes[64] == 1);
    tx.into_signed(signature).into()
}
