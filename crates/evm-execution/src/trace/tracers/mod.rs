//! The tracers, by name.

mod call;
mod console;
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

/// Creates a tracer from the JSON of its `tracerConfig`, which is `null` if the request has none. Decode it with
/// [`esker_go_json::args::decode_struct`], which has Go's texts.
pub type NewTracer = fn(config: &str) -> Result<Box<dyn Tracer>, TraceError>;

/// All tracers with a name. Any other text is the source of a tracer in JavaScript.
const TRACERS: &[(&str, NewTracer)] = &[
    ("4byteTracer", four_byte::new),
    ("callTracer", call::new),
    ("consoleTracer", console::new),
    ("flatCallTracer", flat_call::new),
    ("muxTracer", mux::new),
    ("noopTracer", noop::new),
    ("prestateTracer", prestate::new),
];

/// Bytes that are written between two checkpoints of the output.
pub(super) const CHUNK: usize = 16 * 1024;

/// The tracer of a name.
pub fn by_name(name: &str) -> Option<NewTracer> {
    TRACERS.iter().find(|(known, _)| *known == name).map(|(_, new)| *new)
}

/// Creates the tracer of a name. Any other name is source text (`javascript`).
pub fn create(name: &str, config: &str) -> Result<Box<dyn Tracer>, TraceError> {
    match by_name(name) {
        Some(new) => new(config),
        None => Err(TraceError::Failed(script_error_text(
            name,
            "this node runs no tracers in JavaScript",
        ))),
    }
}

/// The error text for source text that does not run. The reference takes an unknown name for JavaScript, so a text
/// that could be a name gets the reference's error text; any other text gets `why`.
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

/// Reads the members of a `tracerConfig`; `go_type` is its type in the reference, for error texts.
fn configure(
    config: &str,
    go_type: &'static str,
    slots: &mut [(&'static str, &mut dyn Slot)],
) -> Result<(), TraceError> {
    let refused = |error: &dyn std::error::Error| TraceError::Failed(error.to_string());
    let value = Document::first(config.as_bytes()).map_err(|error| refused(&error))?;
    decode_struct(value, go_type, slots).map_err(|error| refused(&error))
}

/// Writes the separator before an element of a list. Makes a checkpoint after every [`CHUNK`].
pub(super) fn separate(index: usize, out: &mut dyn TraceOutput) -> TraceResult {
    if out.buffer().len() > CHUNK {
        out.checkpoint()?;
    }
    if index > 0 {
        out.buffer().push(b',');
    }
    Ok(())
}
