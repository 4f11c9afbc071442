//! Small requests that cause much work.

use serde_json::{Value, json};

/// The address of code in overrides.
const CONTRACT: &str = "0x00000000000000000000000000000000000000aa";

/// JUMPDEST, PUSH 0, JUMP: runs until its gas is used up.
pub const ENDLESS: &str = "0x5b600056";

/// A call of the positional dialect.
pub fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// A call of code that is at no address.
pub fn call_of(code: &str) -> Value {
    let code = json!({ CONTRACT: { "code": code } });
    request("eth_call", &json!([{ "to": CONTRACT }, "latest", code]))
}

/// A call that returns this many bytes of memory, as twice as many letters.
pub fn large_call(bytes: u32) -> Value {
    // PUSH4 bytes, PUSH1 0, RETURN.
    call_of(&format!("0x63{bytes:08x}6000f3"))
}

/// A batch that has the call several times.
pub fn batch(call: &Value, times: usize) -> String {
    Value::from(vec![call.clone(); times]).to_string()
}

/// A call that passes zeros to a precompiled contract, as often as the gas allows.
pub fn precompiled(address: u8, bytes: u32) -> Value {
    // JUMPDEST; STATICCALL(gas, address, 0, bytes, 0, 0); POP; PUSH1 0; JUMP.
    call_of(&format!("0x5b6000600063{bytes:08x}600060{address:02x}5afa50600056"))
}

/// A mebibyte, as an operand: PUSH3.
const MIB: &str = "62100000";

/// JUMPDEST, the repeated code, PUSH 0, JUMP.
fn looped(body: &str) -> String {
    format!("0x5b{body}600056")
}

/// The same code unrolled, with few jumps.
fn unrolled(body: &str) -> String {
    looped(&body.repeat(20_000 / body.len()))
}

/// Code that runs first, followed by repeated code.
fn looped_after(before: &str, body: &str) -> String {
    let start = before.len() / 2;
    format!("0x{before}5b{body}61{start:04x}56")
}

/// STATICCALL of a precompiled contract with this many bytes of memory and all gas, POP.
fn static_call(address: u8, bytes: u32) -> String {
    format!("6000600063{bytes:08x}600060{address:02x}5afa50")
}

/// Writes a word to memory: PUSH32, PUSH2, MSTORE.
fn store(at: u16, word: &str) -> String {
    format!("7f{word:0>64}61{at:04x}52")
}

/// Code that calls MODEXP with numbers of these lengths, all ones. Base and modulus differ.
fn modexp(base: u16, exponent: u16, modulus: u16) -> String {
    let lengths = [base, exponent, modulus].map(|length| format!("{length:x}"));
    let mut before: String =
        [0, 32, 64].into_iter().zip(&lengths).map(|(at, length)| store(at, length)).collect();
    // A word of ones, which MCOPY doubles until all numbers exist.
    before += &store(96, &"ff".repeat(32));
    let end = 96 + u32::from(base) + u32::from(exponent) + u32::from(modulus);
    let mut length = 32;
    while 96 + length < end {
        before += &format!("61{length:04x}606063{:08x}5e", 96 + length);
        length *= 2;
    }
    looped_after(&before, &static_call(5, end))
}

/// The generators of both groups of bn254, 192 bytes.
const GENERATORS: &str = "\
    0000000000000000000000000000000000000000000000000000000000000001\
    0000000000000000000000000000000000000000000000000000000000000002\
    198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2\
    1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed\
    090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b\
    12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa";

/// Code that calls a pairing with a power of two of pairs.
fn pairings(doublings: u32) -> String {
    let words = (0..6).map(|at| store(32 * at, &GENERATORS[64 * usize::from(at)..][..64]));
    let mut before: String = words.collect();
    for doubling in 0..doublings {
        let length = 192_u32 << doubling;
        before += &format!("62{length:06x}600062{length:06x}5e");
    }
    looped_after(&before, &static_call(8, 192 << doublings))
}

/// Code that spends the gas of a call on each operation that is slow for its gas, mostly with few jumps; by name.
pub fn bombs() -> Vec<(&'static str, String)> {
    let hash = format!("{MIB}60002050");
    // The slowest arithmetic: (N - 1) * (N - 1) mod N of 256 bits.
    let products = format!("0x60bc1960bd19805b{}600756", "8282820950".repeat(2_000));
    // The generator of bn254's first group, twice.
    let points =
        [(0, "1"), (32, "2"), (64, "1"), (96, "2")].map(|(at, word)| store(at, word)).concat();
    // The generator of secp256k1 is the point of the signature.
    let generator = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    let signature = [(0, "7"), (32, "1b"), (64, generator), (96, "5")]
        .map(|(at, word)| store(at, word))
        .concat();
    vec![
        ("jumps", ENDLESS.to_owned()),
        ("hashes of 1 MiB in a loop", looped(&hash)),
        ("hashes of 1 MiB one after the other", unrolled(&hash)),
        ("copies of 1 MiB", unrolled(&format!("{MIB}6000600039"))),
        ("logs of 128 KiB", unrolled("620200006000a0")),
        ("powers", unrolled("600019800a50")),
        ("products", products),
        ("slots", unrolled("5a5450")),
        ("accounts", unrolled("5a3150")),
        ("creations of 40,000 bytes", unrolled("619c4060006000f050")),
        ("recoveries of signatures", looped_after(&signature, &static_call(1, 128))),
        ("SHA-256 of 1 MiB", looped(&static_call(2, 1 << 20))),
        ("RIPEMD-160 of 1 MiB", looped(&static_call(3, 1 << 20))),
        ("the identity of 1 MiB", looped(&static_call(4, 1 << 20))),
        ("modular powers of 1,024 bytes", modexp(1_023, 1_024, 1_024)),
        ("modular powers with long exponents", modexp(7, 60_000, 8)),
        ("modular squares of 30,000 bytes", modexp(29_999, 1, 30_000)),
        ("additions on bn254", looped_after(&points, &static_call(6, 128))),
        ("multiplications on bn254", looped_after(&points, &static_call(7, 96))),
        ("pairings of 256 pairs", pairings(8)),
        (
            "48,000,000 rounds of BLAKE2b",
            looped_after(
                &store(0, &format!("{:x}{}", 48_000_000_u32, "0".repeat(56))),
                &static_call(9, 213),
            ),
        ),
    ]
}
