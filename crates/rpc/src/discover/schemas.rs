//! Schemas of types, those with names kept apart and referred to.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// The place of a document's named schemas.
const PATH: &str = "/components/schemas";

/// Appended to the name of a schema of arguments, where results have another one of this name.
const OF_ARGUMENTS: &str = "Argument";

/// Makes the schemas of one document. A type may read more forms than it writes, so there are two of each name.
#[derive(Debug)]
pub struct Schemas {
    arguments: SchemaGenerator,
    results: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft07().with(|settings| {
            settings.definitions_path = PATH.into();
            settings.meta_schema = None;
        });
        Self {
            arguments: settings.clone().for_deserialize().into_generator(),
            results: settings.for_serialize().into_generator(),
        }
    }

    /// The schema of an argument.
    pub fn argument<T: JsonSchema + ?Sized>(&mut self) -> Value {
        let schema = self.arguments.subschema_for::<T>();
        transformed(&mut self.arguments, schema)
    }

    /// The schema of a result, or of a notification.
    pub fn result<T: JsonSchema + ?Sized>(&mut self) -> Value {
        let schema = self.results.subschema_for::<T>();
        transformed(&mut self.results, schema)
    }

    /// The schema of an object of named arguments, its members visible.
    pub(super) fn arguments_object<T: JsonSchema>(&mut self) -> Value {
        let schema = T::json_schema(&mut self.arguments);
        transformed(&mut self.arguments, schema)
    }

    /// All named schemas, and the arguments' names that are different in the document.
    pub(super) fn finish(mut self) -> (Map<String, Value>, Renamed) {
        let arguments = self.arguments.take_definitions(true);
        let mut all = self.results.take_definitions(true);
        let renamed = Renamed::from_members(&arguments, &all);
        for (name, mut schema) in arguments {
            renamed.apply(&mut schema);
            all.insert(renamed.name(name), schema);
        }
        (all, renamed)
    }
}

/// Names of arguments' schemas that stand for something else among results.
#[derive(Debug)]
pub(super) struct Renamed(Vec<String>);

impl Renamed {
    /// The schemas that differ, and those that refer to one that does.
    fn from_members(arguments: &Map<String, Value>, results: &Map<String, Value>) -> Self {
        let is_other = |name: &String| {
            results.get(name).is_some_and(|schema| arguments.get(name) != Some(schema))
        };
        let mut renamed = Self(arguments.keys().filter(|name| is_other(name)).cloned().collect());
        loop {
            let refers = |(name, schema): &(&String, &Value)| {
                !renamed.0.contains(name) && results.contains_key(*name) && renamed.is_in(schema)
            };
            let more: Vec<_> =
                arguments.iter().filter(refers).map(|(name, _)| name.clone()).collect();
            if more.is_empty() {
                return renamed;
            }
            renamed.0.extend(more);
        }
    }

    fn name(&self, name: String) -> String {
        if self.0.contains(&name) { format!("{name}{OF_ARGUMENTS}") } else { name }
    }

    /// Whether the schema refers to one that is renamed.
    fn is_in(&self, schema: &Value) -> bool {
        let mut changed = schema.clone();
        self.apply(&mut changed);
        changed != *schema
    }

    /// Changes the references within a schema of arguments.
    pub(super) fn apply(&self, schema: &mut Value) {
        match schema {
            Value::Object(members) => {
                for (name, value) in members {
                    match value {
                        Value::String(reference) if name == "$ref" => self.refer(reference),
                        value => self.apply(value),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.apply(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn refer(&self, reference: &mut String) {
        let name = reference.strip_prefix('#').and_then(|path| path.strip_prefix(PATH));
        let Some(name) = name.and_then(|name| name.strip_prefix('/')) else { return };
        if self.0.iter().any(|renamed| renamed == name) {
            reference.push_str(OF_ARGUMENTS);
        }
    }
}

fn transformed(generator: &mut SchemaGenerator, mut schema: Schema) -> Value {
    generator.transforms_mut().for_each(|transform| transform.transform(&mut schema));
    schema.to_value()
}
