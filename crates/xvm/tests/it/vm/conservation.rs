//! No sequence of transactions creates units but by its minters' signatures, and the native asset shrinks by burnt
//! amounts only.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use esker_primitives::codec::Decode;
use esker_primitives::keys::PrivateKey;
use esker_primitives::{AssetId, ChainId};
use esker_transactions::xvm::{
    Block, CreateAssetTx, InitialState, Operation, OperationTx, Tx, UnsignedTx,
};
use esker_utxo::{
    FxKind, FxOperation, NftMintOperation, NftTransferOperation, NftTransferOutput, Output,
    OutputOwners, PropertyMintOperation, SecpMintOperation, TransferOutput, Utxo,
};
use esker_xvm::Xvm;
use esker_xvm::state::tables::visit_utxos;
use proptest::prelude::*;

use super::shared::{export, exported_to, import};
use super::world::{
    FEE, SUPPLY, World, address, base, fund, key, native_id, output, sign, transfer, utxos_of,
};

/// Something that a user may try.
#[derive(Clone, Debug)]
enum Action {
    Transfer {
        from: u8,
        amount: u64,
        to: u8,
    },
    /// Signed by someone else.
    Steal {
        from: u8,
        by: u8,
    },
    /// More out than in.
    Inflate {
        from: u8,
        extra: u64,
    },
    Create {
        by: u8,
        amount: u64,
    },
    MintAmount {
        by: [u8; 2],
        amount: u64,
    },
    MintNft {
        by: u8,
        copies: u8,
    },
    MoveNft {
        by: u8,
        to: u8,
    },
    MintProperty {
        by: u8,
        to: u8,
    },
    BurnProperty {
        by: u8,
    },
    Export {
        from: u8,
        amount: u64,
        to: u8,
    },
    Import {
        by: u8,
    },
    Accept,
}

fn actions() -> impl Strategy<Value = Action> {
    let who = || 1u8..5;
    let amount = || 1u64..2_000_000;
    prop_oneof![
        3 => (who(), amount(), who()).prop_map(|(from, amount, to)| Action::Transfer { from, amount, to }),
        1 => (who(), who()).prop_map(|(from, by)| Action::Steal { from, by }),
        1 => (who(), amount()).prop_map(|(from, extra)| Action::Inflate { from, extra }),
        1 => (who(), amount()).prop_map(|(by, amount)| Action::Create { by, amount }),
        2 => ([who(), who()], amount()).prop_map(|(by, amount)| Action::MintAmount { by, amount }),
        2 => (who(), 0u8..4).prop_map(|(by, copies)| Action::MintNft { by, copies }),
        2 => (who(), who()).prop_map(|(by, to)| Action::MoveNft { by, to }),
        2 => (who(), who()).prop_map(|(by, to)| Action::MintProperty { by, to }),
        1 => who().prop_map(|by| Action::BurnProperty { by }),
        2 => (who(), amount(), who()).prop_map(|(from, amount, to)| Action::Export { from, amount, to }),
        2 => who().prop_map(|by| Action::Import { by }),
        2 => Just(Action::Accept),
    ]
}

/// Whether someone can pay the fee and an amount of the native asset.
fn can_pay(vm: &Xvm, who: u8, amount: u64) -> bool {
    let native = native_id(vm);
    let held: u64 = utxos_of(vm, &address(who))
        .iter()
        .filter(|utxo| utxo.asset_id == native)
        .filter_map(|utxo| utxo.output.as_transfer())
        .map(|out| out.amount)
        .sum();
    held >= amount + 2 * FEE
}

/// A UTXO of an asset that fits, wherever it is.
fn find(vm: &Xvm, asset: AssetId, fits: impl Fn(&Output) -> bool) -> Option<Utxo> {
    all_utxos(vm).into_iter().find(|utxo| utxo.asset_id == asset && fits(&utxo.output))
}

