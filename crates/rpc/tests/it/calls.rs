//! Methods: how they are found, run and answered.

use esker_go_json::Document;
use std::{
    future::poll_fn,
    panic::catch_unwind,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    task::Poll,
};

use esker_primitives::ClientAddress;
use esker_rpc::handler::{blocking, quick, restartable, waits, waits_with_address};
use esker_rpc::{
    CallContext, CallError, Caller, Lookup, MethodTable, NoArgs, Params, ParamsError, RpcError,
    Service,
    object::{self, DeprecationNote, INVALID_ARGUMENT},
    work::{Work, WorkConfig},
};
use schemars::JsonSchema;
use serde::Serialize;

const JSON: Option<&str> = Some("application/json");

use crate::toy::{answer, block_on, post, service};

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn error(message: &str) -> String {
    let error = format!(r#"{{"code":-32000,"message":"{message}","data":null}}"#);
    format!("{{\"jsonrpc\":\"2.0\",\"error\":{error},\"id\":1}}\n")
}

#[test]
fn params_are_an_object_or_a_list_with_one() {
    let service = service();
    for (params, result) in [
        (r#"{"a":1}"#, r#"{"a":1}"#),
        (r#"[{"a":1}]"#, r#"{"a":1}"#),
        (r#" [ { "a" : 1 } , 5, "x" ]"#, r#"{"a":1}"#),
        ("{}", "{}"),
        ("[]", "{}"),
        ("[{}]", "{}"),
        ("[null]", "{}"),
        ("[null,{\"a\":1}]", "{}"),
        ("null", "{}"),
    ] {
        let expected = format!("{{\"jsonrpc\":\"2.0\",\"result\":{result},\"id\":1}}\n");
        assert_eq!(answer(&service, &request("xvm.echo", params)), expected, "{params}");
    }
    for params in ["5", "\"x\"", "true", "[5]", "[\"x\"]", "[[]]", "[[{}]]", "[false]", "1.5e3"] {
        for method in ["xvm.echo", "xvm.getHeight", "avm.getTx"] {
            let found = answer(&service, &request(method, params));
            assert_eq!(found, error(INVALID_ARGUMENT), "{method} {params}");
        }
    }
    let wrong = request("xvm.getAssetDescription", r#"{"assetID":5}"#);
    assert_eq!(answer(&service, &wrong), error(INVALID_ARGUMENT));
}

#[test]
fn ids_are_copied_as_they_are_written() {
    for (id, shown) in [
        ("1", "1"),
        ("1.50", "1.50"),
        ("1E+2", "1E+2"),
        ("-0", "-0"),
        ("\"a\\u0062\"", "\"a\\u0062\""),
        ("\"<&>\u{2028}\"", "\"\\u003c\\u0026\\u003e\\u2028\""),
        ("{ \"a\" : [ 1, 2 ] }", "{\"a\":[1,2]}"),
        ("true", "true"),
        ("[]", "[]"),
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"avm.getHeight"}}"#);
        let expected =
            format!("{{\"jsonrpc\":\"2.0\",\"result\":{{\"height\":\"0\"}},\"id\":{shown}}}\n");
        assert_eq!(answer(&service(), &body), expected);
    }
    // An ID is not looked into: bytes that are no text stay.
    let body = b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"avm.getTx\"}";
    let reply = post(&service(), body).body;
    assert!(reply.ends_with(b",\"id\":\"\xff\"}\n"));
}

#[test]
fn member_names_have_any_case_and_the_last_counts() {
    let check =
        |body: &str, expected: &str| assert_eq!(answer(&service(), body), expected, "{body}");
    let height = "{\"jsonrpc\":\"2.0\",\"result\":{\"height\":\"0\"},\"id\":2}\n";
    check(r#"{"JSONRPC":"2.0","Id":2,"METHOD":"avm.getHeight"} {"#, height);
    check("{\"j\u{17f}onrpc\":\"2.0\",\"id\":2,\"method\":\"avm.getHeight\"}", height);
    check(
        r#"{"jsonrpc":"1","jsonrpc":"2.0","id":1,"id":2,"method":"x","method":"avm.getHeight"}"#,
        height,
    );
    check(
        r#"{"jsonrpc":"2.0","jsonrpc":null,"id":2,"method":"avm.getHeight","method":null}"#,
        height,
    );
    check(r#"{"\u006asonrpc":"2.0","id":2,"method":"\u0061vm.getHeight","other":[{}]}"#, height);
    check(r#"{"jsonrpc":"2.0","id":2,"id":null,"method":"avm.getHeight"}"#, "");
    check(r#"{"jsonrpc":"2.0","id":2,"method":"avm.getHeight","params":5,"params":null}"#, height);
    // The first of two faults is reported, and the valid members are kept.
    check(
        r#"{"method":[1],"id":3,"jsonrpc":2,"params":{"a": 1}}"#,
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"json: cannot unmarshal array into Go \
         struct field serverRequest.method of type string\",\"data\":{\"jsonrpc\":\"\",\"method\":\"\",\
         \"params\":{\"a\":1},\"id\":3}},\"id\":3}\n",
    );
}

#[test]
fn notifications_run_and_are_not_answered() {
    let counter = Arc::new(AtomicUsize::new(0));
    let service = MethodTable::new("toy")
        .on(
            "count",
            quick(|counter: &AtomicUsize, _: NoArgs| {
                counter.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }),
        )
        .bind(Arc::clone(&counter));
    for body in [
        r#"{"jsonrpc":"2.0","method":"toy.count"}"#,
        r#"{"jsonrpc":"2.0","method":"toy.count","id":null}"#,
    ] {
        let reply = post(&service, body.as_bytes());
        assert_eq!((reply.status, reply.body.len(), reply.content_type), (200, 0, None));
        assert!(reply.nosniff);
    }
    assert_eq!(counter.load(Ordering::Relaxed), 2);
    for body in [
        r#"{"jsonrpc":"2.0","method":"toy.other"}"#,
        r#"{"jsonrpc":"2.0","method":"Toy"}"#,
        r#"{"jsonrpc":"2.0","method":"toy.count","params":5}"#,
        r#"{"jsonrpc":"2","method":"toy.count"}"#,
        "{}",
        "null",
    ] {
        let reply = post(&service, body.as_bytes());
        assert_eq!((reply.status, reply.body.len(), reply.nosniff), (200, 0, false), "{body}");
    }
    assert_eq!(counter.load(Ordering::Relaxed), 2);
    // Whether broken JSON was a notification cannot be known.
    let text = answer(&service, r#"{"jsonrpc":"2.0","method":5}"#);
    assert!(text.contains("-32700") && text.ends_with(",\"id\":null}\n"), "{text}");
}

#[test]
fn every_name_leads_to_the_method() {
    let service = service();
    for name in ["xvm.echo", "avm.echo", "xvm.mirror", "avm.mirror"] {
        assert!(answer(&service, &request(name, "{}")).contains("result"), "{name}");
    }
    // Letters whose upper case is ASCII.
    assert_eq!(answer(&service, &request("avm.\u{131}ssueTx", "{}")), error("nil transaction ID"));
    for name in ["xvm.Echo2", "other.echo", "xvm.echo.x", "echo"] {
        let text = answer(&service, &request(name, "{}"));
        assert!(text.contains("error"), "{text}");
    }
    let quoted = error(r#"rpc: can't find method \"xvm.Nothing\""#);
    assert_eq!(answer(&service, &request("xvm.nothing", "{}")), quoted);
}

#[test]
fn deprecation_is_noted() {
    let body = request("avm.getBalance", "{}");
    let note = DeprecationNote { namespace: "xvm", method: "getBalance", since: "v1.9.12" };
    assert_eq!(post(&service(), body.as_bytes()).deprecation, Some(note));
    let refused = request("avm.getBalance", "5");
    assert_eq!(post(&service(), refused.as_bytes()).deprecation, Some(note));
    assert_eq!(post(&service(), request("avm.getTx", "{}").as_bytes()).deprecation, None);

    let table = MethodTable::new("wallet")
        .on("issueTx", quick(|(): &(), _: NoArgs| Ok(())))
        .on("send", quick(|(): &(), _: NoArgs| Ok(())))
        .deprecated("v1.5.0")
        .instead("other.send")
        .on("sendAsync", waits_with_address(|_, _: NoArgs, _| async { Ok(()) }))
        .deprecated("v1.5.0")
        .on("sendMultiple", blocking(|(): &(), _: NoArgs| Ok(())))
        .deprecated("v1.5.0")
        .deprecate_all("v1.9.12")
        .instead("other.issueTx")
        .on("later", quick(|(): &(), _: NoArgs| Ok(())));
    let service = table.bind(Arc::new(()));
    let since: Vec<_> = service.methods().map(|method| method.deprecated_since).collect();
    let releases = ["v1.9.12", "v1.5.0", "v1.5.0", "v1.5.0"].map(Some);
    assert_eq!(since[..4], releases);
    assert_eq!(since[4], None);
    let instead: Vec<_> = service.methods().map(|method| method.instead).collect();
    let later = Some("other.issueTx");
    assert_eq!(instead, [later, Some("other.send"), later, later, None]);
}

#[test]
fn a_handler_gets_the_client_address() {
    let service = MethodTable::new("test")
        .on(
            "where",
            waits_with_address(|_, _: NoArgs, client: ClientAddress| async move {
                Ok(format!("{client:?}"))
            }),
        )
        .bind(Arc::new(()));
    let Lookup::Found(method) = service.find("test", "where") else { panic!("it is there") };
    let called_by = |caller: Caller| {
        let context = CallContext::for_caller(&caller);
        let reply = block_on(method.call(Params::Absent, &context, Vec::new())).unwrap();
        String::from_utf8(reply.to_vec()).unwrap()
    };
    let work = Work::new(WorkConfig::default());
    for peer in [Some("127.0.0.2"), Some("::1"), None] {
        let peer = peer.map(|text| text.parse().unwrap());
        let caller = Caller { client: Some(work.client(peer)), ..Caller::default() };
        let expected = format!("\"{:?}\"", ClientAddress::from_peer(peer));
        assert_eq!(called_by(caller), expected);
    }
    assert_eq!(called_by(Caller::default()), format!("\"{:?}\"", ClientAddress::IN_PROCESS));
}

#[test]
fn tables_merge_and_list_their_methods() {
    let other = MethodTable::new("xvm")
        .alias("avm")
        .on("buildGenesis", quick(|(): &(), _: NoArgs| Ok("built")))
        .bind(Arc::new(()));
    let merged = service().merge(&other);
    assert!(answer(&merged, &request("avm.buildGenesis", "{}")).contains("built"));
    assert!(answer(&merged, &request("avm.getHeight", "{}")).contains("height"));
    let names: Vec<_> = merged.methods().map(|method| method.name).collect();
    assert_eq!(names.first(), Some(&"getHeight"));
    assert_eq!(names.last(), Some(&"buildGenesis"));
    let echo = merged.methods().find(|method| method.name == "echo").unwrap();
    assert_eq!((echo.namespace, &*echo.namespace_aliases), ("xvm", &["avm"][..]));
    assert_eq!(echo.aliases, ["mirror"]);

    let twice = catch_unwind(|| service().merge(&service())).unwrap_err();
    let text = twice.downcast_ref::<String>().unwrap();
    assert_eq!(text, "xvm.getHeight is registered twice");
}

fn all_kinds() -> Service {
    MethodTable::new("toy")
        .on("quick", quick(|text: &String, _: NoArgs| Ok(text.clone())))
        .on(
            "waits",
            waits(|text: std::sync::Arc<String>, _: NoArgs| async move {
                tokio::task::yield_now().await;
                Ok((*text).clone())
            }),
        )
        .on("long", blocking(|text: &String, _: NoArgs| Ok(text.clone())))
        .on("quickFails", quick(|_, _: NoArgs| Err::<(), _>(RpcError::new("no"))))
        .on("waitsFails", waits(|_, _: NoArgs| async { Err::<(), _>(RpcError::new("no")) }))
        .on("longFails", blocking(|_, _: NoArgs| Err::<(), _>(RpcError::new("no"))))
        .on("quickPanics", quick(|_, _: NoArgs| -> Result<(), RpcError> { panic!("on purpose") }))
        .on(
            "waitsPanics",
            waits(|text: std::sync::Arc<String>, _: NoArgs| async move {
                tokio::task::yield_now().await;
                assert!(text.is_empty(), "on purpose");
                Ok(())
            }),
        )
        .on(
            "longPanics",
            blocking(|_, _: NoArgs| -> Result<(), RpcError> { panic!("on {}", "purpose") }),
        )
        .bind(Arc::new("done".to_owned()))
}

#[test]
fn every_kind_of_handler_answers() {
    let service = all_kinds();
    for kind in ["quick", "waits", "long"] {
        let found = |suffix: &str| answer(&service, &request(&format!("toy.{kind}{suffix}"), "{}"));
        assert_eq!(found(""), "{\"jsonrpc\":\"2.0\",\"result\":\"done\",\"id\":1}\n");
        assert_eq!(found("Fails"), error("no"));
        assert_eq!(found("Panics"), error("method handler crashed"));
        // The service is as good as before.
        assert_eq!(found(""), "{\"jsonrpc\":\"2.0\",\"result\":\"done\",\"id\":1}\n");
        let refused = answer(&service, &request(&format!("toy.{kind}"), "[1]"));
        assert_eq!(refused, error(INVALID_ARGUMENT));
    }
}

#[test]
fn errors_may_have_a_code_and_data() {
    #[derive(Serialize, JsonSchema)]
    struct Data {
        text: &'static str,
    }
    let service = MethodTable::new("toy")
        .on(
            "fails",
            quick(|(): &(), _: NoArgs| {
                Err::<(), _>(RpcError::with_code(3, "no\n").with_data(&Data { text: "<>" }))
            }),
        )
        .on(
            "unwritable",
            quick(|(): &(), _: NoArgs| Ok(std::collections::BTreeMap::from([((), ())]))),
        )
        .bind(Arc::new(()));
    assert_eq!(
        answer(&service, &request("toy.fails", "{}")),
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":3,\"message\":\"no\\n\",\"data\":{\"text\":\"\\u003c\\u003e\"}},\
         \"id\":1}\n"
    );
    let text = answer(&service, &request("toy.unwritable", "{}"));
    assert_eq!(text, error("key must be a string"));
}

#[test]
fn the_core_is_called_without_a_dialect() {
    let service = MethodTable::new("toy")
        .on(
            "named",
            quick(|(): &(), arguments: std::collections::BTreeMap<String, u8>| Ok(arguments)),
        )
        .on_list("sum", quick(|(): &(), (numbers,): (Vec<u64>,)| Ok(numbers.iter().sum::<u64>())))
        .params(&["numbers"])
        .bind(Arc::new(()));
    let run = |name: &str, params: Params<'_>| {
        let Lookup::Found(method) = service.find("toy", name) else { panic!("no {name}") };
        let context = CallContext::new();
        block_on(method.call(params, &context, b"> ".to_vec()))
    };
    let list = Document::first(b"[[1,2,3]]").unwrap();
    assert_eq!(run("sum", Params::List(list)).unwrap().into_vec(), b"> 6");
    let [missing, form] =
        [ParamsError::Missing(0), ParamsError::ExpectedList].map(CallError::Params);
    assert_eq!(run("sum", Params::Absent), Err(missing));
    assert_eq!(run("sum", Params::Named(Document::EMPTY_OBJECT)), Err(form.clone()));
    assert_eq!(form.to_string(), "expected a list of parameters, got named ones");
    let form = CallError::Params(ParamsError::ExpectedNamed);
    assert_eq!(form.to_string(), "expected named parameters, got a list");
    assert_eq!(run("named", Params::List(list)), Err(form));
    assert_eq!(run("named", Params::Absent).unwrap().into_vec(), b"> {}");
    assert!(matches!(service.find("toy", "none"), Lookup::NoMethod));
    assert!(matches!(service.find("none", "sum"), Lookup::NoNamespace));
}

#[test]
fn a_blocking_call_is_cancelled_when_its_client_leaves() {
    let started = Arc::new(Barrier::new(2));
    let (sender, receiver) = mpsc::channel();
    let service = MethodTable::new("toy")
        .on(
            "waits",
            restartable(move |started: &Barrier, _: NoArgs, context| {
                started.wait();
                while !context.is_cancelled() {
                    std::thread::yield_now();
                }
                sender.send("stopped").map_err(|error| RpcError::new(error.to_string()))
            }),
        )
        .bind(Arc::clone(&started));
    let body = request("toy.waits", "{}");
    let caller = Caller::default();
    block_on(async {
        let mut call = Box::pin(object::handle(&service, "POST", JSON, body.as_bytes(), &caller));
        let begun = poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_pending())).await;
        assert!(begun);
        started.wait();
        drop(call);
        assert_eq!(receiver.recv(), Ok("stopped"));
    });
}
