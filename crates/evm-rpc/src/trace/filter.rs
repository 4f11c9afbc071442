//! The calls of many blocks, by their addresses.

use std::ops::RangeInclusive;

use alloy_primitives::Address;
use esker_evm::view::AddressStart;
use esker_evm_execution::trace::{CallFilter, CallList, Selection, TraceOutput};
use esker_evm_state::addresses::AddressQuery;
use esker_rpc::{CallContext, ResultWriter, RpcError};
use serde::Serialize;

use super::accepted::list_calls;
use super::args::TraceFilterArgs;
use crate::debug::walk::check_cancelled;
use crate::debug::{Refusal, write_reply};
use crate::error::read_error;
use crate::evm::TransactApi;
use crate::reads::ReadApi;
use crate::wire::{BlockNumber, BlockPlace, PlainBlock, Uint64};

/// Most calls of a reply. Those of one block are never parted, unless the filter has a `count`.
const MAX_CALLS: usize = 10_000;
/// Longest time of a search, ms. The first block is never left out.
const MAX_SEARCH_MS: u64 = 10_000;
/// Most addresses that are looked up in the index of addresses; with more, each block runs again.
const MAX_LOOKUPS: usize = 100;
/// The code of an error about too many results.
const LIMIT_EXCEEDED: i64 = -32005;

/// The range to ask for instead.
#[derive(Serialize)]
struct SuggestedRange {
    from: Uint64,
    to: Uint64,
    limit: u64,
}

/// The calls that a filter lets through, block by block.
pub(super) fn filter(
    transact: &TransactApi,
    (filter,): (TraceFilterArgs,),
    context: &CallContext,
    writer: &mut ResultWriter,
) -> Result<(), RpcError> {
    let TraceFilterArgs { from, to, calls } = filter;
    let range = heights(transact, (from, to))?;
    let is_empty = calls.count == Some(0);
    let search = Search::new(transact, &calls, context)?;
    write_reply(writer, context, |out| {
        out.buffer().push(b'[');
        if let Some(range) = range.filter(|_| !is_empty) {
            search.run(range, &CallList::new(Selection::Matching(calls)), out)?;
        }
        out.buffer().push(b']');
        Ok(())
    })
}

/// The heights of a filter, up to the head. `None`: no block.
fn heights(
    transact: &TransactApi,
    (from, to): (Option<PlainBlock>, Option<PlainBlock>),
) -> Result<Option<RangeInclusive<u64>>, RpcError> {
    let reads = &transact.reads;
    let (head, first) = (reads.chain.head().header.number, reads.chain.genesis_number());
    let height = |block: Option<PlainBlock>, default| match block {
        None => default,
        Some(PlainBlock(number)) => match reads.place(number) {
            BlockPlace::Height(height) => height,
            BlockPlace::Head | BlockPlace::Pending => head,
        },
    };
    let (begin, end) = (height(from, first), height(to, head));
    let refused = |text| Err(RpcError::with_code(RpcError::INVALID_PARAMS, text));
    if begin > end && to.is_some() {
        return refused(format!("begin block {begin} is greater than end block {end}"));
    }
    let most = transact.config.max_trace_blocks;
    if most > 0 && end.saturating_sub(begin) >= most {
        return refused(format!(
            "requested too many blocks from {begin} to {end}, maximum is set to {most}"
        ));
    }
    let (begin, end) = (begin.max(first), end.min(head));
    Ok((begin <= end).then_some(begin..=end))
}

/// A block to run again.
struct NextBlock {
    height: u64,
    /// Which of its transactions are traced; `None`: all of them.
    places: Option<Vec<usize>>,
}

/// A search through blocks.
struct Search<'s> {
    transact: &'s TransactApi,
    context: &'s CallContext,
    /// The addresses of which each call has one, and the first block of their index.
    indexed: Option<(Vec<Address>, u64)>,
    started_ms: u64,
}

impl<'s> Search<'s> {
    fn new(
        transact: &'s TransactApi,
        filter: &CallFilter,
        context: &'s CallContext,
    ) -> Result<Self, RpcError> {
        let indexed = match indexed_addresses(filter) {
            Some(addresses) => match transact.reads.chain.address_start().map_err(read_error)? {
                AddressStart::On { start, .. } => Some((addresses, start)),
                AddressStart::Off => None,
            },
            None => None,
        };
        Ok(Self { transact, context, indexed, started_ms: transact.limit_clock.now_ms() })
    }

