//! The messages of the format `perftools.profiles`, as far as profiles of this process have them.
//!
//! Field numbers are those of `profile.proto` of [google/pprof](https://github.com/google/pprof). Texts are indexes into
//! [`Profile::string_table`], whose first text is empty.

/// A profile.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Profile {
    /// Kinds of the numbers of each sample.
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    /// Stacks with their numbers.
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    /// Places in the program.
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    /// Functions of those places.
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    /// All texts.
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    /// Beginning, in ns since 1970; 0 if the profile has none.
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    /// Duration in ns; 0 if the profile has none.
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    /// Kind of [`Profile::period`].
    #[prost(message, optional, tag = "11")]
    pub period_type: Option<ValueType>,
    /// Units between two samples.
    #[prost(int64, tag = "12")]
    pub period: i64,
    /// Name of the kind that tools show first.
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

/// Kind of a number.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct ValueType {
    /// Its name, as `cpu`.
    #[prost(int64, tag = "1")]
    pub r#type: i64,
    /// Its unit, as `nanoseconds`.
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

/// A stack with its numbers.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Sample {
    /// IDs of locations, the innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    /// A number of each kind.
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    /// Further facts.
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

/// A fact about a sample.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Label {
    /// Its name.
    #[prost(int64, tag = "1")]
    pub key: i64,
    /// Its text.
    #[prost(int64, tag = "2")]
    pub str: i64,
}

/// A place in the program.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Location {
    /// Its ID, from 1 on.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its lines; several if functions are inlined.
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

/// A line of a function.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Line {
    /// ID of the function.
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    /// Number of the line; 0 if unknown.
    #[prost(int64, tag = "2")]
    pub line: i64,
}

/// A function.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct Function {
    /// Its ID, from 1 on.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its name.
    #[prost(int64, tag = "2")]
    pub name: i64,
    /// Its name as the linker has it; here the same.
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    /// Its source file.
    #[prost(int64, tag = "4")]
    pub filename: i64,
}
