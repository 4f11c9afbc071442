//! `4byteTracer`: the selectors of called functions with the length of their arguments.

use std::collections::BTreeMap;
use std::fmt::Write;

use alloy_primitives::hex;
use alloy_primitives::map::AddressSet;

use crate::trace::{
    FrameKind, FrameStart, TraceContext, TraceError, TraceOutput, TraceResult, Tracer, TxStart,
    json,
};

/// Bytes that an entry takes.
const ENTRY_BYTES: usize = 64;

/// Counts calls by `0x<selector>-<length of the arguments>`.
#[derive(Debug, Default)]
struct FourByteTracer {
    calls: BTreeMap<String, u64>,
    precompiles: AddressSet,
}

/// A tracer. It accepts any configuration and ignores it.
pub(super) fn new(_: &str) -> Result<Box<dyn Tracer>, TraceError> {
    Ok(Box::<FourByteTracer>::default())
}

impl Tracer for FourByteTracer {
    fn start(&mut self, tx: &TxStart<'_>, _: &mut TraceContext<'_, '_>) -> TraceResult {
        self.precompiles.clone_from(tx.precompiles);
        Ok(())
    }

    fn enter(&mut self, frame: &FrameStart<'_>, context: &mut TraceContext<'_, '_>) -> TraceResult {
        // For the transaction itself, init code and the input of a precompiled contract count too.
        let skipped = frame.depth > 0
            && (frame.kind.is_create()
                || frame.kind == FrameKind::SelfDestruct
                || self.precompiles.contains(&frame.to));
        let Some((selector, arguments)) = frame.input.split_first_chunk::<4>() else {
            return Ok(());
        };
        if skipped {
            return Ok(());
        }
        let mut key = hex::encode_prefixed(selector);
        write!(key, "-{}", arguments.len()).expect("a string takes anything");
        if let Some(count) = self.calls.get_mut(&key) {
            *count += 1;
            return Ok(());
        }
        context.out.hold(ENTRY_BYTES)?;
        self.calls.insert(key, 1);
        Ok(())
    }

    fn write(&mut self, out: &mut dyn TraceOutput) -> TraceResult {
        out.buffer().push(b'{');
        for (at, (key, count)) in self.calls.iter().enumerate() {
            super::separate(at, out)?;
            let out = out.buffer();
            json::string(out, key);
            out.push(b':');
            json::decimal(out, *count);
        }
        out.buffer().push(b'}');
        Ok(())
    }
}
