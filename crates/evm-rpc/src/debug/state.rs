//! States: dumps, ranges, what changed between two blocks. The service `debug`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use alloy_primitives::{Address, B256, hex};
use esker_evm::view::ViewError;
use esker_evm_state::state::StateError;
use esker_evm_state::types::{Account, SealedHeader};
use esker_rpc::handler::{blocking, quick, restartable, sized};
use esker_rpc::{CallContext, MethodTable, RpcError, cost};

use super::account::account_info_at;
use super::dump::{DumpOptions, DumpReply, MAX_ACCOUNTS, dump};
use super::storage::{StorageRange, StorageRangeReply, storage_range};
use super::walk::{ReplyRoom, STEPS, Walk};
use crate::error::read_error;
use crate::evm::{TransactApi, get_bad_blocks};
use crate::reads::ReadApi;
use crate::wire::{Addr, BlockNumber, BlockNumberOrHash, BlockPlace, Data, Hash};

/// The methods of the service `debug`.
pub(crate) fn methods() -> MethodTable<TransactApi> {
    MethodTable::new("debug")
        .on_list("dumpBlock", restartable(dump_block))
        .params(&["block"])
        .cost(cost::HEAVY)
        .on_list("accountRange", restartable(account_range))
        .params(&["block", "start", "max", "noCode", "noStorage", "incompletes"])
        .cost(cost::HEAVY)
        .on_list("preimage", quick(preimage))
        .params(&["hash"])
        .on_list("codeByHash", sized(code_bytes, code_by_hash))
        .params(&["hash", "block"])
        .on_list("dbGet", sized(code_bytes, db_get))
        .params(&["key"])
        .on_list("storageRangeAt", restartable(storage_range_at))
        .params(&["block", "index", "address", "start", "max"])
        .cost(cost::HEAVY)
        .on_list("accountInfoAt", restartable(account_info_at))
        .params(&["block", "index", "address"])
        .cost(cost::HEAVY)
        .on_list("getModifiedAccountsByNumber", restartable(modified_by_number))
        .params(&["start", "end"])
        .cost(cost::HEAVY)
        .on_list("getModifiedAccountsByHash", restartable(modified_by_hash))
        .params(&["start", "end"])
        .cost(cost::HEAVY)
        .on_list("getAccessibleState", quick(get_accessible_state))
        .params(&["from", "to"])
        .on_list(
            "getBadBlocks",
            blocking(|transact: &TransactApi, ()| get_bad_blocks(&transact.reads, ())),
        )
        .cost(cost::LARGE_READ)
}

fn dump_block(
    transact: &TransactApi,
    (number,): (BlockNumber,),
    context: &CallContext,
) -> Result<DumpReply, RpcError> {
    let header = header_at(&transact.reads, number)?;
    let options = DumpOptions {
        start: B256::ZERO,
        max: MAX_ACCOUNTS,
        with_code: true,
        with_storage: true,
        with_incomplete: false,
    };
    dump(&Walk { reads: &transact.reads, header, context, is_of_changes: false }, options)
}

type AccountRangeArgs = (BlockNumberOrHash, Data, i64, bool, bool, bool);

fn account_range(
    transact: &TransactApi,
    (at, start, max, no_code, no_storage, incompletes): AccountRangeArgs,
    context: &CallContext,
) -> Result<DumpReply, RpcError> {
    let reads = &*transact.reads;
    let header = match reads.block_id(at) {
        BlockNumberOrHash::Number(number) => header_at(reads, number)?,
        BlockNumberOrHash::Hash { hash, .. } => {
            let missing = || RpcError::new(format!("block {hash:#x} not found"));
            reads.header_by_hash(hash)?.ok_or_else(missing)?
        }
        BlockNumberOrHash::Neither | BlockNumberOrHash::Null => {
            return Err(RpcError::new("either block number or block hash must be specified"));
        }
    };
    let max = usize::try_from(max).ok().filter(|max| (1..=MAX_ACCOUNTS).contains(max));
    let options = DumpOptions {
        start: first_hash(&start),
        max: max.unwrap_or(MAX_ACCOUNTS),
        with_code: !no_code,
        with_storage: !no_storage,
        with_incomplete: incompletes,
    };
    dump(&Walk { reads, header, context, is_of_changes: false }, options)
}

/// The first hash from some bytes on: fewer than 32 are the beginning of one.
fn first_hash(start: &Data) -> B256 {
    let start = &start.0[..start.0.len().min(B256::len_bytes())];
    B256::right_padding_from(start)
}

