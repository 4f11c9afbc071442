//! Reading one state in parts, each through a snapshot of its own: no snapshot is held for a whole walk.

use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use esker_evm::view::ViewError;
use esker_evm_state::state::StateView;
use esker_evm_state::types::{Account, SealedHeader};
use esker_rpc::{CallContext, RpcError};

use crate::error::read_error;
use crate::reads::ReadApi;

/// Hashes that are looked at through one snapshot: some milliseconds of work.
pub(super) const STEPS: usize = 512;

/// Most bytes of a reply. The reference has no limit.
pub(super) const MAX_REPLY_BYTES: usize = 25_000_000;

/// Hash of the address, account, and address.
pub(crate) type FoundAccount = (B256, Account, Option<Address>);

/// The result of a part of a walk, and the start of the next part.
type Part<T> = Result<(Vec<T>, Option<B256>), RpcError>;

/// The state after a block, while a call goes through it.
pub(crate) struct Walk<'a> {
    pub(crate) reads: &'a ReadApi,
    pub(crate) header: Arc<SealedHeader>,
    pub(crate) context: &'a CallContext,
    /// Whether what changed on a forked chain will do, whose other accounts and slots are not here.
    pub(crate) is_of_changes: bool,
}

impl Walk<'_> {
    /// Reads a part. Ends the walk once the client has left, or the state is no longer kept.
    pub(crate) fn part<T, E: Into<ViewError>>(
        &self,
        read: impl FnOnce(StateView<'_>) -> Result<T, E>,
    ) -> Result<T, RpcError> {
        check_cancelled(self.context)?;
        let state = self.reads.chain.state_after(&self.header).map_err(read_error)?;
        read(state.view()).map_err(read_error)
    }

    /// A part of the accounts in the order of their hashes, each with its address if that is known, and where the
    /// next part begins.
    pub(crate) fn accounts(&self, from: B256) -> Part<FoundAccount> {
        self.part(|view| -> Result<_, ViewError> {
            let part = match self.is_of_changes {
                true => view.walk_own_accounts(from, STEPS),
                false => view.walk_accounts(from, STEPS),
            }?;
            let with_address = |(hash, account)| Ok((hash, account, view.address_of(hash)?));
            let found = part.found.into_iter().map(with_address);
            Ok((found.collect::<Result<_, ViewError>>()?, part.next))
        })
    }

    /// A part of an account's slots whose keys are known, and where the next part begins.
    pub(crate) fn slots(&self, account: B256, from: B256) -> Part<(B256, U256)> {
        self.part(|view| -> Result<_, ViewError> {
            let part = match self.is_of_changes {
                true => view.walk_own_slots(account, from, STEPS),
                false => view.walk_slots(account, from, STEPS),
            }?;
            let mut found = Vec::with_capacity(part.found.len());
            for (hash, value) in part.found {
                found.extend(view.slot_of(hash)?.map(|slot| (slot, value)));
            }
            Ok((found, part.next))
        })
    }
}

/// A result that is returned after the work must end is discarded.
pub(crate) fn check_cancelled(context: &CallContext) -> Result<(), RpcError> {
    if context.is_cancelled() {
        return Err(RpcError::new("the client has gone"));
    }
    Ok(())
}

/// The room that is left in a reply.
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
