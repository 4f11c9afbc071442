//! Subscriptions over a connection that can be notified.

use esker_rpc::{
    Caller, Params, RpcError,
    args::FromParams,
    positional::{Notification, Server, Subscriber},
};

use super::{block_on, error, request, result, server};

/// Knows one kind, which takes one argument.
struct Toy;

impl Subscriber for Toy {
    fn subscribe(
        &self,
        namespace: &str,
        kind: &str,
        params: Params<'_>,
        _: &Caller,
    ) -> Option<Result<String, RpcError>> {
        if (namespace, kind) != ("eth", "logs") {
            return None;
        }
        let decoded: Result<(String, bool), _> = FromParams::from_params(params);
        Some(match decoded {
            Ok((kind, _)) => Ok(format!("0x1{kind}")),
            Err(error) => Err(RpcError::with_code(RpcError::INVALID_PARAMS, error.to_string())),
        })
    }

    fn unsubscribe(&self, id: &str) -> bool {
        id == "0x1"
    }
}

fn said(server: &Server, method: &str, params: &str) -> String {
    let body = request(method, params);
    let answer = block_on(server.answer(body.as_bytes(), Some(&Toy), &Caller::default()));
    String::from_utf8(answer.into_bytes()).unwrap()
}

#[test]
fn subscriptions_are_separate() {
    let server = server();
    let check = |method: &str, params: &str, expected: &str| {
        assert_eq!(said(&server, method, params), format!("{expected}\n"), "{method} {params}");
    };
    let unnamed = error("1", -32602, "expected subscription name as first argument");
    check("eth_subscribe", "[]", &unnamed);
    check("eth_subscribe", "[5]", &unnamed);
    check("eth_subscribe", "[null]", &unnamed);
    check("eth_subscribe", "null", &error("1", -32602, "non-array args"));
    check("eth_subscribe", "{}", &error("1", -32602, "non-array args"));
    let unknown = |kind: &str, namespace: &str| {
        error("1", -32601, &format!("no \"{kind}\" subscription in {namespace} namespace"))
    };
    check("eth_subscribe", "[\"foo\"]", &unknown("foo", "eth"));
    check("foo_subscribe", "[\"logs\"]", &unknown("logs", "foo"));
    check("a_b_subscribe", "[\"logs\"]", &unknown("logs", "a"));
    check("_subscribe", "[\"logs\"]", &unknown("logs", ""));
    // Positions count the name.
    check(
        "eth_subscribe",
        "[\"logs\"]",
        &error("1", -32602, "missing value for required argument 1"),
    );
    let text = "invalid argument 1: json: cannot unmarshal number into Go value of type bool";
    check("eth_subscribe", "[\"logs\",1]", &error("1", -32602, text));
    let text = "too many arguments, want at most 2";
    check("eth_subscribe", "[\"logs\",true,1]", &error("1", -32602, text));
    check("eth_subscribe", "[\"logs\",true]", &result("1", "\"0x1logs\""));

    check("eth_unsubscribe", "[\"0x1\"]", &result("1", "true"));
    check("any_unsubscribe", "[\"0x1\"]", &result("1", "true"));
    check("eth_unsubscribe", "[null]", &error("1", -32000, "subscription not found"));
    check("eth_unsubscribe", "[]", &error("1", -32602, "missing value for required argument 0"));
    let text = "invalid argument 0: json: cannot unmarshal number into Go value of type rpc.ID";
    check("eth_unsubscribe", "[5]", &error("1", -32602, text));
}

#[test]
fn without_a_notifier_no_namespace_has_any_kind() {
    let server = server();
    let session = server.connect();
    let body = request("eth_subscribe", "[\"newHeads\"]");
    let (answer, made) =
        block_on(server.answer_with_session(&*session, body.as_bytes(), &Caller::default()));
    let text = "no \"newHeads\" subscription in eth namespace";
    let expected = format!("{}\n", error("1", -32601, text));
    assert_eq!((String::from_utf8(answer.into_bytes()).unwrap(), made), (expected, Vec::new()));
    assert!(!session.unsubscribe("0x1"));
}

#[test]
fn a_notification_is_put_together() {
    let prefix = Notification::prefix("eth", "0x1");
    let notification = Notification { prefix, result: "\"0x2\"".into() };
    let whole = [&notification.prefix[..], &notification.result, Notification::SUFFIX].concat();
    let expected = "{\"jsonrpc\":\"2.0\",\"method\":\"eth_subscription\",\"params\":{\"subscription\":\"0x1\",\
                    \"result\":\"0x2\"}}\n";
    assert_eq!(
        (String::from_utf8(whole).unwrap().as_str(), notification.len()),
        (expected, expected.len())
    );
}
