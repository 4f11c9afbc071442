//! Atomic transactions as JSON, under the reference's names
//! (docs/protocol/atomic-transactions.md, "JSON form of atomic transactions"): for the encoding `json`, and for what
//! blocks show of their ext data.

use alloy_primitives::Address;
use esker_primitives::{Id, hexfmt};
use esker_utxo::FxKind;
use esker_utxo::json::schema::{InputSchema, OutputSchema, SignedSchema};
use esker_utxo::json::{AddressFormat, Render};
use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{
    AtomicCredential, EvmInput, EvmOutput, UnsignedAtomicTx, UnsignedExport, UnsignedImport,
};

/// How a transaction looks, for documents.
pub type TxSchema = SignedSchema<UnsignedSchema>;

/// What is signed of an atomic transaction: the first members, then those of an import or of an export.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "UnsignedAtomicTx", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
pub struct UnsignedSchema {
    #[schemars(rename = "networkID")]
    network_id: u32,
    #[schemars(rename = "blockchainID")]
    blockchain_id: Id,
    #[schemars(skip_serializing_if = "Option::is_none")]
    source_chain: Option<Id>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    imported_inputs: Option<Vec<InputSchema>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<AmountSchema>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    destination_chain: Option<Id>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<AmountSchema>>,
    #[schemars(skip_serializing_if = "Option::is_none")]
    exported_outputs: Option<Vec<OutputSchema>>,
}

/// An amount that an account gets, or gives with its nonce.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "AccountAmount", rename_all = "camelCase")]
#[expect(dead_code, reason = "for documents")]
struct AmountSchema {
    address: String,
    amount: u64,
    #[schemars(rename = "assetID")]
    asset_id: Id,
    #[schemars(skip_serializing_if = "Option::is_none")]
    nonce: Option<u64>,
}

impl Render for UnsignedAtomicTx {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Import(tx) => tx.render(format, to),
            Self::Export(tx) => tx.render(format, to),
        }
    }
}

impl Render for UnsignedImport {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(5))?;
        map.serialize_entry("networkID", &self.network_id)?;
        map.serialize_entry("blockchainID", &self.blockchain_id)?;
        map.serialize_entry("sourceChain", &self.source_chain)?;
        map.serialize_entry("importedInputs", &format.json(self.imported_inputs.as_slice()))?;
        map.serialize_entry("outputs", &format.json(self.outputs.as_slice()))?;
        map.end()
    }
}

impl Render for UnsignedExport {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(5))?;
        map.serialize_entry("networkID", &self.network_id)?;
        map.serialize_entry("blockchainID", &self.blockchain_id)?;
        map.serialize_entry("destinationChain", &self.destination_chain)?;
        map.serialize_entry("inputs", &format.json(self.inputs.as_slice()))?;
        map.serialize_entry("exportedOutputs", &format.json(self.exported_outputs.as_slice()))?;
        map.end()
    }
}

/// An account, in lower case.
struct Account<'a>(&'a Address);

impl Serialize for Account<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexfmt::encode_plain(self.0.as_slice()))
    }
}

impl Render for EvmOutput {
    fn render<S: Serializer>(&self, _: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(3))?;
        map.serialize_entry("address", &Account(&self.address))?;
        map.serialize_entry("amount", &self.amount)?;
        map.serialize_entry("assetID", &self.asset_id)?;
        map.end()
    }
}

impl Render for EvmInput {
    fn render<S: Serializer>(&self, _: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(4))?;
        map.serialize_entry("address", &Account(&self.address))?;
        map.serialize_entry("amount", &self.amount)?;
        map.serialize_entry("assetID", &self.asset_id)?;
        map.serialize_entry("nonce", &self.nonce)?;
        map.end()
    }
}

impl Render for AtomicCredential {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Shared(slot) => slot.render(format, to),
            // In no valid transaction; shown all the same, for a transaction may be shown before that is known.
            Self::Input(indices) => foreign(&Indices { signature_indices: indices }, to),
            Self::Owners(owners) => foreign(&format.json(owners), to),
        }
    }
}

#[derive(Serialize)]
struct Indices<'a> {
    #[serde(rename = "signatureIndices")]
    signature_indices: &'a [u32],
}

/// Writes a value in the place of a credential.
fn foreign<S: Serializer, T: Serialize>(content: &T, to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(2))?;
    map.serialize_entry("fxID", FxKind::Secp256k1.id_text())?;
    map.serialize_entry("credential", content)?;
    map.end()
}
