//! Two chains of the asset VM over one store, their machine, and transactions for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_chain::forward::{ForwardLimits, Forwarding, TxForwarder};
use esker_chain::{
    Bundle, ChainContext, ChainMachine, ChainVm, FixedAliases, Machine, MachineConfig, ProposeCtx,
};
use esker_primitives::clock::{Clock, ManualClock};
use esker_primitives::codec::Decode;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{AssetId, ChainId, Id, ShortId, TxId};
use esker_storage::{KvStore, MemoryStore, Scope, Store};
use esker_transactions::xvm::{BaseTx, Tx, UnsignedTx};
use esker_utxo::{
    FxKind, Output, OutputOwners, TransferInput, TransferOutput, TransferableInput,
    TransferableOutput, Utxo,
};
use esker_xvm::genesis::define::{self, AssetDefinition, Holder, Minters};
use esker_xvm::genesis::primary::{fresh_genesis_block, xvm_chain_id};
use esker_xvm::{TxStatus, Xvm, XvmConfig};
use tokio::runtime::Handle;
use tokio::sync::Notify;

pub(super) const NETWORK: u32 = 12345;
pub(super) const FEE: u64 = 1000;
pub(super) const SUPPLY: u64 = 1_000_000_000;
/// After the genesis block's time.
pub(super) const START_MS: u64 = 1_700_000_000_000;

/// The key of that number.
pub(super) fn key(number: u8) -> PrivateKey {
    PrivateKey::from_slice(&[number; 32]).unwrap()
}

pub(super) fn address(number: u8) -> ShortId {
    key(number).address()
}

/// The settings that a test varies.
pub(super) struct Setup {
    pub(super) kv: Arc<dyn KvStore>,
    pub(super) config: XvmConfig,
    /// The nodes to which transactions are passed on, besides the pools.
    pub(super) forwarder: Option<(Arc<dyn TxForwarder>, ForwardLimits)>,
}

impl Default for Setup {
    fn default() -> Self {
        let config =
            XvmConfig { tx_fee: FEE, create_asset_tx_fee: 2 * FEE, ..XvmConfig::default() };
        Self { kv: Arc::new(MemoryStore::new()), config, forwarder: None }
    }
}

/// A node without HTTP: the chains X and Y, and what they share.
pub(super) struct World {
    pub(super) store: Store,
    pub(super) clock: Arc<ManualClock>,
    pub(super) machine: Arc<Machine>,
    pub(super) x: Arc<Xvm>,
    pub(super) y: Arc<Xvm>,
    pub(super) forwarding: Option<Arc<Forwarding>>,
    /// Of all transactions so far.
    pub(super) bundles: Vec<Bundle>,
}

fn minters(threshold: u32, numbers: &[u8]) -> Option<Vec<Minters>> {
    Some(vec![Minters { threshold, minters: numbers.iter().map(|n| address(*n)).collect() }])
}

/// The native asset: half of it to key 1, the rest to keys 2 and 3.
fn native() -> AssetDefinition {
    let holder = |(number, amount)| Holder { amount, address: address(number) };
    AssetDefinition {
        alias: "AVAX".into(),
        name: "Avalanche".into(),
        symbol: "AVAX".into(),
        denomination: 9,
        fixed_cap: Some([(1, SUPPLY / 2), (2, SUPPLY / 4), (3, SUPPLY / 4)].map(holder).into()),
        ..AssetDefinition::default()
    }
}

/// Further assets of X: each is minted by key 1, `VAR` by two of the keys 1, 2, 3.
fn others() -> Vec<AssetDefinition> {
    let asset = |alias: &str| AssetDefinition {
        alias: alias.into(),
        name: format!("the {alias}"),
        ..AssetDefinition::default()
    };
    vec![
        AssetDefinition { non_fungible: minters(1, &[1]), ..asset("NFT") },
        AssetDefinition { limited_transfer: minters(1, &[1]), ..asset("PRP") },
        AssetDefinition { variable_cap: minters(2, &[1, 2, 3]), ..asset("VAR") },
    ]
}

impl World {
    pub(super) fn new() -> Self {
        Self::with(Setup::default())
    }

