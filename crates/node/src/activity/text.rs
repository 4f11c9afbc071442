//! The texts. Each has whole lines, after an empty line.

use std::fmt::Write as _;
use std::time::Duration;

use esker_chain::{BlockReport, ExecutedBlock, Rewound, TxReport};
use esker_primitives::plain_text;
use esker_rpc::work::FailedCall;

use super::printed;
use super::summary::BlockSummary;
use crate::clock;

/// Most characters of a reason or an error.
const MAX_REASON: usize = 500;

/// An accepted block after its transactions, the first `max_txs` of them.
pub(super) fn block(
    chain: &str,
    block: &ExecutedBlock,
    report: &BlockReport,
    max_txs: usize,
) -> String {
    let mut out = "\n".to_owned();
    for tx in report.txs.iter().take(max_txs) {
        push_tx(&mut out, chain, tx);
    }
    // Writing to a String can't fail.
    let _ok = match report.txs.len().saturating_sub(max_txs) {
        0 => Ok(()),
        more => writeln!(out, "    Further transactions: {more}\n"),
    };
    let time = clock::timestamp(Duration::from_millis(block.timestamp_ms));
    let time = time.strftime("%a, %d %b %Y %H:%M:%S +0000");
    let _ok = writeln!(
        out,
        "    Block Number: {}\n    Block Hash: {}\n    Block Time: \"{time}\"\n    Chain: {chain}",
        block.height, report.hash
    );
    out
}

fn push_tx(out: &mut String, chain: &str, tx: &TxReport) {
    let TxReport { id, kind, contract, gas_used, failure, printed, names, calls, .. } = tx;
    printed::push_calls(out, calls);
    // Writing to a String can't fail.
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        let _ok = writeln!(out, "    {name}: {value}");
    };
    line("Transaction", id);
    if let Some(kind) = kind {
        line("Kind", &format_args!("{kind} on {chain}"));
    }
    if let Some(contract) = contract.as_ref().filter(|_| failure.is_none()) {
        line("Contract created", contract);
    }
    if let Some(contract) = names.contract.as_ref().filter(|_| failure.is_none()) {
        line("Contract", contract);
    }
    if let Some(call) = &names.call {
        line("Call", call);
    }
    if let Some(gas_used) = gas_used {
        line("Gas used", gas_used);
    }
    for event in &names.events.texts {
        line("Event", event);
    }
    if names.events.left_out > 0 {
        line("Further events", &names.events.left_out);
    }
    if let Some(failure) = failure {
        line("Error", &plain_text(failure, MAX_REASON));
    }
    printed::push_of_tx(out, printed);
    out.push('\n');
}

/// A call that ended with an error.
pub(super) fn failed_call(call: &FailedCall) -> String {
    format!("\n{} refused: {}\n", call.method, plain_text(&call.error, MAX_REASON))
}

/// Blocks without a text of their own.
pub(super) fn further_blocks(chain: &str, summary: &BlockSummary) -> String {
    let BlockSummary { blocks, first, last, txs, gas } = summary;
    let gas = gas.map(|gas| format!(", {gas} gas")).unwrap_or_default();
    format!(
        "\n    Further blocks on {chain}: {blocks} ({first} to {last}), {txs} transactions{gas}\n"
    )
}

/// Failed calls without a text of their own.
pub(super) fn further_calls(calls: u64) -> String {
    format!("\nfurther refused calls: {calls}\n")
}

/// Bundles that were accepted faster than they could be shown.
pub(super) fn missed(bundles: u64) -> String {
    format!("\n    Not shown: the blocks of {bundles} bundles\n")
}

/// The last bundles were taken back.
pub(super) fn rewound(rewound: &Rewound) -> String {
    format!("\n    Rewound: {} bundles of blocks\n", rewound.from.saturating_sub(rewound.to))
}

/// Texts for which there was no room, because the terminal did not read.
pub(super) fn dropped(texts: u64) -> String {
    format!("\n    Not shown: {texts} texts that the terminal did not take\n")
}