/// The header of a number; the text is that of the methods that walk.
fn header_at(reads: &ReadApi, number: BlockNumber) -> Result<Arc<SealedHeader>, RpcError> {
    reads.header_by_number(number)?.ok_or_else(|| {
        let BlockNumber::Number(number) = number else {
            return RpcError::new("block not found");
        };
        RpcError::new(format!("block #{number} not found"))
    })
}

/// The preimage of a hash, if the node keeps it (`preimages-enabled`).
fn preimage(transact: &TransactApi, (Hash(hash),): (Hash,)) -> Result<Data, RpcError> {
    let reads = &transact.reads;
    let (state, _) = reads.state(BlockNumberOrHash::Number(BlockNumber::Latest))?;
    let found = state.view().preimage(hash).map_err(read_error)?;
    found.map(|bytes| Data(bytes.into())).ok_or_else(|| RpcError::new("unknown preimage"))
}

/// Code by its hash, as reth and anvil serve it; `null`: the node has no such code. No state limits which code is found.
fn code_by_hash(
    transact: &TransactApi,
    (Hash(hash), at): (Hash, Option<BlockNumberOrHash>),
) -> Result<Option<Data>, RpcError> {
    let (state, _) = transact.reads.state(at.unwrap_or(BlockNumber::Latest.into()))?;
    match state.view().code(hash) {
        Ok(code) => Ok(Some(Data(code))),
        Err(StateError::MissingCode(_)) => Ok(None),
        Err(error) => Err(read_error(error)),
    }
}

/// The byte before a hash in the keys of code, in the databases of geth and reth.
const CODE_PREFIX: u8 = b'c';

/// The value of a key of geth's database: of code only, as reth and anvil serve it. The key is hex, or text that stands for
/// its bytes.
fn db_get(transact: &TransactApi, (key,): (String,)) -> Result<Option<Data>, RpcError> {
    let wrong = |text: String| RpcError::with_code(RpcError::INVALID_PARAMS, text);
    let key = match key.strip_prefix("0x") {
        Some(digits) => hex::decode(digits).map_err(|error| wrong(error.to_string()))?,
        None => key.into_bytes(),
    };
    match key.as_slice() {
        [CODE_PREFIX, hash @ ..] if hash.len() == B256::len_bytes() => {
            code_by_hash(transact, (Hash(B256::from_slice(hash)), None))
        }
        [_, hash @ ..] if hash.len() == B256::len_bytes() => {
            Err(wrong("only keys of code are served: the key's first byte is 0x63".to_owned()))
        }
        key => {
            Err(wrong(format!("a key of code has 33 bytes, 0x63 and the hash: got {}", key.len())))
        }
    }
}

/// Bytes of code as JSON.
fn code_bytes(code: &Option<Data>) -> usize {
    code.as_ref().map_or(0, |Data(code)| 2 * code.len())
}

type StorageRangeArgs = (BlockNumberOrHash, i64, Addr, Data, i64);

fn storage_range_at(
    transact: &TransactApi,
    (at, index, Addr(account), start, max): StorageRangeArgs,
    context: &CallContext,
) -> Result<StorageRangeReply, RpcError> {
    let range = StorageRange { at, index, account, start: first_hash(&start), max };
    storage_range(transact, &range, context)
}

fn modified_by_number(
    transact: &TransactApi,
    (start, end): (u64, Option<u64>),
    context: &CallContext,
) -> Result<Option<Vec<Addr>>, RpcError> {
    let reads = &*transact.reads;
    let header = |height| reads.chain.header_at(height).map_err(read_error);
    // The reference writes the first number in hex, and the second one not.
    let start = found(header(start)?, &format_args!("start block {start:x}"))?;
    match end {
        None => modified_in(reads, start, context),
        Some(end) => {
            let end = found(header(end)?, &format_args!("end block {end}"))?;
            modified(reads, &start, end, context)
        }
    }
}

fn modified_by_hash(
    transact: &TransactApi,
    (Hash(start), end): (Hash, Option<Hash>),
    context: &CallContext,
) -> Result<Option<Vec<Addr>>, RpcError> {
    let reads = &*transact.reads;
    let start = found(reads.header_by_hash(start)?, &format_args!("start block {start:x}"))?;
    match end {
        None => modified_in(reads, start, context),
        Some(Hash(end)) => {
            let end = found(reads.header_by_hash(end)?, &format_args!("end block {end:x}"))?;
            modified(reads, &start, end, context)
        }
    }
}

fn found(
    header: Option<Arc<SealedHeader>>,
    what: &dyn fmt::Display,
) -> Result<Arc<SealedHeader>, RpcError> {
    header.ok_or_else(|| RpcError::new(format!("{what} not found")))
}

