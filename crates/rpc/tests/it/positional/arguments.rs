//! Arguments by position: how they decode, and what is said of those that do not.

use esker_go_json::Document;
use esker_go_json::args::{Argument, ArgumentError, decode_struct};
use esker_rpc::{Params, args::FromParams};

use super::{error, request, said, server};

fn list(text: &str) -> Params<'_> {
    Params::List(Document::first(text.as_bytes()).unwrap())
}

fn fault<T: FromParams>(params: &str) -> String {
    match T::from_params(list(params)) {
        Ok(_) => "fine".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn mismatch(index: usize, found: &str, wanted: &str) -> String {
    format!(
        "invalid argument {index}: json: cannot unmarshal {found} into Go value of type {wanted}"
    )
}

#[test]
fn lists_have_their_length() {
    let server = server();
    let check = |method: &str, params: &str, text: &str| {
        let expected = error("1", -32602, text) + "\n";
        assert_eq!(said(&server, &request(method, params)), expected, "{params}");
    };
    for params in ["5", "{}", "\"\"", "\"[]\"", "true", "{\"a\":1}"] {
        check("eth_chainId", params, "non-array args");
        check("eth_getBalance", params, "non-array args");
    }
    let overflow = "json: cannot unmarshal number 1E400 into Go value of type float64";
    check("eth_chainId", "1E400", overflow);
    for params in ["[null]", "[1]", "[[]]", "[1,2,3]"] {
        check("eth_chainId", params, "too many arguments, want at most 0");
    }
    check("eth_getBalance", "[]", "missing value for required argument 0");
    check("eth_getBalance", "null", "missing value for required argument 0");
    check("eth_getBalance", "[\"a\"]", "missing value for required argument 1");
    check("eth_getBalance", "[\"a\",\"b\",\"c\"]", "too many arguments, want at most 2");
    // The first wrong argument is reported, whatever comes after it.
    check("eth_getBalance", "[1]", &mismatch(0, "number", "string"));
    check("eth_getBalance", "[\"a\",{},1]", &mismatch(1, "object", "string"));
    check("eth_echo", "[]", "missing value for required argument 0");
}

#[test]
fn plain_types_decode_as_in_go() {
    type All = (String, bool, u64, f64, Vec<String>, Option<Vec<u64>>);
    let all = All::from_params(list(r#"["\u0061", true, 7, 1e2, ["x"], [1,2]]"#)).unwrap();
    assert_eq!(all, ("a".to_owned(), true, 7, 100.0, vec!["x".to_owned()], Some(vec![1, 2])));
    let all = All::from_params(list("[null,null,null,null,null]")).unwrap();
    assert_eq!(all, (String::new(), false, 0, 0.0, vec![], None));

    assert_eq!(fault::<(u64,)>("[\"1\"]"), mismatch(0, "string", "uint64"));
    assert_eq!(fault::<(u64,)>("[1.5]"), mismatch(0, "number 1.5", "uint64"));
    assert_eq!(fault::<(u64,)>("[-1]"), mismatch(0, "number -1", "uint64"));
    assert_eq!(fault::<(i64,)>("[1e3]"), mismatch(0, "number 1e3", "int"));
    assert_eq!(fault::<(f64,)>("[1e400]"), mismatch(0, "number 1e400", "float64"));
    assert_eq!(fault::<(f64,)>("[[]]"), mismatch(0, "array", "float64"));
    assert_eq!(fault::<(bool,)>("[0]"), mismatch(0, "number", "bool"));
    assert_eq!(fault::<(Vec<String>,)>("[\"x\"]"), mismatch(0, "string", "[]string"));
    assert_eq!(fault::<(Vec<Vec<String>>,)>("[{}]"), mismatch(0, "object", "[][]string"));
    assert_eq!(fault::<(Vec<String>,)>("[[null,5,\"x\",true]]"), mismatch(0, "number", "string"));
    assert_eq!(fault::<(Option<bool>,)>("[\"x\"]"), mismatch(0, "string", "bool"));
}

/// A type with a decoder of its own.
#[derive(Debug, Default, PartialEq)]
struct Even(u64);

esker_rpc::schema!(Even, "Even", { "type": "integer" });

impl Argument for Even {
    fn go_type() -> std::borrow::Cow<'static, str> {
        "toy.Even".into()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        match u64::decode(value) {
            Ok(number) if number % 2 == 0 => Ok(Self(number)),
            Ok(7) => Err(ArgumentError::text("seven is right out")),
            Ok(_) => Err(ArgumentError::refused("odd number", Self::go_type())),
            Err(_) => Err(ArgumentError::refused("non-number", Self::go_type())),
        }
    }
}

#[derive(Debug, Default, PartialEq)]
struct Config {
    text: String,
    even: Option<Even>,
    list: Vec<Even>,
    more: Vec<bool>,
}

esker_rpc::schema!(Config, "Config", { "type": "object" });

impl Argument for Config {
    fn go_type() -> std::borrow::Cow<'static, str> {
        "toy.Config".into()
    }

    fn decode(value: Document<'_>) -> Result<Self, ArgumentError> {
        let mut config = Self::default();
        decode_struct(
            value,
            "toy.Config",
            &mut [
                ("text", &mut config.text),
                ("even", &mut config.even),
                ("list", &mut config.list),
                ("more", &mut config.more),
            ],
        )?;
        Ok(config)
    }
}

#[test]
fn structs_decode_as_in_go() {
    let decode = |text: &str| {
        let (config,): (Config,) = FromParams::from_params(list(&format!("[{text}]"))).unwrap();
        config
    };
    let expected = Config { text: "a".to_owned(), even: Some(Even(2)), ..Config::default() };
    let text = r#"{"TEXT":"b","text":"a","even":4,"other":{"even":1},"eVen":2}"#;
    assert_eq!(decode(text), expected);
    for empty in ["{}", "null", r#"{"even":2,"even":null}"#] {
        assert_eq!(decode(empty), Config::default());
    }

    let field = |text: &str| fault::<(Config,)>(&format!("[{text}]"));
    let in_field = |found: &str, field: &str, wanted: &str| {
        format!(
            "invalid argument 0: json: cannot unmarshal {found} into Go struct field Config.{field} of type {wanted}"
        )
    };
    assert_eq!(field("5"), mismatch(0, "number", "toy.Config"));
    assert_eq!(field("[]"), mismatch(0, "array", "toy.Config"));
    assert_eq!(field(r#"{"Text":5}"#), in_field("number", "text", "string"));
    assert_eq!(field(r#"{"even":3}"#), in_field("odd number", "even", "toy.Even"));
    assert_eq!(field(r#"{"list":[2,"x"]}"#), in_field("non-number", "list", "toy.Even"));
    assert_eq!(field(r#"{"list":{}}"#), in_field("object", "list", "[]toy.Even"));
    assert_eq!(field(r#"{"even":7}"#), "invalid argument 0: seven is right out");
    // The first wrong kind is reported, unless something worse follows.
    assert_eq!(field(r#"{"text":5,"more":5}"#), in_field("number", "text", "string"));
    let worse = in_field("odd number", "even", "toy.Even");
    assert_eq!(field(r#"{"text":5,"even":3,"list":[5]}"#), worse);
}
