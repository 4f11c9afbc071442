//! Transactions built from keys: those that the reference built, and what it refuses.

use std::ops::ControlFlow;

use alloy_primitives::{Address, U256, address};
use esker_nat::wallet::{AccountFunds, Import, Payer, TxParams, export};
use esker_primitives::keys::PrivateKey;
use esker_primitives::network::LOCAL_ID;
use esker_primitives::{AssetId, ChainId, ShortId, TxId};
use esker_testkit::chains::world::{ONE, account, key, well_known};
use esker_transactions::nat::{AtomicTx, BASE_GAS, UnsignedAtomicTx, dynamic_fee};
use esker_utxo::{Keychain, Output, OutputOwners, TransferOutput, Utxo, UtxoId};

const OTHER: AssetId = AssetId::new([7; 32]);

fn x() -> ChainId {
    "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed".parse().unwrap()
}

/// The C-Chain of the local network.
fn terms(base_fee: u64) -> TxParams {
    TxParams {
        network_id: LOCAL_ID,
        chain_id: "2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC".parse().unwrap(),
        native: "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe".parse().unwrap(),
        base_fee: U256::from(base_fee),
    }
}

fn utxo(number: u8, asset_id: AssetId, amount: u64, owners: OutputOwners) -> Utxo {
    let utxo_id = UtxoId { tx_id: TxId::new([number; 32]), output_index: 0 };
    Utxo { utxo_id, asset_id, output: Output::SecpTransfer(TransferOutput { amount, owners }) }
}

fn native(number: u8, amount: u64, owner: u8) -> Utxo {
    utxo(number, terms(0).native, amount, OutputOwners::single(key(owner).address()))
}

/// The import of these UTXOs by these keys at 1 gwei and at second 1000.
fn import(utxos: &[Utxo], keys: &[u8]) -> Result<AtomicTx, String> {
    let keys: Keychain = keys.iter().map(|number| key(*number)).collect();
    let mut import = Import::new(terms(ONE), x(), &keys, 1000);
    for utxo in utxos {
        if import.offer(utxo).map_err(|error| error.to_string())?.is_break() {
            break;
        }
    }
    import.build(account(&key(9))).map_err(|error| error.to_string())
}

/// Number of inputs, amounts of the outputs.
fn shape(tx: &AtomicTx) -> (usize, Vec<u64>) {
    match tx.unsigned() {
        UnsignedAtomicTx::Import(tx) => {
            (tx.imported_inputs.len(), tx.outputs.iter().map(|out| out.amount).collect())
        }
        UnsignedAtomicTx::Export(tx) => {
            (tx.inputs.len(), tx.inputs.iter().map(|input| input.amount).collect())
        }
    }
}

/// c/nat-keys-1 of the recordings.
#[test]
fn the_reference_built_the_same() {
    let keys: Keychain = [well_known()].into_iter().collect();
    let exported = Utxo {
        utxo_id: UtxoId {
            tx_id: "2TTF5Sx2omnJKr68Ukt1WMpMfjXcAUVQb1HFYkMFZKtczNqgTR".parse().unwrap(),
            output_index: 1,
        },
        asset_id: terms(0).native,
        output: Output::SecpTransfer(TransferOutput {
            amount: 5 * ONE,
            owners: OutputOwners::single(well_known().address()),
        }),
    };
    let mut import = Import::new(terms(0x0417_bce6_c800), x(), &keys, 1000);
    assert_eq!(import.offer(&exported).unwrap(), ControlFlow::Continue(()));
    let imported = import.build(address!("1563915e194d8cfba1943570603f7606a3115508")).unwrap();
    assert_eq!(imported.id().to_string(), "2HY5XTWzVSsRnzpgTrBrsJWhfsFXf2KyMgLyprSePtSEgAFqhy");
    let own = well_known().address();
    let another = "Q1pE5vPGEEMqRcVRMbtBK842Y6PxkBi5K".parse().unwrap();
    for (nonce, chain, to, amount, id) in [
        (0, x(), own, ONE, "ZLJp4YWrLvcWyTHWJdGiF7Qu2ndwnc6CvRJGdhT8x49Zkjhx6"),
        (1, ChainId::ZERO, own, 2 * ONE, "TC4AXTpysyhCZN3ccFXUDsF1JZsTgXfhr9jfvMaabCUrMyHuv"),
        (2, x(), another, ONE, "26Zk8B9sYgC1jeBkQshcsmnQZx84tsVeYzK4MHHA55XttvCXM"),
    ] {
        let funds = |_: &Address, _: &AssetId| Ok(AccountFunds { amount: u64::MAX, nonce });
        let payer = Payer { keys: &[well_known()], funds: &funds };
        let terms = terms(0x2d79_883d_2000);
        let tx = export(terms, chain, to, (terms.native, amount), payer).unwrap();
        assert_eq!(tx.id().to_string(), id);
    }
}

#[test]
fn an_import_takes_what_the_keys_can_spend() {
    let shared = |threshold, locktime| OutputOwners {
        locktime,
        threshold,
        addresses: {
            let mut owners: Vec<ShortId> = [1, 2, 3].map(|n| key(n).address()).into();
            owners.sort();
            owners
        },
    };
    let asset = terms(0).native;
    let two_of_three = utxo(5, asset, ONE, shared(2, 0));
    let locked = utxo(6, asset, ONE, shared(1, 1001));
    let due = utxo(7, asset, ONE, shared(1, 1000));
    let all = [native(9, ONE, 1), native(8, ONE, 4), two_of_three, locked, due];
    for (keys, inputs) in [(&[1][..], 2), (&[4], 1), (&[1, 3], 3), (&[1, 2, 3, 4], 4)] {
        let tx = import(&all, keys).unwrap();
        let fee = tx.fee(U256::from(ONE)).unwrap().0;
        assert_eq!(shape(&tx), (inputs, vec![inputs as u64 * ONE - fee]), "{keys:?}");
    }
    assert_eq!(import(&all, &[5]).unwrap_err(), "insufficient AVAX funds to pay transaction fee");
}

