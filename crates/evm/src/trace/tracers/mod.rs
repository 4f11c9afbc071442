//! The tracers, by name.

mod call;
mod noop;

use super::{TraceError, Tracer};

pub use call::CallTracer;

/// Makes a tracer from the JSON of its `tracerConfig`; `null` where there is none. Decode it with
/// [`esker_rpc::args::decode_struct`], which has Go's texts.
pub type NewTracer = fn(config: &str) -> Result<Box<dyn Tracer>, TraceError>;

/// Every tracer that has a name. What is none of these is the source of one in JavaScript.
const TRACERS: &[(&str, NewTracer)] = &[("callTracer", call::new), ("noopTracer", noop::new)];

/// The tracer of a name.
pub fn by_name(name: &str) -> Option<NewTracer> {
    TRACERS.iter().find(|(known, _)| *known == name).map(|(_, new)| *new)
}

/// Makes the tracer of a name. Any other name is source text (`javascript`).
pub fn create(name: &str, config: &str) -> Result<Box<dyn Tracer>, TraceError> {
    match by_name(name) {
        Some(new) => new(config),
        None => Err(unknown(name)),
    }
}

/// The reference takes an unknown name for JavaScript.
fn unknown(name: &str) -> TraceError {
    let text = match name {
        "" => "SyntaxError: SyntaxError: (anonymous): Line 1:2 Unexpected token )".to_owned(),
        name => format!("ReferenceError: {name} is not defined at <eval>:1:2(0)"),
    };
    TraceError::Failed(text)
}
