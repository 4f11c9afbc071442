//! What is laid over the state of the forked block.

use std::sync::Arc;

use alloy_primitives::{Address, U256};
use esker_evm_state::state::{BaseChange, ChangedBase, StateBase, StateError};
use esker_evm_state::types::SealedHeader;
use esker_settings::config::Config;
use esker_settings::networks::accounts::Account;

use crate::chains::rules::{called_contracts, of_chain};
use crate::wiring::error::StartError;

/// Wei of a whole unit.
const UNIT: u64 = 1_000_000_000_000_000_000;

/// The state in which the accounts for development have their balances, and contracts that each block calls exist.
pub(super) async fn prepared(
    config: &Config,
    header: &SealedHeader,
    state: Arc<dyn StateBase>,
    keeps_balances: bool,
) -> Result<Arc<dyn StateBase>, StartError> {
    let dev = config.network.dev_accounts.as_ref();
    let mut changes = Vec::new();
    if let Some(dev) = dev.filter(|_| !keeps_balances) {
        let balance = BaseChange::Balance(U256::from(dev.balance) * U256::from(UNIT));
        let accounts = dev.accounts.iter().map(Account::c_address);
        changes.extend(accounts.map(|address| (address, balance.clone())));
    }
    let contracts = called_contracts(config.network.evm_parameters(), &header.header);
    let code = |(address, code)| (address, BaseChange::CodeIfNone(code));
    changes.extend(contracts.into_iter().map(code));
    read_together(&*state, changes.iter().map(|(address, _)| address)).await?;
    let (rules, _) = of_chain(config.network.evm_parameters(), false, None, false);
    let root = header.header.state_root;
    loop {
        let below = Arc::clone(&state);
        match ChangedBase::new(below, root, &*rules, &changes) {
            Ok(changed) => return Ok(Arc::new(changed)),
            Err(error) => match error.not_fetched() {
                Some(lacking) => lacking.fetch().await.map_err(StartError::ForkState)?,
                None => return Err(StartError::ForkState(error.to_string())),
            },
        }
    }
}

/// Fetches accounts together.
async fn read_together<'a>(
    state: &dyn StateBase,
    addresses: impl Iterator<Item = &'a Address>,
) -> Result<(), StartError> {
    match StateError::all_not_fetched(addresses.map(|address| state.account(address))) {
        Some(lacking) => lacking.fetch().await.map_err(StartError::ForkState),
        None => Ok(()),
    }
}
