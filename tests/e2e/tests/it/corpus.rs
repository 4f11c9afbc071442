//! Drives every decoder with its committed inputs, their beginnings and their mutations: what the fuzz targets do
//! with many more on a nightly compiler.

#![expect(clippy::unwrap_used, reason = "in tests a panic is the message")]

use std::collections::BTreeSet;
use std::path::Path;

use esker_e2e::decoders::{TARGETS, Target};
use esker_e2e::files::tests_path;

/// Beginnings of one input that are tried, and as many mutations.
const VARIANTS: usize = 300;
/// Longest input that is cut and mutated; the others are decoded as they are.
const MAX_VARIED: usize = 8 * 1024;

#[test]
fn every_input_of_every_decoder() {
    for target in TARGETS {
        let inputs = inputs(target);
        let mut taken = BTreeSet::new();
        for (name, bytes) in &inputs {
            taken.insert(run(target, name, bytes));
            if bytes.len() <= MAX_VARIED {
                for variant in beginnings(bytes) {
                    run(target, name, variant);
                }
                for variant in mutations(bytes, &inputs) {
                    run(target, name, &variant);
                }
            }
        }
        assert_eq!(taken.len(), 2, "of {} both good and bad inputs are needed", target.name);
    }
}

/// The folders of inputs, the fuzz targets and the decoders are the same.
#[test]
fn every_decoder_has_inputs_and_a_fuzz_target() {
    let decoders: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(decoders.len(), TARGETS.len());
    assert_eq!(names(&tests_path("corpus")), decoders);
    let fuzz = tests_path("../fuzz");
    assert_eq!(names(&fuzz.join("fuzz_targets")), decoders);
    let manifest = std::fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    for name in decoders {
        let path = format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"");
        assert!(manifest.contains(&path), "fuzz/Cargo.toml lacks {name}");
        let target = std::fs::read_to_string(fuzz.join(format!("fuzz_targets/{name}.rs"))).unwrap();
        assert!(
            target.contains(&format!("run(\"{name}\", bytes)")),
            "{name} drives another decoder"
        );
    }
}

/// Names of a folder's entries without their extensions.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|e| e.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

fn inputs(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = tests_path("corpus").join(target.name);
    let name_and_bytes = |name| {
        let bytes = std::fs::read(folder.join(&name)).unwrap();
        (name, bytes)
    };
    let files = std::fs::read_dir(&folder).unwrap();
    let names: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.into_iter().map(name_and_bytes).collect()
}

/// Runs a decoder, and names the input if it panics.
fn run(target: &Target, name: &str, bytes: &[u8]) -> bool {
    let taken = std::panic::catch_unwind(|| (target.run)(bytes));
    taken.unwrap_or_else(|_| panic!("{} fails on a variant of {name}: {bytes:?}", target.name))
}

/// The input cut at up to [`VARIANTS`] places, spread evenly.
fn beginnings(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let step = bytes.len().div_ceil(VARIANTS).max(1);
    (0..bytes.len()).step_by(step).map(|end| &bytes[..end])
}

/// [`VARIANTS`] inputs made of this one: bytes changed, taken out, put in, exchanged for those of another input.
/// The same in every run.
fn mutations(bytes: &[u8], others: &[(String, Vec<u8>)]) -> Vec<Vec<u8>> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ bytes.len() as u64);
    let mut mutate = |_| {
        let mut variant = bytes.to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(variant.len());
            match random.below(5) {
                0 if !variant.is_empty() => variant[at] ^= 1 << random.below(8),
                1 if !variant.is_empty() => {
                    variant[at] = [0, 1, 0x7f, 0x80, 0xff, b'"', b'0', b'-'][random.below(8)];
                }
                2 if !variant.is_empty() => {
                    variant.remove(at);
                }
                3 => variant.insert(at, random.below(256) as u8),
                _ => {
                    let other = &others[random.below(others.len())].1;
                    variant.truncate(at);
                    variant.extend_from_slice(&other[random.below(other.len())..]);
                }
            }
        }
        variant
    };
    (0..VARIANTS).map(&mut mutate).collect()
}

/// xorshift64: the quality does not matter, the repetition does.
struct Random(u64);

impl Random {
    /// A number below `limit`; 0 where there is none.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        if limit == 0 { 0 } else { (self.0 % limit as u64) as usize }
    }
}
