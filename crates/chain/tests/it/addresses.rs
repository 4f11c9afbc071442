//! Service addresses: accepted forms, and the reference's texts for the rest.

use esker_chain::FixedAliases;
use esker_chain::address::parse_service_address;
use esker_primitives::{ChainId, Id};

fn chain(name: &str) -> ChainId {
    Id::sha256(name.as_bytes())
}

const BECH32: &str = "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";

fn parse(text: &str) -> Result<String, String> {
    let names = FixedAliases(["X", "C"].map(|name| (name, chain(name))).to_vec());
    parse_service_address(&names, &chain("X"), "local", text)
        .map(|address| address.to_string())
        .map_err(|error| error.to_string())
}

#[test]
fn an_alias_an_id_and_raw_cb58_are_prefixes() {
    let raw = parse(&format!("X-{BECH32}")).unwrap();
    assert_eq!(parse(&format!("{}-{BECH32}", chain("X"))).unwrap(), raw);
    assert_eq!(parse(&raw).unwrap(), raw, "cb58 names neither chain nor network");
}

#[test]
fn errors_come_in_the_reference_order() {
    let (x, c) = (chain("X"), chain("C"));
    let check = |text: &str, cause: &str| {
        let want = format!("couldn't parse address {text:?}: {cause}");
        assert_eq!(parse(text).unwrap_err(), want);
    };
    check("", "no separator found in address");
    check("local1", "no separator found in address");
    check(&format!("Y-{BECH32}"), "there is no ID with alias: Y");
    check("Y-local1", "invalid bech32 string length 6");
    check("Y-avax18jma8ppw3nhx5r4ap8clazz0dps7rv5ukulre5", "there is no ID with alias: Y");
    check(
        "X-avax18jma8ppw3nhx5r4ap8clazz0dps7rv5ukulre5",
        "expected hrp \"local\" but got \"avax\"",
    );
    check(
        &format!("C-{BECH32}"),
        &format!("mismatched chainIDs: expected \"{x}\" but got \"{c}\""),
    );
}
