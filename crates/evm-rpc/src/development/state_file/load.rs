//! The changes that load a state: accounts, the height, and the time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::vec;

use alloy_primitives::{Address, U256};
use esker_evm::control::{ChangeRequest, MAX_BLOCKS, MAX_CODE, MAX_TIME_S};
use esker_rpc::{RpcError, off_thread};

use super::super::{DevelopmentNode, refused};
use super::read::{ReadAccount, ReadState};
use crate::error::read_error;
use crate::evm::running::LATEST;

/// Bytes of the changes of one block, about: less than a control record may have.
const BLOCK_BYTES: usize = 900_000;

/// Bytes of a change besides its values.
const CHANGE_BYTES: usize = 100;

/// Brings the chain to a state: sets what its accounts have, and makes blocks until the height is that of its last block.
/// Other accounts and slots stay, nonces never become lower. Whether that took blocks.
pub(super) async fn apply(
    node: &Arc<DevelopmentNode>,
    state: ReadState,
    most_blocks: u64,
) -> Result<bool, RpcError> {
    check(&state)?;
    let mut turn = node.controls_to_write()?.turn().await.map_err(refused)?;
    let before = node.chain.head().header.number;
    let ReadState { number, time_s, accounts, blocks } = state;
    let count = {
        let node = Arc::clone(node);
        move || count_blocks(&node, &accounts).map(|count| (count, accounts))
    };
    let (count, accounts) = off_thread(count).await.map_err(refused)??;
    let clock = node.snapshots.clock();
    if let Some(time_s) = time_s.filter(|time_s| *time_s <= MAX_TIME_S) {
        clock.advance_to(time_s.saturating_mul(1000));
    }
    // The state is the one after its last block.
    let missing = number.unwrap_or_default().saturating_sub(before);
    let fill = missing.saturating_sub(count);
    let is_filled = fill <= most_blocks.min(MAX_BLOCKS);
    if is_filled {
        turn.mine(fill, 0, None).await.map_err(refused)?;
    }
    let mut changes = Changes::new(node, accounts);
    loop {
        let (left, taken) = off_thread(move || changes.take_block()).await.map_err(refused)??;
        if taken.is_empty() {
            break;
        }
        turn.change(taken).await.map_err(refused)?;
        changes = left;
    }
    let now = node.chain.position();
    let last = if is_filled { now.height } else { before };
    node.transact.reads.loaded.set(blocks, &(before + 1..=last), now);
    Ok(count > 0 || (is_filled && fill > 0))
}

/// Refuses states that no block can produce, before any change.
fn check(state: &ReadState) -> Result<(), RpcError> {
    for (address, account) in &state.accounts {
        let length = account.code.len();
        if length > MAX_CODE {
            return Err(refused(format!(
                "account {address}: code of {length} bytes: at most {MAX_CODE} can be set"
            )));
        }
    }
    Ok(())
}

/// The changes of accounts in the last state, a block at a time. Only those of the next block are held, since all
/// changes together take more than the accounts.
struct Changes {
    node: Arc<DevelopmentNode>,
    accounts: vec::IntoIter<(Address, ReadAccount)>,
    /// The remaining changes of the last account.
    rest: VecDeque<ChangeRequest>,
}

impl Changes {
    fn new(node: &Arc<DevelopmentNode>, accounts: Vec<(Address, ReadAccount)>) -> Self {
        Self { node: Arc::clone(node), accounts: accounts.into_iter(), rest: VecDeque::new() }
    }

    /// Takes the changes of the next block; none at the end.
    fn take_block(mut self) -> Result<(Self, Vec<ChangeRequest>), RpcError> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        loop {
            while let Some(change) = self.rest.pop_front() {
                bytes += bytes_of(&change);
                if bytes > BLOCK_BYTES && !taken.is_empty() {
                    self.rest.push_front(change);
                    return Ok((self, taken));
                }
                taken.push(change);
            }
            let Some((address, account)) = self.accounts.next() else { return Ok((self, taken)) };
            self.rest = changes_of(&self.node, address, &account)?.into();
        }
    }
}

/// The number of blocks that change the accounts.
fn count_blocks(
    node: &DevelopmentNode,
    accounts: &[(Address, ReadAccount)],
) -> Result<u64, RpcError> {
    let (mut blocks, mut bytes) = (0, 0);
    for (address, account) in accounts {
        for change in changes_of(node, *address, account)? {
            bytes += bytes_of(&change);
            if blocks == 0 || bytes > BLOCK_BYTES {
                (blocks, bytes) = (blocks + 1, bytes_of(&change));
            }
        }
    }
    Ok(blocks)
}

/// Bytes that a change has in a block, about.
fn bytes_of(change: &ChangeRequest) -> usize {
    match change {
        ChangeRequest::Code(_, code) => CHANGE_BYTES + code.len(),
        _ => CHANGE_BYTES,
    }
}

fn changes_of(
    node: &DevelopmentNode,
    address: Address,
    account: &ReadAccount,
) -> Result<Vec<ChangeRequest>, RpcError> {
    let (state, _) = node.transact.reads.state(LATEST)?;
    let view = state.view();
    let rules = &node.chain.params().rules;
    let now = view.account(&address).map_err(read_error)?;
    let is_new = now.is_none();
    let now = now.unwrap_or_default();
    let ReadAccount { nonce, balance, code, storage } = account;
    let mut changes = Vec::new();
    if *balance != now.balance {
        changes.push(ChangeRequest::Balance(address, *balance));
    }
    if *nonce > now.nonce {
        changes.push(ChangeRequest::Nonce(address, *nonce));
    }
    if view.code(now.code_hash).map_err(read_error)? != *code {
        changes.push(ChangeRequest::Code(address, code.clone()));
    }
    for &(slot, value) in storage {
        // An account without other content does not exist.
        if is_new && changes.is_empty() {
            if value == U256::ZERO {
                continue;
            }
            return Err(refused(format!(
                "account {address} has storage, and neither code, balance nor nonce"
            )));
        }
        if view.storage(&address, rules.storage_keys().slot(slot)).map_err(read_error)? != value {
            changes.push(ChangeRequest::Storage(address, slot, value));
        }
    }
    Ok(changes)
}
