//! The lines of the log, in the form of Hardhat's node.

use std::fmt::{Display, Write as _};

use esker_chain::{PrintedTexts, RunReport, RunTarget, TxReport};
use esker_primitives::plain_text;
use esker_rpc::work::EndedCall;

use super::blocks::{FullBlock, MadeBlock};
use super::coins::coins;
use crate::activity::Terminal;

/// Most characters of a reason, an error, or a printed text.
const MAX_TEXT: usize = 4096;
/// Most characters of a name.
const MAX_NAME: usize = 200;
/// Most transactions of a block that are shown.
const MAX_TXS: usize = 100;
/// The contract whose name is not known.
const UNKNOWN_CONTRACT: &str = "<UnrecognizedContract>";
/// The function that a known contract does not have.
const UNKNOWN_FUNCTION: &str = "<unrecognized-selector>";

const GREEN: &str = "\x1b[32m";
const RED: &str = "\x1b[31m";
const BOLD: &str = "\x1b[1m";
const OFF: &str = "\x1b[0m";

/// What a call did, as far as the log shows it.
#[derive(Debug)]
pub(super) enum CallEffect<'a> {
    /// Nothing that is shown.
    Nothing,
    /// It ran code, or a transfer.
    Run(&'a RunReport),
    /// It sent the transaction at this place of a block. `is_shown`: another call has shown the block.
    Sent { block: FullBlock, index: usize, is_shown: bool },
    /// It made these blocks.
    Made(Vec<MadeBlock>),
}

impl CallEffect<'_> {
    /// Whether what it ran has failed.
    fn has_failed(&self) -> bool {
        match self {
            Self::Nothing | Self::Made(_) => false,
            Self::Run(run) => run.failure.is_some(),
            Self::Sent { block, index, .. } => block.report.txs[*index].failure.is_some(),
        }
    }
}

/// What the last line shows, which the next one may replace.
#[derive(Debug, PartialEq, Eq)]
enum LastLine {
    Other,
    /// A call without lines of its own, so many times.
    Call(String, u64),
    /// Empty blocks from this one on.
    EmptyBlocks(u64),
}

/// A line of a call or a block.
#[derive(Debug)]
enum Line {
    Text(String),
    /// A name and a value, which begins in the same column on all lines.
    Value(String, String),
}

/// The log so far, as far as the next lines depend on it.
#[derive(Debug)]
pub(super) struct CallLines {
    terminal: Terminal,
    last: LastLine,
    /// The longest name of a value until now, with its indent.
    width: usize,
}

impl CallLines {
    /// An empty log.
    pub(super) fn new(terminal: Terminal) -> Self {
        Self { terminal, last: LastLine::Other, width: 0 }
    }

    /// A call that has ended. `can_replace`: the last line of the log is still the last one of the terminal.
    pub(super) fn call(
        &mut self,
        call: &EndedCall,
        effect: &CallEffect<'_>,
        can_replace: bool,
    ) -> String {
        let called = plain_text(&call.called, MAX_NAME);
        if call.method.is_none() && call.error.is_some() {
            self.last = LastLine::Other;
            return self.painted(RED, &format!("{called} - Method not supported")) + "\n";
        }
        let lines = self.effect(call, effect);
        let has_failed = call.error.is_some() || effect.has_failed();
        if !has_failed && lines.is_empty() {
            return self.repeatable(called, can_replace);
        }
        self.last = LastLine::Other;
        let mut out = self.painted(if has_failed { RED } else { GREEN }, &called) + "\n";
        self.write(&mut out, lines);
        if let Some(error) = call.error.as_ref().filter(|_| !effect.has_failed()) {
            // Writing to a String can't fail.
            let _ok = write!(out, "\n  {}\n", plain_text(error, MAX_TEXT));
        }
        out.push('\n');
        out
    }

    /// A call without lines of its own: the same again replaces it, with their number.
    fn repeatable(&mut self, called: String, can_replace: bool) -> String {
        let count = match &self.last {
            LastLine::Call(last, count) if *last == called => count + 1,
            _ => 1,
        };
        let text = match count {
            1 => called.clone(),
            _ => format!("{called} ({count})"),
        };
        self.last = LastLine::Call(called, count);
        self.replacing(&self.painted(GREEN, &text), can_replace && count > 1)
    }

    /// Blocks that no call made, such as those at regular times.
    pub(super) fn blocks(&mut self, block: &MadeBlock, can_replace: bool) -> String {
        match block {
            MadeBlock::Empty { first, last, base_fee } => {
                let (begin, is_continued) = match self.last {
                    LastLine::EmptyBlocks(begin) => (begin, true),
                    _ => (*first, false),
                };
                self.last = LastLine::EmptyBlocks(begin);
                let line = empty_blocks(begin, *last, *base_fee);
                self.replacing(&line, can_replace && is_continued)
            }
            MadeBlock::Full(block) => {
                self.last = LastLine::Other;
                let mut lines = Vec::new();
                push_text(&mut lines, 2, &format_args!("Block: {}", block.report.hash));
                push_txs(&mut lines, 4, block, None);
                let mut out = format!("Mined block #{}\n", block.number);
                self.write(&mut out, lines);
                out.push('\n');
                out
            }
        }
    }

