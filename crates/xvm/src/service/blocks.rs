//! getHeight, getBlock, getBlockByHeight.

use bytes::Bytes;
use esker_primitives::BlockId;
use esker_rpc::NoArgs;
use esker_rpc::wire::{Encoding, JsonU64};
use esker_transactions::xvm::Block;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::encoded_reply::EncodedReply;
use super::{Reply, ServiceError};
use crate::chain::Xvm;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HeightReply {
    height: JsonU64,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct BlockArgs {
    #[serde(rename = "blockID")]
    block_id: BlockId,
    encoding: Encoding,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct HeightArgs {
    height: JsonU64,
    encoding: Encoding,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct BlockReply {
    block: EncodedReply<Block>,
    encoding: Encoding,
}

/// Height of the last accepted block.
pub(super) fn get_height(vm: &Xvm, _: NoArgs) -> Reply<HeightReply> {
    Ok(HeightReply { height: JsonU64(vm.view()?.height()?) })
}

/// A block by its ID, also one that is not decided yet.
pub(super) fn get_block(vm: &Xvm, args: BlockArgs) -> Reply<BlockReply> {
    let block = vm.view()?.block_by_id(&args.block_id)?;
    show(vm, block.ok_or(ServiceError::NoBlock(args.block_id))?, args.encoding)
}

/// The accepted block at a height.
pub(super) fn get_block_by_height(vm: &Xvm, args: HeightArgs) -> Reply<BlockReply> {
    let height = args.height.0;
    let block = vm.view()?.block_by_height(height)?;
    let missing = || match vm.first_block() {
        first if height < first => ServiceError::BeforeHistory { height, first },
        _ => ServiceError::NoHeight(height),
    };
    show(vm, block.ok_or_else(missing)?, args.encoding)
}

fn show(vm: &Xvm, bytes: Bytes, encoding: Encoding) -> Reply<BlockReply> {
    let block = match encoding {
        Encoding::Json => EncodedReply::object(vm, Block::parse(&bytes)?),
        Encoding::Hex | Encoding::HexC | Encoding::HexNc => EncodedReply::text(&bytes, encoding)?,
    };
    Ok(BlockReply { block, encoding })
}
