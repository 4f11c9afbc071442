//! `muxTracer`.

use esker_evm_execution::executor::Message;
use esker_evm_execution::trace::{TxPlace, tracers};

use super::{call, lab, run_on, trace};
use crate::machine::{CODE, Lab};

/// A message with all kinds of events.
fn busy() -> (Lab, Message) {
    let lab = lab([
        "63aabbccdd60e01b5f52 60015f55 5f54 5f5f60245f5fINNER5af1 60045f5ff0 5f5fa0",
        "60025f55 5f5ffd",
        "",
    ]);
    let message = call(Some(CODE), &[1, 2, 3, 4, 5], 6);
    (lab, message)
}

#[test]
fn each_tracer_sees_what_it_sees_alone() {
    let (lab, message) = busy();
    let named = [
        ("4byteTracer", "null"),
        ("callTracer", r#"{"withLog":true}"#),
        ("consoleTracer", "{}"),
        ("flatCallTracer", r#"{"convertParityErrors":true}"#),
        ("noopTracer", "{}"),
        ("prestateTracer", r#"{"diffMode":true}"#),
    ];
    // Results are in the order of names, whatever the order of the tracers.
    let parts = named.map(|(name, config)| format!(r#""{name}":{config}"#));
    let config = format!("{{{}}}", parts.iter().rev().cloned().collect::<Vec<_>>().join(", "));
    let alone =
        named.map(|named| format!(r#""{}":{}"#, named.0, trace(&lab, &message, named).unwrap()));
    let want = format!("{{{}}}", alone.join(","));
    assert_eq!(trace(&lab, &message, ("muxTracer", &config)).as_ref(), Ok(&want));
    // A tracer can be within other tracers.
    let nested = format!(r#"{{"muxTracer":{{"muxTracer":{config},"noopTracer":null}}}}"#);
    let want = format!(r#"{{"muxTracer":{{"muxTracer":{want},"noopTracer":{{}}}}}}"#);
    assert_eq!(trace(&lab, &message, ("muxTracer", &nested)), Ok(want));
}

#[test]
fn without_tracers_there_is_nothing() {
    let (lab, message) = busy();
    for config in ["null", "{}", " { } "] {
        assert_eq!(trace(&lab, &message, ("muxTracer", config)).as_deref(), Ok("{}"));
    }
    let twice = r#"{"prestateTracer":5,"prestateTracer":{"diffMode":true}}"#;
    let traced = trace(&lab, &message, ("muxTracer", twice)).unwrap();
    assert!(traced.starts_with(r#"{"prestateTracer":{"post":"#), "{traced}");
}

#[test]
fn what_is_wrong_with_one_is_wrong_with_all() {
    let refused = |config: &str| match tracers::create("muxTracer", config) {
        Ok(_) => panic!("{config} is taken"),
        Err(error) => error.to_string(),
    };
    let map = "Go value of type map[string]json.RawMessage";
    assert_eq!(refused("[]"), format!("json: cannot unmarshal array into {map}"));
    assert_eq!(refused(r#""callTracer""#), format!("json: cannot unmarshal string into {map}"));
    assert_eq!(
        refused(r#"{"noopTracer":{},"muxTracer":true}"#),
        format!("json: cannot unmarshal bool into {map}"),
    );
    assert_eq!(
        refused(r#"{"callTracer":{},"prestateTracer":{"diffMode":[]}}"#),
        "json: cannot unmarshal array into Go struct field prestateTracerConfig.diffMode of type bool",
    );
    let none = "muxTracer takes no tracers in JavaScript, trace with them alone";
    let unknown =
        |name: &str| format!("ReferenceError: {name} is not defined at <eval>:1:2(0): {none}");
    assert_eq!(refused(r#"{"nope":{}}"#), unknown("nope"));
    let long = "q".repeat(3000);
    assert_eq!(refused(&format!(r#"{{"{long}":{{}}}}"#)), unknown(&format!("{}...", &long[..100])));
    let script = "{fault:function(){},result:function(){return 1}}";
    assert_eq!(refused(&format!(r#"{{"{script}":{{}}}}"#)), none);
    assert!(refused(r#"{"":{}}"#).starts_with("SyntaxError"));
    // If a tracer fails, the other tracers have no result either.
    let taken = esker_evm_execution::genesis::GenesisAccount { nonce: 1, ..Default::default() };
    let created = crate::machine::ALICE.create(0);
    let phase = crate::machine::until(esker_evm_execution::rules::Phase::Etna);
    let lab = Lab::with(phase, [(created, taken)]);
    let config = r#"{"noopTracer":{},"flatCallTracer":{}}"#;
    let traced = trace(&lab, &call(None, &[], 0), ("muxTracer", config));
    assert_eq!(traced, Err("unrecognized call frame type: STOP".to_owned()));
}

#[test]
fn tracers_are_bounded_in_number_and_together() {
    let nested = |depth: usize| {
        let (open, close) = (r#"{"muxTracer":"#.repeat(depth), "}".repeat(depth));
        tracers::create("muxTracer", &format!("{open}null{close}")).err().map(|e| e.to_string())
    };
    assert_eq!(nested(64), None);
    assert_eq!(nested(65).as_deref(), Some("more than 64 tracers"));
    assert_eq!(nested(5_000).as_deref(), Some("more than 64 tracers"));
    // The bytes that one tracer holds count for the whole output.
    let (lab, message) = busy();
    let config = r#"{"callTracer":{},"flatCallTracer":{},"prestateTracer":{}}"#;
    let traced = |config: &str, limit| {
        let named = ("muxTracer", config);
        run_on(&lab, &lab.block(), &message, TxPlace::default(), named, limit)
            .map(|(text, _)| text.len())
            .map_err(|error| error.to_string())
    };
    let alone = ["callTracer", "flatCallTracer", "prestateTracer"];
    let least = |config: &str| (100..).step_by(50).find(|limit| traced(config, *limit).is_ok());
    let each = alone.map(|name| least(&format!(r#"{{"{name}":null}}"#)).unwrap());
    let together = least(config).unwrap();
    assert!(each.iter().all(|one| *one < together), "{each:?} {together}");
    assert_eq!(traced(config, together - 50), Err("response too large".to_owned()));
}
