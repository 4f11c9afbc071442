//! Bad signatures and their texts, as a live reference node returned them for one transaction.

use esker_primitives::keys::{PrivateKey, Signature, SignatureError};
use esker_primitives::{PublicKey, hash};

/// The unsigned bytes that all signatures here are about.
const UNSIGNED: &str = concat!(
    "00000000000000003039d891ad56056d9c01f18f43f58b5c784ad07a4a49cf3d1f11623804b5cba2c6bf00000001",
    "dbcf890f77f49b96857648b72b77f9f82937f28a68704af05da0dc12ba53f2db000000070429d069187f7acc0000",
    "00000000000000000001000000013cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c00000001d1798af6c0f5ce74",
    "642be6821f04f1a8623b6bf6a6a8279c8a34266c8517fda500000003dbcf890f77f49b96857648b72b77f9f82937",
    "f28a68704af05da0dc12ba53f2db000000050429d069188ebd0c000000010000000000000000",
);
const R: &str = "54a0d5c78abd74fdc4cb85be01d74bec094591003343aedb81304e61be0e001e";
const S: &str = "761609c59421f824efd87f823c97ddc8edd2fd8ebb2fc608250b8dd09d258a00";
const OTHER_S: &str = "89e9f63a6bde07db1027807dc3682235ccdbdf57f418da339ac6d0bc3310b741";
const WELL_KNOWN: &str = "PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN";

fn unsigned_hash() -> [u8; 32] {
    hash::sha256(&hex::decode(UNSIGNED).unwrap())
}

fn recover(r: &str, s: &str, code: u8) -> Result<PublicKey, SignatureError> {
    let bytes = [hex::decode(r).unwrap(), hex::decode(s).unwrap(), vec![code]].concat();
    Signature::new(bytes.try_into().unwrap()).recover(&unsigned_hash())
}

#[test]
fn error_texts_match_the_reference() {
    use SignatureError::{Compressed, Invalid, Mutated};
    let key: PrivateKey = WELL_KNOWN.parse().unwrap();
    let good = key.sign_hash(&unsigned_hash());
    assert_eq!(hex::encode(good.as_bytes()), format!("{R}{S}00"));
    assert_eq!(recover(R, S, 0), Ok(key.public_key()));
    // Another code recovers another key, or none.
    assert!(recover(R, S, 1).is_ok_and(|other| other != key.public_key()));
    let (zero, ones) = ("00".repeat(32), "ff".repeat(32));
    let tampered = R.replacen("54", "55", 1);
    let cases = [
        (R, OTHER_S, 1, Mutated),
        (R, S, 2, Invalid),
        (R, S, 3, Invalid),
        (R, S, 4, Compressed),
        (R, S, 5, Compressed),
        (R, S, 6, Invalid),
        (R, S, 7, Invalid),
        (R, S, 8, Invalid),
        (R, S, 27, Invalid),
        (R, S, 255, Invalid),
        (&zero, &zero, 0, Invalid),
        (R, &zero, 0, Invalid),
        (&zero, S, 0, Invalid),
        // From the group's order upwards `s` wraps around to a small number.
        (&ones, &ones, 0, Invalid),
        (R, "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 0, Invalid),
        (R, "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364140", 0, Mutated),
        (R, "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1", 0, Mutated),
        (&tampered, S, 0, Invalid),
        // The form of `s` is checked before everything else.
        (&zero, OTHER_S, 8, Mutated),
    ];
    for (r, s, code, expected) in cases {
        assert_eq!(recover(r, s, code), Err(expected), "{r} {s} {code}");
    }
    // Exactly half of the order is still low.
    let half = "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0";
    assert!(recover(R, half, 0).is_ok());
    assert_eq!(Mutated.to_string(), "signature was mutated from its original format");
    assert_eq!(Invalid.to_string(), "invalid signature");
    assert_eq!(Compressed.to_string(), "wasn't expecting a compressed key");
}

#[test]
fn new_keys_come_from_the_given_bytes() {
    // The first bytes are no key, so a second try is made.
    let mut tries = 0;
    let key = PrivateKey::generate(&mut |bytes| {
        bytes.fill(if tries == 0 { 0xff } else { 7 });
        tries += 1;
    });
    assert_eq!((key.as_bytes(), tries), (&[7; 32], 2));
}
