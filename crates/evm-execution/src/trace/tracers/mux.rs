//! `muxTracer`: several tracers at once, each with a configuration of its own.

use std::collections::BTreeMap;

use esker_go_json::args::ArgumentError;
use esker_go_json::{Document, Kind};

use crate::executor::{ExecutionEnd, VmError};
use crate::trace::{
    FrameEnd, FrameStart, Step, StepFilter, TraceContext, TraceError, TraceOutput, TraceResult,
    TraceStop, Tracer, TxStart, json,
};

/// Name of the tracer. It may contain tracers of the same name.
const NAME: &str = "muxTracer";

/// Most tracers of one request, including nested tracers (docs/decisions.md, "Number of tracers").
const MAX_TRACERS: usize = 64;

/// The error text for a script, which would run in a process of its own.
const NO_SCRIPTS: &str = "muxTracer takes no tracers in JavaScript, trace with them alone";

/// Tracers in the order of their names, which is the order of the result.
struct MuxTracer(Vec<Part>);

struct Part {
    name: String,
    tracer: Box<dyn Tracer>,
    filter: StepFilter,
    /// Bytes that the tracer has written so far.
    written: Vec<u8>,
    /// Bytes of `written` that the output has counted.
    held: usize,
}

/// A tracer with this `tracerConfig`: the names of the tracers with their configurations.
pub(super) fn new(config: &str) -> Result<Box<dyn Tracer>, TraceError> {
    let mut left = MAX_TRACERS;
    Ok(Box::new(MuxTracer::new(config.as_bytes(), &mut left)?))
}

impl MuxTracer {
    fn new(config: &[u8], left: &mut usize) -> Result<Self, TraceError> {
        // If a name occurs twice, the last one counts.
        let mut configs = BTreeMap::new();
        let member = |name: esker_go_json::Name<'_>, config| {
            configs.insert(name.text().into_owned(), config);
        };
        let value = Document::first_with_members(config, member);
        let value = value.map_err(|error| TraceError::Failed(error.to_string()))?;
        if !matches!(value.kind(), Kind::Object | Kind::Null) {
            let error = ArgumentError::kind(value.kind(), "map[string]json.RawMessage");
            return Err(TraceError::Failed(error.to_string()));
        }
        let parts = configs.into_iter().map(|(name, config)| Part::new(name, config, left));
        Ok(Self(parts.collect::<Result<_, _>>()?))
    }

    /// Calls a hook of each tracer.
    fn each(
        &mut self,
        context: &mut TraceContext<'_, '_>,
        mut hook: impl FnMut(&mut dyn Tracer, &mut TraceContext<'_, '_>) -> TraceResult,
    ) -> TraceResult {
        self.0.iter_mut().try_for_each(|part| part.call(context, &mut hook))
    }
}

impl Part {
    fn new(name: String, config: Document<'_>, left: &mut usize) -> Result<Self, TraceError> {
        *left = left
            .checked_sub(1)
            .ok_or_else(|| TraceError::Failed(format!("more than {MAX_TRACERS} tracers")))?;
        let tracer = match name.as_str() {
            NAME => Box::new(MuxTracer::new(config.as_bytes(), left)?),
            name => match super::by_name(name) {
                Some(new) => new(&String::from_utf8_lossy(config.as_bytes()))?,
                None => {
                    let text = super::script_error_text(name, NO_SCRIPTS);
                    let is_explained = text == NO_SCRIPTS;
                    let text = if is_explained { text } else { format!("{text}: {NO_SCRIPTS}") };
                    return Err(TraceError::Failed(text));
                }
            },
        };
        let filter = tracer.steps();
        Ok(Self { name, tracer, filter, written: Vec::new(), held: 0 })
    }

    fn call(
        &mut self,
        context: &mut TraceContext<'_, '_>,
        hook: &mut impl FnMut(&mut dyn Tracer, &mut TraceContext<'_, '_>) -> TraceResult,
    ) -> TraceResult {
        let TraceContext { evm, out } = context;
        let out = &mut PartOutput { written: &mut self.written, held: &mut self.held, out: *out };
        hook(&mut *self.tracer, &mut TraceContext { evm, out })
    }
}

impl Tracer for MuxTracer {
    fn steps(&self) -> StepFilter {
        self.0.iter().fold(StepFilter::NONE, |all, part| all.or(part.filter))
    }

    fn needs_end_first(&self) -> bool {
        self.0.iter().any(|part| part.tracer.needs_end_first())
    }

    fn start(&mut self, tx: &TxStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.each(context, |tracer, context| tracer.start(tx, context))
    }

    fn enter(&mut self, frame: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.each(context, |tracer, context| tracer.enter(frame, context))
    }

    fn exit(&mut self, frame: &FrameEnd<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.each(context, |tracer, context| tracer.exit(frame, context))
    }

    fn step(&mut self, step: &Step<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        for part in self.0.iter_mut().filter(|part| part.filter.has(step.op)) {
            part.call(context, &mut |tracer, context| tracer.step(step, context))?;
        }
        Ok(())
    }

    fn fault(
        &mut self,
        step: &Step<'_>,
        error: &VmError,
        context: &mut TraceContext<'_, '_>,
    ) -> TraceResult {
        for part in self.0.iter_mut().filter(|part| part.filter.has(step.op)) {
            part.call(context, &mut |tracer, context| tracer.fault(step, error, context))?;
        }
        Ok(())
    }

    fn end(&mut self, end: &ExecutionEnd, context: &mut TraceContext<'_, '_>) -> TraceResult {
        self.each(context, |tracer, context| tracer.end(end, context))
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        out.buffer().push(b'{');
        for (at, mut part) in std::mem::take(&mut self.0).into_iter().enumerate() {
            super::separate(at, out)?;
            json::string(out.buffer(), &part.name);
            out.buffer().push(b':');
            out.buffer().append(&mut part.written);
            out.checkpoint()?;
            part.tracer.write(out)?;
        }
        out.buffer().push(b'}');
        Ok(())
    }
}

/// The output of a tracer before all tracers have ended. It is kept in memory and counts as held.
struct PartOutput<'p> {
    written: &'p mut Vec<u8>,
    held: &'p mut usize,
    out: &'p mut dyn TraceOutput,
}

impl TraceOutput for PartOutput<'_> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self.written
    }

    fn checkpoint(&mut self) -> Result<(), TraceStop> {
        let before = std::mem::replace(self.held, self.written.len());
        self.out.hold(self.written.len() - before)
    }

    fn hold(&mut self, bytes: usize) -> Result<(), TraceStop> {
        self.out.hold(bytes)
    }
}
