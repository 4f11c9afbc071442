//! Operations and credentials.

use esker_primitives::keys::Signature;
use esker_utxo::{CredentialSlot, Foreign, FxOperation, UtxoId};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::output::Signing;
use super::{Hex, Json};
use crate::txs::Operation;

impl Serialize for Json<'_, UtxoId> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("txID", &self.value.tx_id)?;
        map.serialize_entry("outputIndex", &self.value.output_index)?;
        map.end()
    }
}

impl Serialize for Json<'_, Operation> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let operation = self.value;
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("assetID", &operation.asset_id)?;
        map.serialize_entry("inputIDs", &self.of(operation.utxo_ids.as_slice()))?;
        map.serialize_entry("fxID", operation.op.fx().id_text())?;
        map.serialize_entry("operation", &self.of(&operation.op))?;
        map.end()
    }
}

const fn signing(signature_indices: &[u32]) -> Signing<'_> {
    Signing { signature_indices }
}

impl Serialize for Json<'_, FxOperation> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            FxOperation::SecpMint(op) => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("mintInput", &signing(&op.mint_input))?;
                map.serialize_entry("mintOutput", &self.of(&op.mint_output))?;
                map.serialize_entry("transferOutput", &self.of(&op.transfer_output))?;
                map.end()
            }
            FxOperation::NftMint(op) => {
                let mut map = serializer.serialize_map(Some(4))?;
                map.serialize_entry("mintInput", &signing(&op.mint_input))?;
                map.serialize_entry("groupID", &op.group_id)?;
                map.serialize_entry("payload", &Hex(&op.payload))?;
                map.serialize_entry("outputs", &self.of(op.outputs.as_slice()))?;
                map.end()
            }
            FxOperation::NftTransfer(op) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("input", &signing(&op.input))?;
                map.serialize_entry("output", &self.of(&op.output))?;
                map.end()
            }
            FxOperation::PropertyMint(op) => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("mintInput", &signing(&op.mint_input))?;
                map.serialize_entry("mintOutput", &self.of(&op.mint_output))?;
                map.serialize_entry("ownedOutput", &self.of(&op.owned_output))?;
                map.end()
            }
            FxOperation::PropertyBurn(input) => signing(input).serialize(serializer),
        }
    }
}

impl Serialize for Json<'_, CredentialSlot> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("fxID", self.value.fx().id_text())?;
        match self.value {
            CredentialSlot::Credential(credential) => map
                .serialize_entry("credential", &Signatures { signatures: &credential.signatures }),
            // In no valid transaction; shown all the same, for a transaction may be shown before that is known.
            CredentialSlot::Foreign(foreign) => match foreign.as_ref() {
                Foreign::Input(input) => map.serialize_entry("credential", &self.of(input)),
                Foreign::Output(output) => map.serialize_entry("credential", &self.of(output)),
                Foreign::Operation(op) => map.serialize_entry("credential", &self.of(op)),
            },
        }?;
        map.end()
    }
}

#[derive(Serialize)]
struct Signatures<'a> {
    #[serde(serialize_with = "hex_list")]
    signatures: &'a [Signature],
}

fn hex_list<S: Serializer>(list: &&[Signature], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(list.iter().map(|signature| Hex(signature.as_bytes())))
}
