//! `noopTracer`: shows nothing.

use crate::trace::{TraceError, TraceOutput, TraceResult, Tracer};

struct NoopTracer;

pub(super) fn new(_: &str) -> Result<Box<dyn Tracer>, TraceError> {
    Ok(Box::new(NoopTracer))
}

impl Tracer for NoopTracer {
    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        out.buffer().extend_from_slice(b"{}");
        Ok(())
    }
}
