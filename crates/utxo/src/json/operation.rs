//! Operations and credentials.

use crate::credential::{CredentialSlot, NonCredential};
use crate::operation::FxOperation;
use crate::utxo::UtxoId;
use esker_primitives::keys::Signature;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::output::Signing;
use super::{AddressFormat, Hex, Render};

impl Render for UtxoId {
    fn render<S: Serializer>(&self, _: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("txID", &self.tx_id)?;
        map.serialize_entry("outputIndex", &self.output_index)?;
        map.end()
    }
}

const fn signing(signature_indices: &[u32]) -> Signing<'_> {
    Signing { signature_indices }
}

impl Render for FxOperation {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::SecpMint(op) => {
                let mut map = to.serialize_map(Some(3))?;
                map.serialize_entry("mintInput", &signing(&op.mint_input))?;
                map.serialize_entry("mintOutput", &format.json(&op.mint_output))?;
                map.serialize_entry("transferOutput", &format.json(&op.transfer_output))?;
                map.end()
            }
            Self::NftMint(op) => {
                let mut map = to.serialize_map(Some(4))?;
                map.serialize_entry("mintInput", &signing(&op.mint_input))?;
                map.serialize_entry("groupID", &op.group_id)?;
                map.serialize_entry("payload", &Hex(&op.payload))?;
                map.serialize_entry("outputs", &format.json(op.outputs.as_slice()))?;
                map.end()
            }
            Self::NftTransfer(op) => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("input", &signing(&op.input))?;
                map.serialize_entry("output", &format.json(&op.output))?;
                map.end()
            }
            Self::PropertyMint(op) => {
                let mut map = to.serialize_map(Some(3))?;
                map.serialize_entry("mintInput", &signing(&op.mint_input))?;
                map.serialize_entry("mintOutput", &format.json(&op.mint_output))?;
                map.serialize_entry("ownedOutput", &format.json(&op.owned_output))?;
                map.end()
            }
            Self::PropertyBurn(input) => signing(input).serialize(to),
        }
    }
}

impl Render for CredentialSlot {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry("fxID", self.fx().id_text())?;
        match self {
            Self::Credential(credential) => map
                .serialize_entry("credential", &Signatures { signatures: &credential.signatures }),
            // In no valid transaction; shown all the same, for a transaction may be shown before that is known.
            Self::NonCredential(foreign) => match foreign.as_ref() {
                NonCredential::Input(input) => {
                    map.serialize_entry("credential", &format.json(input))
                }
                NonCredential::Output(output) => {
                    map.serialize_entry("credential", &format.json(output))
                }
                NonCredential::Operation(op) => map.serialize_entry("credential", &format.json(op)),
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
