//! send, sendMultiple, and the wallet's.

use std::sync::Arc;

use esker_primitives::ClientAddress;
use esker_primitives::{AssetId, ShortId};
use esker_rpc::RpcError;
use esker_rpc::wire::JsonU64;
use esker_transactions::xvm::{MAX_MEMO_LEN, Tx};
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::Reply;
use super::KeysError;
use super::arguments::{ChangeReply, Header, parse_to, spending_arguments};
use super::session::{Session, spend, spend_pending};
use crate::chain::Xvm;
use crate::wallet::{Amounts, SpendError};

spending_arguments! {
    /// One output.
    struct SendArgs {
        amount: JsonU64,
        #[serde(rename = "assetID")]
        asset_id: String,
        to: String,
        memo: String,
    }
}

spending_arguments! {
    /// Any number of outputs.
    struct SendMultipleArgs {
        outputs: Vec<SendOutput>,
        memo: String,
    }
}

/// Units of an asset for an address.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct SendOutput {
    amount: JsonU64,
    #[serde(rename = "assetID")]
    asset_id: String,
    to: String,
}

/// A requested payment, before any check.
struct Order {
    outputs: Vec<SendOutput>,
    memo: Vec<u8>,
}

impl Order {
    fn new(outputs: Vec<SendOutput>, memo: String) -> Reply<Self> {
        if memo.len() > MAX_MEMO_LEN {
            return Err(KeysError::MemoTooLong(memo.len()).into());
        }
        if outputs.is_empty() {
            return Err(KeysError::NoOutputs.into());
        }
        Ok(Self { outputs, memo: memo.into_bytes() })
    }

    /// The transaction. Amounts are summed up before the address of each output is looked at.
    fn build(&self, session: &Session<'_>) -> Reply<Tx> {
        let mut sums = Amounts::new();
        let mut sent: Vec<(AssetId, u64, ShortId)> = Vec::with_capacity(self.outputs.len());
        for SendOutput { amount: JsonU64(amount), asset_id, to } in &self.outputs {
            if *amount == 0 {
                return Err(KeysError::ZeroAmount.into());
            }
            let asset = session.vm.assets().lookup(asset_id);
            let asset = asset.ok_or_else(|| KeysError::NoSuchAsset(asset_id.clone()))?;
            let sum = sums.entry(asset).or_default();
            *sum = sum.checked_add(*amount).ok_or(SpendError::WantedOverflow)?;
            sent.push((asset, *amount, parse_to(session.vm, to)?));
        }
        Ok(session.payer().send(&sent, self.memo.clone())?)
    }
}

impl SendArgs {
    fn split(mut self, client: ClientAddress) -> Reply<(Header, Order)> {
        let header = self.header(client);
        let output = SendOutput { amount: self.amount, asset_id: self.asset_id, to: self.to };
        Ok((header, Order::new(vec![output], self.memo)?))
    }
}

impl SendMultipleArgs {
    fn split(mut self, client: ClientAddress) -> Reply<(Header, Order)> {
        let header = self.header(client);
        Ok((header, Order::new(self.outputs, self.memo)?))
    }
}

async fn issue(vm: Arc<Xvm>, split: Reply<(Header, Order)>) -> Reply<ChangeReply> {
    let (header, order) = split?;
    spend(vm, header, move |session| order.build(session)).await
}

async fn issue_pending(vm: Arc<Xvm>, split: Reply<(Header, Order)>) -> Reply<ChangeReply> {
    let (header, order) = split?;
    spend_pending(vm, header, move |session| order.build(session)).await
}

/// Sends units of one asset to one address.
pub(super) async fn send(
    vm: Arc<Xvm>,
    args: SendArgs,
    client: ClientAddress,
) -> Result<ChangeReply, RpcError> {
    Ok(issue(vm, args.split(client)).await?)
}

/// Sends to any number of addresses in one transaction.
pub(super) async fn send_multiple(
    vm: Arc<Xvm>,
    args: SendMultipleArgs,
    client: ClientAddress,
) -> Result<ChangeReply, RpcError> {
    Ok(issue(vm, args.split(client)).await?)
}

/// Like [`send`], on top of the wallet's pending transactions.
pub(super) async fn wallet_send(
    vm: Arc<Xvm>,
    args: SendArgs,
    client: ClientAddress,
) -> Result<ChangeReply, RpcError> {
    Ok(issue_pending(vm, args.split(client)).await?)
}

/// Like [`send_multiple`], on top of the wallet's pending transactions.
pub(super) async fn wallet_send_multiple(
    vm: Arc<Xvm>,
    args: SendMultipleArgs,
    client: ClientAddress,
) -> Result<ChangeReply, RpcError> {
    Ok(issue_pending(vm, args.split(client)).await?)
}
