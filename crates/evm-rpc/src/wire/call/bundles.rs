//! Bundles of calls, as arguments.

use std::borrow::Cow;

use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_go_json::{Document, Kind};
use schemars::JsonSchema;

use super::{BlockOverrides, TransactionArgs};
use crate::wire::{Addr, Big, BlockNumberOrHash, Hash, Uint64};

/// Calls that see the same block.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "Bundle", title = "bundle", rename_all = "camelCase", default)]
pub struct BundleArgs {
    /// What is called.
    pub transactions: Vec<TransactionArgs>,
    /// What is different in the block.
    #[schemars(rename = "blockOverride")]
    pub block: BlockOverrides,
}

/// The state on which calls run.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "StateContext", title = "state context", default)]
pub struct StateContextArgs {
    /// The block; the last one if it is not given.
    #[schemars(rename = "blockNumber")]
    pub block: Option<BlockNumberOrHash>,
    /// How many of its transactions come before; -1, or not given: all.
    #[schemars(rename = "transactionIndex")]
    pub index: Option<i64>,
}

impl Argument for BundleArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("jsonrpc.Bundle")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let (mut transactions, mut block) = (Vec::new(), Block::default());
        decode_struct(
            value,
            "jsonrpc.Bundle",
            &mut [("transactions", &mut transactions), ("blockOverride", &mut block)],
        )?;
        let Block(block) = block;
        Ok(Self { transactions, block })
    }
}

impl Argument for StateContextArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("jsonrpc.StateContext")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut context = Self::default();
        decode_struct(
            value,
            "jsonrpc.StateContext",
            &mut [("blockNumber", &mut context.block), ("transactionIndex", &mut context.index)],
        )?;
        Ok(context)
    }
}

/// Block overrides with the names of Erigon's, those of `eth_call`, and those of `eth_simulateV1`.
#[derive(Default)]
struct Block(BlockOverrides);

esker_rpc::schema_as!(Block, "BundleBlockOverrides", BlockOverrides);

impl Argument for Block {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("jsonrpc.BlockOverrides")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut block = BlockOverrides::default();
        let (mut number, mut time) = (None::<Big>, None::<Uint64>);
        let (mut recipient, mut base_fee) = (None::<Addr>, None::<Big>);
        let (mut random, mut prev_randao) = (None::<Hash>, None::<Hash>);
        let mut hashes = NoHashes;
        decode_struct(
            value,
            "jsonrpc.BlockOverrides",
            &mut [
                ("number", &mut block.number),
                ("blockNumber", &mut number),
                ("time", &mut block.time),
                ("timestamp", &mut time),
                ("difficulty", &mut block.difficulty),
                ("random", &mut random),
                ("prevRandao", &mut prev_randao),
                ("gasLimit", &mut block.gas_limit),
                ("coinbase", &mut block.coinbase),
                ("feeRecipient", &mut recipient),
                ("baseFee", &mut block.base_fee),
                ("baseFeePerGas", &mut base_fee),
                ("blobBaseFee", &mut block.blob_base_fee),
                ("blockHash", &mut hashes),
            ],
        )?;
        // Code sees the randomness where the difficulty was.
        let random = random.or(prev_randao).map(|Hash(random)| Big(random.into()));
        Ok(Self(BlockOverrides {
            number: block.number.or(number),
            time: block.time.or(time),
            difficulty: random.or(block.difficulty),
            coinbase: block.coinbase.or(recipient),
            base_fee: block.base_fee.or(base_fee),
            ..block
        }))
    }
}

/// Other hashes of older blocks, which calls can't have.
struct NoHashes;

esker_rpc::schema!(NoHashes, "NoBlockHashes", { "title": "none", "type": "null" });

impl Argument for NoHashes {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("map[uint64]common.Hash")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match value.kind() {
            Kind::Null => Ok(Self),
            _ => Err(ArgumentError::text("overrides of \"blockHash\" are not supported")),
        }
    }
}
