//! Transactions, operations, initial states.

use esker_utxo::FxKind;
use esker_utxo::json::{AddressFormat, Hex, Render};
use serde::Serializer;
use serde::ser::SerializeMap;

use super::super::{InitialState, Operation, UnsignedTx};
use super::go_text;

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

impl Render for Operation {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(4))?;
        map.serialize_entry("assetID", &self.asset_id)?;
        map.serialize_entry("inputIDs", &format.json(self.utxo_ids.as_slice()))?;
        map.serialize_entry("fxID", self.op.fx().id_text())?;
        map.serialize_entry("operation", &format.json(&self.op))?;
        map.end()
    }
}

impl Render for InitialState {
    fn render<S: Serializer>(&self, format: AddressFormat<'_>, to: S) -> Result<S::Ok, S::Error> {
        // The extension shown is the one of the index, whatever the outputs are. An index that no extension
        // has can stand in a genesis alone; the reference leaves the ID empty then.
        let fx_id = FxKind::from_index(self.fx_index).map(FxKind::id).unwrap_or_default();
        let mut map = to.serialize_map(Some(3))?;
        map.serialize_entry("fxIndex", &self.fx_index)?;
        map.serialize_entry("fxID", &fx_id)?;
        map.serialize_entry("outputs", &format.json(self.outputs.as_slice()))?;
        map.end()
    }
}
