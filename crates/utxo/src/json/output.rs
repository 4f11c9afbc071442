//! Outputs, inputs, owners.

use crate::fx::FxKind;
use crate::input::{TransferInput, TransferableInput};
use crate::output::{NftTransferOutput, Output, TransferOutput, TransferableOutput};
use crate::owners::OutputOwners;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{AddressFormat, Hex, Render};

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

impl Render for OutputOwners {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        body(to, self, format, None, None, None)
    }
}

impl Render for TransferOutput {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        body(to, &self.owners, format, Some(self.amount), None, None)
    }
}

impl Render for NftTransferOutput {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let (group_id, payload) = (Some(self.group_id), Some(self.payload.as_slice()));
        body(to, &self.owners, format, None, group_id, payload)
    }
}

impl Render for Output {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::SecpMint(owners) | Self::PropertyMint(owners) | Self::PropertyOwned(owners) => {
                owners.render(format, to)
            }
            Self::SecpTransfer(output) => output.render(format, to),
            Self::NftMint(output) => {
                let group_id = Some(output.group_id);
                body(to, &output.owners, format, None, group_id, None)
            }
            Self::NftTransfer(output) => output.render(format, to),
        }
    }
}

impl Render for TransferableOutput {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(3))?;
        map.serialize_entry("assetID", &self.asset_id)?;
        map.serialize_entry("fxID", FxKind::Secp256k1.id_text())?;
        map.serialize_entry("output", &format.json(&self.output))?;
        map.end()
    }
}

/// Which of the consumed output's owners sign.
#[derive(Serialize)]
pub(super) struct Signing<'a> {
    #[serde(rename = "signatureIndices")]
    pub(super) signature_indices: &'a [u32],
}

impl Render for TransferInput {
    fn render<S: Serializer>(&self, _: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("amount", &self.amount)?;
        map.serialize_entry("signatureIndices", &self.sig_indices)?;
        map.end()
    }
}

impl Render for TransferableInput {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(5))?;
        map.serialize_entry("txID", &self.utxo_id.tx_id)?;
        map.serialize_entry("outputIndex", &self.utxo_id.output_index)?;
        map.serialize_entry("assetID", &self.asset_id)?;
        map.serialize_entry("fxID", FxKind::Secp256k1.id_text())?;
        map.serialize_entry("input", &format.json(&self.input))?;
        map.end()
    }
}
