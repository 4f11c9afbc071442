//! Rendering of what no vector and no recording has.

use esker_primitives::ids::ShortId;
use esker_primitives::keys::Signature;
use esker_transactions::xvm::InitialState;
use esker_transactions::xvm::json::go_text;
use esker_utxo::{
    CredentialSlot, FxKind, FxOperation, NftMintOutput, NftTransferOperation, NftTransferOutput,
    NonCredential, Output, OutputOwners, TransferInput,
};
use expect_test::{Expect, expect};

use crate::vectors::rendered;

#[expect(clippy::needless_pass_by_value, reason = "an Expect is made for one comparison")]
fn check<T>(value: &T, expected: Expect)
where
    for<'a> esker_utxo::json::Json<'a, T>: serde::Serialize,
{
    expected.assert_eq(&rendered(value, "local"));
}

fn owners() -> OutputOwners {
    OutputOwners { locktime: 9, threshold: 1, addresses: vec![ShortId::ZERO] }
}

#[test]
fn nft_outputs() {
    let nft = NftTransferOutput { group_id: 3, payload: vec![1, 255], owners: owners() };
    check(
        &Output::NftTransfer(nft.clone()),
        expect![[
            r#"{"addresses":["X-local1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqljssag"],"groupID":3,"locktime":9,"payload":"0x01ff","threshold":1}"#
        ]],
    );
    check(
        &Output::NftMint(NftMintOutput { group_id: 3, owners: OutputOwners::default() }),
        expect![[r#"{"addresses":[],"groupID":3,"locktime":0,"threshold":0}"#]],
    );
    check(
        &FxOperation::NftTransfer(NftTransferOperation { input: vec![1], output: nft }),
        expect![[
            r#"{"input":{"signatureIndices":[1]},"output":{"addresses":["X-local1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqljssag"],"groupID":3,"locktime":9,"payload":"0x01ff","threshold":1}}"#
        ]],
    );
}

#[test]
fn credential_slots() {
    check(
        &CredentialSlot::new(FxKind::Property, vec![Signature::new([0; 65])]),
        expect![[
            r#"{"fxID":"rXJsCSEYXg2TehWxCEEGj6JU2PWKTkd6cBdNLjoe2SpsKD9cy","credential":{"signatures":["0x0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"]}}"#
        ]],
    );
    check(
        &CredentialSlot::NonCredential(Box::new(NonCredential::Input(TransferInput::default()))),
        expect![[
            r#"{"fxID":"spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ","credential":{"amount":0,"signatureIndices":[]}}"#
        ]],
    );
}

/// The extension that is shown follows the state's index, not its outputs.
#[test]
fn initial_states() {
    let outputs = vec![Output::PropertyMint(OutputOwners::default())];
    check(
        &InitialState { fx_index: 1, outputs: outputs.clone() },
        expect![[
            r#"{"fxIndex":1,"fxID":"qd2U4HDWUvMrVUeTcCHp6xH3Qpnn1XbU5MDdnBoiifFqvgXwT","outputs":[{"addresses":[],"locktime":0,"threshold":0}]}"#
        ]],
    );
    check(
        &InitialState { fx_index: 3, outputs: vec![] },
        expect![[r#"{"fxIndex":3,"fxID":"11111111111111111111111111111111LpoYY","outputs":[]}"#]],
    );
}

#[test]
fn names_that_are_not_utf8() {
    assert_eq!(go_text("é".as_bytes()), "é");
    assert_eq!(go_text(b"a\xffb\xc3"), "a\u{fffd}b\u{fffd}");
    // A sequence that breaks off counts byte by byte.
    assert_eq!(go_text(b"\xe2\x82x"), "\u{fffd}\u{fffd}x");
}
