//! What a block does besides its transactions: at its beginning and at its end.
//!
//! The values describe the work; whoever executes blocks does it.

mod begin;
mod contracts;
mod credit;
mod dao;
mod deposits;
mod end;
mod requests;

pub use begin::{SystemCall, begin_calls};
pub use contracts::{SystemContract, system_contracts};
pub use credit::Credit;
pub use dao::{DRAINED, REFUND};
pub use deposits::{DepositError, deposit_request};
pub use end::{RequestCall, request_calls, withdrawals};
pub use requests::{request, requests_hash};

pub use alloy_eips::eip4788::SYSTEM_ADDRESS;
