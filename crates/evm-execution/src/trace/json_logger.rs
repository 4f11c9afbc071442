//! Writes each instruction as a line of JSON, and a line for the end: the form of EIP-3155 as geth writes it.

use super::{
    FrameEnd, Step, StepFilter, StructLogConfig, TraceContext, TraceOutput, TraceResult, Tracer,
    json,
};
use crate::executor::VmError;

/// Bytes that are written between two checkpoints of the output.
const CHUNK: usize = 16 * 1024;
/// Bytes of memory that are written between two checkpoints of the output.
const MEMORY_CHUNK: usize = 4 * 1024;

/// Writes each instruction at once and keeps nothing.
#[derive(Debug)]
pub struct JsonLogger {
    config: StructLogConfig,
}

impl JsonLogger {
    /// A logger with these settings for memory, stack and returned data. Other settings have no effect.
    pub fn new(config: StructLogConfig) -> Self {
        Self { config }
    }

    fn write_line(
        &self,
        step: &Step<'_>,
        returned: &[u8],
        error: Option<&VmError>,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        let (refund, out) = (context.refund(), &mut *context.out);
        let buffer = out.buffer();
        buffer.extend_from_slice(b"{\"pc\":");
        json::decimal(buffer, step.pc);
        buffer.extend_from_slice(b",\"op\":");
        json::decimal(buffer, u64::from(step.op));
        buffer.extend_from_slice(b",\"gas\":");
        json::quantity(buffer, step.gas);
        buffer.extend_from_slice(b",\"gasCost\":");
        json::quantity(buffer, step.cost);
        let memory = step.memory();
        if self.config.enable_memory && !memory.is_empty() {
            out.buffer().extend_from_slice(b",\"memory\":\"0x");
            for part in memory.chunks(MEMORY_CHUNK) {
                json::hex_digits(out.buffer(), part);
                out.checkpoint()?;
            }
            out.buffer().push(b'"');
        }
        let buffer = out.buffer();
        buffer.extend_from_slice(b",\"memSize\":");
        json::decimal(buffer, memory.len() as u64);
        buffer.extend_from_slice(b",\"stack\":");
        if self.config.disable_stack {
            buffer.extend_from_slice(b"null");
        } else {
            buffer.push(b'[');
            for (at, item) in step.stack().iter().enumerate() {
                if at > 0 {
                    buffer.push(b',');
                }
                json::big(buffer, item);
            }
            buffer.push(b']');
        }
        if self.config.enable_return_data && !returned.is_empty() {
            buffer.extend_from_slice(b",\"returnData\":");
            json::data(buffer, returned);
        }
        buffer.extend_from_slice(b",\"depth\":");
        json::decimal(buffer, step.depth as u64);
        buffer.extend_from_slice(b",\"refund\":");
        json::decimal(buffer, refund);
        buffer.extend_from_slice(b",\"opName\":");
        json::string(buffer, &step.op_name());
        if let Some(error) = error {
            buffer.extend_from_slice(b",\"error\":");
            json::string(buffer, &error.to_string());
        }
        buffer.extend_from_slice(b"}\n");
        if buffer.len() > CHUNK {
            out.checkpoint()?;
        }
        Ok(())
    }
}

impl Tracer for JsonLogger {
    fn steps(&self) -> StepFilter {
        StepFilter::ALL
    }

    fn exit(&mut self, frame: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if frame.depth > 0 {
            return Ok(());
        }
        let buffer = context.out.buffer();
        buffer.extend_from_slice(b"{\"output\":\"");
        json::hex_digits(buffer, frame.output);
        buffer.extend_from_slice(b"\",\"gasUsed\":");
        json::quantity(buffer, frame.gas_used);
        if let Some(error) = frame.error {
            buffer.extend_from_slice(b",\"error\":");
            json::string(buffer, &error.to_string());
        }
        buffer.extend_from_slice(b"}\n");
        Ok(())
    }

    fn step(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let memory = if self.config.enable_memory { step.memory().len() } else { 0 };
        context.count_written(memory + step.stack().len() * 32);
        self.write_line(step, step.return_data(), step.error, context)
    }

    /// Writes a second line, without returned data.
    fn fault(
        &mut self,
        step: &Step<'_>,
        error: &VmError,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        self.write_line(step, &[], Some(error), context)
    }

    fn write(&mut self, _: &mut dyn TraceOutput) -> TraceResult {
        Ok(())
    }
}
