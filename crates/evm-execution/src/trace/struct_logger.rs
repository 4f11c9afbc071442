//! The tracer without a name: shows each instruction with the stack before it.
//!
//! Its JSON begins with the outcome of the transaction, so the transaction runs twice. In the second run each
//! instruction is written at once, and nothing is kept.

use std::collections::BTreeMap;

use alloy_primitives::map::AddressMap;
use alloy_primitives::{Address, B256, U256};

use super::{Step, StepFilter, TraceContext, TraceOutput, TraceResult, Tracer, TxStart, json};
use crate::executor::{ExecutionEnd, VmError, opcode};

/// Bytes that are written between two checkpoints of the output.
const CHUNK: usize = 16 * 1024;

/// Settings of the struct logger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StructLogConfig {
    /// Show memory.
    pub enable_memory: bool,
    /// Leave out the stack.
    pub disable_stack: bool,
    /// Leave out storage.
    pub disable_storage: bool,
    /// Show the returned data of the last call.
    pub enable_return_data: bool,
    /// Write 0x before returned data, words of memory, and storage, as the standard does.
    pub has_prefixes: bool,
    /// Most shown instructions; 0 is no limit, a negative number shows none.
    pub limit: i64,
}

impl StructLogConfig {
    const fn prefix(&self) -> &'static [u8] {
        if self.has_prefixes { b"0x" } else { b"" }
    }
}

/// Writes every instruction.
#[derive(Debug)]
pub struct StructLogger {
    config: StructLogConfig,
    shown: i64,
    /// The known storage of each contract.
    storage: AddressMap<BTreeMap<B256, B256>>,
}

impl StructLogger {
    /// A logger with these settings.
    pub fn new(config: StructLogConfig) -> Self {
        Self { config, shown: 0, storage: AddressMap::default() }
    }

    /// The known storage of the contract after a step that reads or writes it.
    fn storage_after(
        &mut self,
        step: &Step<'_>,
        context: &mut TraceContext<'_, '_>,
    ) -> Result<Option<&BTreeMap<B256, B256>>, super::TraceError> {
        if self.config.disable_storage || !matches!(step.op, opcode::SLOAD | opcode::SSTORE) {
            return Ok(None);
        }
        let contract: Address = step.address();
        let value = match (step.op, step.peek(0), step.peek(1)) {
            (opcode::SLOAD, Some(key), _) => Some((key, context.storage(contract, key)?)),
            (opcode::SSTORE, Some(key), Some(value)) => Some((key, value)),
            _ => None,
        };
        let Some((key, value)) = value else { return Ok(None) };
        let known = self.storage.entry(contract).or_default();
        known.insert(key.into(), value.into());
        Ok(Some(known))
    }
}

impl Tracer for StructLogger {
    fn steps(&self) -> StepFilter {
        if self.config.limit < 0 { StepFilter::NONE } else { StepFilter::ALL }
    }

    fn needs_end_first(&self) -> bool {
        true
    }

    fn start(&mut self, tx: &TxStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if let Some(end) = tx.end {
            write_head(end, self.config.prefix(), context.out.buffer());
        }
        Ok(())
    }

    fn step(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if self.config.limit > 0 && self.shown >= self.config.limit {
            return Ok(());
        }
        let config = self.config;
        if self.shown > 0 {
            context.out.buffer().push(b',');
        }
        self.shown += 1;
        write_place(step, context.out.buffer());
        if !config.disable_stack {
            write_stack(step.stack(), context.out.buffer());
            context.count_written(step.stack().len() * 32);
        }
        let returned = step.return_data();
        if config.enable_return_data && !returned.is_empty() {
            context.out.buffer().extend_from_slice(b",\"returnData\":");
            json::data(context.out.buffer(), returned);
            context.count_written(returned.len());
        }
        if config.enable_memory {
            context.count_written(step.memory().len());
            write_memory(&step.memory(), config.prefix(), context.out)?;
        }
        if let Some(storage) = self.storage_after(step, context)? {
            write_storage(storage, config.prefix(), context.out)?;
        }
        let refund = context.refund();
        if refund > 0 {
            context.out.buffer().extend_from_slice(b",\"refund\":");
            json::decimal(context.out.buffer(), refund);
        }
        context.out.buffer().push(b'}');
        if context.out.buffer().len() > CHUNK {
            context.out.checkpoint()?;
        }
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        out.buffer().extend_from_slice(b"]}");
        Ok(())
    }
}

/// Writes the part before the instructions.
fn write_head(end: &ExecutionEnd, prefix: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"gas\":");
    json::decimal(out, end.gas_used);
    out.extend_from_slice(b",\"failed\":");
    out.extend_from_slice(if end.error.is_some() { b"true" } else { b"false" });
    out.extend_from_slice(b",\"returnValue\":\"");
    out.extend_from_slice(prefix);
    if matches!(end.error, None | Some(VmError::Reverted)) {
        json::hex_digits(out, &end.output);
    }
    out.extend_from_slice(b"\",\"structLogs\":[");
}

fn write_place(step: &Step<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"pc\":");
    json::decimal(out, step.pc);
    out.extend_from_slice(b",\"op\":\"");
    out.extend_from_slice(step.op_name().as_bytes());
    out.extend_from_slice(b"\",\"gas\":");
    json::decimal(out, step.gas);
    out.extend_from_slice(b",\"gasCost\":");
    json::decimal(out, step.cost);
    out.extend_from_slice(b",\"depth\":");
    json::decimal(out, step.depth as u64);
    if let Some(error) = step.error {
        out.extend_from_slice(b",\"error\":");
        json::string(out, &error.to_string());
    }
}

fn write_stack(stack: &[U256], out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"stack\":[");
    for (at, item) in stack.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        json::big(out, item);
    }
    out.push(b']');
}

/// Writes the memory as whole words.
fn write_memory(memory: &[u8], prefix: &[u8], out: &mut dyn TraceOutput) -> TraceResult {
    out.buffer().extend_from_slice(b",\"memory\":[");
    for (at, word) in memory.chunks_exact(32).enumerate() {
        let buffer = out.buffer();
        if at > 0 {
            buffer.push(b',');
        }
        buffer.push(b'"');
        buffer.extend_from_slice(prefix);
        json::hex_digits(buffer, word);
        buffer.push(b'"');
        if buffer.len() > CHUNK {
            out.checkpoint()?;
        }
    }
    out.buffer().push(b']');
    Ok(())
}

fn write_storage(
    storage: &BTreeMap<B256, B256>,
    prefix: &[u8],
    out: &mut dyn TraceOutput,
) -> TraceResult {
    out.buffer().extend_from_slice(b",\"storage\":{");
    for (at, (key, value)) in storage.iter().enumerate() {
        let buffer = out.buffer();
        if at > 0 {
            buffer.push(b',');
        }
        buffer.push(b'"');
        buffer.extend_from_slice(prefix);
        json::hex_digits(buffer, key.as_slice());
        buffer.extend_from_slice(b"\":\"");
        buffer.extend_from_slice(prefix);
        json::hex_digits(buffer, value.as_slice());
        buffer.push(b'"');
        if buffer.len() > CHUNK {
            out.checkpoint()?;
        }
    }
    out.buffer().push(b'}');
    Ok(())
}
