//! `consoleTracer`: what contracts print through the console contracts of Hardhat and Foundry.

use alloy_primitives::{Address, Bytes};

use crate::console::{CONSOLE, Malformed, Message, Value};
use crate::trace::{FrameStart, TraceContext, TraceError, TraceOutput, TraceResult, Tracer, json};

/// Bytes that a call takes besides its data.
const CALL_BYTES: usize = 64;
/// Most bytes of JSON for a byte of data: four arguments may be the same bytes of control characters, in the text, too.
const JSON_BYTES: usize = 50;

/// Collects the calls in their order, also those in frames that fail.
#[derive(Debug, Default)]
struct ConsoleTracer {
    calls: Vec<ConsoleCall>,
}

#[derive(Debug)]
struct ConsoleCall {
    from: Address,
    depth: usize,
    input: Bytes,
}

/// A tracer. It accepts any configuration and ignores it.
pub(super) fn new(_: &str) -> Result<Box<dyn Tracer>, TraceError> {
    Ok(Box::<ConsoleTracer>::default())
}

impl Tracer for ConsoleTracer {
    fn enter(&mut self, frame: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let FrameStart { kind, depth, from, to, input, .. } = *frame;
        if to == CONSOLE && kind.is_call() {
            context.out.hold(JSON_BYTES * input.len() + CALL_BYTES)?;
            self.calls.push(ConsoleCall { from, depth, input: input.clone() });
        }
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        out.buffer().push(b'[');
        for (index, call) in self.calls.iter().enumerate() {
            super::separate(index, out)?;
            call.write(out.buffer());
        }
        out.buffer().push(b']');
        Ok(())
    }
}

impl ConsoleCall {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"from\":");
        json::address(out, &self.from);
        out.extend_from_slice(b",\"depth\":");
        json::decimal(out, self.depth as u64);
        match Message::decode(&self.input) {
            Ok(message) => self.write_message(&message, out),
            Err(error) => self.write_malformed(error, out),
        }
        out.push(b'}');
    }

    fn write_message(&self, message: &Message, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"text\":");
        json::string(out, &message.text());
        out.extend_from_slice(b",\"signature\":");
        json::string(out, &message.signature.text);
        out.extend_from_slice(b",\"arguments\":[");
        let arguments = message.signature.kinds.iter().zip(&message.values);
        for (index, (kind, value)) in arguments.enumerate() {
            let separator: &[u8] = if index > 0 { b",{\"type\":" } else { b"{\"type\":" };
            out.extend_from_slice(separator);
            json::string(out, &kind.name());
            out.extend_from_slice(b",\"value\":");
            match value {
                Value::Bool(value) => out.extend_from_slice(value.to_string().as_bytes()),
                value => json::string(out, &value.to_string()),
            }
            out.push(b'}');
        }
        out.push(b']');
        // JSON has no other bytes than those of texts.
        if !message.values.iter().all(Value::is_exact) {
            self.write_input(out);
        }
    }

    fn write_malformed(&self, error: Malformed, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"text\":");
        json::string(out, &Message::text_of(&self.input));
        out.extend_from_slice(b",\"error\":");
        json::string(out, &error.to_string());
        self.write_input(out);
    }

    fn write_input(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"input\":");
        json::data(out, &self.input);
    }
}
