//! Reports of runs: of the message of a transaction or of an unsigned call.

use alloy_primitives::{Address, B256, U256, hex};
use esker_artifacts::{ContractState, Decoded, Found, Registry};
use esker_chain::{PrintedTexts, RunFailure, RunReport, RunTarget};
use esker_evm_execution::call::{RevertReason, panic_reason};
use esker_evm_execution::console::ConsoleCalls;
use esker_evm_execution::executor::VmError;
use esker_evm_state::state::{StateError, StateView};

use crate::contracts::Contracts;

/// Most characters of a reason.
const MAX_REASON: usize = 2200;
/// Most bytes of a revert's data that the reason repeats.
const MAX_SHOWN_DATA: usize = 1024;
/// Most bytes of the texts of one call.
const MAX_PRINTED: usize = 16 << 10;
/// The last of the consecutive addresses of Ethereum's precompiled contracts.
const LAST_PRECOMPILE: u64 = 0x11;
/// The address of the one of EIP-7951.
const P256_VERIFY: u64 = 0x100;

/// The note of a call that sent the transaction with this hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentTx(pub B256);

/// The note of a call that made blocks: the height of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MadeBlocks(pub u64);

/// The note of a call that switched the screen's lines on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSwitch(pub bool);

/// An unsigned call.
#[derive(Clone, Copy, Debug)]
pub struct RunMessage<'a> {
    /// The sender.
    pub from: Address,
    /// The recipient; `None`: it creates a contract.
    pub to: Option<Address>,
    /// Value, wei.
    pub value: U256,
    /// Call data, or init code.
    pub input: &'a [u8],
}

/// Reports a call that ran in a state, and how it ended: with this error and these data.
///
/// # Errors
/// The state can't be read.
pub fn report_call(
    names: &Registry,
    state: StateView<'_>,
    message: RunMessage<'_>,
    (error, output): (Option<&VmError>, &[u8]),
    printed: &ConsoleCalls,
) -> Result<RunReport, StateError> {
    let RunMessage { from, to, value, input } = message;
    let nonce = state.account(&from)?.unwrap_or_default().nonce;
    let target = target_of(names, &mut Contracts::new(state), to, input, from.create(nonce))?;
    let failure = error.map(|error| failure_of(names, error, output, output.len()));
    let printed = texts_of(printed);
    Ok(RunReport { target, failure, printed, ..base(from, to, value) })
}

/// The first texts that code printed, within a bound.
fn texts_of(printed: &ConsoleCalls) -> PrintedTexts {
    let mut kept = PrintedTexts { texts: Vec::new(), left_out: printed.left_out() };
    let mut bytes = 0_usize;
    for text in printed.texts() {
        bytes = bytes.saturating_add(text.len());
        match bytes > MAX_PRINTED {
            true => kept.left_out += 1,
            false => kept.texts.push(text),
        }
    }
    kept
}

/// The report of a message without what it reaches, and without its end.
pub(crate) fn base(from: Address, to: Option<Address>, value: U256) -> RunReport {
    RunReport {
        from: format!("{from:#x}"),
        to: to.map(|to| format!("{to:#x}")),
        value: value.to_string(),
        ..RunReport::default()
    }
}

/// What a message reaches: the recipient, or the contract that it creates at an address.
pub(crate) fn target_of<S: ContractState>(
    names: &Registry,
    state: &mut S,
    to: Option<Address>,
    input: &[u8],
    created: Address,
) -> Result<RunTarget, S::Error> {
    let Some(to) = to else {
        let found = names.contract_at(state, created)?;
        return Ok(RunTarget::Creation { name: name(found), address: format!("{created:#x}") });
    };
    if state.code_hash(to)?.is_none() {
        return Ok(precompile(to).map_or(RunTarget::Account, RunTarget::Precompile));
    }
    let has_function = |found: &Found| found.has_function(input);
    let found = names.contract_with(state, to, has_function)?;
    let known = found.as_ref().filter(|found| has_function(found));
    let function = known.and_then(|found| names.call(Some(found), input)).map(|call| call.name);
    Ok(RunTarget::Contract { name: name(found), function })
}

fn name(found: Option<Found>) -> Option<String> {
    found.map(|found| found.label().to_string())
}

/// The number of a precompiled contract.
fn precompile(address: Address) -> Option<u64> {
    let number = u64::try_from(U256::from_be_slice(address.as_slice())).ok()?;
    ((1..=LAST_PRECOMPILE).contains(&number) || number == P256_VERIFY).then_some(number)
}

/// The reason of a failure, with the texts that tools for development search for. Of the data there may be the first bytes only.
pub(crate) fn failure_of(
    names: &Registry,
    error: &VmError,
    data: &[u8],
    data_len: usize,
) -> RunFailure {
    let text = match error {
        VmError::Reverted => revert_text(names, data, data_len),
        VmError::OutOfGas => "Transaction ran out of gas".to_owned(),
        VmError::InvalidOpcode(_) => in_transaction("invalid opcode"),
        error => in_transaction(&error.to_string()),
    };
    let text = text.chars().take(MAX_REASON).collect();
    RunFailure { is_revert: *error == VmError::Reverted, text }
}

