#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    esker_e2e::decoders::run("fixture_file", bytes);
});
