//! The changes that load a state: accounts, the height, and the time.

use std::collections::VecDeque;
use std::sync::Arc;
use std::vec;

use alloy_primitives::Address;
use esker_evm::control::{ChangeRequest, MAX_BLOCKS, MAX_CODE, MAX_TIME_S, Turn};
use esker_rpc::{RpcError, off_thread};

use super::super::{DevelopmentNode, refused};
use super::plan::{BLOCK_BYTES, CHANGE_BYTES, Step, Target, steps};
use super::read::ReadState;
use super::states::{Accounts, States};
use crate::error::read_error;
use crate::evm::running::LATEST;
use crate::wire::BlockNumber;

/// Brings the chain to a state: sets what its accounts have, and makes blocks until the height is that of its last block, with
/// the states that the file has of them. Accounts and slots that it has in no state stay, nonces never become lower than they
/// are. Whether that took blocks.
pub(super) async fn apply(
    node: &Arc<DevelopmentNode>,
    state: ReadState,
    most_blocks: u64,
) -> Result<bool, RpcError> {
    check(&state)?;
    let mut turn = node.controls_to_write()?.turn().await.map_err(refused)?;
    let before = node.chain.head().header.number;
    let ReadState { number, time_s, accounts, states, blocks } = state;
    let (at, wanted) = (Arc::clone(node), (states, accounts));
    let heights = (before, number.unwrap_or_default(), most_blocks.min(MAX_BLOCKS));
    let planned = off_thread(move || plan(&at, heights, wanted));
    let Planned { steps, is_filled } = planned.await.map_err(refused)??;
    let clock = node.snapshots.clock();
    if let Some(time_s) = time_s.filter(|time_s| *time_s <= MAX_TIME_S) {
        clock.advance_to(time_s.saturating_mul(1000));
    }
    for step in steps {
        make(node, &mut turn, before, step).await?;
    }
    let now = node.chain.position();
    let last = if is_filled { now.height } else { before };
    node.transact.reads.loaded.set(blocks, &(before + 1..=last), now);
    Ok(now.height > before)
}

/// The steps of a load.
struct Planned {
    steps: Vec<Step>,
    /// Whether they end at the height of the state. If that takes too many blocks, they don't.
    is_filled: bool,
}

fn plan(
    node: &DevelopmentNode,
    (before, number, most_blocks): (u64, u64, u64),
    (states, accounts): (States, Accounts),
) -> Result<Planned, RpcError> {
    let alone = steps(States::new(), &accounts, before..before);
    // The state is the one after its last block.
    let count = count_blocks(node, before, alone.iter().flat_map(|step| &step.targets))?;
    let fill = number.saturating_sub(before).saturating_sub(count);
    Ok(match fill <= most_blocks {
        true => Planned { steps: steps(states, &accounts, before..number), is_filled: true },
        false => Planned { steps: alone, is_filled: false },
    })
}

/// Makes blocks up to a height, the last ones with the changes. `since` is the height before the load.
async fn make(
    node: &Arc<DevelopmentNode>,
    turn: &mut Turn,
    since: u64,
    Step { height, targets }: Step,
) -> Result<(), RpcError> {
    let count = {
        let node = Arc::clone(node);
        move || count_blocks(&node, since, &targets).map(|count| (count, targets))
    };
    let (count, targets) = off_thread(count).await.map_err(refused)??;
    let at = node.chain.head().header.number;
    turn.mine(height.saturating_sub(at).saturating_sub(count), 0, None).await.map_err(refused)?;
    let mut changes = Changes::new(node, since, targets);
    loop {
        let (left, taken) = off_thread(move || changes.take_block()).await.map_err(refused)??;
        if taken.is_empty() {
            return Ok(());
        }
        turn.change(taken).await.map_err(refused)?;
        changes = left;
    }
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
    since: u64,
    targets: vec::IntoIter<Target>,
    /// The remaining changes of the last account.
    rest: VecDeque<ChangeRequest>,
}

impl Changes {
    fn new(node: &Arc<DevelopmentNode>, since: u64, targets: Vec<Target>) -> Self {
        Self { node: Arc::clone(node), since, targets: targets.into_iter(), rest: VecDeque::new() }
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
            let Some(target) = self.targets.next() else { return Ok((self, taken)) };
            self.rest = changes_of(&self.node, self.since, &target)?.into();
        }
    }
}

/// The number of blocks that change the accounts.
fn count_blocks<'a>(
    node: &DevelopmentNode,
    since: u64,
    targets: impl IntoIterator<Item = &'a Target>,
) -> Result<u64, RpcError> {
    let (mut blocks, mut bytes) = (0, 0);
    for target in targets {
        for change in changes_of(node, since, target)? {
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
    since: u64,
    target: &Target,
) -> Result<Vec<ChangeRequest>, RpcError> {
    let Target { address, account, before, .. } = target;
    let address = *address;
    let (state, _) = node.transact.reads.state(LATEST)?;
    let view = state.view();
    let rules = &node.chain.params().rules;
    let now = view.account(&address).map_err(read_error)?.unwrap_or_default();
    let is_set_by_load = before.is_some() && account.nonce < now.nonce;
    let least = if is_set_by_load { nonce_at(node, since, address) } else { None };
    let nonce = account.nonce.max(least.unwrap_or(now.nonce));
    let mut changes = Vec::new();
    if account.balance != now.balance {
        changes.push((account.balance.is_zero(), ChangeRequest::Balance(address, account.balance)));
    }
    if nonce != now.nonce {
        changes.push((nonce == 0, ChangeRequest::Nonce(address, nonce)));
    }
    let code = &account.code;
    if view.code(now.code_hash).map_err(read_error)? != *code {
        changes.push((code.is_empty(), ChangeRequest::Code(address, code.clone())));
    }
    // An account is removed with its storage as soon as it has nothing else.
    changes.sort_by_key(|(is_unset, _)| *is_unset);
    let mut changes: Vec<_> = changes.into_iter().map(|(_, change)| change).collect();
    if nonce == 0 && account.balance.is_zero() && code.is_empty() {
        return match account.storage.iter().all(|(_, value)| value.is_zero()) {
            true => Ok(changes),
            false => Err(refused(format!(
                "account {address} has storage, and neither code, balance nor nonce"
            ))),
        };
    }
    for (slot, value) in target.slots() {
        if view.storage(&address, rules.storage_keys().slot(slot)).map_err(read_error)? != value {
            changes.push(ChangeRequest::Storage(address, slot, value));
        }
    }
    Ok(changes)
}

/// The nonce after a block, if its state is still kept.
fn nonce_at(node: &DevelopmentNode, height: u64, address: Address) -> Option<u64> {
    let (state, _) = node.transact.reads.state(BlockNumber::Number(height).into()).ok()?;
    let account = state.view().account(&address).ok()?;
    Some(account.map_or(0, |account| account.nonce))
}