    /// Texts that code printed while the log is off.
    pub(super) fn printed(&mut self, texts: &PrintedTexts) -> String {
        self.last = LastLine::Other;
        texts.texts.iter().map(|text| plain_text(text, MAX_TEXT) + "\n").collect()
    }

    /// A line about the log itself.
    pub(super) fn remark(&mut self, remark: &str) -> String {
        self.last = LastLine::Other;
        format!("{remark}\n")
    }

    fn effect(&self, call: &EndedCall, effect: &CallEffect<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        match effect {
            CallEffect::Nothing => {}
            CallEffect::Run(run) => {
                // Hardhat's call shows a value if there is one, its estimate always.
                let is_call = call.method.is_some_and(|(_, name)| name == "call");
                push_target(&mut lines, 2, &run.target, true);
                push_parties(&mut lines, 2, run, !is_call || run.value != "0");
                push_end(&mut lines, 2, run, &run.printed);
            }
            CallEffect::Sent { block, index, is_shown } => {
                if block.report.txs.len() > 1 && !is_shown {
                    self.push_shared_block(&mut lines, block, *index);
                }
                push_sent(&mut lines, block, *index);
            }
            CallEffect::Made(blocks) => push_made(&mut lines, blocks),
        }
        lines
    }

    /// A block in which a call's transaction is not alone.
    fn push_shared_block(&self, lines: &mut Vec<Line>, block: &FullBlock, index: usize) {
        push_text(lines, 2, &"There were other pending transactions mined in the same block:");
        push_text(lines, 0, &"");
        push_text(lines, 2, &format_args!("Block #{}: {}", block.number, block.report.hash));
        let bold = self.terminal.has_colours.then_some(index);
        push_txs(lines, 4, block, bold);
        push_text(lines, 0, &"");
        push_text(lines, 2, &"Currently sent transaction:");
        push_text(lines, 0, &"");
    }

    /// Writes lines, with their values in one column.
    fn write(&mut self, out: &mut String, lines: Vec<Line>) {
        let names = lines.iter().filter_map(|line| match line {
            Line::Value(name, _) => Some(name.len()),
            Line::Text(_) => None,
        });
        self.width = names.max().unwrap_or_default().max(self.width);
        for line in lines {
            // Writing to a String can't fail.
            let _ok = match line {
                Line::Text(text) => writeln!(out, "{text}"),
                Line::Value(name, value) => {
                    writeln!(out, "{:<1$} {value}", name + ":", self.width + 1)
                }
            };
        }
    }

    /// A line; on a terminal in the place of the last one, if it replaces that.
    fn replacing(&self, line: &str, is_replacing: bool) -> String {
        match is_replacing && self.terminal.can_replace {
            // The cursor is hidden meanwhile.
            true => format!("\x1b[?25l\x1b[F{line}\x1b[K\n\x1b[?25h"),
            false => format!("{line}\n"),
        }
    }

    fn painted(&self, colour: &str, text: &str) -> String {
        match self.terminal.has_colours {
            true => format!("{colour}{text}{OFF}"),
            false => text.to_owned(),
        }
    }
}

fn push_text(lines: &mut Vec<Line>, indent: usize, text: &dyn Display) {
    lines.push(Line::Text(format!("{:indent$}{text}", "")));
}

fn push_value(lines: &mut Vec<Line>, indent: usize, name: &dyn Display, value: &dyn Display) {
    lines.push(Line::Value(format!("{:indent$}{name}", ""), value.to_string()));
}

/// What a message reaches. `warns`: whether an account without code is remarkable.
fn push_target(lines: &mut Vec<Line>, indent: usize, target: &RunTarget, warns: bool) {
    let name = |name: &Option<String>| match name {
        Some(name) => plain_text(name, MAX_NAME),
        None => UNKNOWN_CONTRACT.to_owned(),
    };
    match target {
        RunTarget::Account if warns => {
            push_text(lines, indent, &"WARNING: Calling an account which is not a contract");
        }
        RunTarget::Account => {}
        RunTarget::Precompile(number) => {
            let contract = format_args!("<PrecompileContract {number}>");
            push_value(lines, indent, &"Precompile call", &contract);
        }
        RunTarget::Contract { name: None, .. } => {
            push_value(lines, indent, &"Contract call", &UNKNOWN_CONTRACT);
        }
        RunTarget::Contract { name: known @ Some(_), function } => {
            let function = function.as_deref().unwrap_or(UNKNOWN_FUNCTION);
            let called = format!("{}#{}", name(known), plain_text(function, MAX_NAME));
            push_value(lines, indent, &"Contract call", &called);
        }
        RunTarget::Creation { name: created, address } => {
            push_value(lines, indent, &"Contract deployment", &name(created));
            push_value(lines, indent, &"Contract address", address);
        }
    }
}

