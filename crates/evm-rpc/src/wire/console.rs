//! What contracts print, in notifications.

use esker_evm_execution::console::ConsoleCalls;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Hash, Uint64};

/// What a transaction or a call printed.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConsoleReply {
    /// The transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_hash: Option<Hash>,
    /// Hash of its block.
    #[serde(skip_serializing_if = "Option::is_none")]
    block_hash: Option<Hash>,
    /// Height of its block.
    #[serde(skip_serializing_if = "Option::is_none")]
    block_number: Option<Uint64>,
    /// The method that made the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    /// The printed texts.
    lines: Vec<String>,
    /// The number of further texts, which are not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<Uint64>,
}

/// The place of a transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConsolePlace {
    pub(crate) transaction_hash: Hash,
    pub(crate) block_hash: Hash,
    pub(crate) block_number: Uint64,
}

impl ConsoleReply {
    /// Of a transaction.
    pub(crate) fn of_transaction(place: ConsolePlace, console: &ConsoleCalls) -> Self {
        Self {
            transaction_hash: Some(place.transaction_hash),
            block_hash: Some(place.block_hash),
            block_number: Some(place.block_number),
            ..Self::new(console)
        }
    }

    /// Of a call by a method.
    pub(crate) fn of_call(method: &'static str, console: &ConsoleCalls) -> Self {
        Self { method: Some(method), ..Self::new(console) }
    }

    fn new(console: &ConsoleCalls) -> Self {
        let left_out = Some(console.left_out()).filter(|count| *count > 0);
        Self { lines: console.texts().collect(), left_out: left_out.map(Uint64), ..Self::default() }
    }
}