fn all_utxos(vm: &Xvm) -> Vec<Utxo> {
    let reader = vm.context().store.snapshot().unwrap();
    let mut all = Vec::new();
    visit_utxos(reader.as_ref(), vm.context().scope, |bytes| {
        all.push(Utxo::from_versioned_bytes(bytes, usize::MAX).unwrap());
        ControlFlow::Continue(())
    })
    .unwrap();
    all
}

/// A transaction of one operation; the fee is paid by the first of `by`, the operation signed by all of them.
fn operation(vm: &Xvm, utxo: &Utxo, op: FxOperation, by: &[u8]) -> Tx {
    let (inputs, change) = fund(vm, by[0], &[(native_id(vm), FEE)]);
    let fx = op.fx();
    let operation = Operation { asset_id: utxo.asset_id, utxo_ids: vec![utxo.utxo_id], op };
    let keys: Vec<PrivateKey> = by.iter().map(|number| key(*number)).collect();
    let mut signers: Vec<(FxKind, Vec<&PrivateKey>)> =
        inputs.iter().map(|_| (FxKind::Secp256k1, vec![&keys[0]])).collect();
    signers.push((fx, keys.iter().collect()));
    let base = base(vm, inputs, change);
    Tx::sign(UnsignedTx::Operation(OperationTx { base, operations: vec![operation] }), &signers)
}

/// Signature indices of signers among owners, where they are owners, and the signers in that order.
fn indices(owners: &OutputOwners, by: &BTreeSet<u8>) -> (Vec<u32>, Vec<u8>) {
    let mut found: Vec<(u32, u8)> = (0u32..)
        .zip(&owners.addresses)
        .flat_map(|(at, owner)| {
            by.iter().filter(move |n| address(**n) == *owner).map(move |n| (at, *n))
        })
        .collect();
    if found.is_empty() {
        // Someone who owns nothing tries to sign as the first owner.
        found = by.iter().take(1).map(|n| (0, *n)).collect();
    }
    found.sort_unstable();
    found.into_iter().unzip()
}

