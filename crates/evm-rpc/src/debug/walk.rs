//! Reading one state in parts, each through a snapshot of its own: no snapshot is held for a whole walk.

use std::sync::Arc;

use esker_evm::view::ViewError;
use esker_evm_state::state::StateView;
use esker_evm_state::types::SealedHeader;
use esker_rpc::{CallContext, RpcError};

use crate::ReadApi;
use crate::error::read_error;

/// Hashes that are looked at through one snapshot: some milliseconds of work.
pub(super) const STEPS: usize = 512;

/// Most bytes of a reply. The reference has no limit.
pub(super) const MAX_REPLY_BYTES: usize = 25_000_000;

/// The state after a block, while a call goes through it.
pub(super) struct Walk<'a> {
    pub(super) reads: &'a ReadApi,
    pub(super) header: Arc<SealedHeader>,
    pub(super) context: &'a CallContext,
}

impl Walk<'_> {
    /// Reads a part. Ends the walk once the client has left, or the state is no longer kept.
    pub(super) fn part<T, E: Into<ViewError>>(
        &self,
        read: impl FnOnce(StateView<'_>) -> Result<T, E>,
    ) -> Result<T, RpcError> {
        check_cancelled(self.context)?;
        let state = self.reads.chain.state_after(&self.header).map_err(read_error)?;
        read(state.view()).map_err(read_error)
    }
}

/// What is returned once the work must end is discarded.
pub(super) fn check_cancelled(context: &CallContext) -> Result<(), RpcError> {
    if context.is_cancelled() {
        return Err(RpcError::new("the client has gone"));
    }
    Ok(())
}

/// What a reply may still hold.
#[derive(Debug)]
pub(super) struct ReplyRoom(usize);

impl ReplyRoom {
    pub(super) fn new() -> Self {
        Self(MAX_REPLY_BYTES)
    }

    /// Takes bytes of it; `advice` says how to ask for less.
    pub(super) fn take(&mut self, bytes: usize, advice: &str) -> Result<(), RpcError> {
        let Some(left) = self.0.checked_sub(bytes) else {
            let text = format!("response too large: more than {MAX_REPLY_BYTES} bytes; {advice}");
            return Err(RpcError::with_code(RpcError::TOO_LARGE, text));
        };
        self.0 = left;
        Ok(())
    }
}