    pub(super) fn with(setup: Setup) -> Self {
        let Setup { kv, config, forwarder } = setup;
        let store = Store::new(kv).unwrap();
        let clock = Arc::new(ManualClock::new(START_MS));
        let forwarding = forwarder.map(|(forwarder, limits)| {
            Forwarding::new(forwarder, clock.clone(), Handle::current(), limits)
        });
        let work = Arc::new(Notify::new());
        let x_genesis = define::genesis(NETWORK, [native()].into_iter().chain(others())).unwrap();
        let y_genesis = define::genesis(NETWORK, [native()]).unwrap();
        let x_id = xvm_chain_id(NETWORK, "X-Chain", &x_genesis.to_bytes());
        let y_id = xvm_chain_id(NETWORK, "Y-Chain", &y_genesis.to_bytes());
        let names = Arc::new(FixedAliases(vec![("X", x_id), ("Y", y_id), ("P", ChainId::ZERO)]));
        let native_asset_id = x_genesis.fee_asset_id().unwrap();
        let chain = |scope, chain_id, genesis| {
            let context = ChainContext {
                network_id: NETWORK,
                hrp: "local".into(),
                chain_id,
                scope: Scope(scope),
                native_asset_id,
                native_aliases: vec!["NAT".into(), "AVAX".into()],
                aliases: names.clone(),
                clock: clock.clone(),
                store: store.clone(),
                peers: Arc::new(vec![ChainId::ZERO, x_id, y_id]),
                work: work.clone(),
                forwarding: forwarding.clone(),
                exchange: None,
                block_waits: None,
                impersonations: None,
            };
            Xvm::new(context, config.clone(), genesis, fresh_genesis_block(chain_id)).unwrap()
        };
        let x = chain(1, x_id, x_genesis);
        let y = chain(2, y_id, y_genesis);
        let chains: Vec<Arc<dyn ChainVm>> = vec![x.clone(), y.clone()];
        let machine = Machine::open(
            chains,
            store.clone(),
            clock.clone(),
            work,
            MachineConfig {
                check_proposals: true,
                decides_alone: true,
                ..MachineConfig::default()
            },
        )
        .unwrap();
        Self { store, clock, machine, x, y, forwarding, bundles: Vec::new() }
    }

    pub(super) fn now_s(&self) -> u64 {
        self.clock.now_s()
    }

    /// A bundle of what waits, on `parent`.
    pub(super) async fn propose_on(&self, parent: &Bundle) -> Option<Bundle> {
        let at = ProposeCtx {
            height: parent.height + 1,
            parent: parent.id(),
            ancestry: &[],
            wait_until_ms: 0,
        };
        self.machine.propose(at).await.unwrap()
    }

    /// The last final bundle.
    pub(super) fn last(&self) -> Bundle {
        let (height, _) = self.machine.last_final();
        self.machine.bundle_at(height).unwrap().unwrap().0
    }

    pub(super) async fn finalize(&mut self, bundle: &Bundle) {
        self.machine.finalize(bundle, None).await.unwrap();
        self.bundles.push(bundle.clone());
    }

    /// One bundle of what waits becomes final; false if nothing does.
    pub(super) async fn step(&mut self) -> bool {
        let Some(bundle) = self.propose_on(&self.last()).await else { return false };
        self.finalize(&bundle).await;
        true
    }

    /// Bundles until nothing waits.
    pub(super) async fn settle(&mut self) {
        while self.step().await {}
    }
}

/// Status of a transaction on a chain.
pub(super) fn status(vm: &Xvm, id: TxId) -> TxStatus {
    vm.view().unwrap().tx_status(&id).unwrap()
}

pub(super) fn rejected(reason: &str) -> TxStatus {
    TxStatus::Rejected { reason: reason.into() }
}

pub(super) fn native_id(vm: &Xvm) -> AssetId {
    vm.context().native_asset_id
}

/// The balance of an address in an asset on a chain, as `getBalance` counts it.
pub(super) fn balance(vm: &Xvm, number: u8, asset: AssetId) -> u64 {
    let now_s = vm.context().clock.now_s();
    vm.view().unwrap().balance(&address(number), &asset, false, now_s).unwrap().amount
}

