//! The state's root after each transaction of a block.

use esker_evm_execution::trace::{BlockReplay, BufferOutput, TraceError};
use esker_evm_state::state::StateTries;
use esker_rpc::{CallContext, RpcError};

use super::block::{Target, after_parent};
use super::config::{MAX_TIMEOUT, TraceConfig};
use super::output::refusal;
use crate::error::read_error;
use crate::evm::TransactApi;
use crate::wire::Hash;

pub(super) fn intermediate_roots(
    transact: &TransactApi,
    (Hash(hash), config): (Hash, Option<TraceConfig>),
    context: &CallContext,
) -> Result<Vec<Hash>, RpcError> {
    let reads = &transact.reads;
    let target = match reads.block_by_hash(hash)? {
        Some(block) => Target::accepted(transact, block)?,
        None => {
            let bad = reads.chain.bad_blocks().into_iter().find(|bad| bad.block.hash == hash);
            let bad = bad.ok_or_else(|| RpcError::new(format!("block {hash:#x} not found")))?;
            Target::all_of(transact, bad.block)
        }
    };
    let block = &target.block.block;
    let reexec = config.unwrap_or_default().reexec();
    let roots = after_parent(transact, &target.block, reexec, context, |env, parent, deadline| {
        deadline.begin(MAX_TIMEOUT);
        let mut out = BufferOutput::new(0);
        let mut replay = BlockReplay::new(env, &parent.header, &block.header, &mut out)?;
        let mut tries = StateTries::new(&*transact.chain.rules, env.view, parent.header.state_root)
            .map_err(read_error)?;
        let mut roots = Vec::with_capacity(block.transactions.len());
        for (at, tx) in block.transactions.iter().enumerate() {
            match replay.run(tx, target.sender(at)) {
                Ok(_) => roots.push(Hash(replay.root(&mut tries).map_err(read_error)?)),
                // Like the reference, returns the results up to a transaction that can't be run.
                Err(TraceError::Refused(error)) if !error.is_internal() => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(roots)
    });
    roots.map_err(refusal)
}
