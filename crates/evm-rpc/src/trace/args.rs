//! Arguments of the methods of `trace`.

use std::borrow::Cow;

use alloy_primitives::map::AddressSet;
use esker_evm_execution::trace::{CallFilter, TraceTypes};
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_go_json::{Document, Kind};
use esker_primitives::excerpt;

use crate::wire::call::TransactionArgs;
use crate::wire::{Addr, HexOrDecimal, PlainBlock};

/// A part of a trace, as Parity names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TraceType {
    /// The calls.
    Trace,
    /// What changes.
    StateDiff,
    /// The instructions.
    VmTrace,
}

esker_rpc::schema!(TraceType, "TraceType", {
    "title": "trace type",
    "type": "string",
    "enum": ["trace", "stateDiff", "vmTrace"],
});

impl Argument for TraceType {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("string")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let Some(name) = value.as_str() else {
            return Err(ArgumentError::kind(value.kind(), Self::go_type()));
        };
        match &*name {
            "trace" => Ok(Self::Trace),
            "stateDiff" => Ok(Self::StateDiff),
            "vmTrace" => Ok(Self::VmTrace),
            other => Err(ArgumentError::text(format!(
                "unknown trace type \"{}\": use trace, stateDiff or vmTrace",
                excerpt(other)
            ))),
        }
    }
}

/// The parts that a list asks for.
pub(super) fn types_of(types: &[TraceType]) -> TraceTypes {
    TraceTypes {
        trace: types.contains(&TraceType::Trace),
        state_diff: types.contains(&TraceType::StateDiff),
        vm_trace: types.contains(&TraceType::VmTrace),
    }
}

/// A call and the parts of its trace: a list of two.
#[derive(Clone, Debug)]
pub(super) struct TracedCallArgs {
    pub(super) call: TransactionArgs,
    pub(super) types: Vec<TraceType>,
}

esker_rpc::schema!(TracedCallArgs, "TracedCall", |generator| {
    "title": "traced call",
    "type": "array",
    "prefixItems": [
        generator.subschema_for::<TransactionArgs>(),
        generator.subschema_for::<Vec<TraceType>>(),
    ],
    "minItems": 2,
    "maxItems": 2,
});

impl Argument for TracedCallArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("[2]interface {}")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        if value.kind() != Kind::Array {
            return Err(ArgumentError::kind(value.kind(), Self::go_type()));
        }
        let mut elements = value.elements();
        match (elements.next(), elements.next(), elements.next()) {
            (Some(call), Some(types), None) => {
                Ok(Self { call: TransactionArgs::decode(call)?, types: Vec::decode(types)? })
            }
            _ => Err(ArgumentError::text("expected a call and a list of trace types")),
        }
    }
}

/// Which calls of which blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct TraceFilterArgs {
    /// The first block if it is not given.
    pub(super) from: Option<PlainBlock>,
    /// The last block if it is not given.
    pub(super) to: Option<PlainBlock>,
    pub(super) calls: CallFilter,
}

esker_rpc::schema!(TraceFilterArgs, "TraceFilter", |generator| {
    "title": "filter",
    "description": "Calls of the transactions from one block to another, both included.",
    "type": "object",
    "properties": {
        "fromBlock": generator.subschema_for::<Option<PlainBlock>>(),
        "toBlock": generator.subschema_for::<Option<PlainBlock>>(),
        "fromAddress": generator.subschema_for::<Vec<Addr>>(),
        "toAddress": generator.subschema_for::<Vec<Addr>>(),
        "mode": { "type": "string", "enum": ["union", "intersection"] },
        "after": generator.subschema_for::<Option<HexOrDecimal>>(),
        "count": generator.subschema_for::<Option<HexOrDecimal>>(),
    },
});

impl Argument for TraceFilterArgs {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("trace.Filter")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let (mut from, mut to) = (None, None);
        let (mut from_addresses, mut to_addresses) = (Vec::new(), Vec::new());
        let (mut mode, mut after, mut count) = (None, None, None);
        decode_struct(
            value,
            "trace.Filter",
            &mut [
                ("fromBlock", &mut from),
                ("toBlock", &mut to),
                ("fromAddress", &mut from_addresses),
                ("toAddress", &mut to_addresses),
                ("mode", &mut mode),
                ("after", &mut after),
                ("count", &mut count),
            ],
        )?;
        let addresses = |list: Vec<Addr>| -> AddressSet {
            list.into_iter().map(|Addr(address)| address).collect()
        };
        let number = |HexOrDecimal(number)| number;
        let is_intersection = matches!(mode, Some(Mode::Intersection));
        Ok(Self {
            from,
            to,
            calls: CallFilter {
                from: addresses(from_addresses),
                to: addresses(to_addresses),
                is_intersection,
                after: after.map_or(0, number),
                count: count.map(number),
            },
        })
    }
}

/// Whether one of the lists of addresses is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Union,
    Intersection,
}

esker_rpc::schema!(Mode, "TraceFilterMode", {
    "title": "mode",
    "type": "string",
    "enum": ["union", "intersection"],
});

impl Argument for Mode {
    fn go_type() -> Cow<'static, str> {
        Cow::Borrowed("string")
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let Some(name) = value.as_str() else {
            return Err(ArgumentError::kind(value.kind(), Self::go_type()));
        };
        match &*name {
            "union" => Ok(Self::Union),
            "intersection" => Ok(Self::Intersection),
            other => Err(ArgumentError::text(format!(
                "unknown mode \"{}\": use union or intersection",
                excerpt(other)
            ))),
        }
    }
}
