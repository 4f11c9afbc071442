//! Transactions that the wallet builds, checked without a node.

use esker_primitives::keys::PrivateKey;
use esker_primitives::{AssetId, ChainId, Id, ShortId};
use esker_transactions::xvm::{InitialState, Tx, UnsignedTx};
use esker_utxo::{Output, OutputOwners, TransferOutput, Utxo, UtxoId};
use esker_xvm::verify::syntactic::{self, Params};

use super::{ChainParams, MAX_FEE, Wallet, WalletError};

const FEE: u64 = 10;
const NOW_S: u64 = 1000;

fn key(n: u8) -> PrivateKey {
    PrivateKey::from_slice(&[n; 32]).unwrap()
}

fn native() -> AssetId {
    Id::sha256(b"native")
}

fn params() -> ChainParams {
    ChainParams {
        network_id: 12345,
        chain_id: Id::sha256(b"chain"),
        alias: "X".to_owned(),
        hrp: "local".to_owned(),
        fee_asset_id: native(),
        tx_fee: FEE,
        create_asset_fee: FEE,
    }
}

fn coin(n: u32, amount: u64, owners: OutputOwners) -> Utxo {
    Utxo {
        utxo_id: UtxoId { tx_id: Id::sha256(&n.to_be_bytes()), output_index: n },
        asset_id: native(),
        output: Output::SecpTransfer(TransferOutput { amount, owners }),
    }
}

fn owners(threshold: u32, locktime: u64, keys: &[u8]) -> OutputOwners {
    let mut addresses: Vec<ShortId> = keys.iter().map(|n| key(*n).address()).collect();
    addresses.sort();
    OutputOwners { locktime, threshold, addresses }
}

/// A wallet of the keys 1 and 2.
fn wallet(utxos: Vec<Utxo>) -> Wallet {
    let mut wallet = Wallet::new(params(), key(1), vec![key(2)], NOW_S);
    wallet.add_utxos(utxos);
    wallet
}

/// Everything that the chain asks of a transaction without state.
fn assert_well_formed(tx: &Tx) {
    let ChainParams { network_id, chain_id, fee_asset_id, tx_fee, create_asset_fee, .. } = params();
    let params = Params {
        network_id,
        chain_id,
        fee_asset_id,
        tx_fee,
        create_asset_tx_fee: create_asset_fee,
        fx_count: 3,
    };
    syntactic::verify(tx, &params).unwrap();
}

#[test]
fn largest_coins_pay_with_change() {
    let mut wallet =
        wallet((1..=5).map(|n| coin(n, u64::from(n) * 100, owners(1, 0, &[1]))).collect());
    let to = key(9).address();
    let tx = wallet.base_tx(vec![Wallet::output(native(), 600, to)], b"memo").unwrap();
    assert_well_formed(&tx);
    let base = tx.unsigned().base();
    assert_eq!(base.inputs.iter().map(|i| i.input.amount).sum::<u64>(), 900);
    assert_eq!(base.outputs.iter().map(|o| o.output.amount).sum::<u64>(), 900 - FEE);
    wallet.apply(&tx);
    assert_eq!(wallet.balance(&native()), 1500 - 600 - FEE);
    assert_eq!(wallet.coins().len(), 4);
}

#[test]
fn only_spendable_coins_count() {
    for (spendable, owners) in [
        (true, owners(1, 0, &[1, 9])),
        (true, owners(2, 0, &[1, 2, 9])),
        (true, owners(0, 0, &[])),
        (true, owners(1, NOW_S, &[2])),
        (false, owners(2, 0, &[1, 9])),
        (false, owners(1, NOW_S + 1, &[1])),
        (false, owners(1, 0, &[9])),
    ] {
        let wallet = wallet(vec![coin(1, 100, owners.clone())]);
        let tx = wallet.base_tx(Vec::new(), b"");
        assert_eq!(tx.is_ok(), spendable, "{owners:?}");
        assert_eq!(wallet.balance(&native()) > 0, spendable);
        if let Ok(tx) = tx {
            assert_well_formed(&tx);
            assert_eq!(
                tx.credentials()[0].signatures().len(),
                tx.unsigned().base().inputs[0].input.sig_indices.len()
            );
        }
    }
}

