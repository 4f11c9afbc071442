//! Error texts as a live reference node returned them, case by case.

use std::fmt::Display;

use esker_primitives::go::{is_print, quote, quote_bytes, quote_char, unicode};
use esker_primitives::{Id, NodeId, PrivateKey, ShortId, address, cb58, hexfmt};
use expect_test::{Expect, expect};

fn check<T, E: Display>(result: Result<T, E>, expected: Expect) {
    expected.assert_eq(&result.err().map_or("no error".to_owned(), |fault| fault.to_string()));
}

#[test]
fn ids() {
    let id = str::parse::<Id>;
    check(id(""), expect!["base58 decoding error: zero length string"]);
    check(id("x"), expect!["input string is smaller than the checksum size"]);
    check(id("nope"), expect!["input string is smaller than the checksum size"]);
    check(id("nothing"), expect!["invalid input checksum"]);
    check(
        id("Gqdc55Wu2egMkQABwJb74h6UydveDxHCMo1uEEUKeEVvPeoUa"),
        expect!["invalid input checksum"],
    );
    check(id("6Y3kysjF9jnHnYkdS9yGAuoHyae2eNmea"), expect!["invalid input checksum"]);
    check(id("0x"), expect!["base58 decoding error: Invalid base58 digit ('0')"]);
    check(id("a'b"), expect![[r#"base58 decoding error: Invalid base58 digit ('\'')"#]]);
    check(id("a\u{7f}"), expect![[r#"base58 decoding error: Invalid base58 digit ('\x7f')"#]]);
    check(id("aé0"), expect!["base58 decoding error: High-bit set on invalid digit"]);
    check(id("a0é"), expect!["base58 decoding error: Invalid base58 digit ('0')"]);
    check(id("45PJLL"), expect!["invalid hash length: expected 32 bytes but got 0"]);
    check(
        id("B6D4v1VtPYLbiUvYXtW4Px8oE9imC2vGW"),
        expect!["invalid hash length: expected 32 bytes but got 20"],
    );
    check(
        "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed".parse::<ShortId>(),
        expect!["invalid hash length: expected 20 bytes but got 32"],
    );
    check(
        cb58::decode(&"z".repeat(cb58::MAX_TEXT_LEN + 1)),
        expect!["cb58 text of 8193 characters is longer than 8192"],
    );
    check(cb58::decode(&"z".repeat(cb58::MAX_TEXT_LEN)), expect!["invalid input checksum"]);
    check(
        cb58::decode(&format!("{}0", "z".repeat(cb58::MAX_TEXT_LEN))),
        expect!["base58 decoding error: Invalid base58 digit ('0')"],
    );
}

#[test]
fn ids_show_their_text() {
    let zero = "11111111111111111111111111111111LpoYY";
    assert_eq!(format!("{}|{:?}", Id::ZERO, Id::ZERO), format!("{zero}|{zero}"));
    assert_eq!(format!("{:>40}", Id::ZERO), format!("   {zero}"));
    let json = serde_json::to_string(&Id::ZERO).unwrap();
    assert_eq!(json, format!("\"{zero}\""));
    assert_eq!(serde_json::from_str::<Id>(&json).unwrap(), Id::ZERO);
    // Escapes belong to JSON, not to the text.
    assert_eq!(serde_json::from_str::<Id>(&json.replacen('1', "\\u0031", 1)).unwrap(), Id::ZERO);
    check(
        serde_json::from_str::<Id>("\"foobar\""),
        expect!["invalid input checksum at line 1 column 8"],
    );
    check(serde_json::from_str::<Id>("7").map_err(|fault| fault.classify() as u8), expect!["2"]);
    assert_eq!(Id::try_from_ascii_name(&"a".repeat(32)), Some(Id::new([b'a'; 32])));
    assert_eq!(Id::try_from_ascii_name(&"a".repeat(33)), None);
}

#[test]
fn node_ids() {
    let text = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg";
    let id: NodeId = text.parse().unwrap();
    assert_eq!(id.to_string(), text);
    assert_eq!(serde_json::to_string(&id).unwrap(), format!("{text:?}"));
    assert_eq!(serde_json::from_str::<NodeId>(&format!("{text:?}")).unwrap(), id);
    check("7Xhw2".parse::<NodeId>(), expect!["ID: 7Xhw2 is missing the prefix: NodeID-"]);
    check("NodeID-foobar".parse::<NodeId>(), expect!["invalid input checksum"]);
}

#[test]
fn private_keys() {
    let key = str::parse::<PrivateKey>;
    check(key("ewoqjP7P"), expect!["private key missing PrivateKey- prefix"]);
    check(key("PrivateKey-foobar"), expect!["invalid input checksum"]);
    check(key("PrivateKey-45PJLL"), expect!["private key has unexpected length, expected 32"]);
    // Decision: zero, which the reference takes, is refused.
    check(key(&format!("PrivateKey-{}", Id::ZERO)), expect!["invalid private key"]);
    let order = hex::decode("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
    check(PrivateKey::from_slice(&order.unwrap()), expect!["invalid private key"]);
    let one = PrivateKey::from_slice(&[&[0; 31][..], &[1]].concat()).unwrap();
    assert_eq!(format!("{one:?}"), "PrivateKey(..)");
}

#[test]
fn hex_texts() {
    let checked = hexfmt::decode_checked;
    check(checked(""), expect!["no error"]);
    check(checked("0x"), expect!["input string is smaller than the checksum size"]);
    check(checked("0x00"), expect!["input string is smaller than the checksum size"]);
    check(checked("0"), expect!["missing 0x prefix to hex encoding"]);
    check(checked("x"), expect!["missing 0x prefix to hex encoding"]);
    check(checked("0X7852b855"), expect!["missing 0x prefix to hex encoding"]);
    check(checked("0xé"), expect!["encoding/hex: invalid byte: U+00C3 'Ã'"]);
    check(checked("0xg"), expect!["encoding/hex: invalid byte: U+0067 'g'"]);
    check(checked("0x0g"), expect!["encoding/hex: invalid byte: U+0067 'g'"]);
    check(checked("0x000"), expect!["encoding/hex: odd length hex string"]);
    // The digit fault is reported before the length.
    check(checked("0x00z"), expect!["encoding/hex: invalid byte: U+007A 'z'"]);
    check(checked("0x0\0"), expect!["encoding/hex: invalid byte: U+0000"]);
    check(checked("0x0\u{80}"), expect!["encoding/hex: invalid byte: U+00C2 'Â'"]);
    check(checked("0x0000000000"), expect!["invalid input checksum"]);
    assert_eq!(checked("0x7852B855"), Ok(vec![]));
    let plain = hexfmt::decode_plain;
    assert_eq!(
        (plain(""), plain("0x"), plain("0xFf00")),
        (Ok(vec![]), Ok(vec![]), Ok(vec![255, 0]))
    );
    check(plain("ff"), expect!["missing 0x prefix to hex encoding"]);
    check(plain("0xf"), expect!["encoding/hex: odd length hex string"]);
    assert_eq!(hexfmt::encode_plain(&[]), "0x");
    assert_eq!(hexfmt::encode_plain(&[0, 0xab]), "0x00ab");
}

#[test]
fn addresses() {
    let split = address::split;
    check(split(""), expect!["no separator found in address"]);
    check(split("X"), expect!["no separator found in address"]);
    check(
        split("local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"),
        expect!["no separator found in address"],
    );
    check(split("X-"), expect!["invalid bech32 string length 0"]);
    check(split("X-\"<é"), expect!["invalid bech32 string length 4"]);
    check(split("X-local1"), expect!["invalid bech32 string length 6"]);
    check(split(&format!("X-{}", "q".repeat(91))), expect!["invalid bech32 string length 91"]);
    check(split(&format!("X-{}", "q".repeat(90))), expect!["invalid separator index -1"]);
    check(split("X-1qqqqqqq"), expect!["invalid separator index 0"]);
    check(split("X-local1qqqqq"), expect!["invalid separator index 5"]);
    check(split("X-local 1qqqqqqqq"), expect!["invalid character in string: ' '"]);
    check(split("X-localé1qqqqqqqq"), expect!["invalid character in string: 'Ã'"]);
    check(split("X-local1bbbbbbbb"), expect!["invalid character not part of charset: 98"]);
    check(
        split("X-Local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"),
        expect!["string not all lowercase or all uppercase"],
    );
    check(
        split("X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96a"),
        expect!["invalid checksum (expected (bech32=00z96u, bech32m=00z96u6njfl7), got 00z96a)"],
    );
    check(
        split("X-local1q7nedwpmvgjks36jxfm7kel0xledhg7m5kum8a"),
        expect!["invalid checksum (expected (bech32=5kum8z, bech32m=5kum8zp2vhzq), got 5kum8a)"],
    );
    // The error repeats an upper-case text in lower case.
    check(
        split("X-LOCAL1Q7NEDWPMVGJKS36JXFM7KEL0XLEDHG7M5KUM8A"),
        expect!["invalid checksum (expected (bech32=5kum8z, bech32m=5kum8zp2vhzq), got 5kum8a)"],
    );
}

#[test]
fn accepted_addresses() {
    let data = |text: &str| address::split(text).map(|(alias, hrp, data)| (alias, hrp, data.len()));
    let taken = |alias: &str, len| Ok((alias.to_owned(), "local".to_owned(), len));
    let lower = "local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u";
    assert_eq!(data(&format!("X-{lower}")), taken("X", 20));
    assert_eq!(data(&format!("-{}", lower.to_uppercase())), taken("", 20));
    // The checksum of bech32m.
    assert_eq!(data(&format!("X-{}6njfl7", &lower[..38])), taken("X", 20));
    assert_eq!(data("X-local1wd5x7un5n7eyc3"), taken("X", 5));
    // Only the first dash counts; the second is a character of the prefix.
    assert!(address::split("X-Y-local1wd5x7un5n7eyc3").is_err());
}

#[test]
fn go_quoting() {
    let cases = [
        ("x", r#""x""#),
        ("é日本😀", r#""é日本😀""#),
        ("tab\tline\n", r#""tab\tline\n""#),
        ("back\\slash", r#""back\\slash""#),
        ("\x00\x1f\x7f", r#""\x00\x1f\x7f""#),
        ("\u{2028}\u{2029}", r#""\u2028\u2029""#),
        ("\"quoted\" 'and'", r#""\"quoted\" 'and'""#),
        ("\x07\x08\x0b\x0c\r", r#""\a\b\v\f\r""#),
        ("\u{80}\u{a0}\u{ad}\u{feff}", r#""\u0080\u00a0\u00ad\ufeff""#),
        ("\u{e0001}\u{10ffff}\u{e000}", r#""\U000e0001\U0010ffff\ue000""#),
        ("e\u{301}\u{fffd}", "\"e\u{301}\u{fffd}\""),
        ("\u{301}", "\"\u{301}\""),
        ("<b>&", r#""<b>&""#),
    ];
    for (text, quoted) in cases {
        assert_eq!(quote(text), quoted);
    }
    assert_eq!(quote_bytes(b"a\xffb\xe2\x82"), r#""a\xffb\xe2\x82""#);
    assert_eq!(quote_bytes("\u{fffd}".as_bytes()), "\"\u{fffd}\"");
    let chars = [('g', "'g'"), ('\'', r"'\''"), ('"', "'\"'"), ('\\', r"'\\'"), ('\0', r"'\x00'")];
    for (c, quoted) in chars {
        assert_eq!(quote_char(c), quoted);
    }
    assert_eq!(quote_char('\u{80}'), r"'\u0080'");
    assert_eq!(unicode('g'), "U+0067 'g'");
    assert_eq!(unicode('\n'), "U+000A");
    assert_eq!(unicode('\u{1f600}'), "U+1F600 '😀'");
    assert!(is_print(' ') && !is_print('\u{3000}') && is_print('\'') && is_print('\u{ac}'));
}
