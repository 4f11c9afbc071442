//! Building transactions for a user's keys: whatever UTXOs there are, nothing is spent that the keys can't spend,
//! nothing appears or is lost but the fee, and the chain's rules take what is built.

use std::collections::{BTreeMap, BTreeSet};

use esker_primitives::codec::Encode;
use esker_primitives::ids::{AssetId, Id, ShortId};
use esker_primitives::keys::PrivateKey;
use esker_transactions::xvm::{Tx, UnsignedTx};
use esker_utxo::fx::secp256k1;
use esker_utxo::{
    Keychain, NftMintOutput, NftTransferOutput, Output, OutputOwners, TransferOutput, Utxo, UtxoId,
};
use esker_xvm::verify::syntactic::{self, Params};
use esker_xvm::wallet::{
    Amounts, Coins, ImportLimits, NewAsset, Payer, SpendError, choose, mint, mint_nft, send_nft,
};
use proptest::prelude::*;

const NOW_S: u64 = 1_700_000_000;
const FEE: u64 = 100;
/// Keys 1 to 3 are the user's, 4 to 6 somebody else's.
const OWN: std::ops::RangeInclusive<u8> = 1..=3;

fn key(n: u8) -> PrivateKey {
    PrivateKey::from_slice(&[n; 32]).unwrap()
}

fn address(n: u8) -> ShortId {
    key(n).address()
}

fn asset(n: u8) -> AssetId {
    Id::sha256(&[b'a', n])
}

fn params() -> Params {
    Params {
        network_id: 12345,
        chain_id: Id::sha256(b"chain"),
        fee_asset_id: asset(0),
        tx_fee: FEE,
        create_asset_tx_fee: 3 * FEE,
        fx_count: 3,
    }
}

fn keychain() -> Keychain {
    OWN.map(key).collect()
}

fn owners(threshold: u32, named: &BTreeSet<u8>, locktime: u64) -> OutputOwners {
    let addresses: BTreeSet<ShortId> = named.iter().map(|n| address(*n)).collect();
    OutputOwners { locktime, threshold, addresses: addresses.into_iter().collect() }
}

fn utxo(n: usize, of: u8, output: Output) -> Utxo {
    let utxo_id = UtxoId { tx_id: Id::sha256(&n.to_be_bytes()), output_index: n as u32 % 3 };
    Utxo { utxo_id, asset_id: asset(of), output }
}

fn single(n: usize, of: u8, amount: u64, owner: u8) -> Utxo {
    let owners = OutputOwners::single(address(owner));
    utxo(n, of, Output::SecpTransfer(TransferOutput { amount, owners }))
}

fn arbitrary_output() -> impl Strategy<Value = (u8, Output)> {
    let named = proptest::collection::btree_set(1u8..=6, 1..4);
    let amount = prop_oneof![8 => 1u64..500, 1 => Just(u64::MAX), 1 => any::<u64>()];
    (0u8..3, amount, named, any::<u32>(), 0u8..8).prop_map(|(of, amount, named, n, kind)| {
        let threshold = n % named.len() as u32 + 1;
        let locktime = if kind == 1 { NOW_S + 1 } else { 0 };
        let owners = owners(threshold, &named, locktime);
        let output = match kind {
            0 => Output::SecpMint(owners),
            _ => Output::SecpTransfer(TransferOutput { amount: amount.max(1), owners }),
        };
        (of, output)
    })
}

fn arbitrary_utxos() -> impl Strategy<Value = Vec<Utxo>> {
    proptest::collection::vec(arbitrary_output(), 0..24).prop_map(|outputs| {
        (0..).zip(outputs).map(|(n, (of, output))| utxo(n, of, output)).collect()
    })
}

/// Units of an asset that the user could spend, one coin each.
fn spendable(utxos: &[Utxo], of: AssetId) -> Vec<u64> {
    let keys = keychain();
    let can = |utxo: &&Utxo| keys.signing_owners(utxo.output.owners(), NOW_S).is_some();
    let of_asset = utxos.iter().filter(|utxo| utxo.asset_id == of).filter(can);
    of_asset.filter_map(|utxo| utxo.output.as_transfer().map(|out| out.amount)).collect()
}

fn sums(amounts: impl Iterator<Item = (AssetId, u64)>) -> BTreeMap<AssetId, u128> {
    let mut sums = BTreeMap::new();
    for (asset, amount) in amounts {
        *sums.entry(asset).or_default() += u128::from(amount);
    }
    sums
}

