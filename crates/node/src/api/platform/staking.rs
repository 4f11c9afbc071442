//! P-Chain methods on staking and transactions. This node has no stakers and accepts no P-Chain transactions.

use std::collections::BTreeMap;

use esker_go_json::{RawText, deserialize_raw};
use esker_primitives::{NodeId, SubnetId};
use esker_rpc::RpcError;
use esker_rpc::wire::{Encoding, JsonU64};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{PRIMARY, PlatformApi, SubnetArgs};

/// Height of the P-Chain's last block, which is the genesis.
const HEIGHT: u64 = 0;
/// The error for P-Chain transactions.
const NO_TRANSACTIONS: &str =
    "couldn't issue tx: the P-Chain is only a peer of this node and takes no transactions";

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ValidatorsArgs {
    #[serde(rename = "subnetID")]
    subnet_id: SubnetId,
    #[serde(rename = "nodeIDs")]
    node_ids: Option<Vec<NodeId>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ValidatorsReply {
    validators: [(); 0],
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SupplyReply {
    supply: JsonU64,
    height: JsonU64,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ValidatorsAtArgs {
    height: Height,
    #[serde(rename = "subnetID")]
    subnet_id: SubnetId,
}

/// A height: a number in any accepted form, or `proposed` for the last height.
#[derive(Debug, Default)]
struct Height(Option<u64>);

esker_rpc::schema!(Height, "Height", |generator| {
    "title": "number or text",
    "description": "A height, or `proposed` for the last one.",
    "anyOf": [generator.subschema_for::<JsonU64>(), { "const": "proposed" }],
});

impl RawText for Height {
    const WANTED: &'static str = "a height";

    fn from_raw_text(text: &str) -> Option<Self> {
        if text == "\"proposed\"" {
            return Some(Self(None));
        }
        // The reference uses the greatest number for the word, so it is not a height.
        let number = JsonU64::from_raw_text(text)?.0;
        (number != u64::MAX).then_some(Self(Some(number)))
    }
}

impl<'de> Deserialize<'de> for Height {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_raw(deserializer)
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct IssueArgs {
    tx: String,
    encoding: Encoding,
}

impl PlatformApi {
    pub(super) fn get_current_validators(
        &self,
        _: ValidatorsArgs,
    ) -> Result<ValidatorsReply, RpcError> {
        Ok(ValidatorsReply { validators: [] })
    }

    pub(super) fn get_current_supply(&self, args: SubnetArgs) -> Result<SupplyReply, RpcError> {
        if args.subnet_id != PRIMARY {
            return Err(RpcError::new("fetching current supply failed: not found"));
        }
        let supply = JsonU64(self.network.native_supply.nano());
        Ok(SupplyReply { supply, height: JsonU64(HEIGHT) })
    }

    pub(super) fn get_validators_at(
        &self,
        args: ValidatorsAtArgs,
    ) -> Result<BTreeMap<String, ()>, RpcError> {
        match args.height.0 {
            Some(height) if height > HEIGHT => Err(RpcError::new(format!(
                "failed to get validator set: failed to fetch validator set at unfinalized height \
                 with SubnetID = {}: current P-chain height ({HEIGHT}) < requested P-Chain height ({height})",
                args.subnet_id
            ))),
            _ => Ok(BTreeMap::new()),
        }
    }

    pub(super) fn issue_tx(&self, args: IssueArgs) -> Result<(), RpcError> {
        args.encoding
            .decode(&args.tx)
            .map_err(|error| RpcError::new(format!("problem decoding transaction: {error}")))?;
        Err(RpcError::new(NO_TRANSACTIONS))
    }
}
