//! `callTracer`: the tree of calls.

use std::rc::Rc;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::CHUNK;
use crate::call::{RevertReason, revert_reason};
use crate::executor::{ExecutionEnd, VmError, opcode};
use crate::trace::call_names::begin_member;
use crate::trace::{
    CallName, CallNames, FrameEnd, FrameKind, FrameStart, Step, StepFilter, TraceContext,
    TraceError, TraceOutput, TraceResult, Tracer, TxStart, json,
};

/// Bytes that a frame or log counts besides its data.
const FRAME_BYTES: usize = 400;
/// Most frames that get names, and most logs.
const MAX_NAMED: usize = 1000;

#[derive(Debug, Default)]
struct Config {
    only_top_call: bool,
    with_log: bool,
    /// Not geth's.
    names: bool,
}

/// Collects calls in the order in which they begin.
#[derive(Debug)]
pub struct CallTracer {
    config: Config,
    frames: Vec<Frame>,
    /// Open calls, by their index in `frames`.
    open: Vec<usize>,
    gas_limit: u64,
    /// Gas of the whole transaction.
    gas_used: u64,
    /// `None`: nobody wants names, or none are known.
    names: Option<Rc<dyn CallNames>>,
    /// Logs so far.
    logs: usize,
}

#[derive(Debug)]
struct Frame {
    kind: FrameKind,
    depth: usize,
    from: Address,
    to: Address,
    gas: u64,
    gas_used: u64,
    input: Bytes,
    output: Bytes,
    error: Option<VmError>,
    value: Option<U256>,
    /// Calls made so far.
    calls: u64,
    logs: Vec<Log>,
    name: Option<CallName>,
    /// Of the custom error with which it reverted.
    error_name: Option<CallName>,
}

impl Frame {
    /// Finds the names that a frame has at its end: of what was created, or of why it failed.
    fn find_names_of_end(
        &mut self,
        names: &dyn CallNames,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        match self.error {
            None if self.kind.is_create() => {
                self.name = names.of_creation(&self.output, &self.input);
                count_name(self.name.as_ref(), self.input.len(), context)
            }
            // Errors of Solidity have a text.
            Some(VmError::Reverted) if RevertReason::parse(&self.output).is_none() => {
                self.error_name = names.of_error(&self.output);
                count_name(self.error_name.as_ref(), self.output.len(), context)
            }
            _ => Ok(()),
        }
    }

    /// Writes the names of its call and of its error.
    fn write_names(&self, out: &mut Vec<u8>) {
        if self.name.is_none() && self.error_name.is_none() {
            return;
        }
        begin_member("names", out);
        out.push(b'{');
        if let Some(name) = &self.name {
            name.write_members("function", out);
        }
        if let Some(error) = &self.error_name {
            begin_member("error", out);
            error.write("name", out);
        }
        out.push(b'}');
    }
}

#[derive(Debug)]
struct Log {
    address: Address,
    topics: Vec<B256>,
    data: Vec<u8>,
    /// Number of calls that the frame had made before the log.
    position: u64,
    name: Option<CallName>,
}

pub(super) fn new(config: &str) -> Result<Box<dyn Tracer>, TraceError> {
    Ok(Box::new(CallTracer::new(config)?))
}

impl CallTracer {
    /// A tracer of this `tracerConfig`.
    pub fn new(text: &str) -> Result<Self, TraceError> {
        let mut config = Config::default();
        super::configure(
            text,
            "native.callTracerConfig",
            &mut [
                ("onlyTopCall", &mut config.only_top_call),
                ("withLog", &mut config.with_log),
                ("names", &mut config.names),
            ],
        )?;
        let (frames, open) = (Vec::new(), Vec::new());
        Ok(Self { config, frames, open, gas_limit: 0, gas_used: 0, names: None, logs: 0 })
    }

    /// Shows these names, if its configuration asks for names.
    #[must_use]
    pub fn with_names(self, names: Rc<dyn CallNames>) -> Self {
        let names = Some(names).filter(|_| self.config.names);
        Self { names, ..self }
    }

    /// The names that the next frame may have.
    fn names_of_next(&self) -> Option<Rc<dyn CallNames>> {
        self.names.clone().filter(|_| self.frames.len() < MAX_NAMED)
    }

