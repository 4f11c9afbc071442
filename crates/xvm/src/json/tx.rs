//! Transactions.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Hex, Json, go_text};
use crate::txs::{Tx, UnsignedTx};

impl Serialize for Json<'_, Tx> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("unsignedTx", &self.of(self.value.unsigned()))?;
        map.serialize_entry("credentials", &self.of(self.value.credentials()))?;
        map.serialize_entry("id", &self.value.id())?;
        map.end()
    }
}

impl Serialize for Json<'_, UnsignedTx> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let base = self.value.base();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("networkID", &base.network_id)?;
        map.serialize_entry("blockchainID", &base.blockchain_id)?;
        map.serialize_entry("outputs", &self.of(base.outputs.as_slice()))?;
        map.serialize_entry("inputs", &self.of(base.inputs.as_slice()))?;
        map.serialize_entry("memo", &Hex(&base.memo))?;
        match self.value {
            UnsignedTx::Base(_) => {}
            UnsignedTx::CreateAsset(tx) => {
                map.serialize_entry("name", &go_text(&tx.name))?;
                map.serialize_entry("symbol", &go_text(&tx.symbol))?;
                map.serialize_entry("denomination", &tx.denomination)?;
                map.serialize_entry("initialStates", &self.of(tx.states.as_slice()))?;
            }
            UnsignedTx::Operation(tx) => {
                map.serialize_entry("operations", &self.of(tx.operations.as_slice()))?;
            }
            UnsignedTx::Import(tx) => {
                map.serialize_entry("sourceChain", &tx.source_chain)?;
                map.serialize_entry("importedInputs", &self.of(tx.imported_inputs.as_slice()))?;
            }
            UnsignedTx::Export(tx) => {
                map.serialize_entry("destinationChain", &tx.destination_chain)?;
                map.serialize_entry("exportedOutputs", &self.of(tx.exported_outputs.as_slice()))?;
            }
        }
        map.end()
    }
}
