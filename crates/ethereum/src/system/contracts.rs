//! The contracts that calls of the system need. A development chain has them from its first block on.

use alloy_eips::eip2935::{HISTORY_STORAGE_ADDRESS, HISTORY_STORAGE_CODE};
use alloy_eips::eip4788::{BEACON_ROOTS_ADDRESS, BEACON_ROOTS_CODE};
use alloy_eips::eip7002::{
    WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_PREDEPLOY_CODE,
};
use alloy_eips::eip7251::{
    CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_PREDEPLOY_CODE,
};
use alloy_primitives::{Address, Bytes};

use crate::forks::Fork;

/// A contract of the system. Its nonce is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemContract {
    /// Its address.
    pub address: Address,
    /// Its code.
    pub code: Bytes,
}

/// The contracts that blocks of a fork call.
pub fn system_contracts(fork: Fork) -> Vec<SystemContract> {
    let contract = |address, code: &Bytes| SystemContract { address, code: code.clone() };
    let mut contracts = Vec::new();
    if fork >= Fork::Cancun {
        contracts.push(contract(BEACON_ROOTS_ADDRESS, &BEACON_ROOTS_CODE));
    }
    if fork >= Fork::Prague {
        let queue = &WITHDRAWAL_REQUEST_PREDEPLOY_CODE;
        contracts.push(contract(HISTORY_STORAGE_ADDRESS, &HISTORY_STORAGE_CODE));
        contracts.push(contract(WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, queue));
        contracts.push(SystemContract {
            address: CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
            code: without_padding(&CONSOLIDATION_REQUEST_PREDEPLOY_CODE),
        });
    }
    contracts
}

/// The library's constant ends with two bytes that the contract does not have.
fn without_padding(code: &Bytes) -> Bytes {
    code.strip_suffix(&[0, 0]).map_or_else(|| code.clone(), Bytes::copy_from_slice)
}
