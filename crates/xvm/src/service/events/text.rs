//! The notifications.

use std::sync::OnceLock;

use bytes::Bytes;
use esker_primitives::{ChainId, Id};
use esker_rpc::wire::{Encoding, JsonU64};
use esker_transactions::xvm::{Block, Tx};
use esker_utxo::json::{AddressFormat, Hex};
use esker_utxo::{Output, OutputOwners};
use serde::Serialize;

use crate::chain::Xvm;
use crate::chain::events::{BlockEvent, ChangeKind, Holding, TxEvent, UtxoChange, peer};
use crate::service::encoded_reply::EncodedReply;

/// The first part of a notification.
const PREFIX: &str = r#"{"jsonrpc":"2.0","method":"xvm.subscription","params":{"subscription":"#;
/// The text before the result.
const RESULT: &str = r#","result":"#;
/// The end of a notification.
pub(super) const SUFFIX: &[u8] = b"}}\n";

/// The start of the notifications of a subscription, up to the result.
pub(super) fn prefix(subscription: &str) -> Bytes {
    let mut out = PREFIX.as_bytes().to_vec();
    esker_go_json::write_str(subscription, &mut out);
    out.extend_from_slice(RESULT.as_bytes());
    out.into()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BlockNotice<'a> {
    #[serde(rename = "id")]
    id: Id,
    #[serde(rename = "parentID")]
    parent_id: Id,
    height: JsonU64,
    /// Unix s.
    time: JsonU64,
    #[serde(rename = "txIDs")]
    tx_ids: &'a [Id],
    removed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<EncodedReply<Block>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<Encoding>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TxNotice<'a> {
    #[serde(rename = "txID")]
    tx_id: Id,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    at: At,
    removed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx: Option<EncodedReply<Tx>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<Encoding>,
    /// With the encoding `json`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    utxos: Vec<ChangeBody<'a>>,
}

#[derive(Serialize)]
struct UtxoNotice<'a> {
    #[serde(flatten)]
    body: ChangeBody<'a>,
    #[serde(flatten)]
    at: At,
    removed: bool,
}

/// The block of a transaction or of a change.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct At {
    height: JsonU64,
    #[serde(rename = "blockID")]
    block_id: Id,
    /// Unix s.
    time: JsonU64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeBody<'a> {
    change: &'static str,
    /// The transaction that made the change.
    #[serde(rename = "txID")]
    tx_id: Id,
    #[serde(rename = "utxoID")]
    utxo_id: Id,
    /// The transaction that produced the UTXO.
    #[serde(rename = "producedBy")]
    produced_by: Id,
    output_index: u32,
    #[serde(rename = "assetID")]
    asset_id: Id,
    /// The other chain of an export or import.
    #[serde(rename = "chainID", skip_serializing_if = "Option::is_none")]
    chain_id: Option<&'a ChainId>,
    #[serde(flatten)]
    holding: HoldingBody<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum HoldingBody<'a> {
    Known {
        #[serde(rename = "fxID")]
        fx_id: &'static str,
        output: OutputBody<'a>,
    },
    Signed {
        #[serde(skip_serializing_if = "Option::is_none")]
        amount: Option<JsonU64>,
        signers: Vec<String>,
    },
}

/// As in the JSON form of transactions, with integers of 64 bits as texts, and its kind.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutputBody<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    addresses: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<JsonU64>,
    #[serde(rename = "groupID", skip_serializing_if = "Option::is_none")]
    group_id: Option<u32>,
    /// Unix s.
    locktime: JsonU64,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<Hex<'a>>,
    threshold: u32,
}

impl<'a> OutputBody<'a> {
    fn new(output: &'a Output, format: AddressFormat<'_>) -> Self {
        let (kind, amount, group_id, payload) = match output {
            Output::SecpMint(_) => ("mint", None, None, None),
            Output::SecpTransfer(held) => ("transfer", Some(JsonU64(held.amount)), None, None),
            Output::NftMint(held) => ("NFT mint", None, Some(held.group_id), None),
            Output::NftTransfer(held) => {
                ("NFT", None, Some(held.group_id), Some(Hex(held.payload.as_slice())))
            }
            Output::PropertyMint(_) => ("property mint", None, None, None),
            Output::PropertyOwned(_) => ("property", None, None, None),
        };
        let OutputOwners { locktime, threshold, addresses } = output.owners();
        Self {
            kind,
            addresses: addresses.iter().map(|address| format.text(address)).collect(),
            amount,
            group_id,
            locktime: JsonU64(*locktime),
            payload,
            threshold: *threshold,
        }
    }
}