fn revert_text(names: &Registry, data: &[u8], data_len: usize) -> String {
    match RevertReason::parse(data) {
        Some(RevertReason::Text(reason)) => {
            return format!("reverted with reason string '{reason}'");
        }
        None if data.is_empty() => return "Transaction reverted without a reason".to_owned(),
        Some(RevertReason::Panic(_)) => {}
        None => {
            if let Some(error) = names.error(data) {
                return custom_error_text(error);
            }
        }
    }
    revert_data_text(data, data_len)
}

/// The text of a revert with an error that is known by its name.
pub fn custom_error_text(error: Decoded) -> String {
    let error = error.without_names();
    in_transaction(&format!("reverted with custom error '{error}'"))
}

/// The text of a revert with a panic code, or with data of no known meaning. Of the data there may be the first bytes only.
pub fn revert_data_text(data: &[u8], data_len: usize) -> String {
    if let Some(RevertReason::Panic(code)) = RevertReason::parse(data) {
        let meaning = panic_reason(code).unwrap_or("unknown");
        return in_transaction(&format!("reverted with panic code {code:#x} ({meaning})"));
    }
    let shown = hex::encode(&data[..data.len().min(MAX_SHOWN_DATA)]);
    let rest = if data_len > MAX_SHOWN_DATA { "..." } else { "" };
    in_transaction(&format!(
        "reverted with an unrecognized custom error (return data: 0x{shown}{rest})"
    ))
}

/// The beginning of most texts of failed transactions, which tools for development search for.
pub fn in_transaction(what: &str) -> String {
    format!("VM Exception while processing transaction: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(error: VmError, data: &[u8]) -> (bool, String) {
        let RunFailure { is_revert, text } =
            failure_of(&Registry::default(), &error, data, data.len());
        (is_revert, text)
    }

    fn word(number: u8) -> Vec<u8> {
        [vec![0; 31], vec![number]].concat()
    }

    #[test]
    fn reasons_have_the_texts_of_development_tools() {
        let closed = [b"closed for today".to_vec(), vec![0; 16]].concat();
        let error = [hex!("08c379a0").to_vec(), word(32), word(16), closed].concat();
        let panic = [hex!("4e487b71").to_vec(), word(0x12)].concat();
        for (output, expected) in [
            (error, "reverted with reason string 'closed for today'"),
            (vec![], "Transaction reverted without a reason"),
            (
                panic,
                "VM Exception while processing transaction: reverted with panic code 0x12 (division or modulo by zero)",
            ),
            (
                hex!("c3b744b007").to_vec(),
                "VM Exception while processing transaction: reverted with an unrecognized custom error (return data: 0xc3b744b007)",
            ),
            (
                [hex!("118cdaa7").to_vec(), word(3)].concat(),
                "VM Exception while processing transaction: reverted with custom error \
                 'OwnableUnauthorizedAccount(0x0000000000000000000000000000000000000003)'",
            ),
        ] {
            assert_eq!(text(VmError::Reverted, &output), (true, expected.to_owned()));
        }
        let invalid = "VM Exception while processing transaction: invalid opcode";
        assert_eq!(text(VmError::InvalidOpcode(0xfe), &[]), (false, invalid.to_owned()));
        let gas = "Transaction ran out of gas";
        assert_eq!(text(VmError::OutOfGas, &[]), (false, gas.to_owned()));
        let (_, long) = text(VmError::Reverted, &[1; 100_000]);
        assert!(long.ends_with("01...)") && long.len() < MAX_REASON, "{long}");
    }

    #[test]
    fn printed_texts_are_bounded() {
        let mut console = ConsoleCalls::default();
        // Data without a selector are shown as they are.
        for _ in 0..60 {
            console.push(1000, || vec![7; 1000].into());
        }
        let PrintedTexts { texts, left_out } = texts_of(&console);
        let bytes: usize = texts.iter().map(String::len).sum();
        assert!(bytes <= MAX_PRINTED && bytes > MAX_PRINTED / 2, "{bytes}");
        assert_eq!(texts.len() as u64 + left_out, 60);
    }

    #[test]
    fn precompiled_contracts_have_numbers() {
        for (number, expected) in [(0, None), (1, Some(1)), (0x11, Some(0x11)), (0x12, None)] {
            assert_eq!(precompile(Address::with_last_byte(number)), expected);
        }
        assert_eq!(precompile(Address::left_padding_from(&[1, 0])), Some(0x100));
        assert_eq!(precompile(Address::repeat_byte(1)), None);
    }
}
