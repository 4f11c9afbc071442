//! The calls and events of transactions as lines in Foundry's form, for the screen.

use alloy_primitives::hex;
use esker_artifacts::Registry;
use esker_evm_execution::call::revert_reason;
use esker_evm_execution::executor::VmError;
use esker_evm_execution::trace::{CallTree, FrameKind, TracedCall, TreeItem};
use esker_evm_state::state::{StateError, StateView};
use esker_primitives::plain_text;

use crate::names::Names;

/// Most characters of a line.
pub(crate) const MAX_LINE: usize = 2500;
/// Most bytes of data that are shown.
const MAX_DATA: usize = 1024;
/// Selector of `Panic(uint256)`.
const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];
/// Names of the first precompiled contracts, from address 1 on.
const PRECOMPILES: [&str; 10] = [
    "ecrecover",
    "sha256",
    "ripemd",
    "identity",
    "modexp",
    "ecadd",
    "ecmul",
    "ecpairing",
    "blake2f",
    "pointEvaluation",
];

/// A line for each call, event and end of a call of a run in this state.
///
/// # Errors
/// The state can't be read.
pub fn call_lines(
    registry: &Registry,
    state: StateView<'_>,
    tree: &CallTree,
) -> Result<Vec<String>, StateError> {
    lines(&mut Names::new(registry.clone(), state), tree)
}

/// As [`call_lines`], with names that are used for several runs.
pub(crate) fn lines(names: &mut Names<'_>, tree: &CallTree) -> Result<Vec<String>, StateError> {
    let mut lines = Vec::new();
    let mut depth = 0_usize;
    for item in &tree.items {
        match item {
            TreeItem::Begin(at) => {
                let branch = if depth == 0 { "" } else { "├─ " };
                let text = begin(names, &tree.calls[*at])?;
                lines.push(line(depth.saturating_sub(1), depth > 0, branch, &text));
                depth += 1;
            }
            TreeItem::End(at) => {
                let text = end(names, &tree.calls[*at]);
                lines.push(line(depth.saturating_sub(1), true, "└─ ← ", &text));
                depth = depth.saturating_sub(1);
            }
            TreeItem::Event { address, topics, data } => {
                let within = depth.saturating_sub(1);
                match names.event_of(*address, topics, data)? {
                    Some(event) => {
                        let text = format!("emit {}", event.without_contract());
                        lines.push(line(within, true, "├─ ", &text));
                    }
                    None => lines.extend(unknown_event(within, topics, data)),
                }
            }
        }
    }
    if tree.left_out > 0 {
        lines.push(format!("  ({} further calls and events are not shown)", tree.left_out));
    }
    Ok(lines)
}

/// A line at a depth, its text without control characters.
fn line(depth: usize, is_inner: bool, branch: &str, text: &str) -> String {
    let indent = if is_inner { "    " } else { "  " };
    format!("{indent}{}{branch}{}", "│   ".repeat(depth), plain_text(text, MAX_LINE))
}

/// The topics and the data of an event without a name.
fn unknown_event(depth: usize, topics: &[alloy_primitives::B256], data: &[u8]) -> Vec<String> {
    let mut texts: Vec<_> =
        topics.iter().enumerate().map(|(at, topic)| format!("topic {at}: {topic}")).collect();
    texts.push(format!("   data: {}", shown(data, data.len())));
    let parts = texts.iter().enumerate().map(|(at, text)| match (at, topics.is_empty()) {
        (0, true) => ("├─ ", format!("       {text}")),
        (0, false) => ("├─ ", format!(" emit {text}")),
        _ => ("│  ", format!("      {text}")),
    });
    parts.map(|(branch, text)| line_of_event(depth, branch, &text)).collect()
}

fn line_of_event(depth: usize, branch: &str, text: &str) -> String {
    format!("    {}{branch}{text}", "│   ".repeat(depth))
}

/// What is called with which arguments, or what is created.
fn begin(names: &mut Names<'_>, call: &TracedCall) -> Result<String, StateError> {
    let TracedCall { kind, to, input, value, gas_used, .. } = call;
    let label = names.label(*to)?;
    if kind.is_create() {
        let label = label.as_deref().unwrap_or("<unknown>");
        return Ok(format!("[{gas_used}] → new {label}@{to}"));
    }
    let value = value.filter(|value| !value.is_zero() && *kind != FrameKind::DelegateCall);
    let value = value.map(|wei| format!("{{value: {wei}}}")).unwrap_or_default();
    let suffix = match kind {
        FrameKind::StaticCall => " [staticcall]",
        FrameKind::DelegateCall => " [delegatecall]",
        FrameKind::CallCode => " [callcode]",
        FrameKind::Call | FrameKind::Create | FrameKind::Create2 | FrameKind::SelfDestruct => "",
    };
    if let Some(name) = precompile(to.as_slice()) {
        let data = shown(input, input.len());
        return Ok(format!("[{gas_used}] PRECOMPILES::{name}{value}({data}){suffix}"));
    }
    let target = label.unwrap_or_else(|| to.to_string().into());
    let (function, arguments) = names.function(*to, input)?.unwrap_or_else(|| raw(input));
    Ok(format!("[{gas_used}] {target}::{function}{value}({arguments}){suffix}"))
}

