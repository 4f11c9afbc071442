//! A payment out of nothing.

use alloy_primitives::{Address, U256};

/// Wei that an account receives: a reward or a withdrawal. One of 0 touches the account (EIP-161).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credit {
    /// The account.
    pub address: Address,
    /// Wei.
    pub amount: U256,
}
