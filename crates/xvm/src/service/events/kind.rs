//! The kinds of subscriptions, and their conditions.

use std::collections::BTreeSet;

use esker_primitives::{AssetId, ShortId, excerpt, go};
use esker_rpc::RpcError;
use esker_rpc::wire::{Encoding, JsonU64};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MAX_CRITERIA;
use crate::chain::Xvm;
use crate::chain::events::{KINDS, UtxoChange};
use crate::service::{ServiceError, lookup_asset, parse_address};

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SubscribeArgs {
    /// `blocks`, `transactions` or `utxos`.
    kind: String,
    /// Only what concerns one of these owners.
    addresses: Vec<String>,
    /// Only what concerns one of these assets: IDs or aliases.
    #[serde(rename = "assetIDs")]
    asset_ids: Vec<String>,
    /// Begin with the block at this height, instead of the next one.
    pub(super) from_height: Option<JsonU64>,
    /// Show whole blocks or transactions, in this encoding, not just their IDs.
    encoding: Option<Encoding>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SubscribeReply {
    /// ID of the subscription on this connection.
    pub(super) subscription: String,
    /// Height of the first block that is looked at.
    pub(super) from_height: JsonU64,
}

/// A kind of subscription with its arguments.
#[derive(Debug)]
pub(super) enum Kind {
    /// Accepted blocks.
    Blocks(Option<Encoding>),
    /// Accepted transactions.
    Transactions(Option<Encoding>, Criteria),
    /// UTXOs that were created, consumed, exported or imported.
    Utxos(Criteria),
}

/// Which changes of UTXOs matter: those of one of the owners and one of the assets; no owner or asset given stands for all.
#[derive(Debug, Default)]
pub(super) struct Criteria {
    addresses: BTreeSet<ShortId>,
    assets: BTreeSet<AssetId>,
}

impl Criteria {
    fn read(vm: &Xvm, args: &SubscribeArgs) -> Result<Self, ServiceError> {
        let addresses = args.addresses.iter().map(|text| Ok(parse_address(vm, text)?));
        let assets = args.asset_ids.iter().map(|text| lookup_asset(vm, text));
        Ok(Self {
            addresses: addresses.collect::<Result<_, ServiceError>>()?,
            assets: assets.collect::<Result<_, ServiceError>>()?,
        })
    }

    /// Whether everything matches.
    fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.assets.is_empty()
    }

    pub(super) fn matches(&self, change: &UtxoChange) -> bool {
        let has_owner = || change.addresses().iter().any(|owner| self.addresses.contains(owner));
        (self.assets.is_empty() || self.assets.contains(&change.asset_id))
            && (self.addresses.is_empty() || has_owner())
    }

    /// Whether a transaction with these changes matches.
    pub(super) fn matches_any(&self, changes: &[UtxoChange]) -> bool {
        self.is_empty() || changes.iter().any(|change| self.matches(change))
    }

    fn bytes(&self) -> usize {
        let assets = self.assets.len().saturating_mul(AssetId::LEN);
        self.addresses.len().saturating_mul(ShortId::LEN).saturating_add(assets)
    }
}

impl Kind {
    /// The kind that the arguments name.
    pub(super) fn read(vm: &Xvm, args: &SubscribeArgs) -> Result<Self, RpcError> {
        let criteria = args.addresses.len().saturating_add(args.asset_ids.len());
        if criteria > MAX_CRITERIA {
            let text = format!(
                "number of addresses and assets given, {criteria}, exceeds maximum, {MAX_CRITERIA}"
            );
            return Err(RpcError::new(text));
        }
        let has_none = |argument: &str, is_given: bool| match is_given {
            false => Ok(()),
            true => {
                let text = format!("`{argument}` doesn't go with the kind {}", args.kind);
                Err(RpcError::new(text))
            }
        };
        match args.kind.as_str() {
            "blocks" => {
                has_none("addresses", !args.addresses.is_empty())?;
                has_none("assetIDs", !args.asset_ids.is_empty())?;
                Ok(Self::Blocks(args.encoding))
            }
            "transactions" => Ok(Self::Transactions(args.encoding, Criteria::read(vm, args)?)),
            "utxos" => {
                has_none("encoding", args.encoding.is_some())?;
                Ok(Self::Utxos(Criteria::read(vm, args)?))
            }
            other => {
                let quoted = go::quote(&excerpt(other));
                let text =
                    format!("no {quoted} subscription: expected one of {}", KINDS.join(", "));
                Err(RpcError::new(text))
            }
        }
    }

    /// The place of its name among [`KINDS`].
    pub(super) const fn index(&self) -> usize {
        match self {
            Self::Blocks(_) => 0,
            Self::Transactions(..) => 1,
            Self::Utxos(_) => 2,
        }
    }

    /// Memory that the criteria take, bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Blocks(_) => 0,
            Self::Transactions(_, criteria) | Self::Utxos(criteria) => criteria.bytes(),
        }
    }
}