/// Rules without state, signatures, and that all units but the fee are still there.
fn check(tx: &Tx, utxos: &[Utxo], fee: u64) {
    syntactic::verify(tx, &params()).unwrap();
    let unsigned = tx.unsigned();
    let inputs = unsigned.base().inputs.iter().chain(unsigned.imported_inputs());
    for (slot, input) in inputs.clone().enumerate() {
        let utxo = utxos.iter().find(|utxo| utxo.utxo_id == input.utxo_id).unwrap();
        assert_eq!(utxo.asset_id, input.asset_id);
        let witness = tx.witness(slot).unwrap();
        secp256k1::verify_transfer(&utxo.output, &input.input, witness, NOW_S).unwrap();
    }
    let consumed = sums(inputs.map(|input| (input.asset_id, input.input.amount)));
    let outputs = unsigned.base().outputs.iter().chain(unsigned.exported_outputs());
    let burned = [(params().fee_asset_id, fee)].into_iter();
    let produced = sums(outputs.map(|out| (out.asset_id, out.output.amount)).chain(burned));
    assert_eq!(consumed, produced);
    // The bytes of the built transaction decode to the same transaction.
    assert_eq!(Tx::parse(tx.bytes()).unwrap(), *tx);
}

fn payer<'a>(params: &'a Params, keys: &'a Keychain, coins: &'a dyn Coins) -> Payer<'a> {
    Payer { params, coins, keys, change: address(2), now_s: NOW_S }
}

struct Slice<'a>(&'a [Utxo]);

