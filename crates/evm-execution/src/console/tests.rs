use alloy_primitives::{I256, U256, hex};
use proptest::prelude::*;

use super::format::text;
use super::*;

const WORD: usize = 32;

fn word(number: u64) -> Vec<u8> {
    U256::from(number).to_be_bytes::<WORD>().to_vec()
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(WORD), 0);
    padded
}

/// The call data of a function, as Solidity encodes them.
fn encode(signature: &Signature, values: &[Value]) -> Vec<u8> {
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    for (kind, value) in signature.kinds.iter().zip(values) {
        match value {
            Value::Uint(number) => head.extend(number.to_be_bytes::<WORD>()),
            Value::Int(number) => head.extend(number.to_be_bytes::<WORD>()),
            Value::Bool(value) => head.extend(word(u64::from(*value))),
            Value::Address(address) => head.extend(address.into_word()),
            Value::Bytes(bytes) if *kind != Kind::Bytes => head.extend(padded(bytes)),
            Value::String(bytes) | Value::Bytes(bytes) => {
                head.extend(word((values.len() * WORD + tail.len()) as u64));
                tail.extend(word(bytes.len() as u64));
                tail.extend(padded(bytes));
            }
        }
    }
    [signature.selector().to_vec(), head, tail].concat()
}

/// A function by its text.
fn function(text: &str) -> &'static Signature {
    Signature::all().find(|signature| signature.text == text).expect("a function")
}

fn string(text: &str) -> Value {
    Value::String(text.as_bytes().to_vec())
}

fn uint(number: u64) -> Value {
    Value::Uint(U256::from(number))
}

#[test]
fn arguments_follow_after_spaces() {
    assert_eq!(text(&[]), "");
    assert_eq!(text(&[uint(7)]), "7");
    assert_eq!(text(&[string("sum"), uint(7), Value::Bool(true)]), "sum 7 true");
    assert_eq!(text(&[string(""), uint(7)]), "7");
    // Only a string that comes first has specifiers.
    assert_eq!(text(&[uint(7), string("%d"), uint(8)]), "7 %d 8");
    let address = Value::Address(CONSOLE);
    assert_eq!(text(&[address]), "0x000000000000000000636F6e736F6c652e6c6f67");
    assert_eq!(text(&[Value::Int(I256::MINUS_ONE)]), "-1");
    assert_eq!(text(&[Value::Bytes(vec![0, 0xff])]), "0x00ff");
}

#[test]
fn specifiers_take_the_arguments() {
    let one = |format: &str, value: Value| text(&[string(format), value]);
    for specifier in ["%s", "%d", "%i", "%o"] {
        assert_eq!(one(&format!("<{specifier}>"), uint(255)), "<255>");
    }
    assert_eq!(one("<%x>", uint(255)), "<0xff>");
    assert_eq!(one("%x", uint(0)), "0x0");
    let minus = format!("0x{}01", "ff".repeat(31));
    assert_eq!(one("%x", Value::Int(I256::unchecked_from(-255))), minus);
    assert_eq!(one("%x", string("a\n")), "0x610a");
    assert_eq!(one("<%o>", string("a b")), "<'a b'>");
    assert_eq!(one("%o", Value::Bytes(vec![7])), "'0x07'");
    assert_eq!(one("%O", Value::Address(CONSOLE)), format!("'{CONSOLE}'"));
    assert_eq!(one("%o", Value::Bool(true)), "true");
    assert_eq!(one("%d", string("no number")), "no number");
    assert_eq!(one("%d", Value::Bool(true)), "1");
    assert_eq!(one("<%c>", string("color: red")), "<>");
    assert_eq!(one("100%% of %s", uint(5)), "100% of 5");
    // What is no specifier, or has no argument, stays.
    assert_eq!(one("100%, %z %", uint(5)), "100%, %z % 5");
    assert_eq!(one("%s and %s", uint(5)), "5 and %s");
    assert_eq!(text(&[string("%s and 5%")]), "%s and 5%");
    let more = [string("%s:%s"), string("%s"), uint(1), uint(2)];
    assert_eq!(text(&more), "%s:1 2");
}

/// As anvil 1.7.1 shows them.
#[test]
fn exponents_and_fractions() {
    let one = |format: &str, value: Value| text(&[string(format), value]);
    for (number, exponent, fraction) in [
        (0, "0e0", "0"),
        (1, "1e0", "0.01"),
        (10, "1e1", "0.1"),
        (1500, "1.5e3", "15"),
        (123_456_789, "1.23456789e8", "1234567.89"),
    ] {
        assert_eq!(one("<%e>", uint(number)), format!("<{exponent}>"));
        assert_eq!(one("%2e%", uint(number)), format!("{fraction}%"));
        let minus = Value::Int(-I256::unchecked_from(number));
        let sign = if number == 0 { "" } else { "-" };
        assert_eq!(one("%e", minus.clone()), format!("{sign}{exponent}"));
        assert_eq!(one("%2e", minus), format!("{sign}{fraction}"));
    }
    let least = "-578960446186580977117854925043439539266349923328202820197287920039565648199.68";
    assert_eq!(one("%2e", Value::Int(I256::MIN)), least);
    let most = "115792089237316195423570985008687907853269984665640564039457.584007913129639935";
    assert_eq!(one("%18e", Value::Uint(U256::MAX)), most);
    assert_eq!(one("%0e", uint(1500)), "1500");
    assert_eq!(one("%78e", uint(15)), format!("0.{}15", "0".repeat(76)));
    assert_eq!(one("%255e", uint(1)), format!("0.{}1", "0".repeat(254)));
    // More digits than a number of 256 bits could ever need.
    for many in ["%256e", "%99999999999999999999e"] {
        assert_eq!(one(many, uint(1500)), "1.5e3");
    }
    assert_eq!(one("%5d %18x %18", uint(7)), "%5d %18x %18 7");
    assert_eq!(one("%e", string("no number")), "no number");
    assert_eq!(text(&[string("%18e")]), "%18e");
}

