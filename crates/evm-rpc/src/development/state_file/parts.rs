//! Parts of a written state: those that the last state and the states of earlier blocks have in common.

use std::io::{self, Write};
use std::sync::Arc;

use alloy_primitives::{Address, B256, U256};
use esker_evm_state::types::{Account, SealedHeader};
use esker_rpc::RpcError;

use super::super::{DevelopmentNode, refused};
use crate::debug::walk::Walk;

/// Writes JSON up to a limit.
pub(super) struct LimitedWriter<W> {
    out: W,
    most: usize,
    left: usize,
    is_full: bool,
}

impl<W: Write> LimitedWriter<W> {
    pub(super) fn new(out: W, most: usize) -> Self {
        Self { out, most, left: most, is_full: false }
    }

    pub(super) fn raw(&mut self, text: &str) -> Result<(), RpcError> {
        let Some(left) = self.left.checked_sub(text.len()) else {
            self.is_full = true;
            return Err(refused(format!("the state has more than {} bytes", self.most)));
        };
        self.left = left;
        self.out.write_all(text.as_bytes()).map_err(|error: io::Error| refused(error))
    }

    /// Bytes that may follow.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// Whether something did not fit.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn into_inner(self) -> W {
        self.out
    }
}

/// A block of a file.
pub(super) struct WrittenBlock {
    pub(super) number: u64,
    /// Its hash in the file.
    pub(super) hash: B256,
    /// The chain's own block of this number, if its state is wanted.
    pub(super) own: Option<Arc<SealedHeader>>,
}

/// Calls `work` with each account of a state whose address is known: hash of the address, account, address.
pub(super) fn each_account(
    walk: &Walk<'_>,
    mut work: impl FnMut(B256, &Account, Address) -> Result<(), RpcError>,
) -> Result<(), RpcError> {
    let mut from = Some(B256::ZERO);
    while let Some(at) = from {
        let (found, next) = walk.accounts(at)?;
        for (hash, account, address) in found {
            if let Some(address) = address {
                work(hash, &account, address)?;
            }
        }
        from = next;
    }
    Ok(())
}

/// How the keys and values of slots are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotForm {
    /// As numbers.
    Short,
    /// With all 32 bytes.
    Whole,
}

/// Writes the slots of an account as an object.
pub(super) fn write_slots<W: Write>(
    node: &DevelopmentNode,
    walk: &Walk<'_>,
    (account, form): (B256, SlotForm),
    out: &mut LimitedWriter<W>,
) -> Result<(), RpcError> {
    let rules = &node.chain.params().rules;
    // Balances of other assets are slots too, which no contract can name.
    let is_named = |slot: U256| rules.storage_keys().slot(slot) == slot;
    let (mut from, mut is_first) = (Some(B256::ZERO), true);
    out.raw("{")?;
    while let Some(at) = from {
        let (found, next) = walk.slots(account, at)?;
        for (slot, value) in found.into_iter().filter(|(slot, _)| is_named((*slot).into())) {
            let comma = if std::mem::take(&mut is_first) { "" } else { "," };
            let text = match form {
                SlotForm::Short => {
                    format!("{comma}\"{:#x}\":\"{value:#x}\"", U256::from_be_bytes(slot.0))
                }
                SlotForm::Whole => format!("{comma}\"{slot:#x}\":\"{:#x}\"", B256::from(value)),
            };
            out.raw(&text)?;
        }
        from = next;
    }
    out.raw("}")
}
