//! Outputs, inputs, owners, initial states.

use esker_utxo::{
    FxKind, NftTransferOutput, Output, OutputOwners, TransferInput, TransferOutput,
    TransferableInput, TransferableOutput,
};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{AddressFormat, Hex, Json};
use crate::txs::InitialState;

/// Owners as addresses.
struct Addresses<'a>(&'a OutputOwners, AddressFormat<'a>);

impl Serialize for Addresses<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.addresses.iter().map(|address| self.1.text(address)))
    }
}

/// An output's members, which are sorted by their names: those of the owners stand between the others.
fn body<S: Serializer>(
    serializer: S,
    owners: &OutputOwners,
    format: AddressFormat<'_>,
    amount: Option<u64>,
    group_id: Option<u32>,
    payload: Option<&[u8]>,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("addresses", &Addresses(owners, format))?;
    if let Some(amount) = amount {
        map.serialize_entry("amount", &amount)?;
    }
    if let Some(group_id) = group_id {
        map.serialize_entry("groupID", &group_id)?;
    }
    map.serialize_entry("locktime", &owners.locktime)?;
    if let Some(payload) = payload {
        map.serialize_entry("payload", &Hex(payload))?;
    }
    map.serialize_entry("threshold", &owners.threshold)?;
    map.end()
}

impl Serialize for Json<'_, OutputOwners> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        body(serializer, self.value, self.format, None, None, None)
    }
}

impl Serialize for Json<'_, TransferOutput> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let output = self.value;
        body(serializer, &output.owners, self.format, Some(output.amount), None, None)
    }
}

impl Serialize for Json<'_, NftTransferOutput> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let output = self.value;
        let (group_id, payload) = (Some(output.group_id), Some(output.payload.as_slice()));
        body(serializer, &output.owners, self.format, None, group_id, payload)
    }
}

impl Serialize for Json<'_, Output> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Output::SecpMint(owners)
            | Output::PropertyMint(owners)
            | Output::PropertyOwned(owners) => self.of(owners).serialize(serializer),
            Output::SecpTransfer(output) => self.of(output).serialize(serializer),
            Output::NftMint(output) => {
                let group_id = Some(output.group_id);
                body(serializer, &output.owners, self.format, None, group_id, None)
            }
            Output::NftTransfer(output) => self.of(output).serialize(serializer),
        }
    }
}

impl Serialize for Json<'_, TransferableOutput> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("assetID", &self.value.asset_id)?;
        map.serialize_entry("fxID", FxKind::Secp256k1.id_text())?;
        map.serialize_entry("output", &self.of(&self.value.output))?;
        map.end()
    }
}

/// Which of the consumed output's owners sign.
#[derive(Serialize)]
pub(super) struct Signing<'a> {
    #[serde(rename = "signatureIndices")]
    pub(super) signature_indices: &'a [u32],
}

impl Serialize for Json<'_, TransferInput> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("amount", &self.value.amount)?;
        map.serialize_entry("signatureIndices", &self.value.sig_indices)?;
        map.end()
    }
}

impl Serialize for Json<'_, TransferableInput> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let input = self.value;
        let mut map = serializer.serialize_map(Some(5))?;
        map.serialize_entry("txID", &input.utxo_id.tx_id)?;
        map.serialize_entry("outputIndex", &input.utxo_id.output_index)?;
        map.serialize_entry("assetID", &input.asset_id)?;
        map.serialize_entry("fxID", FxKind::Secp256k1.id_text())?;
        map.serialize_entry("input", &self.of(&input.input))?;
        map.end()
    }
}

impl Serialize for Json<'_, InitialState> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let state = self.value;
        // The extension shown is the one of the index, whatever the outputs are. An index that no extension
        // has can stand in a genesis alone; the reference leaves the ID empty then.
        let fx_id = FxKind::from_index(state.fx_index).map(FxKind::id).unwrap_or_default();
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("fxIndex", &state.fx_index)?;
        map.serialize_entry("fxID", &fx_id)?;
        map.serialize_entry("outputs", &self.of(state.outputs.as_slice()))?;
        map.end()
    }
}
