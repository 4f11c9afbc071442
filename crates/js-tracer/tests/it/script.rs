//! The environment of scripts, one case for each function or rule.

use crate::lab::{CODE, Lab, OTHER, op};

/// Stores 3 at 2 and in memory, calls [`OTHER`] with 5 wei, which reverts, and returns a word.
fn lab() -> Lab {
    let call = [
        op(&[0, 0, 4, 0, 5], 0x73)[..10].to_vec(),
        [&[0x73][..], OTHER.as_slice(), &[0x5a, 0xf1, 0x50]].concat(),
    ];
    let code = [op(&[3, 2], 0x55), op(&[3, 0], 0x52), call.concat(), op(&[32, 0], 0xf3)];
    Lab::new(&code.concat(), &op(&[0, 0], 0xfd))
}

/// The value of an expression in `result`.
fn value(expression: &str) -> Result<String, String> {
    let source =
        format!("{{fault:function(){{}},result:function(ctx,db){{return [{expression}]}}}}");
    let json = lab().trace(&source, "null")?;
    Ok(json[1..json.len() - 1].to_owned())
}

fn check(expression: &str, wanted: &str) {
    assert_eq!(value(expression).as_deref(), Ok(wanted), "{expression}");
}

#[test]
fn context() {
    check("ctx.type, ctx.gas, ctx.gasUsed > 21000, ctx.block", "\"CALL\",1000000,true,1");
    check("ctx.value, ctx.gasPrice, ctx.error", "\"9\",\"0\",null");
    check("toHex(ctx.from)", "\"0xa11ce00000000000000000000000000000000001\"");
    check("toHex(ctx.to)", &format!("\"{}\"", CODE.to_string().to_lowercase()));
    check("toHex(ctx.input), ctx.input.length", "\"0x0102030405\",5");
    check("toHex(ctx.output).length, ctx.blockHash, ctx.txIndex", "66,null,null");
}

#[test]
fn state() {
    check("db.getBalance(ctx.from).toString(10).length, db.getNonce(ctx.from)", "21,8");
    check("db.exists(ctx.to), db.exists(toAddress('0x77'))", "true,false");
    check("db.getCode(ctx.from).length, db.getCode(ctx.to).length > 9", "0,true");
    check(
        "toHex(db.getState(ctx.to, toWord('0x2')))",
        "\"0x0000000000000000000000000000000000000000000000000000000000000003\"",
    );
}

#[test]
fn conversions() {
    check("toHex([1, 255, 256])", "\"0x01ff00\"");
    check("toHex(toAddress('0xabc')).slice(-4)", "\"0abc\"");
    check("toHex(toAddress('zz'))", "\"0x0000000000000000000000000000000000000000\"");
    check("toHex(toWord('0x' + 'ab'.repeat(33))).length", "66");
    check("toHex(slice(toWord('0x010203'), 29, 32))", "\"0x010203\"");
    check(
        "toWord('0xffaa')[30], JSON.stringify(toWord('0x1')).slice(0, 8)",
        "255,\"{\\\"0\\\":0,\\\"\"",
    );
    check("isPrecompiled(toAddress('0x1')), isPrecompiled(ctx.to)", "true,false");
    check(
        "toHex(toContract('0x6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0', 0))",
        "\"0xcd234a471b72ba2f1ccf0a70fcaba648a5eecd8d\"",
    );
    // EIP-1014, example 1.
    check(
        "toHex(toContract2('0x0000000000000000000000000000000000000000', '0x00', '0x00'))",
        "\"0x4d1a2e2bb4f88f0250f26ffff098b0b30b26bf38\"",
    );
    // The bytes below a view count in full.
    check("toHex(new Uint8Array([1, 2, 3]).subarray(1))", "\"0x010203\"");
}

#[test]
fn big_integers() {
    check(
        "bigInt('123456789012345678901234567890').multiply(3)",
        "\"370370367037037036703703703670\"",
    );
    check("bigInt('ff', 16), bigInt('0xff'), bigInt(7).add(1) + 1", "\"255\",\"255\",9");
    check(
        "bigInt(-7).divide(2), bigInt(-7).mod(2), bigInt(-7).shiftRight(1)",
        "\"-3\",\"-1\",\"-4\"",
    );
    check("bigInt(2).pow(100).toString(16)", "\"10000000000000000000000000\"");
    check("bigInt(5).compare(6), bigInt(5).eq(5), bigInt(5).geq(6)", "-1,true,false");
    check("bigInt(6).gt('5'), bigInt.max(3, 9), bigInt.gcd(12, 18)", "true,\"9\",\"6\"");
    check(
        "bigInt('1e3'), bigInt(2).modPow(10, 1000), bigInt(3).modInv(11)",
        "\"1000\",\"24\",\"4\"",
    );
    check(
        "bigInt(255).toString(36), bigInt(255).bitLength(), bigInt(97).isPrime()",
        "\"73\",\"8\",true",
    );
    check(
        "bigInt(10).divmod(3).remainder, bigInt.zero, bigInt.isInstance(bigInt.one)",
        "\"1\",\"0\",true",
    );
    assert!(value("bigInt(1).divide(0)").unwrap_err().contains("Cannot divide by zero"));
    assert!(value("bigInt('x')").unwrap_err().contains("Invalid integer: x"));
}

