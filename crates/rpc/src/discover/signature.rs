//! The argument and result types of a method. A document makes schemas of them.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use super::Schemas;
use crate::args::{FromParams, Positional};

/// The argument and result types of a method.
#[derive(Clone, Copy)]
pub(crate) struct Signature {
    pub(crate) arguments: Arguments,
    /// The schema of the result.
    pub(crate) result: fn(&mut Schemas) -> Value,
}

/// How a method takes its arguments.
#[derive(Clone, Copy)]
pub(crate) enum Arguments {
    /// By name: the parameters are the members of this object.
    Named(fn(&mut Schemas) -> Value),
    /// By position: schemas, and which are required. Their names are the table's.
    Listed { count: usize, of: fn(&mut Schemas) -> Vec<Positional>, names: &'static [&'static str] },
}

/// A parameter of a method.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) schema: Value,
    pub(super) is_required: bool,
}

impl Signature {
    pub(crate) fn named<P: JsonSchema, R: JsonSchema>() -> Self {
        Self {
            arguments: Arguments::Named(Schemas::arguments_object::<P>),
            result: Schemas::result::<R>,
        }
    }

    pub(crate) fn listed<P: FromParams, R: JsonSchema>() -> Self {
        let arguments = Arguments::Listed { count: P::COUNT, of: P::describe, names: &[] };
        Self { arguments, result: Schemas::result::<R> }
    }

    /// The parameters, in the order in which a client gives them.
    pub(super) fn parameters(&self, schemas: &mut Schemas) -> Vec<Parameter> {
        match self.arguments {
            Arguments::Named(of) => members(of(schemas)),
            Arguments::Listed { of, names, .. } => of(schemas)
                .into_iter()
                .zip(names)
                .map(|(argument, name)| Parameter {
                    name: (*name).to_owned(),
                    schema: argument.schema,
                    is_required: argument.is_required,
                })
                .collect(),
        }
    }
}

impl Arguments {
    /// `by-name` or `by-position`.
    pub(super) fn structure(self) -> &'static str {
        match self {
            Self::Named(_) => "by-name",
            Self::Listed { .. } => "by-position",
        }
    }
}

fn members(mut object: Value) -> Vec<Parameter> {
    let required: Vec<String> = object
        .get_mut("required")
        .and_then(|names| serde_json::from_value(names.take()).ok())
        .unwrap_or_default();
    let members: Map<String, Value> = object
        .get_mut("properties")
        .and_then(|members| serde_json::from_value(members.take()).ok())
        .unwrap_or_default();
    members
        .into_iter()
        .map(|(name, schema)| Parameter { is_required: required.contains(&name), name, schema })
        .collect()
}
