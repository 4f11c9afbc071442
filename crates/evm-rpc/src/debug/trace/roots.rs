//! The state's root after each transaction of a block.

use esker_evm::executor::Bounds;
use esker_evm::trace::{BlockReplay, BufferOutput, ReplayEnv, TraceError};
use esker_evm_state::state::StateTries;
use esker_rpc::{CallContext, RpcError};

use super::config::{MAX_TIMEOUT, TraceConfig};
use super::output::{Refusal, refusal};
use super::run::{Deadline, parent_of, state_after};
use crate::error::read_error;
use crate::evm::TransactApi;
use crate::evm::running::Hashes;
use crate::wire::Hash;

pub(super) fn intermediate_roots(
    transact: &TransactApi,
    (Hash(hash), config): (Hash, Option<TraceConfig>),
    context: &CallContext,
) -> Result<Vec<Hash>, RpcError> {
    let reads = &transact.reads;
    let found = match reads.block_by_hash(hash)? {
        Some(block) => Some(block),
        None => {
            let bad = reads.chain.bad_blocks().into_iter().find(|bad| bad.block.hash == hash);
            bad.map(|bad| bad.block)
        }
    };
    let block = found.ok_or_else(|| RpcError::new(format!("block {hash:#x} not found")))?;
    let parent = parent_of(transact, &block)?;
    let state = state_after(transact, &parent, config.unwrap_or_default().reexec())?;
    let hashes = Hashes { transact, newest: parent.header.number };
    let deadline = Deadline::new(transact, context);
    deadline.begin(MAX_TIMEOUT);
    let stop = || deadline.stop();
    let memory = Some(transact.config.max_memory);
    let env = ReplayEnv {
        chain: &transact.chain,
        view: state.view(),
        hashes: &hashes,
        bounds: Bounds { memory, stop: Some(&stop), ..Bounds::default() },
    };
    let mut out = BufferOutput::new(0);
    let failed = |error: TraceError| refusal(Refusal::Trace(error));
    let mut replay =
        BlockReplay::new(&env, &parent.header, &block.block.header, &mut out).map_err(failed)?;
    let mut tries = StateTries::new(&*transact.chain.rules, env.view, parent.header.state_root);
    let mut roots = Vec::with_capacity(block.block.transactions.len());
    for tx in &block.block.transactions {
        match replay.run(tx, None) {
            Ok(_) => roots.push(Hash(replay.root(&mut tries).map_err(read_error)?)),
            // As the reference: what there is until a transaction that can't be run.
            Err(TraceError::Refused(error)) if !error.is_internal() => break,
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(roots)
}