impl<'a> ChangeBody<'a> {
    fn new(change: &'a UtxoChange, tx: &'a Tx, format: AddressFormat<'_>) -> Self {
        let (name, chain_id) = match change.kind {
            ChangeKind::Created => ("created", None),
            ChangeKind::Consumed => ("consumed", None),
            ChangeKind::Exported => ("exported", peer(tx.unsigned())),
            ChangeKind::Imported => ("imported", peer(tx.unsigned())),
        };
        let holding = match &change.holding {
            Holding::Output(output) => HoldingBody::Known {
                fx_id: output.fx().id_text(),
                output: OutputBody::new(output, format),
            },
            Holding::Signed { amount, signers } => HoldingBody::Signed {
                amount: amount.map(JsonU64),
                signers: signers.iter().map(|signer| format.text(signer)).collect(),
            },
        };
        Self {
            change: name,
            tx_id: tx.id(),
            utxo_id: change.utxo_id.input_id(),
            produced_by: change.utxo_id.tx_id,
            output_index: change.utxo_id.output_index,
            asset_id: change.asset_id,
            chain_id,
            holding,
        }
    }
}

impl At {
    fn new(event: &BlockEvent) -> Self {
        Self { height: JsonU64(event.height), block_id: event.id, time: JsonU64(event.time_s) }
    }
}

/// The text of a block.
pub(super) fn block(vm: &Xvm, event: &BlockEvent, encoding: Option<Encoding>) -> Bytes {
    once(place(&event.texts, encoding), || {
        let bytes = event.bytes.as_ref();
        // A stored or executed block can be parsed.
        let block = encoding.and_then(|encoding| match encoding {
            Encoding::Json => Some(EncodedReply::object(vm, Block::parse(bytes).ok()?)),
            Encoding::Hex | Encoding::HexC | Encoding::HexNc => {
                EncodedReply::text(bytes, encoding).ok()
            }
        });
        json(&BlockNotice {
            id: event.id,
            parent_id: event.parent_id,
            height: JsonU64(event.height),
            time: JsonU64(event.time_s),
            tx_ids: &event.tx_ids,
            removed: event.is_removed,
            block,
            encoding,
        })
    })
}

/// The text of a transaction.
pub(super) fn transaction(
    vm: &Xvm,
    event: &BlockEvent,
    tx: &TxEvent,
    encoding: Option<Encoding>,
) -> Bytes {
    once(place(&tx.texts, encoding), || {
        let shown = encoding.and_then(|encoding| match encoding {
            Encoding::Json => Some(EncodedReply::object(vm, tx.tx.clone())),
            Encoding::Hex | Encoding::HexC | Encoding::HexNc => {
                EncodedReply::text(tx.tx.bytes(), encoding).ok()
            }
        });
        let alias = vm.context().primary_alias();
        let format = AddressFormat { alias: &alias, hrp: &vm.context().hrp };
        let changes = if encoding == Some(Encoding::Json) { &*tx.changes } else { &[] };
        json(&TxNotice {
            tx_id: tx.tx.id(),
            kind: tx.tx.unsigned().kind(),
            at: At::new(event),
            removed: event.is_removed,
            tx: shown,
            encoding,
            utxos: changes.iter().map(|change| ChangeBody::new(change, &tx.tx, format)).collect(),
        })
    })
}

/// The text of a change.
pub(super) fn utxo(vm: &Xvm, event: &BlockEvent, tx: &TxEvent, change: &UtxoChange) -> Bytes {
    once(Some(&change.text), || {
        let alias = vm.context().primary_alias();
        let format = AddressFormat { alias: &alias, hrp: &vm.context().hrp };
        json(&UtxoNotice {
            body: ChangeBody::new(change, &tx.tx, format),
            at: At::new(event),
            removed: event.is_removed,
        })
    })
}

/// Where the text in an encoding is kept. `hex` and `hexc` differ in the name that they show; the latter is not kept.
fn place(texts: &[OnceLock<Bytes>; 4], encoding: Option<Encoding>) -> Option<&OnceLock<Bytes>> {
    let [ids, hex, hex_nc, json] = texts;
    match encoding {
        None => Some(ids),
        Some(Encoding::Hex) => Some(hex),
        Some(Encoding::HexNc) => Some(hex_nc),
        Some(Encoding::Json) => Some(json),
        Some(Encoding::HexC) => None,
    }
}

fn once(place: Option<&OnceLock<Bytes>>, make: impl FnOnce() -> Bytes) -> Bytes {
    match place {
        Some(place) => place.get_or_init(make).clone(),
        None => make(),
    }
}

fn json(value: &impl Serialize) -> Bytes {
    esker_go_json::to_go_vec(value).expect("these forms are made of texts and lists").into()
}
