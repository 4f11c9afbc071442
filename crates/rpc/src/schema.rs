//! Schemas of types that write or read their JSON themselves.

/// Describes a type that travels as a text: its name among the schemas, the title that documents show, and the pattern
/// (ECMA 262) of what it writes and reads.
///
/// ```
/// struct Colour;
/// esker_rpc::text_schema!(Colour, "Colour", "colour", "^#[0-9a-f]{6}$", "Red, green and blue.");
/// ```
#[macro_export]
macro_rules! text_schema {
    ($of:ty, $name:literal, $title:literal, $pattern:expr, $description:literal) => {
        $crate::schema!($of, $name, {
            "title": $title,
            "description": $description,
            "type": "string",
            "pattern": $pattern,
        });
    };
}

/// Describes a type by a literal schema, under its name among the schemas. Other types are referred to through the
/// generator.
///
/// ```
/// struct Route(Vec<String>);
/// esker_rpc::schema!(Route, "Route", |generator| {
///     "type": "array",
///     "items": generator.subschema_for::<String>(),
/// });
/// ```
#[macro_export]
macro_rules! schema {
    ($of:ty, $name:literal, $schema:tt) => {
        $crate::schema!($of, $name, |_generator| $schema);
    };
    ($of:ty, $name:literal, |$generator:ident| $schema:tt) => {
        impl $crate::schemars::JsonSchema for $of {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed($name)
            }

            fn json_schema(
                $generator: &mut $crate::schemars::SchemaGenerator,
            ) -> $crate::schemars::Schema {
                $crate::schemars::json_schema!($schema)
            }
        }
    };
}

/// Describes a type as another one that has the same JSON.
///
/// ```
/// #[derive(schemars::JsonSchema)]
/// struct Members { height: u64 }
/// struct Reply(u64);
/// esker_rpc::schema_as!(Reply, "Reply", Members);
/// ```
#[macro_export]
macro_rules! schema_as {
    ($of:ty, $name:literal, $as:ty) => {
        impl $crate::schemars::JsonSchema for $of {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::std::borrow::Cow::Borrowed($name)
            }

            fn json_schema(
                generator: &mut $crate::schemars::SchemaGenerator,
            ) -> $crate::schemars::Schema {
                <$as as $crate::schemars::JsonSchema>::json_schema(generator)
            }
        }
    };
}