/// A transaction that a user submits, and whether it must be refused; `None` if the action is not possible.
fn make(vm: &Xvm, other: ChainId, action: &Action) -> Option<(Tx, bool)> {
    let native = native_id(vm);
    let named = |alias: &str| vm.assets().lookup(alias).unwrap();
    let payer = |who: u8| can_pay(vm, who, 0).then_some(who);
    match action {
        Action::Accept => None,
        Action::Transfer { from, amount, to } => {
            can_pay(vm, *from, *amount).then(|| (transfer(vm, *from, native, *amount, *to), false))
        }
        Action::Steal { from, by } => {
            payer(*from)?;
            let (inputs, change) = fund(vm, *from, &[(native, FEE)]);
            Some((sign(UnsignedTx::Base(base(vm, inputs, change)), *by), from != by))
        }
        Action::Inflate { from, extra } => {
            payer(*from)?;
            let (inputs, mut change) = fund(vm, *from, &[(native, FEE)]);
            change.push(output(native, *extra, address(*from)));
            Some((sign(UnsignedTx::Base(base(vm, inputs, change)), *from), true))
        }
        Action::Create { by, amount } => {
            payer(*by)?;
            Some((create(vm, *by, *amount), false))
        }
        Action::MintAmount { by, amount } => {
            let utxo = find(vm, named("VAR"), |out| matches!(out, Output::SecpMint(_)))?;
            let owners = utxo.output.owners().clone();
            let (mint_input, signers) = indices(&owners, &BTreeSet::from(*by));
            payer(*signers.first()?)?;
            // Two of the keys 1, 2 and 3 mint.
            let allowed = BTreeSet::from(*by).into_iter().filter(|n| *n <= 3).count() == 2;
            let op = FxOperation::SecpMint(SecpMintOperation {
                mint_input,
                mint_output: owners,
                transfer_output: TransferOutput {
                    amount: *amount,
                    owners: OutputOwners::single(address(by[0])),
                },
            });
            Some((operation(vm, &utxo, op, &signers), !allowed))
        }
        Action::MintNft { by, copies } => {
            let utxo = find(vm, named("NFT"), |out| matches!(out, Output::NftMint(_)))?;
            payer(*by)?;
            let op = FxOperation::NftMint(NftMintOperation {
                mint_input: vec![0],
                group_id: 0,
                payload: vec![7],
                outputs: (0..*copies).map(|_| OutputOwners::single(address(*by))).collect(),
            });
            Some((operation(vm, &utxo, op, &[*by]), *by != 1))
        }
        Action::MoveNft { by, to } => {
            let utxo = find(vm, named("NFT"), |out| matches!(out, Output::NftTransfer(_)))?;
            payer(*by)?;
            let owned = utxo.output.owners().addresses == [address(*by)];
            let op = FxOperation::NftTransfer(NftTransferOperation {
                input: vec![0],
                output: NftTransferOutput {
                    group_id: 0,
                    payload: vec![7],
                    owners: OutputOwners::single(address(*to)),
                },
            });
            Some((operation(vm, &utxo, op, &[*by]), !owned))
        }
        Action::MintProperty { by, to } => {
            let utxo = find(vm, named("PRP"), |out| matches!(out, Output::PropertyMint(_)))?;
            payer(*by)?;
            let op = FxOperation::PropertyMint(PropertyMintOperation {
                mint_input: vec![0],
                mint_output: utxo.output.owners().clone(),
                owned_output: OutputOwners::single(address(*to)),
            });
            Some((operation(vm, &utxo, op, &[*by]), *by != 1))
        }
        Action::BurnProperty { by } => {
            let utxo = find(vm, named("PRP"), |out| matches!(out, Output::PropertyOwned(_)))?;
            payer(*by)?;
            let owned = utxo.output.owners().addresses == [address(*by)];
            Some((operation(vm, &utxo, FxOperation::PropertyBurn(vec![0]), &[*by]), !owned))
        }
        Action::Export { from, amount, to } => can_pay(vm, *from, *amount)
            .then(|| (export(vm, *from, native, *amount, (other, *to)), false)),
        Action::Import { by } => {
            let utxos = exported_to(vm, other, *by);
            let amount: u64 =
                utxos.iter().map(|utxo| utxo.output.as_transfer().unwrap().amount).sum();
            (amount > FEE).then(|| (import(vm, other, &utxos, *by, *by), false))
        }
    }
}

/// A new asset, of which its maker has all.
fn create(vm: &Xvm, by: u8, amount: u64) -> Tx {
    let (inputs, change) = fund(vm, by, &[(native_id(vm), 2 * FEE)]);
    let holding = TransferOutput { amount, owners: OutputOwners::single(address(by)) };
    let outputs = vec![Output::SecpTransfer(holding)];
    let unsigned = UnsignedTx::CreateAsset(CreateAssetTx {
        base: base(vm, inputs, change),
        name: b"thing".to_vec(),
        symbol: b"THG".to_vec(),
        denomination: 0,
        states: vec![InitialState { fx_index: 0, outputs }],
    });
    sign(unsigned, by)
}

/// The supply of each kind of thing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Supply {
    amounts: BTreeMap<AssetId, u64>,
    nfts: u64,
    properties: u64,
    mint_rights: BTreeMap<u32, u64>,
}

impl Supply {
    fn add(&mut self, utxo: &Utxo) {
        match &utxo.output {
            Output::SecpTransfer(out) => {
                *self.amounts.entry(utxo.asset_id).or_default() += out.amount;
            }
            Output::NftTransfer(_) => self.nfts += 1,
            Output::PropertyOwned(_) => self.properties += 1,
            Output::SecpMint(_) | Output::NftMint(_) | Output::PropertyMint(_) => {
                *self.mint_rights.entry(utxo.output.type_id()).or_default() += 1;
            }
        }
    }
}

