//! The HTTP rules of the dialect: requests that are refused before their body is read.

use esker_rpc::Caller;
use esker_rpc::positional::http::{self, Reply, RequestHead};

use super::{block_on, error, result, server};

const HEAD: RequestHead<'_> = RequestHead {
    method: "POST",
    content_type: Some("application/json"),
    content_length: None,
    has_query: false,
};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}"#;

fn refused(head: &RequestHead<'_>) -> Option<(u16, String)> {
    http::admit(&server(), head).map(|Reply { status, content_type, nosniff, answer }| {
        assert_eq!((content_type, nosniff), (Some("text/plain; charset=utf-8"), true));
        (status, String::from_utf8(answer.into_bytes()).unwrap())
    })
}

#[test]
fn requests_are_refused_by_method_then_size_then_type() {
    let wrong_type = "invalid content type, only application/json is supported\n".to_owned();
    let wrong = RequestHead { content_type: None, content_length: Some(5_242_881), ..HEAD };
    for method in ["PUT", "DELETE"] {
        let expected = Some((405, "method not allowed\n".to_owned()));
        assert_eq!(refused(&RequestHead { method, ..wrong }), expected);
    }
    let too_large = "content length too large (5242881>5242880)\n".to_owned();
    for method in ["POST", "GET", "HEAD", "PATCH", "OPTIONS", "FOO"] {
        assert_eq!(refused(&RequestHead { method, ..wrong }), Some((413, too_large.clone())));
        let fits = RequestHead { method, content_length: Some(5_242_880), ..wrong };
        let expected = (method != "OPTIONS").then(|| (415, wrong_type.clone()));
        assert_eq!(refused(&fits), expected);
        assert_eq!(refused(&RequestHead { method, ..HEAD }), None);
    }
}

#[test]
fn an_empty_get_is_a_probe() {
    let probe = RequestHead { method: "GET", content_type: None, content_length: Some(0), ..HEAD };
    let reply = http::admit(&server(), &probe).unwrap();
    assert_eq!((reply.status, reply.content_type, reply.answer.body.len()), (200, None, 0));
    for head in [
        RequestHead { has_query: true, ..probe },
        RequestHead { content_length: None, ..probe },
        RequestHead { method: "HEAD", ..probe },
    ] {
        assert_eq!(refused(&head).map(|(status, _)| status), Some(415));
    }
}

#[test]
fn empty_answers_are_json() {
    for (body, expected) in [
        (CALL, result("1", "\"0xa868\"") + "\n"),
        ("", String::new()),
        ("{", error("null", -32700, "parse error")),
    ] {
        let reply = block_on(http::answer(&server(), body.as_bytes(), &Caller::default()));
        assert_eq!((reply.status, reply.content_type), (200, Some("application/json")));
        assert_eq!(
            (String::from_utf8(reply.answer.into_bytes()).unwrap(), reply.nosniff),
            (expected, false)
        );
    }
}