    fn reads(&self) -> &ReadApi {
        &self.transact.reads
    }

    fn run(
        &self,
        range: RangeInclusive<u64>,
        list: &CallList,
        out: &mut dyn TraceOutput,
    ) -> Result<(), Refusal> {
        let (first, last) = range.into_inner();
        let mut next = first;
        while next <= last && !list.is_full() {
            check_cancelled(self.context)?;
            if next > first {
                self.check_limits(first, next, list.len())?;
            }
            let Some(found) = self.next_block(next, last)? else { return Ok(()) };
            let NextBlock { height, places } = found;
            let block = self.reads().block_by_number(BlockNumber::Number(height))?;
            let missing = || read_error(self.reads().chain.missing(format!("block {height}")));
            let block = block.ok_or_else(missing)?;
            let all = || (0..block.block.transactions.len()).collect();
            list_calls(
                self.transact,
                &block,
                &places.unwrap_or_else(all),
                list,
                self.context,
                out,
            )?;
            next = height + 1;
        }
        Ok(())
    }

    /// The next block to run again.
    fn next_block(&self, from: u64, to: u64) -> Result<Option<NextBlock>, RpcError> {
        let Some((addresses, _)) = self.indexed.as_ref().filter(|(_, start)| *start <= from) else {
            return Ok(Some(NextBlock { height: from, places: None }));
        };
        let (mut nearest, mut places) = (to, Vec::new());
        for address in addresses {
            let query =
                AddressQuery { address: *address, from, to: nearest, is_backward: false, count: 1 };
            let page = self.reads().chain.address_page(&query).map_err(read_error)?;
            let Some(found) = page.blocks.into_iter().next() else { continue };
            if found.height < nearest {
                (nearest, places) = (found.height, Vec::new());
            }
            places.extend(found.places.into_iter().filter_map(|at| usize::try_from(at).ok()));
        }
        places.sort_unstable();
        places.dedup();
        let found = (!places.is_empty()).then_some(places);
        Ok(found.map(|places| NextBlock { height: nearest, places: Some(places) }))
    }

    /// Ends a search that has too many results, or takes too long. The block `at` comes next.
    fn check_limits(&self, from: u64, at: u64, calls: usize) -> Result<(), RpcError> {
        let waited_ms = self.transact.limit_clock.now_ms().saturating_sub(self.started_ms);
        let (limit, what) = if calls > MAX_CALLS {
            (MAX_CALLS as u64, format!("returned more than {MAX_CALLS} results"))
        } else if waited_ms >= MAX_SEARCH_MS {
            (MAX_SEARCH_MS, format!("took longer than {MAX_SEARCH_MS} ms"))
        } else {
            return Ok(());
        };
        let to = at - 1;
        let text = format!("query {what}. Try with this block range [{from:#x}, {to:#x}].");
        let advice = SuggestedRange { from: Uint64(from), to: Uint64(to), limit };
        Err(RpcError::with_code(LIMIT_EXCEEDED, text).with_data(&advice))
    }
}

/// Addresses of which each matching call has one; `None` if the index of addresses can't answer for them.
fn indexed_addresses(filter: &CallFilter) -> Option<Vec<Address>> {
    let CallFilter { from, to, is_intersection, .. } = filter;
    let addresses: Vec<_> = match (from.is_empty(), to.is_empty()) {
        (true, true) => return None,
        (false, false) if *is_intersection => from.iter().copied().collect(),
        _ => from.union(to).copied().collect(),
    };
    let is_indexed = |address: &Address| !may_be_precompiled(address);
    (addresses.len() <= MAX_LOOKUPS && addresses.iter().all(is_indexed)).then_some(addresses)
}

/// Whether a precompiled contract may have the address. Calls of those by code are not in the index.
fn may_be_precompiled(address: &Address) -> bool {
    // Those of Ethereum begin with zeros, those of the C-Chain with 1 or 2 and zeros.
    address[1..18].iter().all(|byte| *byte == 0)
}