#[test]
fn an_import_that_hardly_pays() {
    // One input, no output; one output more; one billionth more.
    let without = dynamic_fee(BASE_GAS + 1170, U256::from(ONE)).unwrap().0;
    let with = without + 60;
    for (amount, outcome) in [
        (without - 1, Err("insufficient AVAX funds to pay transaction fee")),
        (without, Err("tx has no EVM outputs")),
        (with, Err("tx has no EVM outputs")),
        (with + 1, Ok((1, vec![1]))),
    ] {
        let built = import(&[native(1, amount, 1)], &[1]);
        let built = built.as_ref().map(shape).map_err(String::as_str);
        assert_eq!(built, outcome, "{amount}");
    }
    // Another asset is imported whole, and what is left of the native one is burned.
    let coin = utxo(2, OTHER, 77, OutputOwners::single(key(1).address()));
    let tx = import(&[coin, native(1, 12_370, 1)], &[1]).unwrap();
    assert_eq!(shape(&tx), (2, vec![77]));
    let owners = OutputOwners::single(key(1).address());
    let overflowing = [native(1, u64::MAX, 1), utxo(2, terms(0).native, 1, owners)];
    assert_eq!(import(&overflowing, &[1]).unwrap_err(), "overflow");
}

#[test]
fn an_import_takes_no_more_than_a_block_can_hold() {
    let many: Vec<Utxo> = (1..=120).map(|number| native(number, ONE, 1)).collect();
    let tx = import(&many, &[1]).unwrap();
    let (inputs, _) = shape(&tx);
    assert_eq!(inputs, 82);
    assert!(tx.gas() <= 100_000 && tx.gas() + 1088 > 100_000, "{}", tx.gas());
}

#[test]
fn an_export_takes_from_one_account_after_the_other() {
    let keys = [key(1), key(2), key(3)];
    let holds = |amounts: [u64; 3]| {
        move |address: &Address, asset: &AssetId| {
            let place = [key(1), key(2), key(3)].iter().position(|key| account(key) == *address);
            let amount = if *asset == OTHER { 5 } else { amounts[place.unwrap()] };
            Ok(AccountFunds { amount, nonce: place.unwrap() as u64 })
        }
    };
    let build = |amounts, asset, amount| {
        let funds = holds(amounts);
        let payer = Payer { keys: &keys, funds: &funds };
        export(terms(ONE), x(), key(4).address(), (asset, amount), payer)
    };
    let asset = terms(0).native;
    // 11,230 for one input, 1,068 for each more. The second holds just what its input costs, and is passed over.
    let tx = build([20_000, 1068, 20_000], asset, 15_000).unwrap();
    let fee = 11_230 + 1068;
    let (inputs, mut amounts) = shape(&tx);
    amounts.sort_unstable();
    assert_eq!((inputs, amounts), (2, vec![15_000 + fee - 20_000, 20_000]));
    assert_eq!(tx.burned(&asset).unwrap(), tx.fee(U256::from(ONE)).unwrap().0);
    for (amounts, amount, fits) in [
        ([20_000, 0, 0], 20_000 - 11_230, true),
        ([20_000, 0, 0], 20_000 - 11_229, false),
        ([0, 0, 0], 1, false),
        ([20_000, 20_000, 20_000], 60_000 - 11_230 - 2 * 1068, true),
        ([20_000, 20_000, 20_000], 60_000 - 11_229 - 2 * 1068, false),
    ] {
        let built = build(amounts, asset, amount).map(|_| ()).map_err(|error| error.to_string());
        let refused = "couldn't generate tx inputs/signers: insufficient funds";
        assert_eq!(built, if fits { Ok(()) } else { Err(refused.to_owned()) }, "{amounts:?}");
    }
    // Another asset: its own inputs, and the fee's.
    let tx = build([20_000, 0, 0], OTHER, 12).unwrap();
    let (inputs, mut amounts) = shape(&tx);
    amounts.sort_unstable();
    assert_eq!((inputs, amounts), (4, vec![2, 5, 5, 10_162 + 4 * 1068]));
    assert!(build([20_000, 0, 0], OTHER, 16).is_err());
    let overflow = build([u64::MAX; 3], asset, u64::MAX).unwrap_err().to_string();
    assert_eq!(overflow, "couldn't generate tx inputs/signers: overflow");
}

#[test]
fn a_base_fee_beyond_all_amounts() {
    let mut terms = terms(0);
    terms.base_fee = U256::MAX;
    let keys: Keychain = [key(1)].into_iter().collect();
    let mut import = Import::new(terms, x(), &keys, 1000);
    assert!(import.offer(&native(1, ONE, 1)).unwrap().is_continue());
    let text = "overflow occurred while calculating the fee";
    assert_eq!(import.build(Address::ZERO).unwrap_err().to_string(), text);
    let funds = |_: &Address, _: &AssetId| Ok(AccountFunds::default());
    let keys: [PrivateKey; 1] = [key(1)];
    let payer = Payer { keys: &keys, funds: &funds };
    let refused = export(terms, x(), key(1).address(), (terms.native, 1), payer).unwrap_err();
    assert_eq!(refused.to_string(), format!("couldn't generate tx inputs/signers: {text}"));
}
