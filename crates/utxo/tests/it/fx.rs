//! Rules of the three extensions: each refusal has its text, and earlier rules win over later ones.

use std::cell::RefCell;

use esker_primitives::ids::ShortId;
use esker_primitives::keys::{PrivateKey, Signature, SignatureError};
use esker_utxo::fx::{nft, property, secp256k1};
use esker_utxo::{
    CredentialSlot, FxError, FxKind, FxOperation, NftMintOperation, NftMintOutput,
    NftTransferOperation, NftTransferOutput, NonCredential, Output, OutputOwners,
    PropertyMintOperation, SecpMintOperation, SignerRecovery, Signers, TransferInput,
    TransferOutput, Witness,
};

const NOW_S: u64 = 1_000;
const HASH: [u8; 32] = [7; 32];

fn keys() -> Vec<PrivateKey> {
    let mut keys: Vec<_> = (1..=3_u8).map(|n| PrivateKey::from_slice(&[n; 32]).unwrap()).collect();
    keys.sort_by_key(PrivateKey::address);
    keys
}

fn addresses() -> Vec<ShortId> {
    keys().iter().map(PrivateKey::address).collect()
}

fn signature(key: usize) -> Signature {
    keys()[key].sign_hash(&HASH)
}

fn slot(fx: FxKind, signers: &[usize]) -> CredentialSlot {
    CredentialSlot::new(fx, signers.iter().map(|key| signature(*key)).collect())
}

/// Owners are all three keys.
fn owners(threshold: u32) -> OutputOwners {
    OutputOwners { locktime: 0, threshold, addresses: addresses() }
}

fn text(result: Result<(), FxError>) -> String {
    result.map_or_else(|error| error.to_string(), |()| "ok".to_owned())
}

