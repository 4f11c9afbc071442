//! The tracers, by name.

mod call;
mod flat_call;
mod four_byte;
mod mux;
mod noop;
mod prestate;

use esker_go_json::Document;
use esker_go_json::args::{Slot, decode_struct};
use esker_primitives::excerpt;

use super::{TraceError, TraceOutput, TraceResult, Tracer};

pub use call::CallTracer;

/// Makes a tracer from the JSON of its `tracerConfig`; `null` where there is none. Decode it with
/// [`esker_go_json::args::decode_struct`], which has Go's texts.
pub type NewTracer = fn(config: &str) -> Result<Box<dyn Tracer>, TraceError>;

/// Every tracer that has a name. What is none of these is the source of one in JavaScript.
const TRACERS: &[(&str, NewTracer)] = &[
    ("4byteTracer", four_byte::new),
    ("callTracer", call::new),
    ("flatCallTracer", flat_call::new),
    ("muxTracer", mux::new),
    ("noopTracer", noop::new),
    ("prestateTracer", prestate::new),
];

/// Bytes written between two looks at the output.
const CHUNK: usize = 16 * 1024;

/// The tracer of a name.
pub fn by_name(name: &str) -> Option<NewTracer> {
    TRACERS.iter().find(|(known, _)| *known == name).map(|(_, new)| *new)
}

/// Makes the tracer of a name. Any other name is source text (`javascript`).
pub fn create(name: &str, config: &str) -> Result<Box<dyn Tracer>, TraceError> {
    match by_name(name) {
        Some(new) => new(config),
        None => Err(TraceError::Failed(script_error_text(
            name,
            "this node runs no tracers in JavaScript",
        ))),
    }
}

/// What is answered to source text that does not run. The reference takes an unknown name for JavaScript, so what could be
/// a name gets the text that the reference has for it; anything else gets `why`.
pub fn script_error_text(source: &str, why: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let is_name = source.chars().all(is_part) && !source.starts_with(|c: char| c.is_ascii_digit());
    match source {
        "" => "SyntaxError: SyntaxError: (anonymous): Line 1:2 Unexpected token )".to_owned(),
        name if is_name => {
            format!("ReferenceError: {} is not defined at <eval>:1:2(0)", excerpt(name))
        }
        _ => why.to_owned(),
    }
}

/// Reads a `tracerConfig` into its members; `go_type` is the reference's name of it, for texts.
fn configure(
    config: &str,
    go_type: &'static str,
    slots: &mut [(&'static str, &mut dyn Slot)],
) -> Result<(), TraceError> {
    let refused = |error: &dyn std::error::Error| TraceError::Failed(error.to_string());
    let value = Document::first(config.as_bytes()).map_err(|error| refused(&error))?;
    decode_struct(value, go_type, slots).map_err(|error| refused(&error))
}

/// What stands before an element of a list; looks at the output after every [`CHUNK`].
fn separate(index: usize, out: &mut dyn TraceOutput) -> TraceResult {
    if out.buffer().len() > CHUNK {
        out.checkpoint()?;
    }
    if index > 0 {
        out.buffer().push(b',');
    }
    Ok(())
}