#[test]
fn steps_frames_and_faults() {
    let source = "{out:[],
        step:function(log,db){ if (log.op.toString()==='SSTORE') this.out.push(
            log.getPC(), log.getDepth(), log.getCost(), log.getRefund(), log.op.toNumber(), log.op.isPush(),
            log.stack.length(), log.stack.peek(0).toString(), log.stack.peek(1).toString(), log.memory.length(),
            toHex(log.contract.getCaller()).slice(0, 6), log.contract.getValue().toString(),
            toHex(log.contract.getInput()), log.getError() === undefined, db.getNonce(log.contract.getCaller()));
          if (log.op.toString()==='CALL') this.out.push(log.memory.getUint(0).toString(),
            toHex(log.memory.slice(30,34)), log.memory.length()); },
        fault:function(log){ this.out.push('fault', log.op.toString(), log.getError(), log.getDepth()) },
        enter:function(f){ this.out.push(f.getType(), toHex(f.getFrom()).slice(0,6), toHex(f.getTo()).slice(-2),
            toHex(f.getInput()), f.getGas() > 0, f.getValue().toString()) },
        exit:function(r){ this.out.push(r.getGasUsed(), toHex(r.getOutput()), r.getError()) },
        result:function(){ return this.out } }";
    let json = lab().trace(source, "null").unwrap();
    assert_eq!(
        json,
        "[4,1,22100,0,85,false,2,\"2\",\"3\",0,\"0xa11c\",\"9\",\"0x0102030405\",true,8,\"3\",\"0x00030000\",32,\
         \"CALL\",\"0xc0de\",\"02\",\"0x00000000\",true,\"5\",\"fault\",\"REVERT\",\"execution reverted\",2,\
         6,\"0x\",\"execution reverted\"]"
    );
    // Without the hook `step`, a fault is shown nothing but its error.
    let source =
        "{f:[],fault:function(log){this.f.push(log.getError(),log.getPC(),log.op.toString())},
        result:function(){return this.f}}";
    let json = lab().trace(source, "null").unwrap();
    assert_eq!(json, "[\"execution reverted\",0,\"STOP\"]");
}

/// The result of a whole script.
fn run(source: &str) -> String {
    lab().trace(source, "{\"a\": 1}").unwrap_or_else(|error| format!("! {error}"))
}

fn starts(source: &str, wanted: &str) {
    let got = run(source);
    assert!(got.starts_with(wanted), "{source}: {got}");
}

#[test]
fn results() {
    let result =
        |value: &str| run(&format!("{{fault:function(){{}},result:function(){{return {value}}}}}"));
    assert_eq!(result("1"), "1");
    assert_eq!(result("'a<b>&'"), "\"a\\u003cb\\u003e\\u0026\"");
    assert_eq!(result("bigInt(5)"), "\"5\"");
    assert_eq!(result("true"), "true");
    // Go has no members to show of what stands for these.
    assert_eq!(result("null"), "{}");
    assert_eq!(result("undefined"), "{}");
    assert_eq!(result("function(){}"), "null");
    assert_eq!(result("{b:1,a:undefined,c:[undefined]}"), "{\"b\":1,\"c\":[null]}");
    assert_eq!(result("0/0"), "! json: unsupported value: NaN");
    assert!(
        result("(function(){var a={};a.a=a;return a})()")
            .starts_with("! json: error calling MarshalJSON")
    );
    assert_eq!(
        run("{setup:function(c){this.c=c},fault:function(){},result:function(){return this.c}}"),
        "\"{\\\"a\\\": 1}\""
    );
}