/// Accounts that one block modified.
fn modified_in(
    reads: &ReadApi,
    block: Arc<SealedHeader>,
    context: &CallContext,
) -> Result<Option<Vec<Addr>>, RpcError> {
    let parent = match block.header.number {
        0 => None,
        _ => reads.header_by_hash(block.header.parent_hash)?,
    };
    let no_parent = || RpcError::new(format!("block {:x} has no parent", block.header.number));
    modified(reads, &parent.ok_or_else(no_parent)?, block, context)
}

/// Accounts that are there after `end` and are not as they were after `start`, by the hashes of their addresses;
/// `null`: there are none.
fn modified(
    reads: &ReadApi,
    start: &Arc<SealedHeader>,
    end: Arc<SealedHeader>,
    context: &CallContext,
) -> Result<Option<Vec<Addr>>, RpcError> {
    let (first, last) = (start.header.number, end.header.number);
    if first >= last {
        return Err(RpcError::new(format!(
            "start block height ({first}) must be less than end block height ({last})"
        )));
    }
    let before = Walk { reads, header: Arc::clone(start), context, is_of_changes: false };
    let after = Walk { reads, header: end, context, is_of_changes: false };
    let mut room = ReplyRoom::new();
    let mut hashes = BTreeSet::new();
    for height in first + 1..=last {
        let mut changed = Vec::new();
        // While the state of the start is kept, so is what the blocks after it changed.
        before.part(|view| view.changed_accounts(height, |hash| changed.push(hash)))?;
        for hash in changed {
            if hashes.insert(hash) {
                room.take(ADDRESS_BYTES, "ask for fewer blocks")?;
            }
        }
    }
    let hashes: Vec<_> = hashes.into_iter().collect();
    let mut modified = Vec::new();
    for hashes in hashes.chunks(STEPS) {
        let old = accounts(&before, hashes)?;
        let new = accounts(&after, hashes)?;
        for ((hash, (new, address)), (old, _)) in hashes.iter().zip(new).zip(old) {
            if new.is_none() || new == old {
                continue;
            }
            let unknown = || RpcError::new(format!("no preimage found for hash {hash:x}"));
            modified.push(Addr(address.ok_or_else(unknown)?));
        }
    }
    Ok(Some(modified).filter(|modified| !modified.is_empty()))
}

/// Bytes of an address as JSON, with its hash in memory.
const ADDRESS_BYTES: usize = 90;

/// The content of a hashed address: its account, if there is one, and the address, if it is known.
type AccountAndAddress = (Option<Account>, Option<Address>);

/// Accounts of hashed addresses, with the addresses that are known.
fn accounts(walk: &Walk<'_>, hashes: &[B256]) -> Result<Vec<AccountAndAddress>, RpcError> {
    walk.part(|view| {
        let read = |hash: &B256| -> Result<_, ViewError> {
            Ok((view.account_by_hash(*hash)?, view.address_of(*hash)?))
        };
        hashes.iter().map(read).collect::<Result<_, _>>()
    })
}

/// The first block of a sequence whose state is kept; the last of the sequence is no part of it.
fn get_accessible_state(
    transact: &TransactApi,
    (from, to): (BlockNumber, BlockNumber),
) -> Result<u64, RpcError> {
    let chain = &transact.reads.chain;
    let head = chain.head().header.number;
    let height = |number| match transact.reads.place(number) {
        BlockPlace::Height(height) => height,
        BlockPlace::Head | BlockPlace::Pending => head,
    };
    let (from, to) = (height(from), height(to));
    if from == to {
        return Err(RpcError::new("from and to needs to be different"));
    }
    if from > head {
        return Err(RpcError::new(format!("missing header {from}")));
    }
    // Kept are the states from the oldest on up to the head.
    let oldest = chain.oldest_state().map_err(read_error)?;
    let first = from.max(oldest);
    let is_kept = if from < to { first < to } else { first == from };
    is_kept.then_some(first).ok_or_else(|| RpcError::new("no state found"))
}

#[cfg(test)]
mod tests {
    use alloy_primitives::U256;

    use super::*;

    #[test]
    fn the_start_of_a_range_may_be_short_or_long() {
        let start = |bytes: &[u8]| first_hash(&Data(bytes.to_vec().into()));
        assert_eq!(start(&[]), B256::ZERO);
        assert_eq!(start(&[0x80]), B256::from(U256::ONE << 255));
        assert_eq!(start(&[7; 32]), B256::repeat_byte(7));
        assert_eq!(start(&[7; 33]), B256::repeat_byte(7));
    }
}