impl Coins for Slice<'_> {
    fn visit(
        &self,
        owners: &BTreeSet<ShortId>,
        visit: &mut esker_xvm::wallet::Visit<'_>,
    ) -> esker_storage::StorageResult<()> {
        self.0.visit(owners, visit)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn sends_conserve_every_asset(
        utxos in arbitrary_utxos(),
        sent in proptest::collection::vec((0u8..3, 1u64..600, 1u8..=6), 1..5),
    ) {
        let (params, keys, coins) = (params(), keychain(), Slice(&utxos));
        let sent: Vec<_> =
            sent.into_iter().map(|(of, amount, to)| (asset(of), amount, address(to))).collect();
        let mut wanted = sums(sent.iter().map(|(asset, amount, _)| (*asset, *amount)));
        *wanted.entry(params.fee_asset_id).or_default() += u128::from(FEE);
        match payer(&params, &keys, &coins).send(&sent, b"memo".to_vec()) {
            Ok(tx) => {
                check(&tx, &utxos, FEE);
                for (asset, amount, to) in &sent {
                    prop_assert!(tx.unsigned().base().outputs.iter().any(|out| out.asset_id == *asset
                        && out.output.amount == *amount
                        && out.output.owners == OutputOwners::single(*to)));
                }
                for input in &tx.unsigned().base().inputs {
                    prop_assert!(wanted.contains_key(&input.asset_id), "nothing unwanted is touched");
                }
            }
            Err(SpendError::InsufficientFunds { asset, wanted: reported, available }) => {
                prop_assert_eq!(u128::from(reported), wanted[&asset]);
                let held: u128 = spendable(&utxos, asset).into_iter().map(u128::from).sum();
                prop_assert_eq!(u128::from(available), held);
                prop_assert!(held < wanted[&asset]);
            }
            // There are too many units for one transaction to hold them.
            Err(SpendError::SpentOverflow) => {
                let held = [0, 1, 2].map(|of| spendable(&utxos, asset(of)).into_iter().map(u128::from).sum());
                prop_assert!(held.iter().any(|held: &u128| *held > u128::from(u64::MAX)));
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn the_first_coins_that_suffice_are_taken(utxos in arbitrary_utxos(), wanted in 1u64..2000) {
        let keys = keychain();
        let Ok(chosen) = choose(&Slice(&utxos), &keys, &Amounts::from([(asset(1), wanted)]), NOW_S)
        else {
            return Ok(());
        };
        // In the order of the coins, up to the first sum that is enough.
        let mut sum = 0u64;
        let mut expected = Vec::new();
        for utxo in utxos.iter().filter(|utxo| utxo.asset_id == asset(1)) {
            let signs = keys.signing_owners(utxo.output.owners(), NOW_S).is_some();
            if let (true, Some(out)) = (signs && sum < wanted, utxo.output.as_transfer())
                && let Some(more) = sum.checked_add(out.amount)
            {
                sum = more;
                expected.push(utxo.utxo_id);
            }
        }
        expected.sort();
        let taken: Vec<_> = chosen.inputs.iter().map(|(input, _)| input.utxo_id).collect();
        prop_assert_eq!(taken, expected);
        prop_assert_eq!(chosen.amount(&asset(1)), sum);
    }

    #[test]
    fn an_export_leaves_the_rest_here(utxos in arbitrary_utxos(), of in 0u8..3, amount in 1u64..600) {
        let (params, keys, coins) = (params(), keychain(), Slice(&utxos));
        let there = Id::sha256(b"there");
        if let Ok(tx) = payer(&params, &keys, &coins).export(there, (asset(of), amount), address(5)) {
            check(&tx, &utxos, FEE);
            let exported = tx.unsigned().exported_outputs();
            prop_assert_eq!(exported.len(), 1);
            prop_assert_eq!(exported[0].output.amount, amount);
            let here = &tx.unsigned().base().outputs;
            prop_assert!(here.iter().all(|out| out.output.owners == OutputOwners::single(address(2))));
        }
    }

    #[test]
    fn an_import_takes_all_that_fits(
        local in arbitrary_utxos(),
        exported in arbitrary_utxos(),
        max_bytes in 0usize..3000,
    ) {
        // Others than the local ones.
        let exported: Vec<Utxo> = (100..)
            .zip(exported)
            .map(|(n, old)| Utxo { utxo_id: utxo(n, 0, old.output.clone()).utxo_id, ..old })
            .collect();
        let (params, keys, coins) = (params(), keychain(), Slice(&local));
        let unknown = asset(2);
        let takes = |of: &AssetId| Ok(*of != unknown);
        let limits = ImportLimits { max_bytes, takes: &takes };
        let source = Id::sha256(b"there");
        let all: Vec<Utxo> = local.iter().chain(&exported).cloned().collect();
        match payer(&params, &keys, &coins).import(source, &Slice(&exported), &limits, address(5)) {
            Ok(tx) => {
                let imported = tx.unsigned().imported_inputs();
                if imported.is_empty() {
                    let refused = syntactic::verify(&tx, &params).unwrap_err();
                    prop_assert_eq!(refused.to_string(), "no import inputs");
                } else {
                    check(&tx, &all, FEE);
                }
                prop_assert!(imported.iter().all(|input| input.asset_id != unknown));
                let base = tx.unsigned().base();
                prop_assert!(base.outputs.iter().all(|o| o.output.owners == OutputOwners::single(address(5))));
                let alone = Tx::new(
                    UnsignedTx::Import(esker_transactions::xvm::ImportTx::default()), Vec::new(),
                );
                let of_inputs = base.inputs.iter().map(|i| i.to_versioned_bytes().len() + 8 + 65 * 3);
                let bytes = tx.bytes().len() - alone.bytes().len();
                prop_assert!(bytes <= max_bytes + 80 + of_inputs.sum::<usize>());
            }
            Err(SpendError::InsufficientFunds { asset: lacking, .. }) => {
                prop_assert_eq!(lacking, params.fee_asset_id);
            }
            Err(SpendError::SpentOverflow | SpendError::WantedOverflow) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

#[test]
fn sums_beyond_64_bits_are_errors() {
    let (params, keys) = (params(), keychain());
    let utxos = [single(0, 0, 5, 1), single(1, 0, u64::MAX, 1), single(2, 0, 20, 1)];
    let coins = Slice(&utxos);
    let payer = payer(&params, &keys, &coins);
    let send = |amounts: &[u64]| {
        let sent: Vec<_> =
            amounts.iter().map(|amount| (params.fee_asset_id, *amount, address(9))).collect();
        payer.send(&sent, Vec::new()).map_err(|error| error.to_string())
    };
    let wanted = "problem calculating required spend amount: overflow";
    assert_eq!(send(&[u64::MAX]).unwrap_err(), wanted);
    assert_eq!(send(&[u64::MAX, 1]).unwrap_err(), wanted);
    // 5 and 2^64-1 do not go together, 5 and 20 do not suffice.
    assert_eq!(send(&[1]).unwrap_err(), "spent amount overflows uint64");
    let utxos = [single(0, 0, 5, 1), single(1, 0, u64::MAX, 1), single(2, 0, 200, 1)];
    let coins = Slice(&utxos);
    let tx = Payer { coins: &coins, ..payer }
        .send(&[(params.fee_asset_id, 1, address(9))], Vec::new())
        .unwrap();
    assert_eq!(tx.unsigned().base().inputs.len(), 2);
}

#[test]
fn inputs_and_outputs_are_sorted_with_their_signers() {
    let (params, keys) = (params(), keychain());
    let both = BTreeSet::from([1, 2, 3]);
    let shared = TransferOutput { amount: 60, owners: owners(2, &both, 0) };
    let utxos = [single(7, 0, 50, 3), utxo(8, 0, Output::SecpTransfer(shared)), single(9, 1, 9, 1)];
    let coins = Slice(&utxos);
    let sent = [(asset(1), 4, address(6)), (asset(0), 1, address(6))];
    let tx = payer(&params, &keys, &coins).send(&sent, b"m".to_vec()).unwrap();
    check(&tx, &utxos, FEE);
    let base = tx.unsigned().base();
    assert_eq!(base.memo, b"m");
    assert_eq!((base.inputs.len(), base.outputs.len()), (3, 4));
    let signatures: Vec<_> = tx.credentials().iter().map(|c| c.signatures().len()).collect();
    let indices: Vec<_> = base.inputs.iter().map(|i| i.input.sig_indices.len()).collect();
    assert_eq!(signatures, indices);
}

#[test]
fn operations_take_the_first_output_that_allows_them() {
    let (params, keys) = (params(), keychain());
    let minters = |named: &[u8], threshold| {
        let named = named.iter().copied().collect();
        owners(threshold, &named, 0)
    };
    let nft_mint = |group_id, named: &[u8]| {
        Output::NftMint(NftMintOutput { group_id, owners: minters(named, 1) })
    };
    let nft = |group_id, owner: u8| {
        let owners = OutputOwners::single(address(owner));
        Output::NftTransfer(NftTransferOutput { group_id, payload: vec![7], owners })
    };
    let utxos = [
        single(0, 0, 1000, 1),
        utxo(1, 1, Output::SecpMint(minters(&[4, 5], 1))),
        utxo(2, 1, Output::SecpMint(minters(&[1, 4], 2))),
        utxo(3, 1, Output::SecpMint(minters(&[2, 4], 1))),
        utxo(4, 2, nft_mint(0, &[4])),
        utxo(5, 2, nft_mint(1, &[3])),
        utxo(6, 2, nft(0, 1)),
        utxo(7, 2, nft(1, 4)),
    ];
    let coins = Slice(&utxos);
    let paid = || payer(&params, &keys, &coins).pay(Amounts::new(), FEE).unwrap();
    let operated = |authorised| {
        let tx = paid().operate(&keys, authorised);
        syntactic::verify(&tx, &params).unwrap();
        tx.unsigned().operations()[0].clone()
    };
    let minted = operated(mint(&coins, &keys, (asset(1), 3), address(6), NOW_S).unwrap());
    assert_eq!(minted.utxo_ids, [utxos[3].utxo_id]);
    let minted =
        operated(mint_nft(&coins, &keys, &asset(2), b"p".to_vec(), address(6), NOW_S).unwrap());
    assert_eq!(minted.utxo_ids, [utxos[5].utxo_id]);
    let sent = operated(send_nft(&coins, &keys, (asset(2), 0), address(6), NOW_S).unwrap());
    assert_eq!(sent.utxo_ids, [utxos[6].utxo_id]);
    // Nobody's, or of another asset or group.
    let no_authority =
        "provided addresses don't have the authority to mint the provided asset".to_owned();
    let text = |result: Result<_, SpendError>| result.map(|_| ()).unwrap_err().to_string();
    assert_eq!(text(mint(&coins, &keys, (asset(2), 3), address(6), NOW_S)), no_authority);
    assert_eq!(text(mint_nft(&coins, &keys, &asset(1), vec![], address(6), NOW_S)), no_authority);
    for group in [1, 2] {
        let sent = send_nft(&coins, &keys, (asset(2), group), address(6), NOW_S);
        assert_eq!(text(sent), "insufficient funds");
    }
}

#[test]
fn an_asset_has_its_outputs_sorted() {
    let (params, keys) = (params(), keychain());
    let utxos = [single(0, 0, 1000, 1)];
    let coins = Slice(&utxos);
    let held = |amount, to| {
        Output::SecpTransfer(TransferOutput { amount, owners: OutputOwners::single(address(to)) })
    };
    let mint = Output::SecpMint(OutputOwners::single(address(1)));
    let new = NewAsset {
        name: b"Name".to_vec(),
        symbol: b"SYM".to_vec(),
        denomination: 3,
        fx_index: 0,
        outputs: vec![held(9, 1), held(2, 5), mint.clone()],
    };
    let paid = payer(&params, &keys, &coins).pay(Amounts::new(), 3 * FEE).unwrap();
    let tx = paid.create_asset(&keys, new);
    check(&tx, &utxos, 3 * FEE);
    let UnsignedTx::CreateAsset(created) = tx.unsigned() else { panic!("another type") };
    assert_eq!(created.states[0].outputs, [mint, held(2, 5), held(9, 1)]);
}
