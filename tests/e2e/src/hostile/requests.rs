//! Small requests that ask for much.

use serde_json::{Value, json};

/// Where code of overrides lies.
const CONTRACT: &str = "0x00000000000000000000000000000000000000aa";

/// JUMPDEST, PUSH 0, JUMP: runs until its gas is used up.
pub const ENDLESS: &str = "0x5b600056";

/// A call of the positional dialect.
pub fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A call of code that lies nowhere.
pub fn call_of(code: &str) -> Value {
    let code = json!({ CONTRACT: { "code": code } });
    request("eth_call", &json!([{ "to": CONTRACT }, "latest", code]))
}

/// A call that returns so many bytes of memory, twice as many letters.
pub fn large_call(bytes: u32) -> Value {
    // PUSH4 bytes, PUSH1 0, RETURN.
    call_of(&format!("0x63{bytes:08x}6000f3"))
}

/// The call several times.
pub fn batch(call: &Value, times: usize) -> String {
    Value::from(vec![call.clone(); times]).to_string()
}

/// A call that gives a precompiled contract zeros, as many times as gas is there for it.
pub fn precompiled(address: u8, bytes: u32) -> Value {
    // JUMPDEST; STATICCALL(gas, address, 0, bytes, 0, 0); POP; PUSH1 0; JUMP.
    call_of(&format!("0x5b6000600063{bytes:08x}600060{address:02x}5afa50600056"))
}
