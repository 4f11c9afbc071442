//! The named scripts. This project wrote them, after the behaviour of the reference's scripts.

/// All scripts with their names.
const SCRIPTS: &[(&str, &str)] = &[
    ("4byteTracerLegacy", include_str!("four_byte_legacy.js")),
    ("bigramTracer", include_str!("bigram.js")),
    ("callTracerLegacy", include_str!("call_legacy.js")),
    ("evmdisTracer", include_str!("evmdis.js")),
    ("noopTracerLegacy", include_str!("noop_legacy.js")),
    ("opcountTracer", include_str!("opcount.js")),
    ("prestateTracerLegacy", include_str!("prestate_legacy.js")),
    ("trigramTracer", include_str!("trigram.js")),
    ("unigramTracer", include_str!("unigram.js")),
];

/// The source of the script with this name.
pub fn by_name(name: &str) -> Option<&'static str> {
    SCRIPTS.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
}

/// The names.
pub fn names() -> impl Iterator<Item = &'static str> {
    SCRIPTS.iter().map(|(name, _)| *name)
}
