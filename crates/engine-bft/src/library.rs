//! Keys and addresses in the types of the library.

use std::net::{Ipv4Addr, SocketAddr};

use commonware_codec::{Copying, DecodeExt as _, Encode as _};
use commonware_cryptography::ed25519;
use commonware_p2p::{Address, Ingress};
use commonware_utils::Hostname;
use esker_validators::{ValidatorAddress, ValidatorKey, ValidatorPublicKey};

/// A type with a counterpart in the library.
pub(crate) trait ToLibrary {
    /// The library's type.
    type Library;

    /// The library's form.
    fn to_library(&self) -> Self::Library;
}

impl ToLibrary for ValidatorKey {
    type Library = ed25519::PrivateKey;

    fn to_library(&self) -> ed25519::PrivateKey {
        let key = ed25519::PrivateKey::decode(Copying(self.secret_bytes().as_slice()));
        key.expect("any 32 bytes are an ed25519 secret key")
    }
}

impl ToLibrary for ValidatorPublicKey {
    type Library = ed25519::PublicKey;

    fn to_library(&self) -> ed25519::PublicKey {
        ed25519::PublicKey::decode(Copying(self.as_bytes().as_slice()))
            .expect("the constructor checked the point")
    }
}

impl ToLibrary for ValidatorAddress {
    type Library = Address;

    fn to_library(&self) -> Address {
        match self {
            Self::Socket(address) => Address::Symmetric(*address),
            Self::Name(host, port) => {
                let host = Hostname::new(host.as_str()).expect("the constructor checked the name");
                // Peers prove their key: the address that they connect from does not count.
                let egress = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
                Address::Asymmetric { ingress: Ingress::Dns { host, port: *port }, egress }
            }
        }
    }
}

/// The public key of the library's form.
pub(crate) fn from_library(key: &ed25519::PublicKey) -> ValidatorPublicKey {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(&key.encode());
    ValidatorPublicKey::from_bytes(bytes).expect("the library's keys are points of the curve")
}

#[cfg(test)]
mod tests {
    use commonware_cryptography::Signer as _;

    use super::*;

    #[test]
    fn keys_are_those_of_the_library() {
        for n in 0..32 {
            let key = ValidatorKey::from_bytes(&[n; 32]);
            assert_eq!(key.to_library().public_key(), key.public_key().to_library());
            assert_eq!(from_library(&key.public_key().to_library()), key.public_key());
        }
    }

    /// Both take the same bytes for a key, also those that are not in canonical form.
    #[test]
    fn bytes_are_a_public_key_here_and_in_the_library() {
        let numbers = (0..=u8::MAX).map(|first| (first, 0));
        let numbers = numbers.chain((0..=u8::MAX).flat_map(|first| [(first, 0x7f), (first, 0xff)]));
        for (first, rest) in numbers {
            let mut bytes = [rest; 32];
            bytes[0] = first;
            let of_library = ed25519::PublicKey::decode(Copying(bytes.as_slice()));
            assert_eq!(
                ValidatorPublicKey::from_bytes(bytes).is_ok(),
                of_library.is_ok(),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn names_and_addresses_are_those_of_the_library() {
        let library = |text: &str| text.parse::<ValidatorAddress>().unwrap().to_library();
        let socket = "127.0.0.1:9700".parse().unwrap();
        assert_eq!(library("127.0.0.1:9700"), Address::Symmetric(socket));
        let longest = format!("{}:1", ["a"; 127].join("."));
        for text in ["one.example.org:9700", "1-a:1", &longest] {
            let Address::Asymmetric { ingress: Ingress::Dns { host, port }, .. } = library(text)
            else {
                panic!("{text} is a name");
            };
            assert_eq!(format!("{}:{port}", host.as_str()), text);
        }
    }
}
