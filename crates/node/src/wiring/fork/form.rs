//! The kind of chain that each command forks.

use esker_fork::Fork;
use esker_fork::pin::HeaderForm;
use esker_settings::config::Mode;

use super::choice::fault;
use crate::wiring::error::StartError;

/// Refuses a block of a chain that another command forks. `setting` is the one that made the chain a fork, and `is_given`
/// whether this start has it; else the data folder is one of a fork.
pub(super) fn check(
    mode: Mode,
    (setting, is_given): (&'static str, bool),
    fork: &Fork,
) -> Result<(), StartError> {
    let pin = fork.pin();
    let number = pin.header.number;
    let of = fork.url().map(|url| format!(" of {url}")).unwrap_or_default();
    let refused = |reason: String| Err(fault(setting, format!("block {number}{of} {reason}")));
    let flag = if is_given { format!(" --{setting}") } else { " with this data folder".to_owned() };
    match (mode, pin.form) {
        // Headers of an unknown form are refused before.
        (Mode::Dev, HeaderForm::CChain)
        | (Mode::Evm, HeaderForm::Ethereum | HeaderForm::Unknown) => Ok(()),
        (Mode::Dev, HeaderForm::Ethereum | HeaderForm::Unknown) => refused(format!(
            "has the header of an Ethereum chain, and esker dev forks a C-Chain: use esker evm{flag}"
        )),
        (Mode::Evm, HeaderForm::CChain) => refused(format!(
            "has the header of a C-Chain, whose rules are not those of esker evm: use esker dev{flag}"
        )),
        (Mode::Node, _) => {
            refused("is the beginning of a fork, which only esker dev and esker evm run".to_owned())
        }
    }
}
