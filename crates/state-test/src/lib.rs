//! Runs state tests of Ethereum in their public JSON form: each executes one transaction on a state and names the root
//! of the state after it.
//!
//! The transactions are executed with the executor of blocks on a store in memory. [`run_file`] runs a file and
//! returns a [`CaseResult`] for each fork and each combination of data, gas limit and value.

mod account;
mod forks;
mod json;
mod outcome;
mod pre_state;
mod run;
mod text;
mod transaction;

pub use forks::FORKS;
pub use outcome::{CaseResult, Failure, FileError};
pub use run::{run, run_file};