    /// Keeps a log of the innermost open frame. If the log fails, its frame fails and shows no logs.
    fn log(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let Some(frame) = self.open.last().and_then(|at| self.frames.get_mut(*at)) else {
            return Ok(());
        };
        let (Some(start), Some(length)) = (step.peek(0), step.peek(1)) else { return Ok(()) };
        let topics = usize::from(step.op - opcode::LOG0);
        // The reference leaves out a log of data far beyond the memory.
        let Some(data) = step.memory_copy(start, length) else { return Ok(()) };
        context.out.hold(data.len() + FRAME_BYTES)?;
        let topics: Vec<_> =
            (0..topics).filter_map(|at| step.peek(2 + at)).map(B256::from).collect();
        self.logs += 1;
        let name = match self.names.as_ref().filter(|_| self.logs <= MAX_NAMED) {
            Some(names) => names.of_event(step.address(), &topics, &data, context)?,
            None => None,
        };
        count_name(name.as_ref(), data.len(), context)?;
        let (address, position) = (step.address(), frame.calls);
        frame.logs.push(Log { address, topics, data, position, name });
        Ok(())
    }
}

/// Counts a name, and the data from which it was decoded.
fn count_name(
    name: Option<&CallName>,
    data: usize,
    context: &mut TraceContext<'_, '_>,
) -> TraceResult {
    let Some(name) = name else { return Ok(()) };
    context.out.hold(name.size())?;
    context.count_written(name.size() + data);
    Ok(())
}

impl Tracer for CallTracer {
    fn steps(&self) -> StepFilter {
        match self.config.with_log {
            true => StepFilter::from_opcodes(opcode::LOG0..=opcode::LOG4),
            false => StepFilter::NONE,
        }
    }

    fn start(&mut self, tx: &TxStart<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        self.gas_limit = tx.message.gas_limit;
        Ok(())
    }

    fn enter(&mut self, start: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        let FrameStart { kind, depth, from, to, input, gas, value } = *start;
        if self.config.only_top_call && depth > 0 {
            return Ok(());
        }
        context.out.hold(input.len() + FRAME_BYTES)?;
        let name = match self.names_of_next().filter(|_| kind.is_call()) {
            Some(names) => names.of_call(to, input, context)?,
            None => None,
        };
        count_name(name.as_ref(), input.len(), context)?;
        self.open.push(self.frames.len());
        self.frames.push(Frame {
            kind,
            depth,
            from,
            to,
            gas: if depth == 0 { self.gas_limit } else { gas },
            gas_used: 0,
            input: input.clone(),
            output: Bytes::new(),
            error: None,
            value,
            calls: 0,
            logs: Vec::new(),
            name,
            error_name: None,
        });
        Ok(())
    }

