//! Every known answer of `tests/vectors/x-chain.json` that concerns primitives.

use esker_primitives::keys::{PrivateKey, Signature};
use esker_primitives::{Id, ShortId, Writer, address, bech32, cb58, hash, hexfmt, network};
use serde_json::Value;

/// Vectors that other crates drive, by the start of their names.
const ELSEWHERE: [&str; 10] = [
    "tx-",
    "utxo-",
    "native-",
    "x-chain-",
    "c-chain-",
    "build-",
    "genesis-",
    "block-",
    "password-",
    "env-",
];

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn unhex(value: &Value) -> Vec<u8> {
    hex::decode(text(value)).unwrap()
}

fn key(input: &Value) -> PrivateKey {
    match input.get("privateKey") {
        Some(key) => text(key).parse().unwrap(),
        None => PrivateKey::from_slice(&unhex(&input["privateKeyHex"])).unwrap(),
    }
}

#[test]
fn all() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/x-chain.json");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len() as u64, file["count"].as_u64().unwrap());
    let mut driven = 0;
    for vector in vectors {
        let (name, input, expected) =
            (text(&vector["name"]), &vector["input"], &vector["expected"]);
        if ELSEWHERE.iter().any(|start| name.starts_with(start)) {
            hashed(name, input, expected);
            continue;
        }
        check(name, input, expected);
        driven += 1;
    }
    assert_eq!(driven, 32);
}

/// The id of whatever is given with its bytes.
fn hashed(name: &str, input: &Value, expected: &Value) {
    let bytes = [input, expected].into_iter().find_map(|side| side.get("hex"));
    let id = ["txID", "id"].into_iter().find_map(|member| expected.get(member));
    if let (Some(bytes), Some(id)) = (bytes, id) {
        assert_eq!(Id::sha256(&unhex(bytes)).to_string(), text(id), "{name}");
    }
}

fn check(name: &str, input: &Value, expected: &Value) {
    let kind = name.trim_start_matches("hex-");
    match name.split('-').next().unwrap() {
        "cb58" => {
            let bytes = unhex(&input["bytes"]);
            assert_eq!(cb58::encode(&bytes), text(&expected["cb58"]), "{name}");
            assert_eq!(cb58::decode(text(&expected["cb58"])).unwrap(), bytes, "{name}");
        }
        "hex" if kind.starts_with("invalid") => {
            let fault = hexfmt::decode_checked(text(&input["hex"])).unwrap_err();
            assert_eq!(fault.to_string(), text(&expected["error"]), "{name}");
        }
        "hex" if kind == "checksum-text" => {
            let bytes = hexfmt::decode_checked(text(&input["hex"])).unwrap();
            assert_eq!(bytes, text(&expected["text"]).as_bytes(), "{name}");
        }
        "hex" => {
            let bytes = unhex(&input["bytes"]);
            assert_eq!(hexfmt::encode_checked(&bytes), text(&expected["hex"]), "{name}");
            assert_eq!(hexfmt::decode_checked(text(&expected["hex"])).unwrap(), bytes, "{name}");
        }
        "id" if name.starts_with("id-bad-") => {
            let fault = text(&input["cb58"]).parse::<Id>().unwrap_err();
            assert_eq!(fault.to_string(), text(&expected["error"]), "{name}");
        }
        "id" => {
            let id = Id::from_slice(&unhex(&input["bytes"])).unwrap();
            assert_eq!(id.to_string(), text(&expected["cb58"]), "{name}");
            assert_eq!(text(&expected["cb58"]).parse(), Ok(id), "{name}");
        }
        "inputid" => {
            let tx_id = Id::from_slice(&unhex(&input["txID"])).unwrap();
            let id = tx_id.prefixed(input["index"].as_u64().unwrap());
            assert_eq!(id.to_string(), text(&expected["id"]), "{name}");
        }
        "fxid" => {
            let id = Id::from_ascii_name(text(&input["name"]));
            assert_eq!(id.to_string(), text(&expected["cb58"]), "{name}");
        }
        "key" => key_address(name, input, expected),
        "sign" => {
            let (key, message) = (key(input), text(&input["message"]).as_bytes());
            let signature = key.sign(message);
            assert_eq!(signature.as_bytes().as_slice(), unhex(&expected["signature"]), "{name}");
            assert_eq!(signature.recover(&hash::sha256(message)), Ok(key.public_key()), "{name}");
        }
        "rfc6979" => {
            let signature = key(input).sign(text(&input["message"]).as_bytes());
            assert_eq!(signature.as_bytes()[..64], unhex(&expected["rs"]), "{name}");
        }
        "recover" => {
            let signature = Signature::new(unhex(&input["signature"]).try_into().unwrap());
            let signer = signature.recover(&hash::sha256(&unhex(&input["unsignedBytes"])));
            let address = signer.unwrap().address();
            assert_eq!(address.as_bytes().as_slice(), unhex(&expected["addressHex"]), "{name}");
        }
        "bech32" => {
            let given = text(&input["address"]);
            let fault = address::split(given).unwrap_err();
            let fault_text = format!("couldn't parse address {given:?}: {fault}");
            assert_eq!(fault_text, text(&expected["error"]), "{name}");
        }
        "fx" => codec(name, input, expected),
        _ => panic!("nothing drives the vector {name}"),
    }
}