#[test]
fn refused_scripts() {
    assert_eq!(run("{step:function(){}}"), "! trace object must expose a function result()");
    assert_eq!(run("{result:function(){}}"), "! trace object must expose a function fault()");
    assert_eq!(run("1"), "! trace object must expose a function result()");
    assert_eq!(
        run("{fault:function(){},result:function(){},enter:function(){}}"),
        "! trace object must expose either both or none of enter() and exit()"
    );
    starts("{", "! SyntaxError");
    starts("", "! SyntaxError");
    starts("nope", "! ReferenceError: nope is not defined");
    starts("null", "! TypeError: Cannot convert undefined or null to object");
    starts("{fault:function(){},result:function(){},get step(){throw 'x'}}", "! x");
    starts("{fault:function(){},result:function(){},setup:function(){throw 'early'}}", "! early");
}

#[test]
fn failing_hooks() {
    let end = "in server-side tracer function 'step'";
    let got = run("{step:function(){throw 'x'},fault:function(){},result:function(){return null}}");
    assert!(got.starts_with("! x") && got.ends_with(end), "{got}");
    let got = run("{step:function(){a.b},fault:function(){},result:function(){return null}}");
    assert!(got.starts_with("! ReferenceError") && got.ends_with(end), "{got}");
    // Also where it is caught.
    let got = run(
        "{step:function(l){try{l.stack.peek(99)}catch(e){}},fault:function(){},result:function(){return 1}}",
    );
    assert!(got.starts_with("! tracer accessed out of bound stack: size 0, index 99"), "{got}");
    let got = run(
        "{step:function(l){while(true){try{l.stack.peek(99)}catch(e){}}},fault:function(){},result:function(){}}",
    );
    assert!(got.starts_with("! tracer accessed out of bound stack: size 0, index 99"), "{got}");
    let got = run(
        "{step:function(l){l.memory.slice(5,4)},fault:function(){},result:function(){return 1}}",
    );
    assert!(got.starts_with("! tracer accessed out of bound memory: offset 5, end 4"), "{got}");
    let got = run(
        "{step:function(l){l.memory.slice(0,5000000)},fault:function(){},result:function(){return 1}}",
    );
    assert!(got.starts_with("! reached limit for padding memory slice: 5000000"), "{got}");
    let got = run("{step:function(l){toHex('0x')},fault:function(){},result:function(){return 1}}");
    assert!(got.starts_with("! invalid buffer type"), "{got}");
    // The result's own failure comes first, as in the reference.
    let got = run("{step:function(){throw 'x'},fault:function(){},result:function(){throw 'y'}}");
    assert!(got.starts_with("! y") && got.ends_with("'result'"), "{got}");
    // An exception whose text throws.
    let got = run(
        "{step:function(){throw {toString:function(){throw 1}}},fault:function(){},result:function(){return 1}}",
    );
    assert!(got.starts_with("! an exception that has no text"), "{got}");
}

#[test]
fn nothing_of_the_system_is_there() {
    for name in ["std", "os", "require", "process", "print", "scriptArgs", "bjs_worker", "native"] {
        check(&format!("typeof {name}"), "\"undefined\"");
    }
    let got = run(
        "{fault:function(){},result:function(){import('os').then(function(){},function(){});return 1}}",
    );
    assert_eq!(got, "1");
}

#[test]
fn greedy_scripts_end_with_an_error() {
    let script = |step: &str| {
        format!(
            "{{step:function(log){{{step}}},fault:function(){{}},result:function(){{return 1}}}}"
        )
    };
    let end = "in server-side tracer function 'step'";
    let got = run(&script("var a=[];while(true)a.push(new Array(100000))"));
    assert!(got.contains("memory") && got.ends_with(end), "{got}");
    let got = run(&script("var s='x';while(true)s+=s"));
    assert!(got.starts_with("! ") && got.ends_with(end), "{got}");
    let got = run(&script("(function f(){f()})()"));
    assert!(got.contains("stack") && got.ends_with(end), "{got}");
    let got = run(&script("var a=[];while(true)a.push(log.memory.slice(0,1000000))"));
    assert!(got.starts_with("! ") && got.ends_with(end), "{got}");
    // Deep nesting of what is encoded.
    let got = run(
        "{fault:function(){},result:function(){var a=[];for(var i=0;i<1000000;i++)a=[a];return a}}",
    );
    assert!(got.starts_with("! json: error calling MarshalJSON"), "{got}");
}

#[test]
fn each_transaction_has_an_engine_of_its_own() {
    let lab = lab();
    let spoil = "{fault:function(){},result:function(){Object.prototype.spoilt=1;globalThis.toHex=function(){return 'no'};return 1}}";
    assert_eq!(lab.trace(spoil, "null").as_deref(), Ok("1"));
    let look = "{fault:function(){},result:function(){return [{}.spoilt,toHex([1])]}}";
    assert_eq!(lab.trace(look, "null").as_deref(), Ok("[null,\"0x01\"]"));
}
