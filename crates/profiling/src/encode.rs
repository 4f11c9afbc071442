//! The file format: the protobuf `perftools.profiles.Profile`, packed with gzip.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use pprof::protos::{Function, Label, Line, Location, Message as _, Profile, Sample, ValueType};

use crate::stack;

/// Type and unit of one number of a sample: `inuse_space`, `bytes`.
pub(crate) type Kind = (&'static str, &'static str);

/// Builds a profile from stacks.
#[derive(Debug)]
pub(crate) struct Builder {
    profile: Profile,
    strings: BTreeMap<String, i64>,
    locations: BTreeMap<stack::Function, u64>,
}

impl Builder {
    /// A profile whose samples have these numbers; a sample stands for `period` units of the last kind.
    pub(crate) fn new(kinds: &[Kind], period: (Kind, i64)) -> Self {
        let mut builder = Self {
            profile: Profile::default(),
            strings: BTreeMap::new(),
            locations: BTreeMap::new(),
        };
        // The first text of the table is the empty one.
        builder.string("");
        let types = kinds.iter().map(|kind| builder.value_type(*kind)).collect();
        builder.profile.sample_type = types;
        builder.profile.period_type = Some(builder.value_type(period.0)).into();
        builder.profile.period = period.1;
        if let Some((shown, _)) = kinds.last() {
            builder.profile.default_sample_type = builder.string(shown);
        }
        builder
    }

    /// Adds a stack, the innermost function first.
    pub(crate) fn add(
        &mut self,
        functions: &[stack::Function],
        values: Vec<i64>,
        label: Option<(&str, &str)>,
    ) {
        let location_id = functions.iter().map(|function| self.location(function)).collect();
        let label = label.map(|(key, text)| Label {
            key: self.string(key),
            str: self.string(text),
            ..Label::default()
        });
        let sample = Sample {
            location_id,
            value: values,
            label: label.into_iter().collect(),
            ..Sample::default()
        };
        self.profile.sample.push(sample);
    }

    /// The bytes of the file.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let mut texts = vec![String::new(); self.strings.len()];
        for (text, index) in self.strings {
            if let Some(place) = usize::try_from(index).ok().and_then(|at| texts.get_mut(at)) {
                *place = text;
            }
        }
        self.profile.string_table = texts;
        pack(&self.profile)
    }

    fn value_type(&mut self, (name, unit): Kind) -> ValueType {
        ValueType { ty: self.string(name), unit: self.string(unit), ..ValueType::default() }
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(index) = self.strings.get(text) {
            return *index;
        }
        let index = i64::try_from(self.strings.len()).unwrap_or_default();
        self.strings.insert(text.to_owned(), index);
        index
    }

    fn location(&mut self, function: &stack::Function) -> u64 {
        if let Some(id) = self.locations.get(function) {
            return *id;
        }
        let id = self.locations.len() as u64 + 1;
        let name = self.string(&function.name);
        let filename = self.string(&function.file);
        self.profile.function.push(Function {
            id,
            name,
            system_name: name,
            filename,
            ..Function::default()
        });
        let line = Line { function_id: id, line: i64::from(function.line), ..Line::default() };
        self.profile.location.push(Location { id, line: vec![line], ..Location::default() });
        self.locations.insert(function.clone(), id);
        id
    }
}

/// The bytes of the file of a profile.
pub(crate) fn pack(profile: &Profile) -> Vec<u8> {
    let bytes = profile.write_to_bytes().unwrap_or_default();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory can't fail.
    packed.write_all(&bytes).and_then(|()| packed.finish()).unwrap_or_default()
}