#[test]
fn insufficient_funds_show_the_amounts() {
    let wallet = wallet(vec![coin(1, 100, owners(1, 0, &[1]))]);
    let refused = wallet.base_tx(vec![Wallet::output(native(), 91, key(9).address())], b"");
    let wanted = WalletError::InsufficientFunds { asset: native(), wanted: 101, available: 100 };
    assert_eq!(refused.unwrap_err(), wanted);
    let outputs = [u64::MAX, 1].map(|amount| Wallet::output(native(), amount, key(9).address()));
    assert_eq!(wallet.base_tx(outputs.to_vec(), b"").unwrap_err(), WalletError::Overflow);
}

/// Each builder, with the fees of an altered answer.
#[test]
fn fees_above_the_limit_are_not_paid() {
    let rich = |fee| {
        let params = ChainParams { tx_fee: fee, create_asset_fee: fee, ..params() };
        let mint = Output::SecpMint(owners(1, 0, &[1]));
        let mut wallet = Wallet::new(params, key(1), vec![key(2)], NOW_S);
        wallet.add_utxos([coin(1, u64::MAX / 2, owners(1, 0, &[1]))]);
        wallet.add_utxos([Utxo { output: mint, ..coin(2, 0, owners(1, 0, &[1])) }]);
        wallet
    };
    let imported = [coin(3, u64::MAX / 2, owners(1, 0, &[1]))];
    let to = key(9).address();
    let build = |wallet: &Wallet| {
        [
            wallet.base_tx(vec![Wallet::output(native(), 1, to)], b""),
            wallet.create_asset("Name", "SYM", 0, Vec::new()),
            wallet.export(ChainId::ZERO, vec![Wallet::output(native(), 1, to)]),
            wallet.import(ChainId::ZERO, &imported, to),
            wallet.mint(native(), 1, to),
        ]
    };
    for tx in build(&rich(MAX_FEE)) {
        tx.unwrap();
    }
    let (fee, max) = (MAX_FEE + 1, MAX_FEE);
    for tx in build(&rich(fee)) {
        assert_eq!(tx.unwrap_err(), WalletError::Fee { fee, max });
    }
    for tx in build(&rich(fee).with_max_fee(fee)) {
        tx.unwrap();
    }
}

#[test]
fn an_import_pays_its_fee_out_of_itself() {
    let foreign = vec![coin(1, 30, owners(1, 0, &[1])), coin(2, 5, owners(1, 0, &[9]))];
    let tx = wallet(Vec::new()).import(ChainId::ZERO, &foreign, key(3).address()).unwrap();
    assert_well_formed(&tx);
    let UnsignedTx::Import(import) = tx.unsigned() else { panic!("an import") };
    assert_eq!((import.imported_inputs.len(), import.base.inputs.len()), (1, 0));
    assert_eq!(import.base.outputs, [Wallet::output(native(), 20, key(3).address())]);
    // Too small to pay for itself: the wallet's own coins add what is missing.
    let small = vec![coin(1, 4, owners(1, 0, &[1]))];
    let helped = wallet(vec![coin(7, 50, owners(1, 0, &[1]))]);
    let tx = helped.import(ChainId::ZERO, &small, key(3).address()).unwrap();
    assert_well_formed(&tx);
    assert_eq!(tx.unsigned().base().outputs[0].output.amount, 50 + 4 - FEE);
    assert_eq!(
        helped.import(ChainId::ZERO, &[], key(3).address()).unwrap_err(),
        WalletError::NothingToImport
    );
}

#[test]
fn exports_and_assets_are_well_formed() {
    let wallet = wallet((1..=3).map(|n| coin(n, 40, owners(1, 0, &[1]))).collect());
    let outputs = [9, 3, 5].map(|amount| Wallet::output(native(), amount, key(9).address()));
    assert_well_formed(&wallet.export(ChainId::ZERO, outputs.to_vec()).unwrap());
    // In the wrong order, which the wallet puts right.
    let minters = [&[2][..], &[1]].map(|keys| Output::SecpMint(owners(1, 0, keys))).to_vec();
    let state = |fx_index, outputs| InitialState { fx_index, outputs };
    let states = vec![state(1, Vec::new()), state(0, minters)];
    assert_well_formed(&wallet.create_asset("Name", "SYM", 0, states).unwrap());
    assert_eq!(
        wallet.mint(native(), 1, key(9).address()).unwrap_err(),
        WalletError::NoAuthority(native())
    );
}