fn existing(world: &World) -> Supply {
    let mut supply = Supply::default();
    for vm in [&world.x, &world.y] {
        all_utxos(vm).iter().for_each(|utxo| supply.add(utxo));
    }
    let (x, y) = (world.x.context().chain_id, world.y.context().chain_id);
    for number in 1..5 {
        exported_to(&world.x, y, number).iter().for_each(|utxo| supply.add(utxo));
        exported_to(&world.y, x, number).iter().for_each(|utxo| supply.add(utxo));
    }
    supply
}

/// The supply that must exist after the accepted blocks, by their transactions: the genesis, less the burned amounts,
/// plus the created and minted ones.
fn accounted(world: &World) -> Supply {
    let mut supply = Supply::default();
    let native = native_id(&world.x);
    supply.amounts.insert(native, 2 * SUPPLY);
    for alias in ["NFT", "PRP", "VAR"] {
        let id = world.x.assets().lookup(alias).unwrap();
        let tx = world.x.view().unwrap().tx(&id).unwrap().unwrap();
        tx.produced_utxos().for_each(|utxo| supply.add(&utxo));
    }
    let blocks = world.bundles.iter().flat_map(|bundle| &bundle.blocks);
    for tx in blocks.flat_map(|(_, bytes)| Block::parse(bytes).unwrap().txs().to_vec()) {
        account(&mut supply, &tx, native);
    }
    supply
}

fn account(supply: &mut Supply, tx: &Tx, native: AssetId) {
    let unsigned = tx.unsigned();
    let consumed: u64 = unsigned
        .base()
        .inputs
        .iter()
        .chain(unsigned.imported_inputs())
        .filter(|input| input.asset_id == native)
        .map(|input| input.input.amount)
        .sum();
    let produced: u64 = unsigned
        .base()
        .outputs
        .iter()
        .chain(unsigned.exported_outputs())
        .filter(|out| out.asset_id == native)
        .map(|out| out.output.amount)
        .sum();
    assert!(consumed >= produced + FEE, "{tx:?}");
    *supply.amounts.get_mut(&native).unwrap() -= consumed - produced;
    if let UnsignedTx::CreateAsset(create) = unsigned {
        for output in create.states.iter().flat_map(|state| &state.outputs) {
            supply.amounts.insert(tx.id(), output.as_transfer().unwrap().amount);
        }
    }
    for operation in unsigned.operations() {
        match &operation.op {
            FxOperation::SecpMint(mint) => {
                *supply.amounts.entry(operation.asset_id).or_default() +=
                    mint.transfer_output.amount;
            }
            FxOperation::NftMint(mint) => {
                supply.nfts += mint.outputs.len() as u64;
                let right = Output::NftMint(esker_utxo::NftMintOutput::default()).type_id();
                let left = supply.mint_rights.get_mut(&right).unwrap();
                *left -= 1;
                if *left == 0 {
                    supply.mint_rights.remove(&right);
                }
            }
            FxOperation::NftTransfer(_) => {}
            FxOperation::PropertyMint(_) => supply.properties += 1,
            FxOperation::PropertyBurn(_) => supply.properties -= 1,
        }
    }
}