    fn exit(&mut self, end: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if self.config.only_top_call && end.depth > 0 {
            return Ok(());
        }
        let Some(at) = self.open.pop() else { return Ok(()) };
        let Some(frame) = self.frames.get_mut(at) else { return Ok(()) };
        frame.gas_used = end.gas_used;
        frame.error = end.error.cloned();
        if matches!(end.error, None | Some(VmError::Reverted)) {
            context.out.hold(end.output.len())?;
            frame.output = end.output.clone();
        }
        if let Some(names) = self.names.as_ref().filter(|_| at < MAX_NAMED) {
            frame.find_names_of_end(names.as_ref(), context)?;
        }
        let caller = self.open.last().and_then(|at| self.frames.get_mut(*at));
        if let Some(caller) = caller {
            caller.calls += 1;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        if step.error.is_some() || self.config.only_top_call && step.depth > 1 {
            return Ok(());
        }
        self.log(step, context)
    }

    fn end(&mut self, end: &ExecutionEnd, _: &mut TraceContext<'_, '_>) -> TraceResult {
        self.gas_used = end.gas_used;
        if let Some(outermost) = self.frames.first_mut() {
            outermost.gas_used = end.gas_used;
        }
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        let mut frames = std::mem::take(&mut self.frames).into_iter().peekable();
        if frames.peek().is_none() {
            write_no_frame(self.gas_used, out.buffer());
            return Ok(());
        }
        // The frames whose calls are being written, and whether a frame around them failed.
        let mut open: Vec<(Frame, bool)> = Vec::new();
        while let Some(frame) = frames.next() {
            let has_failed =
                frame.error.is_some() || open.last().is_some_and(|(_, failed)| *failed);
            let depth = frame.depth;
            write_head(&frame, out.buffer());
            open.push((frame, has_failed));
            let next = frames.peek().map_or(0, |next| next.depth);
            if next > depth {
                out.buffer().extend_from_slice(b",\"calls\":[");
                continue;
            }
            // This frame made no calls. All frames end that do not contain the next one.
            let mut made_calls = false;
            while let Some((ended, has_failed)) = open.pop_if(|(frame, _)| frame.depth >= next) {
                if made_calls {
                    out.buffer().push(b']');
                }
                write_tail(&ended, has_failed, out)?;
                made_calls = true;
                if ended.depth == 0 {
                    break;
                }
            }
            if frames.peek().is_some() {
                out.buffer().push(b',');
            }
            if out.buffer().len() > CHUNK {
                out.checkpoint()?;
            }
        }
        Ok(())
    }
}

/// Writes the result if the outermost frame was refused. The reference then has a frame without a kind.
fn write_no_frame(gas_used: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"from\":");
    json::address(out, &Address::ZERO);
    out.extend_from_slice(b",\"gas\":\"0x0\",\"gasUsed\":");
    json::quantity(out, gas_used);
    out.extend_from_slice(b",\"input\":\"0x\",\"type\":\"STOP\"}");
}

/// Writes the part of a frame before its calls.
fn write_head(frame: &Frame, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"from\":");
    json::address(out, &frame.from);
    out.extend_from_slice(b",\"gas\":");
    json::quantity(out, frame.gas);
    out.extend_from_slice(b",\"gasUsed\":");
    json::quantity(out, frame.gas_used);
    // A contract that was not created has no address.
    if frame.error.is_none() || !frame.kind.is_create() {
        out.extend_from_slice(b",\"to\":");
        json::address(out, &frame.to);
    }
    out.extend_from_slice(b",\"input\":");
    json::data(out, &frame.input);
    if !frame.output.is_empty() {
        out.extend_from_slice(b",\"output\":");
        json::data(out, &frame.output);
    }
    if let Some(error) = &frame.error {
        out.extend_from_slice(b",\"error\":");
        json::string(out, &error.to_string());
        if let Some(reason) = revert_reason(&frame.output).filter(|reason| !reason.is_empty()) {
            out.extend_from_slice(b",\"revertReason\":");
            json::string(out, &reason);
        }
    }
    frame.write_names(out);
}

/// Writes the part of a frame after its calls.
fn write_tail(frame: &Frame, has_failed: bool, out: &mut dyn TraceOutput) -> TraceResult {
    if !has_failed && !frame.logs.is_empty() {
        out.buffer().extend_from_slice(b",\"logs\":[");
        for (at, log) in frame.logs.iter().enumerate() {
            if at > 0 {
                out.buffer().push(b',');
            }
            write_log(log, out.buffer());
            if out.buffer().len() > CHUNK {
                out.checkpoint()?;
            }
        }
        out.buffer().push(b']');
    }
    let out = out.buffer();
    if let Some(value) = &frame.value {
        out.extend_from_slice(b",\"value\":");
        json::big(out, value);
    }
    out.extend_from_slice(b",\"type\":\"");
    out.extend_from_slice(frame.kind.name().as_bytes());
    out.extend_from_slice(b"\"}");
    Ok(())
}

fn write_log(log: &Log, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"address\":");
    json::address(out, &log.address);
    out.extend_from_slice(b",\"topics\":[");
    for (at, topic) in log.topics.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        json::hash(out, topic);
    }
    out.extend_from_slice(b"],\"data\":");
    json::data(out, &log.data);
    out.extend_from_slice(b",\"position\":");
    json::quantity(out, log.position);
    if let Some(name) = &log.name {
        begin_member("names", out);
        name.write("event", out);
    }
    out.push(b'}');
}
