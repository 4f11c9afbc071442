//! The end of a block: requests, then withdrawals or rewards ([`crate::ommers::rewards`]).

use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip7002::{WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE};
use alloy_eips::eip7251::{CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE};
use alloy_primitives::Bytes;

use super::begin::SystemCall;
use super::credit::Credit;
use crate::forks::Fork;

/// A call of the system whose output is a request. If the contract has no code or the call fails, the block is
/// invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestCall {
    /// The type of the request.
    pub request_type: u8,
    /// The call.
    pub call: SystemCall,
}

/// The calls after the last transaction, in their order. The request of deposits ([`super::deposit_request`]) comes
/// before theirs.
pub fn request_calls(fork: Fork) -> Vec<RequestCall> {
    if fork < Fork::Prague {
        return Vec::new();
    }
    [
        (WITHDRAWAL_REQUEST_TYPE, WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS),
        (CONSOLIDATION_REQUEST_TYPE, CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS),
    ]
    .map(|(request_type, address)| RequestCall {
        request_type,
        call: SystemCall::new(address, Bytes::new()),
    })
    .into()
}

/// What withdrawals pay (EIP-4895), in their order.
pub fn withdrawals(withdrawals: &[Withdrawal]) -> Vec<Credit> {
    let credit = |w: &Withdrawal| Credit { address: w.address, amount: w.amount_wei() };
    withdrawals.iter().map(credit).collect()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256, address};

    use super::*;

    #[test]
    fn withdrawals_are_in_gwei() {
        let address = Address::repeat_byte(7);
        let one = Withdrawal { index: 1, validator_index: 2, address, amount: u64::MAX };
        let amount = U256::from(u64::MAX) * U256::from(1_000_000_000);
        assert_eq!(withdrawals(&[one]), [Credit { address, amount }]);
    }

    #[test]
    fn queues_are_asked_from_prague_on() {
        assert!(request_calls(Fork::Cancun).is_empty());
        let calls = request_calls(Fork::Prague);
        let asked: Vec<_> = calls.iter().map(|c| (c.request_type, c.call.address)).collect();
        let queues = [
            (1, address!("00000961ef480eb55e80d19ad83579a64c007002")),
            (2, address!("0000bbddc7ce488642fb579f8b00f3a590007251")),
        ];
        assert_eq!(asked, queues);
    }
}
