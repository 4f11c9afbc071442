//! Scalars on the wire.

use esker_go_json::{decode, to_go_vec};
use esker_rpc::wire::{CappedLimit, Encoding, JsonU8, JsonU32, JsonU64};

fn integer(text: &str) -> Option<u64> {
    decode::<JsonU64>(text.as_bytes()).ok().map(u64::from)
}

#[test]
fn integers_have_three_forms() {
    for (text, value) in [
        ("0", 0),
        ("12", 12),
        ("\"12\"", 12),
        ("\"007\"", 7),
        ("\"0x0\"", 0),
        ("\"0xfF\"", 255),
        ("\"0x00ff\"", 255),
        ("null", 0),
        ("18446744073709551615", u64::MAX),
        ("\"18446744073709551615\"", u64::MAX),
        ("\"0xffffffffffffffff\"", u64::MAX),
    ] {
        assert_eq!(integer(text), Some(value), "{text}");
    }
}

#[test]
fn other_numbers_are_refused() {
    for text in [
        "-1",
        "-0",
        "1.0",
        "1e0",
        "1E3",
        "18446744073709551616",
        "\"18446744073709551616\"",
        "\"0x10000000000000000\"",
        "\"-1\"",
        "\"-0\"",
        "\"+0\"",
        "\" 0\"",
        "\"0 \"",
        "\"\"",
        "\"0x\"",
        "\"0X1\"",
        "\"0xg\"",
        "\"x\"",
        "\"ff\"",
        "\"1_000\"",
        "\"1.0\"",
        "\"\\u0031\"",
        "\"\u{661}\"",
        "true",
        "[0]",
        "[]",
        "{}",
        "\"null\"",
    ] {
        assert_eq!(integer(text), None, "{text}");
    }
}

#[test]
fn smaller_integers_end_earlier() {
    assert_eq!(decode(b"255").ok(), Some(JsonU8(255)));
    assert!(decode::<JsonU8>(b"256").is_err() && decode::<JsonU8>(b"\"0x100\"").is_err());
    assert_eq!(decode(b"\"4294967295\"").ok(), Some(JsonU32(u32::MAX)));
    assert!(decode::<JsonU32>(b"4294967296").is_err());
    // The reference's `byte` takes a number and nothing else.
    assert_eq!(decode::<u8>(b"255").ok(), Some(255));
    assert!(decode::<u8>(b"256").is_err() && decode::<u8>(b"\"1\"").is_err());
}

#[test]
fn integers_are_written_as_text() {
    let reply = (JsonU64(u64::MAX), JsonU32(0), JsonU8(9));
    assert_eq!(to_go_vec(&reply).unwrap(), br#"["18446744073709551615","0","9"]"#);
    // A client reads them back with any format.
    let read: (JsonU64, JsonU32, JsonU8) =
        serde_json::from_str(r#"["18446744073709551615",0,"0x9"]"#).unwrap();
    assert_eq!(read, reply);
}

#[test]
fn limits_are_lowered() {
    let limit = |text: &str| decode::<CappedLimit>(text.as_bytes()).ok().map(|l| l.at_most(1024));
    for (text, value) in [
        ("0", 1024),
        ("null", 1024),
        ("1", 1),
        ("\"5\"", 5),
        ("\"0x10\"", 16),
        ("1024", 1024),
        ("1025", 1024),
        ("4294967296", 1024),
        ("99999999999999999999999999", 1024),
        ("\"0xffffffffffffffffffffffff\"", 1024),
    ] {
        assert_eq!(limit(text), Some(value), "{text}");
    }
    for text in ["-1", "1.5", "1e9", "\"x\"", "\"\"", "true", "[]"] {
        assert_eq!(limit(text), None, "{text}");
    }
    assert_eq!(CappedLimit::default().at_most(10), 10);
}

#[test]
fn encodings_have_names() {
    let encoding = |text: &str| decode::<Encoding>(text.as_bytes()).ok();
    for (text, value) in [
        ("\"hex\"", Encoding::Hex),
        ("\"HEX\"", Encoding::Hex),
        ("\"HexNC\"", Encoding::HexNc),
        ("\"hexc\"", Encoding::HexC),
        ("\"jSoN\"", Encoding::Json),
        ("null", Encoding::Hex),
    ] {
        assert_eq!(encoding(text), Some(value), "{text}");
    }
    for text in
        ["\"\"", "\"cb58\"", "\"base58\"", "\"hex \"", "1", "{}", "[\"hex\"]", "\"h\\u0065x\""]
    {
        assert_eq!(encoding(text), None, "{text}");
    }
    assert_eq!(to_go_vec(&Encoding::HexNc).unwrap(), b"\"hexnc\"");
}

#[test]
fn encodings_encode() {
    assert_eq!(Encoding::HexNc.encode(&[1, 0xff]).unwrap(), "0x01ff");
    let checked = Encoding::Hex.encode(b"").unwrap();
    assert_eq!(checked, "0x7852b855");
    assert_eq!(Encoding::HexC.decode(&checked).unwrap(), b"");
    assert_eq!(Encoding::HexNc.decode("0x01ff").unwrap(), [1, 0xff]);
    let unsupported = "unsupported encoding in method";
    assert_eq!(Encoding::Json.encode(b"").unwrap_err().to_string(), unsupported);
    assert_eq!(Encoding::Json.decode("0x").unwrap_err().to_string(), unsupported);
    let missing = Encoding::Hex.decode("00").unwrap_err().to_string();
    assert_eq!(missing, "missing 0x prefix to hex encoding");
}
