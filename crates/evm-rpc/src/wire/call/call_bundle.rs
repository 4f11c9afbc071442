//! A bundle of signed transactions, as an argument.

use std::borrow::Cow;

use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use schemars::JsonSchema;

use crate::wire::{Addr, Big, BlockNumberOrHash, Data, HexOrDecimal};

/// Transactions, the state on which they run, and their block.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(rename = "CallBundle", title = "call bundle", rename_all = "camelCase", default)]
pub struct CallBundleArgs {
    /// Signed transactions.
    pub txs: Vec<Data>,
    /// The number of their block.
    pub block_number: Option<HexOrDecimal>,
    /// The block on whose state they run; the last one if it is not given.
    pub state_block_number: Option<BlockNumberOrHash>,
    /// The time of their block, Unix s.
    pub timestamp: Option<HexOrDecimal>,
    /// The longest time of the execution, ms.
    pub timeout: Option<HexOrDecimal>,
    /// Who gets the fees of their block.
    pub coinbase: Option<Addr>,
    /// The gas limit of their block.
    pub gas_limit: Option<HexOrDecimal>,
    /// The difficulty of their block.
    pub difficulty: Option<Big>,
    /// The base fee of their block, wei.
    pub base_fee: Option<Big>,
}

impl Argument for CallBundleArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("jsonrpc.CallBundleArgs")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut bundle = Self::default();
        decode_struct(
            value,
            "jsonrpc.CallBundleArgs",
            &mut [
                ("txs", &mut bundle.txs),
                ("blockNumber", &mut bundle.block_number),
                ("stateBlockNumber", &mut bundle.state_block_number),
                ("timestamp", &mut bundle.timestamp),
                ("timeout", &mut bundle.timeout),
                ("coinbase", &mut bundle.coinbase),
                ("gasLimit", &mut bundle.gas_limit),
                ("difficulty", &mut bundle.difficulty),
                ("baseFee", &mut bundle.base_fee),
            ],
        )?;
        Ok(bundle)
    }
}
