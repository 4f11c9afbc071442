//! Balances and allowances of ERC-20 contracts, set in the slot where the contract keeps them.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use esker_evm::control::ChangeRequest;
use esker_evm_execution::call::{
    self, AccountOverride, BlockOverrides, CallRequest, StateOverrides,
};
use esker_rpc::{CallContext, RpcError, off_thread_long};

use super::numbers::Number;
use super::{DevelopmentNode, refused};
use crate::evm::running::LATEST;
use crate::wire::Addr;

/// `balanceOf(address)`.
const BALANCE_OF: [u8; 4] = [0x70, 0xa0, 0x82, 0x31];
/// `allowance(address,address)`.
const ALLOWANCE: [u8; 4] = [0xdd, 0x62, 0xed, 0x3e];

/// Slots that are tried.
const MAX_SLOTS: usize = 64;

/// Sets the balance of an account in a contract: account, contract, units.
pub(super) async fn deal(
    node: Arc<DevelopmentNode>,
    (Addr(account), Addr(token), Number(units)): (Addr, Addr, Number),
) -> Result<(), RpcError> {
    set_return(node, token, call_data(BALANCE_OF, &[account]), units).await
}

/// Sets an allowance in a contract: owner, spender, contract, units.
pub(super) async fn set_allowance(
    node: Arc<DevelopmentNode>,
    (Addr(owner), Addr(spender), Addr(token), Number(units)): (Addr, Addr, Addr, Number),
) -> Result<(), RpcError> {
    set_return(node, token, call_data(ALLOWANCE, &[owner, spender]), units).await
}

fn call_data(selector: [u8; 4], arguments: &[Address]) -> Bytes {
    let words = arguments.iter().flat_map(|address| address.into_word().0);
    selector.into_iter().chain(words).collect::<Vec<_>>().into()
}

/// Sets the slot whose value a getter of a contract returns.
async fn set_return(
    node: Arc<DevelopmentNode>,
    token: Address,
    input: Bytes,
    units: U256,
) -> Result<(), RpcError> {
    node.controls_to_write()?;
    let request = CallRequest { to: Some(token), input, ..CallRequest::default() };
    let found = off_thread_long({
        let node = Arc::clone(&node);
        move |context| Getter { node: &node, request: &request, context }.slot(units)
    });
    let Some((account, slot)) = found.await.map_err(refused)?? else { return Ok(()) };
    let change = ChangeRequest::Storage(account, slot.into(), units);
    node.controls_to_write()?.change(vec![change]).await.map_err(refused)
}

struct Getter<'a> {
    node: &'a DevelopmentNode,
    request: &'a CallRequest,
    context: &'a CallContext,
}

impl Getter<'_> {
    /// The slot that makes the getter return `units`; `None`: it does so already.
    fn slot(&self, units: U256) -> Result<Option<(Address, B256)>, RpcError> {
        if self.returned(&StateOverrides::default())? == Some(units) {
            return Ok(None);
        }
        let transact = &self.node.transact;
        let place = transact.place(LATEST)?;
        let read = transact.at(&place, self.request, self.context, |env, limits| {
            call::create_access_list(env, self.request, limits)
        })?;
        let slots = read
            .access_list
            .0
            .iter()
            .flat_map(|item| item.storage_keys.iter().map(|slot| (item.address, *slot)));
        for (account, slot) in slots.take(MAX_SLOTS) {
            let diff = BTreeMap::from([(slot, units.into())]);
            let account_override =
                AccountOverride { state_diff: Some(diff), ..AccountOverride::default() };
            let state = StateOverrides(BTreeMap::from([(account, account_override)]));
            if self.returned(&state)? == Some(units) {
                return Ok(Some((account, slot)));
            }
        }
        let token = self.request.to.unwrap_or_default();
        Err(refused(format!("contract {token} has no storage slot that holds this number alone")))
    }

    /// The value that the getter returns on a changed state; `None`: it fails, or returns no number.
    fn returned(&self, state: &StateOverrides) -> Result<Option<U256>, RpcError> {
        let transact = &self.node.transact;
        let place = transact.place(LATEST)?;
        let outcome = transact.at(&place, self.request, self.context, |env, limits| {
            call::call(env, self.request, state, &BlockOverrides::default(), limits)
        })?;
        let word = outcome.output.first_chunk::<32>().filter(|_| outcome.error.is_none());
        Ok(word.map(|word| U256::from_be_bytes(*word)))
    }
}
