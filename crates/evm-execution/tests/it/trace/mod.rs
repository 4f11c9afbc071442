//! Tracers: cases that the recordings of whole chains lack.

mod calls;
mod costs;
mod measure;
mod parity;
mod tracers;

use esker_evm_execution::call::{BlockOverrides, CallLimits, CallRequest, StateOverrides};
use esker_evm_execution::trace::{BufferOutput, TraceError, Tracer, trace_call};
use serde_json::Value;

use crate::machine::Lab;

/// Traces a call, as JSON text.
fn trace_text(
    lab: &Lab,
    request: &CallRequest,
    tracer: Box<dyn Tracer>,
    limit: usize,
) -> Result<String, TraceError> {
    let mut out = BufferOutput::new(limit);
    let (state, block) = (StateOverrides::default(), BlockOverrides::default());
    let limits = CallLimits::default();
    lab.with_env(|env| trace_call(env, request, &state, &block, &limits, tracer, &mut out))?;
    Ok(String::from_utf8(out.into_bytes()).unwrap())
}

fn trace(lab: &Lab, request: &CallRequest, tracer: Box<dyn Tracer>) -> Value {
    serde_json::from_str(&trace_text(lab, request, tracer, 1 << 26).unwrap()).unwrap()
}
