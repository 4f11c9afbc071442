//! Transactions.

use serde::Serializer;
use serde::ser::SerializeMap;

use super::{AddressFormat, Hex, Render, go_text};
use crate::txs::{Tx, UnsignedTx};

impl Render for Tx {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(3))?;
        map.serialize_entry("unsignedTx", &format.json(self.unsigned()))?;
        map.serialize_entry("credentials", &format.json(self.credentials()))?;
        map.serialize_entry("id", &self.id())?;
        map.end()
    }
}

impl Render for UnsignedTx {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let base = self.base();
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("networkID", &base.network_id)?;
        map.serialize_entry("blockchainID", &base.blockchain_id)?;
        map.serialize_entry("outputs", &format.json(base.outputs.as_slice()))?;
        map.serialize_entry("inputs", &format.json(base.inputs.as_slice()))?;
        map.serialize_entry("memo", &Hex(&base.memo))?;
        match self {
            Self::Base(_) => {}
            Self::CreateAsset(tx) => {
                map.serialize_entry("name", &go_text(&tx.name))?;
                map.serialize_entry("symbol", &go_text(&tx.symbol))?;
                map.serialize_entry("denomination", &tx.denomination)?;
                map.serialize_entry("initialStates", &format.json(tx.states.as_slice()))?;
            }
            Self::Operation(tx) => {
                map.serialize_entry("operations", &format.json(tx.operations.as_slice()))?;
            }
            Self::Import(tx) => {
                map.serialize_entry("sourceChain", &tx.source_chain)?;
                map.serialize_entry("importedInputs", &format.json(tx.imported_inputs.as_slice()))?;
            }
            Self::Export(tx) => {
                map.serialize_entry("destinationChain", &tx.destination_chain)?;
                map.serialize_entry(
                    "exportedOutputs",
                    &format.json(tx.exported_outputs.as_slice()),
                )?;
            }
        }
        map.end()
    }
}