fn push_parties(lines: &mut Vec<Line>, indent: usize, run: &RunReport, has_value: bool) {
    push_value(lines, indent, &"From", &run.from);
    if let Some(to) = &run.to {
        push_value(lines, indent, &"To", to);
    }
    if has_value {
        push_value(lines, indent, &"Value", &coins(&run.value));
    }
}

/// What code printed, and why it failed.
fn push_end(lines: &mut Vec<Line>, indent: usize, run: &RunReport, printed: &PrintedTexts) {
    if !printed.texts.is_empty() || printed.left_out > 0 {
        push_text(lines, 0, &"");
        push_text(lines, indent, &"console.log:");
        for text in &printed.texts {
            push_text(lines, indent + 2, &plain_text(text, MAX_TEXT));
        }
        if printed.left_out > 0 {
            let rest = format_args!("({} further texts are not shown)", printed.left_out);
            push_text(lines, indent + 2, &rest);
        }
    }
    if let Some(failure) = &run.failure {
        let kind = if failure.is_revert { "Error" } else { "TransactionExecutionError" };
        push_text(lines, 0, &"");
        push_text(lines, indent, &format_args!("{kind}: {}", plain_text(&failure.text, MAX_TEXT)));
    }
}

/// The transaction of a call.
fn push_sent(lines: &mut Vec<Line>, block: &FullBlock, index: usize) {
    let tx = &block.report.txs[index];
    let run = tx.run.clone().unwrap_or_default();
    push_target(lines, 2, &run.target, false);
    push_value(lines, 2, &"Transaction", &tx.id);
    push_parties(lines, 2, &run, true);
    push_gas(lines, 2, tx);
    push_value(lines, 2, &format_args!("Block #{}", block.number), &block.report.hash);
    push_end(lines, 2, &run, &tx.printed);
}

fn push_gas(lines: &mut Vec<Line>, indent: usize, tx: &TxReport) {
    if let (Some(used), Some(limit)) = (tx.gas_used, tx.gas_limit) {
        push_value(lines, indent, &"Gas used", &format_args!("{used} of {limit}"));
    }
}

/// The transactions of a block below its base fee, the one at `bold` in bold.
fn push_txs(lines: &mut Vec<Line>, indent: usize, block: &FullBlock, bold: Option<usize>) {
    if let Some(base_fee) = block.base_fee {
        push_text(lines, indent, &format_args!("Base fee: {base_fee}"));
    }
    for (index, tx) in block.report.txs.iter().take(MAX_TXS).enumerate() {
        if index > 0 {
            push_text(lines, 0, &"");
        }
        let run = tx.run.clone().unwrap_or_default();
        match bold == Some(index) {
            true => {
                push_value(lines, indent, &"Transaction", &format_args!("{BOLD}{}{OFF}", tx.id));
            }
            false => push_value(lines, indent, &"Transaction", &tx.id),
        }
        push_target(lines, indent + 2, &run.target, false);
        push_parties(lines, indent + 2, &run, true);
        push_gas(lines, indent + 2, tx);
        push_end(lines, indent + 2, &run, &tx.printed);
    }
    match block.report.txs.len().saturating_sub(MAX_TXS) {
        0 => {}
        rest => {
            push_text(lines, indent, &format_args!("({rest} further transactions are not shown)"));
        }
    }
}

/// The blocks of a call.
fn push_made(lines: &mut Vec<Line>, blocks: &[MadeBlock]) {
    for (index, block) in blocks.iter().enumerate() {
        match block {
            MadeBlock::Empty { first, last, base_fee } => {
                push_text(lines, 2, &empty_blocks(*first, *last, *base_fee));
            }
            MadeBlock::Full(block) => {
                push_text(lines, 2, &format_args!("Mined block #{}", block.number));
                push_text(lines, 4, &format_args!("Block: {}", block.report.hash));
                push_txs(lines, 6, block, None);
                if index + 1 < blocks.len() {
                    push_text(lines, 0, &"");
                }
            }
        }
    }
}

fn empty_blocks(first: u64, last: u64, base_fee: Option<u64>) -> String {
    match base_fee {
        _ if first < last => format!("Mined empty block range #{first} to #{last}"),
        Some(fee) => format!("Mined empty block #{first} with base fee {fee}"),
        None => format!("Mined empty block #{first}"),
    }
}
