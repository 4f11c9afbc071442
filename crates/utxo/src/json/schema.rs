//! How what is rendered looks, for documents: the members are written one by one, in the reference's order.

use esker_primitives::Id;
use schemars::JsonSchema;

/// An output with its asset.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "TransferableOutput", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct OutputSchema {
    #[schemars(rename = "assetID")]
    asset_id: Id,
    #[schemars(rename = "fxID")]
    fx_id: Id,
    output: OwnedSchema,
}

/// What its owners may spend, of any extension.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Output", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct OwnedSchema {
    addresses: Vec<String>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    amount: Option<u64>,
    #[schemars(rename = "groupID", skip_serializing_if = "Option::is_none")]
    group_id: Option<u32>,
    /// Unix s.
    locktime: u64,
    /// Hex.
    #[schemars(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    threshold: u32,
}

/// An input with the output that it consumes.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "TransferableInput", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct InputSchema {
    #[schemars(flatten)]
    consumed: UtxoIdSchema,
    #[schemars(rename = "assetID")]
    asset_id: Id,
    #[schemars(rename = "fxID")]
    fx_id: Id,
    input: SigningSchema,
}

/// An output by its transaction.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "UtxoId", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct UtxoIdSchema {
    #[schemars(rename = "txID")]
    tx_id: Id,
    output_index: u32,
}

/// Which of the owners sign.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Signing", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct SigningSchema {
    #[schemars(skip_serializing_if = "Option::is_none")]
    amount: Option<u64>,
    signature_indices: Vec<u32>,
}

/// An operation on outputs.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Operation", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct OperationSchema {
    #[schemars(rename = "assetID")]
    asset_id: Id,
    #[schemars(rename = "inputIDs")]
    input_ids: Vec<UtxoIdSchema>,
    #[schemars(rename = "fxID")]
    fx_id: Id,
    operation: KindSchema,
}

/// What is done, with members that differ by kind.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "OperationOfKind", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
struct KindSchema {
    #[schemars(skip_serializing_if = "Option::is_none")]
    mint_input: Option<SigningSchema>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    mint_output: Option<OwnedSchema>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    transfer_output: Option<OwnedSchema>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    owned_output: Option<OwnedSchema>,
    #[schemars(rename = "groupID", skip_serializing_if = "Option::is_none")]
    group_id: Option<u32>,
    /// Hex.
    #[schemars(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<OwnedSchema>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    input: Option<SigningSchema>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    output: Option<OwnedSchema>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    signature_indices: Option<Vec<u32>>,
}

/// The proof that one input or operation is allowed.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Credential", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct CredentialSchema {
    #[schemars(rename = "fxID")]
    fx_id: Id,
    credential: SignaturesSchema,
}

/// Signatures in hex. In the place of a credential another object may stand, in a transaction that is not valid.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Signatures", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
struct SignaturesSchema {
    #[schemars(skip_serializing_if = "Option::is_none")]
    signatures: Option<Vec<String>>,
}

/// A transaction with its credentials; `U` is what is signed.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Signed_{U}", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct SignedSchema<U> {
    unsigned_tx: U,
    credentials: Vec<CredentialSchema>,
    id: Id,
}