/// A function without a name: its selector, and its data.
fn raw(input: &[u8]) -> (String, String) {
    let digits = |data: &[u8]| shown(data, data.len()).trim_start_matches("0x").to_owned();
    match input.split_first_chunk::<4>() {
        Some((selector, rest)) => (hex::encode(selector), digits(rest)),
        None => ("fallback".to_owned(), digits(input)),
    }
}

fn precompile(address: &[u8]) -> Option<&'static str> {
    let (last, rest) = address.split_last()?;
    let place = usize::from(*last).checked_sub(1)?;
    PRECOMPILES.get(place).copied().filter(|_| rest.iter().all(|byte| *byte == 0))
}

/// How a call ended, and what it returned.
fn end(names: &Names<'_>, call: &TracedCall) -> String {
    let TracedCall { kind, to, output, output_len, error, is_destroyed, .. } = call;
    match error {
        Some(VmError::Reverted) if !output.is_empty() => {
            format!("[Revert] {}", reason(names, output, *output_len))
        }
        Some(error) if kind.is_create() => format!("[{}]", error.interpreter_name()),
        Some(error) => format!("[{0}] EvmError: {0}", error.interpreter_name()),
        None if *is_destroyed => "[SelfDestruct]".to_owned(),
        None if kind.is_create() => format!("[Return] {output_len} bytes of code"),
        None if output.is_empty() && precompile(to.as_slice()).is_none() => "[Stop]".to_owned(),
        None => format!("[Return] {}", shown(output, *output_len)),
    }
}

fn reason(names: &Names<'_>, output: &[u8], length: usize) -> String {
    match (revert_reason(output), names.error(output)) {
        (Some(reason), _) if output.starts_with(&PANIC) => {
            let code = output.last().copied().unwrap_or_default();
            format!("panic: {reason} ({code:#04x})")
        }
        (Some(reason), _) => reason,
        (None, Some(error)) => error.without_names().to_string(),
        (None, None) => match output.split_first_chunk::<4>() {
            Some((selector, rest)) => {
                let data = shown(rest, length - selector.len());
                format!("custom error 0x{}: {}", hex::encode(selector), &data[2..])
            }
            None => shown(output, length),
        },
    }
}

/// The first bytes of data in hex, and its length if there are more.
fn shown(data: &[u8], length: usize) -> String {
    let digits = hex::encode_prefixed(&data[..data.len().min(MAX_DATA)]);
    match length > MAX_DATA {
        true => format!("{digits}... ({length} bytes)"),
        false => digits,
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{B256, address, b256};

    use super::*;

    #[test]
    fn events_without_a_name_are_in_foundrys_columns() {
        let topics = [B256::repeat_byte(0x11), B256::repeat_byte(0x22)];
        let [first, second] = topics;
        assert_eq!(
            unknown_event(0, &topics, &[0, 1]),
            [
                format!("    ├─  emit topic 0: {first}"),
                format!("    │        topic 1: {second}"),
                "    │           data: 0x0001".to_owned(),
            ]
        );
        assert_eq!(unknown_event(1, &[], &[]), ["    │   ├─           data: 0x"]);
        let unknown = b256!("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc");
        let cut = &unknown_event(0, &[unknown], &[7; 5000])[1];
        assert!(cut.ends_with("07... (5000 bytes)") && cut.len() < 2 * MAX_DATA + 60, "{cut}");
    }

    #[test]
    fn functions_without_a_name_are_selectors() {
        let texts = |(function, data): (String, String)| format!("{function}({data})");
        assert_eq!(texts(raw(&[])), "fallback()");
        assert_eq!(texts(raw(&[0x12, 0x34])), "fallback(1234)");
        assert_eq!(texts(raw(&[0x12, 0x34, 0x56, 0x78, 0xaa])), "12345678(aa)");
    }

    #[test]
    fn precompiled_contracts_have_names() {
        let of = |address: alloy_primitives::Address| precompile(address.as_slice());
        assert_eq!(of(address!("0x0000000000000000000000000000000000000004")), Some("identity"));
        assert_eq!(of(address!("0x0000000000000000000000000000000000000000")), None);
        assert_eq!(of(address!("0x000000000000000000000000000000000000000b")), None);
        assert_eq!(of(address!("0x1000000000000000000000000000000000000004")), None);
    }
}