#[test]
fn bytes_that_are_no_text_are_shown() {
    let value = Value::String(b"a\xff\xc3 b".to_vec());
    assert!(!value.is_exact());
    assert_eq!(text(&[value]), "a\\xff\\xc3 b");
    assert!(string("ä\u{1b}").is_exact());
}

#[test]
fn malformed_calls_are_shown_with_the_reason() {
    let shown = Message::text_of;
    assert_eq!(shown(&[]), "0x (0 bytes, shorter than a selector)");
    assert_eq!(shown(&[1, 2, 3]), "0x010203 (3 bytes, shorter than a selector)");
    assert_eq!(shown(&[1, 2, 3, 4]), "0x01020304 (4 bytes, not a function of the console)");
    let bad = |text: &str, words: &[Vec<u8>]| {
        let input = [&function(text).selector()[..], &words.concat()].concat();
        let shown = Message::text_of(&input);
        assert!(shown.starts_with(&hex::encode_prefixed(&input)), "{shown}");
        shown.rsplit_once(", ").map(|(_, reason)| reason.to_owned()).unwrap()
    };
    let first = "argument 1 of log(string) is malformed)";
    // No offset, an offset beyond the end, a length beyond the end, and numbers that no address space has.
    let most = vec![0xff; WORD];
    for words in [
        vec![],
        vec![word(64), word(0)],
        vec![word(32), word(1)],
        vec![most.clone(), word(0)],
        vec![word(32), most.clone()],
        vec![word(1), word(0)],
    ] {
        assert_eq!(bad("log(string)", &words), first);
    }
    assert_eq!(bad("log(bool)", &[word(2)]), "argument 1 of log(bool) is malformed)");
    let second = "argument 2 of log(uint256,address) is malformed)";
    assert_eq!(bad("log(uint256,address)", &[most.clone(), most.clone()]), second);
    assert_eq!(bad("log(bytes31)", &[most]), "argument 1 of log(bytes31) is malformed)");
    let long = shown(&[0xee; 5000]);
    assert!(long.ends_with("ee... (5000 bytes, not a function of the console)"), "{long}");
    assert!(long.len() < 2200, "{}", long.len());
}

/// A function, and values of its types.
fn calls() -> impl Strategy<Value = (&'static Signature, Vec<Value>)> {
    let functions: Vec<_> = Signature::all().collect();
    proptest::sample::select(functions).prop_flat_map(|signature| {
        let values: Vec<_> = signature.kinds.iter().map(|kind| value(*kind)).collect();
        (Just(signature), values)
    })
}

fn value(kind: Kind) -> BoxedStrategy<Value> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..100);
    match kind {
        Kind::Uint => any::<[u8; 32]>().prop_map(|it| Value::Uint(U256::from_be_bytes(it))).boxed(),
        Kind::Int => any::<[u8; 32]>().prop_map(|it| Value::Int(I256::from_be_bytes(it))).boxed(),
        Kind::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Kind::Address => any::<[u8; 20]>().prop_map(|it| Value::Address(it.into())).boxed(),
        Kind::String => {
            let texts = "[%sdioxc ä\u{1b}\n]{0,40}".prop_map(|it| Value::String(it.into_bytes()));
            prop_oneof![texts, bytes().prop_map(Value::String)].boxed()
        }
        Kind::Bytes => bytes().prop_map(Value::Bytes).boxed(),
        Kind::FixedBytes(length) => {
            proptest::collection::vec(any::<u8>(), length).prop_map(Value::Bytes).boxed()
        }
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded((signature, values) in calls()) {
        let decoded = Message::decode(&encode(signature, &values)).unwrap();
        prop_assert_eq!(decoded.signature, signature);
        prop_assert_eq!(&decoded.values, &values);
        // Each value is in the text, unless a specifier changes it.
        let is_plain = !values.first().is_some_and(|first| first.to_string().contains('%'));
        if is_plain {
            let texts: Vec<_> = values.iter().map(Value::to_string).collect();
            let text = decoded.text();
            prop_assert!(texts.iter().all(|one| text.contains(one)), "{:?} {:?}", texts, text);
        }
    }

    /// Data that are cut or changed give a text all the same, of at most a few times their length.
    #[test]
    fn any_data_have_a_text(
        (signature, values) in calls(),
        length in 0..400_usize,
        changes in proptest::collection::vec((0..400_usize, any::<u8>()), 0..4),
    ) {
        let mut input = encode(signature, &values);
        input.truncate(length);
        for (at, byte) in changes {
            if let Some(changed) = input.get_mut(at) {
                *changed = byte;
            }
        }
        let text = Message::text_of(&input);
        prop_assert!(text.len() <= 4 * 4 * input.len() + 100, "{}", text.len());
        if Message::decode(&input).is_err() {
            prop_assert!(text.starts_with(&hex::encode_prefixed(&input)));
        }
    }
}