fn with_witness(
    slot: &CredentialSlot,
    f: impl FnOnce(Witness<'_>) -> Result<(), FxError>,
) -> String {
    let signers = SignerRecovery { hash: &HASH, signatures: slot.signatures() };
    text(f(Witness { credential: slot, slot: 0, signers: &signers, allows_impersonation: false }))
}

#[track_caller]
fn transfer(owners: OutputOwners, indices: &[u32], slot: &CredentialSlot, expected: &str) {
    let utxo = Output::SecpTransfer(TransferOutput { amount: 5, owners });
    let input = TransferInput { amount: 5, sig_indices: indices.to_vec() };
    let got = with_witness(slot, |w| secp256k1::verify_transfer(&utxo, &input, w, NOW_S));
    assert_eq!(got, expected);
}

#[test]
fn transfers() {
    let secp = |signers: &[usize]| slot(FxKind::Secp256k1, signers);
    transfer(owners(1), &[0], &secp(&[0]), "ok");
    transfer(owners(2), &[0, 2], &secp(&[0, 2]), "ok");
    transfer(OutputOwners::default(), &[], &secp(&[]), "ok");
    let locked = |locktime| OutputOwners { locktime, ..owners(1) };
    transfer(locked(NOW_S), &[0], &secp(&[0]), "ok");
    transfer(locked(NOW_S + 1), &[0, 1], &secp(&[]), "output is time locked");
    transfer(owners(1), &[0, 1], &secp(&[]), "input has more signers than expected");
    transfer(owners(2), &[0], &secp(&[]), "input has less signers than expected");
    let mismatch = "input expected a different number of signers than provided in the credential";
    transfer(owners(1), &[7], &secp(&[]), mismatch);
    transfer(owners(1), &[0], &secp(&[0, 1]), mismatch);
    let nonexistent = "input referenced a nonexistent address in the output";
    transfer(owners(1), &[3], &secp(&[0]), nonexistent);
    transfer(owners(1), &[u32::MAX], &secp(&[0]), nonexistent);
    let wrong = format!(
        "wrong signature: expected signature from {} but got from {}",
        addresses()[1],
        addresses()[0]
    );
    transfer(owners(1), &[1], &secp(&[0]), &wrong);
    // The second signature is not looked at before the first is right.
    transfer(owners(2), &[1, 9], &secp(&[0, 0]), &wrong);
    transfer(owners(2), &[0, 9], &secp(&[0, 0]), nonexistent);
}

#[test]
fn transfers_of_wrong_kinds() {
    let wrong_credential = "wrong credential type";
    transfer(owners(1), &[0], &slot(FxKind::Nft, &[0]), wrong_credential);
    let foreign =
        CredentialSlot::NonCredential(Box::new(NonCredential::Input(TransferInput::default())));
    transfer(owners(1), &[0], &foreign, wrong_credential);
    let good = slot(FxKind::Secp256k1, &[0]);
    let input = TransferInput { amount: 5, sig_indices: vec![0] };
    let check = |utxo: &Output, input: &TransferInput| {
        with_witness(&good, |w| secp256k1::verify_transfer(utxo, input, w, NOW_S))
    };
    assert_eq!(check(&Output::SecpMint(owners(1)), &input), "wrong utxo type");
    let amount = |amount| Output::SecpTransfer(TransferOutput { amount, owners: owners(1) });
    assert_eq!(check(&amount(0), &input), "output has no value");
    assert_eq!(check(&amount(4), &input), "utxo amount and input amount are not equal: 4 != 5");
    assert_eq!(check(&amount(5), &TransferInput::default()), "input has no value");
    let unsorted = TransferInput { amount: 5, sig_indices: vec![1, 0] };
    assert_eq!(check(&amount(5), &unsorted), "address indices not sorted and unique");
    assert_eq!(text(nft::verify_transfer()), "cant transfer with this fx");
    assert_eq!(text(property::verify_transfer()), "cant transfer with this fx");
}

#[test]
fn bad_signatures() {
    let with = |change: fn(&mut [u8; 65])| {
        let mut bytes = *signature(0).as_bytes();
        change(&mut bytes);
        CredentialSlot::new(FxKind::Secp256k1, vec![Signature::new(bytes)])
    };
    transfer(owners(1), &[0], &with(|s| s[64] = 9), "invalid signature");
    transfer(owners(1), &[0], &with(|s| s[64] += 4), "wasn't expecting a compressed key");
    let mutated = "signature was mutated from its original format";
    transfer(owners(1), &[0], &with(|s| s[32] = 0x80), mutated);
}

#[test]
fn outputs_by_themselves() {
    let check = |owners: OutputOwners, expected: &str| {
        assert_eq!(text(owners.verify()), expected);
        assert_eq!(text(Output::PropertyOwned(owners.clone()).verify()), expected);
        let nft = NftTransferOutput { group_id: 0, payload: vec![0; 1024], owners };
        assert_eq!(text(Output::NftTransfer(nft.clone()).verify()), expected);
        let big = NftTransferOutput { payload: vec![0; 1025], ..nft };
        assert_eq!(text(Output::NftTransfer(big).verify()), "payload too large");
    };
    check(owners(3), "ok");
    check(OutputOwners::default(), "ok");
    check(owners(4), "output is unspendable");
    check(owners(0), "output representation should be optimized");
    let twice = OutputOwners { addresses: vec![addresses()[0]; 2], ..owners(1) };
    check(twice, "addresses not sorted and unique");
    let zero = TransferOutput { amount: 0, owners: owners(4) };
    assert_eq!(text(Output::SecpTransfer(zero).verify()), "output has no value");
}

type VerifyOperation = fn(&FxOperation, &[&Output], Witness<'_>, u64) -> Result<(), FxError>;

/// `operation` on `utxos`, signed by the first key.
#[track_caller]
fn operate(
    (fx, verify): (FxKind, VerifyOperation),
    operation: &FxOperation,
    utxos: &[&Output],
    expected: &str,
) {
    let good = slot(fx, &[0]);
    assert_eq!(with_witness(&good, |w| verify(operation, utxos, w, NOW_S)), expected);
    if expected == "ok" {
        for other in FxKind::ALL.into_iter().filter(|other| *other != fx) {
            let got = with_witness(&slot(other, &[0]), |w| verify(operation, utxos, w, NOW_S));
            assert_eq!(got, "wrong credential type");
        }
        let unsigned = slot(fx, &[]);
        let got = with_witness(&unsigned, |w| verify(operation, utxos, w, NOW_S));
        assert!(got.starts_with("input expected a different number"), "{got}");
    }
}

const SECP: (FxKind, VerifyOperation) = (FxKind::Secp256k1, secp256k1::verify_operation);
const NFT: (FxKind, VerifyOperation) = (FxKind::Nft, nft::verify_operation);
const PROPERTY: (FxKind, VerifyOperation) = (FxKind::Property, property::verify_operation);

fn secp_mint() -> SecpMintOperation {
    let transfer_output = TransferOutput { amount: 1, owners: owners(1) };
    SecpMintOperation { mint_input: vec![0], mint_output: owners(1), transfer_output }
}

#[test]
fn secp_operations() {
    let op = FxOperation::SecpMint(secp_mint());
    let mint = Output::SecpMint(owners(1));
    operate(SECP, &op, &[&mint], "ok");
    operate(SECP, &FxOperation::PropertyBurn(vec![0]), &[&mint], "wrong operation type");
    operate(SECP, &op, &[], "wrong number of utxos for the operation");
    operate(SECP, &op, &[&mint, &mint], "wrong number of utxos for the operation");
    operate(SECP, &op, &[&Output::PropertyMint(owners(1))], "wrong utxo type");
    let other = Output::SecpMint(owners(2));
    operate(SECP, &op, &[&other], "wrong mint output created from the operation");
    let mut bad = secp_mint();
    bad.transfer_output.amount = 0;
    operate(SECP, &FxOperation::SecpMint(bad), &[&mint], "output has no value");
    let mut other_signer = secp_mint();
    other_signer.mint_input = vec![1];
    let (signer, verify) = SECP;
    let got = with_witness(&slot(signer, &[0]), |w| {
        verify(&FxOperation::SecpMint(other_signer), &[&mint], w, NOW_S)
    });
    assert!(got.starts_with("wrong signature"), "{got}");
}

#[test]
fn nft_operations() {
    let (group_id, payload) = (4, b"art".to_vec());
    let mint_op = |group_id, payload: &[u8]| {
        FxOperation::NftMint(NftMintOperation {
            mint_input: vec![0],
            group_id,
            payload: payload.to_vec(),
            outputs: vec![owners(1), owners(2)],
        })
    };
    let mint = Output::NftMint(NftMintOutput { group_id, owners: owners(1) });
    operate(NFT, &mint_op(4, &payload), &[&mint], "ok");
    operate(NFT, &mint_op(5, &payload), &[&mint], "wrong unique ID provided");
    operate(NFT, &mint_op(5, &[0; 1025]), &[&mint], "payload too large");
    operate(NFT, &mint_op(4, &payload), &[], "wrong number of UTXOs for the operation");
    operate(NFT, &mint_op(4, &payload), &[&Output::SecpMint(owners(1))], "wrong utxo type");
    operate(NFT, &FxOperation::SecpMint(secp_mint()), &[&mint], "wrong operation type");
    let nft = NftTransferOutput { group_id, payload, owners: owners(1) };
    let transfer = |output: NftTransferOutput| {
        FxOperation::NftTransfer(NftTransferOperation { input: vec![0], output })
    };
    let held = Output::NftTransfer(nft.clone());
    let moved = NftTransferOutput { owners: owners(3), ..nft.clone() };
    operate(NFT, &transfer(moved), &[&held], "ok");
    let other_group = NftTransferOutput { group_id: 5, payload: vec![], ..nft.clone() };
    operate(NFT, &transfer(other_group), &[&held], "wrong unique ID provided");
    let other_payload = NftTransferOutput { payload: vec![], ..nft.clone() };
    operate(NFT, &transfer(other_payload), &[&held], "wrong bytes provided");
    operate(NFT, &transfer(nft), &[&mint], "wrong utxo type");
}

#[test]
fn property_operations() {
    let mint_op = |mint_output| {
        FxOperation::PropertyMint(PropertyMintOperation {
            mint_input: vec![0],
            mint_output,
            owned_output: owners(2),
        })
    };
    let mint = Output::PropertyMint(owners(1));
    let owned = Output::PropertyOwned(owners(1));
    let burn = FxOperation::PropertyBurn(vec![0]);
    operate(PROPERTY, &mint_op(owners(1)), &[&mint], "ok");
    operate(PROPERTY, &mint_op(owners(2)), &[&mint], "wrong mint output provided");
    operate(PROPERTY, &mint_op(owners(1)), &[&owned], "wrong utxo type");
    operate(PROPERTY, &burn, &[&owned], "ok");
    operate(PROPERTY, &burn, &[&mint], "wrong utxo type");
    operate(PROPERTY, &burn, &[], "wrong number of UTXOs for the operation");
    operate(PROPERTY, &FxOperation::SecpMint(secp_mint()), &[&owned], "wrong operation type");
}

#[test]
fn outputs_of_operations() {
    let kinds = |op: FxOperation| op.outputs().iter().map(Output::type_id).collect::<Vec<_>>();
    assert_eq!(kinds(FxOperation::SecpMint(secp_mint())), [6, 7]);
    let nfts = NftMintOperation { outputs: vec![owners(1), owners(2)], ..Default::default() };
    assert_eq!(kinds(FxOperation::NftMint(nfts)), [11, 11]);
    assert_eq!(kinds(FxOperation::NftTransfer(NftTransferOperation::default())), [11]);
    assert_eq!(kinds(FxOperation::PropertyMint(PropertyMintOperation::default())), [15, 16]);
    assert!(kinds(FxOperation::PropertyBurn(vec![])).is_empty());
}

/// Signers come from whoever holds them, and only as far as they are needed.
#[test]
fn signers_are_recovered_lazily() {
    struct Asked(RefCell<Vec<(usize, usize)>>);
    impl Signers for Asked {
        fn signer(&self, slot: usize, index: usize) -> Result<ShortId, SignatureError> {
            self.0.borrow_mut().push((slot, index));
            Ok(addresses()[0])
        }
    }
    let asked = Asked(RefCell::default());
    let credential = slot(FxKind::Secp256k1, &[0, 0]);
    let witness =
        Witness { credential: &credential, slot: 3, signers: &asked, allows_impersonation: false };
    let result = esker_utxo::fx::verify_credentials(&owners(2), &[0, 1], witness, NOW_S);
    assert!(matches!(result, Err(FxError::WrongSignature { .. })));
    assert_eq!(*asked.0.borrow(), [(3, 0), (3, 1)]);
    let locked = OutputOwners { locktime: u64::MAX, ..owners(2) };
    let result = esker_utxo::fx::verify_credentials(&locked, &[0, 1], witness, NOW_S);
    assert_eq!(result, Err(FxError::TimeLocked));
    assert_eq!(asked.0.borrow().len(), 2);
}

#[test]
fn an_address_stands_in_place_of_its_signature_only_where_that_is_allowed() {
    let all = addresses();
    let utxo = Output::SecpTransfer(TransferOutput { amount: 5, owners: owners(2) });
    let input = TransferInput { amount: 5, sig_indices: vec![0, 2] };
    let verify = |signatures: &[Signature], allows_impersonation| {
        let slot = CredentialSlot::new(FxKind::Secp256k1, signatures.to_vec());
        let signers = SignerRecovery { hash: &HASH, signatures };
        let witness =
            Witness { credential: &slot, slot: 0, signers: &signers, allows_impersonation };
        text(secp256k1::verify_transfer(&utxo, &input, witness, NOW_S))
    };
    let named = |key: usize| Signature::impersonating(&all[key]);
    for signatures in [[named(0), signature(2)], [named(0), named(2)]] {
        assert_eq!(verify(&signatures, true), "ok");
        assert_eq!(verify(&signatures, false), "invalid signature");
    }
    let wrong = verify(&[named(0), named(1)], true);
    assert!(wrong.starts_with("wrong signature: expected signature from "), "{wrong}");
    // Zeros alone are the zero address.
    let wrong = verify(&[named(0), Signature::new([0; 65])], true);
    assert!(wrong.starts_with("wrong signature: expected signature from "), "{wrong}");
}
