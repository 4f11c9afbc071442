//! Reads a profile.

use std::collections::BTreeMap;
use std::io::Read as _;

use esker_profiling::format::Profile;
use flate2::read::GzDecoder;
use prost::Message as _;

/// The samples of a profile: names of functions, the innermost first, and values by the names of their kinds.
pub fn samples(bytes: &[u8]) -> Vec<(Vec<String>, BTreeMap<String, i64>)> {
    let mut unpacked = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut unpacked).unwrap();
    let profile = Profile::decode(unpacked.as_slice()).unwrap();
    let text = |index: i64| profile.string_table[usize::try_from(index).unwrap()].clone();
    assert_eq!(profile.string_table[0], "");
    let functions: BTreeMap<u64, String> =
        profile.function.iter().map(|function| (function.id, text(function.name))).collect();
    let locations: BTreeMap<u64, Vec<String>> = profile
        .location
        .iter()
        .map(|place| {
            let names = place.line.iter().map(|line| functions[&line.function_id].clone());
            (place.id, names.collect())
        })
        .collect();
    let kinds: Vec<String> = profile.sample_type.iter().map(|kind| text(kind.r#type)).collect();
    let samples = profile.sample.iter().map(|sample| {
        let names = sample.location_id.iter().flat_map(|id| locations[id].clone()).collect();
        assert_eq!(sample.value.len(), kinds.len());
        (names, kinds.iter().cloned().zip(sample.value.iter().copied()).collect())
    });
    samples.collect()
}

/// The sum of a value over all samples with this function.
pub fn sum(bytes: &[u8], function: &str, kind: &str) -> i64 {
    let of_function = samples(bytes)
        .into_iter()
        .filter(|(names, _)| names.iter().any(|name| name.contains(function)));
    of_function.map(|(_, values)| values[kind]).sum()
}
