//! Every decoder takes any text, and gives back what was encoded; other implementations agree.

use esker_primitives::go;
use esker_primitives::keys::{PrivateKey, Signature};
use esker_primitives::{Id, NodeId, ShortId, address, bech32, cb58, hash, hexfmt};
use proptest::prelude::*;

/// Texts that get past the first checks more often than any text does.
fn near_text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".*",
        "[1-9A-HJ-NP-Za-km-z]{0,60}",
        "1{0,40}[1-9A-HJ-NP-Za-km-z]{0,20}",
        "0x[0-9a-fA-Fg]{0,20}",
        "[XPC]-[a-z]{0,6}1[qpzry9x8gf2tvdw0s3jn54khce6mua7lb]{0,50}",
        "[a-z]{1,6}1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]{6,84}",
        "(NodeID-|PrivateKey-)[1-9A-HJ-NP-Za-km-z]{0,60}",
    ]
}

/// The bytes of a text by another implementation of base58, checksum included.
fn bs58_decode(text: &str) -> Option<Vec<u8>> {
    bs58::decode(text).into_vec().ok().filter(|_| !text.is_empty())
}

proptest! {
    #[test]
    fn decoders_are_total(text in near_text()) {
        if let Ok(bytes) = cb58::decode(&text) {
            prop_assert_eq!(cb58::encode(&bytes), text.clone());
        }
        let bytes = bs58_decode(&text).and_then(|bytes| {
            let (bytes, check) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
            (check == hash::checksum(bytes)).then(|| bytes.to_vec())
        });
        prop_assert_eq!(cb58::decode(&text).ok(), bytes);
        if let Ok(bytes) = hexfmt::decode_plain(&text) && !text.is_empty() {
            prop_assert_eq!(hexfmt::encode_plain(&bytes), text.to_ascii_lowercase());
        }
        let _ = hexfmt::decode_checked(&text);
        let _ = address::split(&text);
        let _ = bech32::decode(&text);
        let _ = (text.parse::<Id>(), text.parse::<ShortId>());
        let _ = (text.parse::<NodeId>(), text.parse::<PrivateKey>());
    }

    #[test]
    fn cb58_round_trip(zeros in 0usize..40, tail: Vec<u8>) {
        let bytes = [vec![0; zeros], tail].concat();
        let text = cb58::encode(&bytes);
        let checked = [&bytes[..], &hash::checksum(&bytes)].concat();
        prop_assert_eq!(&text, &bs58::encode(checked).into_string());
        prop_assert_eq!(cb58::decode(&text), Ok(bytes));
    }

    #[test]
    fn ids_round_trip(zeros in 0usize..=32, mut bytes: [u8; 32]) {
        bytes[..zeros].fill(0);
        let id = Id::new(bytes);
        prop_assert_eq!(id.to_string(), cb58::encode(&bytes));
        prop_assert_eq!(id.to_string().parse(), Ok(id));
        let short = ShortId::from_slice(&bytes[..20]).unwrap();
        prop_assert_eq!(short.to_string().parse(), Ok(short));
        prop_assert_eq!(NodeId(short).to_string().parse(), Ok(NodeId(short)));
    }

    #[test]
    fn hex_round_trip(bytes: Vec<u8>) {
        let text = hexfmt::encode_checked(&bytes);
        prop_assert_eq!(hexfmt::decode_checked(&text), Ok(bytes.clone()));
        prop_assert_eq!(hexfmt::decode_plain(&hexfmt::encode_plain(&bytes)), Ok(bytes));
    }

    #[test]
    fn bech32_round_trip(hrp in "[a-z0-9]{1,20}", bytes in prop::collection::vec(any::<u8>(), 0..38)) {
        let text = bech32::encode(&hrp, &bytes);
        let other = ::bech32::Hrp::parse(&hrp).unwrap();
        prop_assert_eq!(&text, &::bech32::encode::<::bech32::Bech32>(other, &bytes).unwrap());
        let mut decoded = bech32::decode(&text).unwrap();
        // Five bits that don't fill a byte are padded to one more: a byte of zeros.
        decoded.1.truncate(bytes.len());
        prop_assert_eq!(decoded, (hrp.clone(), bytes.clone()));
        let with_m = ::bech32::encode::<::bech32::Bech32m>(other, &bytes).unwrap();
        prop_assert!(bech32::decode(&with_m).is_ok());
        prop_assert!(bech32::decode(&text.to_ascii_uppercase()).is_ok());
    }

    #[test]
    fn addresses_round_trip(alias in "[A-Za-z0-9]{1,10}", bytes: [u8; 20]) {
        let text = address::format(&alias, "local", &ShortId::new(bytes));
        prop_assert_eq!(address::split(&text), Ok((alias, "local".to_owned(), bytes.to_vec())));
    }

    #[test]
    fn signers_are_recovered(secret in any::<[u8; 32]>(), message: Vec<u8>) {
        let Ok(key) = PrivateKey::from_slice(&secret) else { return Ok(()) };
        let signature = key.sign(&message);
        prop_assert!(signature.as_bytes()[64] < 4);
        let signer = signature.recover(&hash::sha256(&message)).unwrap();
        prop_assert_eq!(signer.address(), key.address());
        prop_assert_eq!(key.to_text().parse::<PrivateKey>(), Ok(key));
    }

    #[test]
    fn recovery_is_total(head: [u8; 32], tail: [u8; 32], code: u8, hash: [u8; 32]) {
        let bytes = [&head[..], &tail[..], &[code]].concat();
        let _ = Signature::new(bytes.try_into().unwrap()).recover(&hash);
    }

    #[test]
    fn go_quotes_any_bytes(bytes: Vec<u8>, text: String) {
        let quoted = go::quote_bytes(&bytes);
        prop_assert!(quoted.starts_with('"') && quoted.ends_with('"') && quoted.len() >= 2);
        prop_assert!(go::quote(&text).chars().all(go::is_print));
        prop_assert_eq!(go::quote(&text), go::quote_bytes(text.as_bytes()));
    }
}
