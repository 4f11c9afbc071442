//! The file format: the protobuf `perftools.profiles.Profile`, packed with gzip.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message as _;

use crate::format::{Function, Label, Line, Location, Profile, Sample, ValueType};
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
        builder.profile.period_type = Some(builder.value_type(period.0));
        builder.profile.period = period.1;
        if let Some((shown, _)) = kinds.last() {
            builder.profile.default_sample_type = builder.string(shown);
        }
        builder
    }

    /// Sets the time of the first sample and the time from it to the last one.
    pub(crate) fn set_times(&mut self, begin: SystemTime, duration: Duration) {
        let since = begin.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.profile.time_nanos = nanos(since);
        self.profile.duration_nanos = nanos(duration);
    }

    /// Adds a stack, the innermost function first.
    pub(crate) fn add(
        &mut self,
        functions: &[stack::Function],
        values: Vec<i64>,
        label: Option<(&str, &str)>,
    ) {
        let location_id = functions.iter().map(|function| self.location(function)).collect();
        let label =
            label.map(|(key, text)| Label { key: self.string(key), str: self.string(text) });
        let sample = Sample { location_id, value: values, label: label.into_iter().collect() };
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
        ValueType { r#type: self.string(name), unit: self.string(unit) }
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
        self.profile.function.push(Function { id, name, system_name: name, filename });
        let line = Line { function_id: id, line: i64::from(function.line) };
        self.profile.location.push(Location { id, line: vec![line] });
        self.locations.insert(function.clone(), id);
        id
    }
}

/// The bytes of the file of a profile.
fn pack(profile: &Profile) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory can't fail.
    let written = packed.write_all(&profile.encode_to_vec());
    written.and_then(|()| packed.finish()).unwrap_or_default()
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    /// The bytes that the field numbers of `profile.proto` give.
    #[test]
    fn bytes_of_a_file() {
        let mut builder = Builder::new(&[("cpu", "ns")], (("cpu", "ns"), 10));
        builder
            .set_times(SystemTime::UNIX_EPOCH + Duration::from_nanos(300), Duration::from_nanos(5));
        let function = stack::Function { name: "f".to_owned(), file: "a.rs".to_owned(), line: 7 };
        builder.add(&[function.clone(), function], vec![20], Some(("thread", "t")));
        let mut bytes = Vec::new();
        GzDecoder::new(builder.finish().as_slice()).read_to_end(&mut bytes).unwrap();
        let expected = [
            &[0x0a, 4, 0x08, 1, 0x10, 2][..],
            &[0x12, 13, 0x0a, 2, 1, 1, 0x12, 1, 20, 0x1a, 4, 0x08, 5, 0x10, 6],
            &[0x22, 8, 0x08, 1, 0x22, 4, 0x08, 1, 0x10, 7],
            &[0x2a, 8, 0x08, 1, 0x10, 3, 0x18, 3, 0x20, 4],
            &[0x32, 0],
            b"\x32\x03cpu\x32\x02ns\x32\x01f\x32\x04a.rs\x32\x06thread\x32\x01t",
            &[0x48, 0xac, 2, 0x50, 5, 0x5a, 4, 0x08, 1, 0x10, 2, 0x60, 10, 0x70, 1],
        ];
        assert_eq!(bytes, expected.concat());
    }
}
