//! Single messages and batches, byte for byte.

use super::{ask, error, request, result, said, server};

#[test]
fn ids_are_copied_as_they_are_written() {
    for (id, shown) in [
        ("1", "1"),
        ("1.50", "1.50"),
        ("1E+2", "1E+2"),
        ("-0", "-0"),
        ("\"a\\u0062\"", "\"a\\u0062\""),
        ("\"<&>\u{2028}\"", "\"\\u003c\\u0026\\u003e\\u2028\""),
        ("null", "null"),
        ("true", "true"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_chainId"}}"#);
        assert_eq!(said(&server(), &body), result(shown, "\"0xa868\"") + "\n");
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id}}}"#);
        assert_eq!(said(&server(), &body), error(shown, -32600, "invalid request") + "\n");
    }
    for id in ["{}", "[]", "{\"a\":1}", "[1]"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_chainId"}}"#);
        assert_eq!(said(&server(), &body), error("null", -32600, "invalid request") + "\n");
    }
}

#[test]
fn every_end_of_a_call_has_its_reply() {
    let check = |method: &str, params: &str, expected: &str| {
        assert_eq!(said(&server(), &request(method, params)), format!("{expected}\n"), "{method}");
    };
    check("eth_chainId", "[]", &result("1", "\"0xa868\""));
    check("evm_chainId", "null", &result("1", "\"0xa868\""));
    check("eth_nothing", "[]", &result("1", "null"));
    check("eth_waits", "[]", &result("1", "\"waited\""));
    check("eth_works", "[\"<a>\"]", &result("1", "\"\\u003ca\\u003e\""));
    check("eth_echo", "[\"ab\",2]", &result("1", "\"abab\""));
    check("eth_echo", "[\"ab\"]", &result("1", "\"ab\""));
    let fault = r#"{"code":-32000,"message":"no \u003cluck\u003e"}"#;
    check("eth_fails", "[]", &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{fault}}}"#));
    let reverted = r#"{"code":3,"message":"execution reverted","data":"0x08"}"#;
    check("eth_reverts", "[]", &format!(r#"{{"jsonrpc":"2.0","id":1,"error":{reverted}}}"#));
    check("eth_panics", "[]", &error("1", -32603, "method handler crashed"));
    check("eth_unwritable", "[]", &error("1", -32603, "key must be a string"));
    check("net_version", "[]", &result("1", "\"43112\""));
    let modules = r#"{"eth":"1.0","evm":"1.0","net":"1.0","rpc":"1.0"}"#;
    check("rpc_modules", "[]", &result("1", modules));
}

#[test]
fn names_are_quoted_as_they_were_sent() {
    for name in [
        "eth_nope",
        "evm_nope",
        "foo_bar",
        "chainId",
        "eth_ChainId",
        "ETH_chainId",
        "eth_",
        "_",
        "eth__x",
        "eth.x",
    ] {
        let text = format!("the method {name} does not exist/is not available");
        assert_eq!(said(&server(), &request(name, "[]")), error("1", -32601, &text) + "\n");
        // Looked for before the arguments.
        assert_eq!(said(&server(), &request(name, "5")), error("1", -32601, &text) + "\n");
    }
    for name in ["eth_subscribe", "foo_subscribe", "_subscribe"] {
        let text = error("1", -32601, "notifications not supported") + "\n";
        assert_eq!(said(&server(), &request(name, "[\"newHeads\"]")), text);
    }
    assert_eq!(
        said(&server(), &request("eth_unsubscribe", "[\"0x1\"]")),
        error("1", -32000, "subscription not found") + "\n"
    );
}

#[test]
fn errors_outside_a_message_have_no_newline() {
    let check = |body: &str, expected: &str| assert_eq!(said(&server(), body), expected, "{body}");
    check("", "");
    check(" \n\t ", "");
    check("{", &error("null", -32700, "parse error"));
    check("nul", &error("null", -32700, "parse error"));
    check("{\"jsonrpc\":\"2.0\",\"id\":1,}", &error("null", -32700, "parse error"));
    check("[]", &error("null", -32600, "empty batch"));
    check(" [ ] ", &error("null", -32600, "empty batch"));
    check("{}", &(error("null", -32600, "invalid request") + "\n"));
    let deep = "[".repeat(10_001);
    check(&deep, &error("null", -32700, "parse error"));
    assert!(ask(&server(), b"\xff").failed);
}

#[test]
fn responses_and_notifications_are_not_answered() {
    for body in [
        r#"{"jsonrpc":"2.0","id":7,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":"x"}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":1,"method":null}"#,
        r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","method":"eth_panics"}"#,
        r#"{"jsonrpc":"2.0","method":"eth_hangs"}"#,
        r#"{"jsonrpc":"2.0","method":"eth_subscription","params":{}}"#,
        r#"[{"jsonrpc":"2.0","method":"eth_chainId"},{"jsonrpc":"2.0","id":7,"result":1}]"#,
    ] {
        let answer = ask(&server(), body.as_bytes());
        assert_eq!((answer.body.len(), answer.failed), (0, false), "{body}");
    }
    // Neither one nor the other.
    for body in [
        r#"{"jsonrpc":"2.0","id":7,"result":1,"params":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":null}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":1,"error":null}"#,
        r#"{"jsonrpc":"1","id":7,"result":1}"#,
    ] {
        assert_eq!(said(&server(), body), error("7", -32600, "invalid request") + "\n");
    }
    let call = r#"{"jsonrpc":"2.0","id":7,"result":1,"method":"eth_chainId"}"#;
    assert_eq!(said(&server(), call), result("7", "\"0xa868\"") + "\n");
}

#[test]
fn a_member_of_the_wrong_type_keeps_the_earlier_value() {
    let answered = result("2", "\"0xa868\"") + "\n";
    for body in [
        r#"{"jsonrpc":"2.0","jsonrpc":null,"id":2,"method":"eth_chainId","method":5}"#,
        r#"{"jsonrpc":"2.0","JSONRPC":1,"id":1,"iD":2,"METHOD":"eth_chainId"} trailing"#,
        r#"{"\u006asonrpc":"2.0","id":2,"method":"\u0065th_chainId","other":[{}]}"#,
    ] {
        assert_eq!(said(&server(), body), answered, "{body}");
    }
}

#[test]
fn batches_are_answered_in_their_order() {
    let batch = format!(
        "[{},{},{{\"jsonrpc\":\"2.0\",\"method\":\"eth_echo\"}},5,{},{}]",
        request("eth_waits", "[]"),
        request("eth_fails", "[]").replace("\"id\":1", "\"id\":\"b\""),
        request("eth_chainId", "[]").replace("\"id\":1", "\"id\":{}"),
        request("eth_works", "[\"x\"]"),
    );
    let expected = [
        result("1", "\"waited\""),
        r#"{"jsonrpc":"2.0","id":"b","error":{"code":-32000,"message":"no \u003cluck\u003e"}}"#
            .to_owned(),
        error("null", -32600, "invalid request"),
        error("null", -32600, "invalid request"),
        result("1", "\"x\""),
    ];
    assert_eq!(said(&server(), &batch), format!("[{}]\n", expected.join(",")));
}

#[test]
fn a_single_call_reports_its_method() {
    let answer = ask(&server(), request("eth_fails", "[]").as_bytes());
    assert_eq!((answer.method, answer.failed), (Some(("evm", "fails")), true));
    let answer = ask(&server(), request("eth_chainId", "[]").as_bytes());
    assert_eq!((answer.method, answer.failed), (Some(("evm", "chainId")), false));
    let answer = ask(&server(), request("eth_nope", "[]").as_bytes());
    assert_eq!((answer.method, answer.failed), (None, true));
}

#[test]
fn unanswered_tries_run_on_a_thread() {
    let server = server();
    let tries = |params| said(&server, &request("eth_tries", params));
    assert_eq!(tries("[0]"), error("1", -32000, "nothing to do") + "\n");
    assert_eq!(tries("[9]"), result("1", "\"in place\"") + "\n");
    assert_eq!(tries("[10]"), result("1", "\"on the pool\"") + "\n");
}
