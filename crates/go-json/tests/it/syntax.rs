//! Error texts of broken JSON.

use esker_go_json::{Document, MAX_NESTING, SyntaxError};

#[track_caller]
fn check(text: &str, error: &str) {
    assert_eq!(Document::first(text.as_bytes()).unwrap_err().to_string(), error, "{text}");
}

#[track_caller]
fn check_first(text: &str, value: &str) {
    let document = Document::first(text.as_bytes()).unwrap();
    assert_eq!(document.as_bytes(), value.as_bytes(), "{text}");
}

#[test]
fn only_the_first_value_is_read() {
    check_first(" {} x", "{}");
    check_first("[1] ]", "[1]");
    check_first("5x", "5");
    check_first("01", "0");
    check_first("-0.5e+1,", "-0.5e+1");
    check_first("nullnull", "null");
    check_first("\"a\"\"b\"", "\"a\"");
    check_first("\t\r\n true", "true");
    check_first("1E400", "1E400");
}

#[test]
fn truncated_values_are_refused() {
    check("", "EOF");
    check(" \t\r\n", "EOF");
    for text in [
        "{",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "[",
        "[1",
        "[1,",
        "\"",
        "\"\\",
        "\"\\u00",
        "-",
        "1.",
        "1e",
        "1e+",
        "t",
        "tru",
        "fals",
        "n",
        "nul",
        " [[]",
    ] {
        check(text, "unexpected EOF");
    }
}

#[test]
fn misplaced_bytes_are_refused() {
    let value = "looking for beginning of value";
    check("x", &format!("invalid character 'x' {value}"));
    check("'", &format!("invalid character '\\'' {value}"));
    check("]", &format!("invalid character ']' {value}"));
    check("+1", &format!("invalid character '+' {value}"));
    check(".5", &format!("invalid character '.' {value}"));
    check("[,", &format!("invalid character ',' {value}"));
    check("[1,]", &format!("invalid character ']' {value}"));
    check("{\"a\":}", &format!("invalid character '}}' {value}"));
    check("\u{0}", &format!("invalid character '\\x00' {value}"));
    check("\u{7f}", &format!("invalid character '\\x7f' {value}"));
    check("\u{feff}", &format!("invalid character 'ï' {value}"));
    check("\u{b}", &format!("invalid character '\\v' {value}"));
    check("\u{a0}", &format!("invalid character 'Â' {value}"));
    check("{1", "invalid character '1' looking for beginning of object key string");
    check("{,", "invalid character ',' looking for beginning of object key string");
    check("{\"a\":1,}", "invalid character '}' looking for beginning of object key string");
    check("{\"a\" 1", "invalid character '1' after object key");
    check("{\"a\"}", "invalid character '}' after object key");
    check("{\"a\":1 2", "invalid character '2' after object key:value pair");
    check("{\"a\":1]", "invalid character ']' after object key:value pair");
    check("[1 2]", "invalid character '2' after array element");
    check("[1}", "invalid character '}' after array element");
    check("[1:", "invalid character ':' after array element");
    check("[-x", "invalid character 'x' in numeric literal");
    check("[-]", "invalid character ']' in numeric literal");
    check("1.x", "invalid character 'x' after decimal point in numeric literal");
    check("1.e5", "invalid character 'e' after decimal point in numeric literal");
    check("1ex", "invalid character 'x' in exponent of numeric literal");
    check("1e+-", "invalid character '-' in exponent of numeric literal");
    check("[01]", "invalid character '1' after array element");
    check("[1.5.5]", "invalid character '.' after array element");
    check("tx", "invalid character 'x' in literal true (expecting 'r')");
    check("trUe", "invalid character 'U' in literal true (expecting 'u')");
    check("tru1", "invalid character '1' in literal true (expecting 'e')");
    check("f ", "invalid character ' ' in literal false (expecting 'a')");
    check("fax", "invalid character 'x' in literal false (expecting 'l')");
    check("falx", "invalid character 'x' in literal false (expecting 's')");
    check("falsy", "invalid character 'y' in literal false (expecting 'e')");
    check("nil", "invalid character 'i' in literal null (expecting 'u')");
    check("nux", "invalid character 'x' in literal null (expecting 'l')");
    check("nulx", "invalid character 'x' in literal null (expecting 'l')");
    check("\"\n\"", "invalid character '\\n' in string literal");
    check("\"\u{1f}", "invalid character '\\x1f' in string literal");
    check("\"\\x", "invalid character 'x' in string escape code");
    check("\"\\'", "invalid character '\\'' in string escape code");
    check("\"\\\"", "unexpected EOF");
    check("\"\\u00g0", "invalid character 'g' in \\u hexadecimal character escape");
    check("\"\\u\"", "invalid character '\"' in \\u hexadecimal character escape");
    check("{\"a\\x", "invalid character 'x' in string escape code");
}

#[test]
fn faults_have_a_place() {
    let fault = Document::first(b"[1, x]").unwrap_err();
    let context = "looking for beginning of value";
    assert_eq!(fault, SyntaxError::Invalid { byte: b'x', context, offset: 5 });
}

#[test]
fn nesting_ends_where_go_ends_it() {
    for (open, close, inner) in [("[", "]", ""), ("{\"a\":", "}", "1")] {
        let nested = |depth| open.repeat(depth) + inner + &close.repeat(depth);
        assert!(Document::first(nested(MAX_NESTING).as_bytes()).is_ok());
        let byte = &open[..1];
        check(&nested(MAX_NESTING + 1), &format!("invalid character '{byte}' exceeded max depth"));
    }
}

#[test]
fn whole_documents_end_with_their_value() {
    let check = |text: &str, error: &str| {
        assert_eq!(Document::whole(text.as_bytes()).unwrap_err().to_string(), error, "{text}");
    };
    assert!(Document::whole(b" [1] \n").is_ok());
    check("", "unexpected end of JSON input");
    check("[1", "unexpected end of JSON input");
    check("1.", "unexpected end of JSON input");
    check("{} x", "invalid character 'x' after top-level value");
    check("01", "invalid character '1' after top-level value");
    check("[1}", "invalid character '}' after array element");
}
