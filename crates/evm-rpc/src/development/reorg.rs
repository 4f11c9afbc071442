//! Other blocks in place of the last ones, in anvil's forms.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use esker_evm::view::ChainReader as _;
use esker_evm_state::types::Transaction;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_go_json::{Document, Kind};
use esker_rpc::{CallContext, RpcError, off_thread_long};

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::error::read_error;
use crate::evm::decode_transaction;
use crate::wire::call::TransactionArgs;
use crate::wire::{Data, Uint64};

/// Most blocks that are replaced at once.
const MAX_DEPTH: u64 = 10_000;

/// The number of blocks, or an object with the number and the transactions.
#[derive(Clone, Debug)]
pub(super) enum ReorgOptions {
    Depth(Number),
    All(Option<Number>, TxPairs),
}

/// Transactions, each with the index of its block among the new ones.
#[derive(Clone, Debug, Default)]
pub(super) struct TxPairs(Vec<(ReorgTx, Number)>);

#[derive(Clone, Debug)]
enum ReorgTx {
    Signed(Bytes),
    Request(Box<TransactionArgs>),
}

esker_rpc::schema!(ReorgOptions, "ReorgOptions", {
    "title": "number or options",
    "description": "How many blocks are replaced; or an object with it and with the transactions.",
    "anyOf": [
        { "type": "integer", "minimum": 0 },
        { "type": "string", "pattern": "^([0-9]+|0x[0-9a-fA-F]+)$" },
        {
            "type": "object",
            "properties": { "depth": { "type": ["integer", "string"] }, "tx_block_pairs": { "type": "array" } },
        },
    ],
});

esker_rpc::schema!(TxPairs, "ReorgTransactions", {
    "title": "list of pairs",
    "description": "Pairs of a transaction, as an object or signed as hex, and of the index of its block among the new ones, from 0.",
    "type": "array",
    "items": { "type": "array", "minItems": 2, "maxItems": 2 },
});

impl Argument for ReorgOptions {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("ReorgOptions")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if value.kind() != Kind::Object {
            return Number::decode(value).map(Self::Depth);
        }
        let (mut depth, mut pairs) = (None::<Number>, None::<TxPairs>);
        decode_struct(
            value,
            "ReorgOptions",
            &mut [("depth", &mut depth), ("tx_block_pairs", &mut pairs)],
        )?;
        Ok(Self::All(depth, pairs.unwrap_or_default()))
    }
}

impl Argument for TxPairs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("[]ReorgTransaction")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let expected =
            || ArgumentError::text("expected pairs of a transaction and a block's index");
        if value.kind() != Kind::Array {
            return Err(expected());
        }
        let pair = |pair: Document<'_>| {
            let mut parts =
                (pair.kind() == Kind::Array).then(|| pair.elements()).ok_or_else(expected)?;
            let (Some(tx), Some(block), None) = (parts.next(), parts.next(), parts.next()) else {
                return Err(expected());
            };
            let tx = match tx.kind() {
                Kind::Object => ReorgTx::Request(Box::new(TransactionArgs::decode(tx)?)),
                _ => ReorgTx::Signed(Data::decode(tx)?.0),
            };
            Ok((tx, Number::decode(block)?))
        };
        value.elements().map(pair).collect::<Result<_, _>>().map(Self)
    }
}

/// Replaces the last blocks by as many others.
pub(super) async fn reorg(
    node: Arc<DevelopmentNode>,
    (options, pairs): (ReorgOptions, Option<TxPairs>),
) -> Result<(), RpcError> {
    node.controls_to_write()?;
    let (depth, pairs) = match (options, pairs) {
        (ReorgOptions::Depth(depth), pairs) => (depth, pairs.unwrap_or_default()),
        (ReorgOptions::All(Some(depth), pairs), None) => (depth, pairs),
        (ReorgOptions::All(None, _), None) => return Err(refused("missing depth")),
        (ReorgOptions::All(..), Some(_)) => return Err(refused("transactions are given twice")),
    };
    let depth = depth.to_u64("depth")?;
    let signed = off_thread_long({
        let node = Arc::clone(&node);
        move |_| blocks(&node, depth, pairs.0)
    });
    let blocks = signed.await.map_err(refused)??;
    let reorg = async move { node.snapshots.reorg(&node.chain, blocks).await.map_err(refused) };
    // A separate task, which completes even if the client disconnects.
    tokio::spawn(reorg).await.map_err(refused)?
}

/// The transactions of each new block, signed.
fn blocks(
    node: &DevelopmentNode,
    depth: u64,
    pairs: Vec<(ReorgTx, Number)>,
) -> Result<Vec<Vec<Transaction>>, RpcError> {
    let head = node.chain.head().header.number;
    let Some(common) = head.checked_sub(depth) else {
        return Err(refused(format!(
            "Reorg depth must not exceed current chain height: current height {head}, depth {depth}"
        )));
    };
    if depth > MAX_DEPTH {
        return Err(refused(format!("cannot replace {depth} blocks at once: at most {MAX_DEPTH}")));
    }
    let mut ordered = BTreeMap::<u64, Vec<ReorgTx>>::new();
    for (tx, block) in pairs {
        let Ok(index) = u64::try_from(block.0)
            .map_err(|_| ())
            .and_then(|index| if index < depth { Ok(index) } else { Err(()) })
        else {
            return Err(refused(format!(
                "Block number for reorg tx will exceed the reorged chain height. Block number {} must not exceed (depth-1) {}",
                block.0,
                depth.saturating_sub(1)
            )));
        };
        ordered.entry(index).or_default().push(tx);
    }
    let mut nonces = Nonces { node, common, next: BTreeMap::new() };
    let mut blocks = Vec::new();
    for index in 0..depth {
        let txs = ordered.remove(&index).unwrap_or_default();
        blocks.push(txs.into_iter().map(|tx| nonces.signed(tx)).collect::<Result<_, _>>()?);
    }
    Ok(blocks)
}

/// The nonces of accounts after the last block that stays.
struct Nonces<'a> {
    node: &'a DevelopmentNode,
    common: u64,
    next: BTreeMap<Address, u64>,
}

impl Nonces<'_> {
    fn signed(&mut self, tx: ReorgTx) -> Result<Transaction, RpcError> {
        let mut args = match tx {
            ReorgTx::Signed(bytes) => return decode_transaction(&bytes).map_err(refused),
            ReorgTx::Request(args) => *args,
        };
        let accounts = || self.node.transact.accounts.accounts().into_iter().next();
        let from = args.from.or_else(|| accounts().map(crate::wire::Addr));
        args.from = from;
        let from = from.unwrap_or_default().0;
        let nonce = match args.nonce {
            Some(Uint64(nonce)) => nonce,
            None => self.nonce_of(from)?,
        };
        self.next.insert(from, nonce.saturating_add(1));
        args.nonce = Some(Uint64(nonce));
        self.node.transact.signed(args, &CallContext::new())
    }

    fn nonce_of(&self, account: Address) -> Result<u64, RpcError> {
        if let Some(next) = self.next.get(&account) {
            return Ok(*next);
        }
        let chain = &self.node.chain;
        let header = chain.header_at(self.common).map_err(read_error)?;
        let missing = || read_error(chain.missing(format!("block {}", self.common)));
        let state = chain.state_after(&*header.ok_or_else(missing)?).map_err(read_error)?;
        let account = state.view().account(&account).map_err(read_error)?;
        Ok(account.unwrap_or_default().nonce)
    }
}