/// UTXOs of an address, in the order of their IDs.
pub(super) fn utxos_of(vm: &Xvm, address: &ShortId) -> Vec<Utxo> {
    let mut found = Vec::new();
    vm.view()
        .unwrap()
        .visit_utxos_of(address, |id, raw| {
            let utxo = Utxo::from_versioned_bytes(raw.bytes(), usize::MAX).unwrap();
            assert_eq!(*id, utxo.utxo_id.input_id());
            found.push(utxo);
            std::ops::ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// An amount for one owner.
pub(super) fn output(asset_id: AssetId, amount: u64, to: ShortId) -> TransferableOutput {
    TransferableOutput {
        asset_id,
        output: TransferOutput { amount, owners: OutputOwners::single(to) },
    }
}

/// The input that spends a UTXO with its first owners' signatures.
pub(super) fn input(utxo: &Utxo) -> TransferableInput {
    let Output::SecpTransfer(out) = &utxo.output else { panic!("no amount: {utxo:?}") };
    TransferableInput {
        utxo_id: utxo.utxo_id,
        asset_id: utxo.asset_id,
        input: TransferInput {
            amount: out.amount,
            sig_indices: (0..out.owners.threshold).collect(),
        },
    }
}

/// The fields that all transactions share.
pub(super) fn base(
    vm: &Xvm,
    mut inputs: Vec<TransferableInput>,
    mut outputs: Vec<TransferableOutput>,
) -> BaseTx {
    inputs.sort_by_key(|input| input.utxo_id);
    TransferableOutput::sort(&mut outputs);
    BaseTx {
        network_id: NETWORK,
        blockchain_id: vm.context().chain_id,
        outputs,
        inputs,
        memo: Vec::new(),
    }
}

/// Takes UTXOs that the key owns alone until the amounts are covered, and gives back the rest.
pub(super) fn fund(
    vm: &Xvm,
    from: u8,
    wanted: &[(AssetId, u64)],
) -> (Vec<TransferableInput>, Vec<TransferableOutput>) {
    let mut missing: BTreeMap<AssetId, u64> = BTreeMap::new();
    for (asset, amount) in wanted {
        *missing.entry(*asset).or_default() += amount;
    }
    let (mut inputs, mut change) = (Vec::new(), Vec::new());
    let now_s = vm.context().clock.now_s();
    for utxo in utxos_of(vm, &address(from)) {
        let Some(want) = missing.get_mut(&utxo.asset_id).filter(|want| **want > 0) else {
            continue;
        };
        let Some(out) = utxo.output.as_transfer() else { continue };
        if out.owners.addresses.len() != 1 || out.owners.locktime > now_s {
            continue;
        }
        inputs.push(input(&utxo));
        if out.amount > *want {
            change.push(output(utxo.asset_id, out.amount - *want, address(from)));
        }
        *want = want.saturating_sub(out.amount);
    }
    assert!(missing.values().all(|amount| *amount == 0), "not enough: {missing:?}");
    (inputs, change)
}

/// Signs all inputs with one key; operations with that key as well.
pub(super) fn sign(unsigned: UnsignedTx, by: u8) -> Tx {
    let key = key(by);
    let inputs = unsigned.base().inputs.iter().map(|_| FxKind::Secp256k1);
    let operations = unsigned.operations().iter().map(|op| op.op.fx());
    let imported = unsigned.imported_inputs().iter().map(|_| FxKind::Secp256k1);
    let signers: Vec<_> =
        inputs.chain(operations).chain(imported).map(|fx| (fx, vec![&key])).collect();
    Tx::sign(unsigned, &signers)
}

/// A transfer with change.
pub(super) fn transfer(vm: &Xvm, from: u8, asset: AssetId, amount: u64, to: u8) -> Tx {
    let (inputs, mut outputs) = fund(vm, from, &[(asset, amount), (native_id(vm), FEE)]);
    outputs.push(output(asset, amount, address(to)));
    sign(UnsignedTx::Base(base(vm, inputs, outputs)), from)
}

/// Spends one output of the native asset: `amount` to `to`, the rest but the fee back.
pub(super) fn spend(vm: &Xvm, utxo: &Utxo, by: u8, amount: u64, to: u8) -> Tx {
    let rest = utxo.output.as_transfer().unwrap().amount - amount - FEE;
    let mut outputs = vec![output(utxo.asset_id, amount, address(to))];
    if rest > 0 {
        outputs.push(output(utxo.asset_id, rest, address(by)));
    }
    sign(UnsignedTx::Base(base(vm, vec![input(utxo)], outputs)), by)
}

/// The output of a transaction that a key owns.
pub(super) fn output_of(tx: &Tx, owner: u8) -> Utxo {
    let owner = [address(owner)];
    tx.produced_utxos().find(|utxo| utxo.output.owners().addresses == owner).unwrap()
}

/// Any ID.
pub(super) fn some_id(text: &str) -> Id {
    Id::sha256(text.as_bytes())
}