fn key_address(name: &str, input: &Value, expected: &Value) {
    let key = key(input);
    assert_eq!(key.to_text().parse().as_ref(), Ok(&key), "{name}");
    let address = key.address();
    if let Some(short) = expected.get("shortID") {
        assert_eq!(address.to_string(), text(short), "{name}");
        assert_eq!(text(short).parse(), Ok(address), "{name}");
    }
    if let Some(bytes) = expected.get("addressHex") {
        assert_eq!(address.as_bytes().as_slice(), unhex(bytes), "{name}");
    }
    if let Some(shown) = expected.get("address") {
        let (chain, hrp) = (text(&input["chain"]), text(&input["hrp"]));
        assert_eq!(address::format(chain, hrp, &address), text(shown), "{name}");
        let (got_chain, got_hrp, data) = address::split(text(shown)).unwrap();
        assert_eq!((got_chain.as_str(), got_hrp.as_str()), (chain, hrp), "{name}");
        assert_eq!(ShortId::from_slice(&data), Ok(address), "{name}");
        assert_eq!(bech32::decode(&text(shown)[2..]).unwrap().1, address.as_bytes(), "{name}");
    }
}

fn codec(name: &str, input: &Value, expected: &Value) {
    let mut w = Writer::new();
    w.u16(0);
    if let Some(amount) = input.get("amount") {
        w.u64(amount.as_u64().unwrap());
        let indices = input["signatureIndices"].as_array().unwrap();
        w.len(indices.len());
        indices.iter().for_each(|index| w.u32(index.as_u64().unwrap() as u32));
    } else {
        let signatures = input["signatures"].as_array().unwrap();
        w.len(signatures.len());
        signatures.iter().for_each(|signature| w.fixed(&unhex(signature)));
    }
    assert_eq!(w.as_slice(), unhex(&expected["hex"]), "{name}");
}

#[test]
fn prefixes_of_addresses() {
    let cases = [
        (1, "mainnet", "avax"),
        (2, "cascade", "cascade"),
        (3, "denali", "denali"),
        (4, "everest", "everest"),
        (5, "fuji", "fuji"),
        (10, "testing", "testing"),
        (12345, "local", "local"),
        (0, "network-0", "custom"),
        (7, "network-7", "custom"),
        (u32::MAX, "network-4294967295", "custom"),
    ];
    for (id, name, hrp) in cases {
        assert_eq!((network::name(id).as_ref(), network::hrp(id)), (name, hrp));
        assert_eq!(network::id(name), Some(id));
    }
    assert_eq!(network::id("Testnet"), Some(5));
    assert_eq!(network::id("77"), Some(77));
    for unknown in ["", "main", "network-", "network--1", "-1", "4294967296", "é"] {
        assert_eq!(network::id(unknown), None, "{unknown}");
    }
}