async fn play(actions: Vec<(bool, Action)>) -> World {
    let mut world = World::new();
    for (on_x, action) in actions {
        if matches!(action, Action::Accept) {
            world.settle().await;
            assert_eq!(existing(&world), accounted(&world));
            continue;
        }
        let needs_x = matches!(
            action,
            Action::MintAmount { .. }
                | Action::MintNft { .. }
                | Action::MoveNft { .. }
                | Action::MintProperty { .. }
                | Action::BurnProperty { .. }
        );
        let (vm, other) = if on_x || needs_x {
            (&world.x, world.y.context().chain_id)
        } else {
            (&world.y, world.x.context().chain_id)
        };
        if let Some((tx, must_fail)) = make(vm, other, &action) {
            let outcome = vm.issue(tx.bytes());
            assert!(!must_fail || outcome.is_err(), "{action:?} was taken");
            if let Err(error) = outcome
                && !must_fail
            {
                // Nothing but a conflict with what waits stands in the way.
                assert!(error.to_string().contains("conflicts"), "{action:?}: {error}");
            }
        }
    }
    world.settle().await;
    assert_eq!(existing(&world), accounted(&world));
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_conserves_what_exists(
        actions in prop::collection::vec((any::<bool>(), actions()), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let world = runtime.block_on(play(actions));
        // And the rows of the state are what the blocks alone make.
        runtime.block_on(super::replay::check_replay(&world));
    }

    /// A changed copy of a valid transaction is refused, or it is the same transaction.
    #[test]
    fn a_changed_transaction_is_refused(
        kind in 0u8..4,
        at in any::<prop::sample::Index>(),
        flip in 1u8..=255,
    ) {
        let world = World::new();
        let vm = &world.x;
        let other = world.y.context().chain_id;
        let action = match kind {
            0 => Action::Transfer { from: 1, amount: 5, to: 2 },
            1 => Action::Create { by: 1, amount: 5 },
            2 => Action::MintNft { by: 1, copies: 2 },
            _ => Action::Export { from: 1, amount: 5, to: 2 },
        };
        let (tx, _) = make(vm, other, &action).unwrap();
        let mut bytes = tx.bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(vm.issue(&bytes).is_err(), "byte {at} changed by {flip}");
        vm.issue(tx.bytes()).unwrap();
    }
}

/// The actions do what their names say: none of them is idle in the sequences above.
#[tokio::test]
async fn each_action_takes_place() {
    let steps = [
        Action::Transfer { from: 1, amount: 5_000_000, to: 4 },
        Action::Steal { from: 1, by: 2 },
        Action::Inflate { from: 2, extra: 7 },
        Action::Create { by: 2, amount: 9 },
        Action::MintAmount { by: [1, 3], amount: 11 },
        Action::MintAmount { by: [1, 4], amount: 11 },
        Action::MintNft { by: 2, copies: 2 },
        Action::MintNft { by: 1, copies: 2 },
        Action::MoveNft { by: 1, to: 3 },
        Action::MintProperty { by: 1, to: 2 },
        Action::BurnProperty { by: 1 },
        Action::BurnProperty { by: 2 },
        Action::Export { from: 3, amount: 5000, to: 4 },
    ];
    let there = steps.into_iter().flat_map(|step| [(true, step), (true, Action::Accept)]);
    let back = [(false, Action::Import { by: 4 }), (true, Action::Accept)];
    let world = play(there.chain(back).collect()).await;
    let blocks = world.bundles.iter().flat_map(|bundle| &bundle.blocks);
    let kinds: Vec<&str> = blocks
        .flat_map(|(_, bytes)| Block::parse(bytes).unwrap().txs().to_vec())
        .flat_map(|tx| match tx.unsigned() {
            UnsignedTx::Base(_) => vec!["transfer"],
            UnsignedTx::CreateAsset(_) => vec!["create"],
            UnsignedTx::Import(_) => vec!["import"],
            UnsignedTx::Export(_) => vec!["export"],
            UnsignedTx::Operation(tx) => tx.operations.iter().map(|op| name(&op.op)).collect(),
        })
        .collect();
    let expected = [
        "transfer",
        "create",
        "mint",
        "mint NFTs",
        "move NFT",
        "mint property",
        "burn",
        "export",
        "import",
    ];
    assert_eq!(kinds, expected);
    let left = existing(&world);
    assert_eq!((left.nfts, left.properties), (2, 0));
}

fn name(op: &FxOperation) -> &'static str {
    match op {
        FxOperation::SecpMint(_) => "mint",
        FxOperation::NftMint(_) => "mint NFTs",
        FxOperation::NftTransfer(_) => "move NFT",
        FxOperation::PropertyMint(_) => "mint property",
        FxOperation::PropertyBurn(_) => "burn",
    }
}
