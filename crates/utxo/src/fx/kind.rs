//! The feature extensions that there are.

use esker_primitives::ids::Id;

/// One of the three feature extensions. The number is its index on every chain of the asset VM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FxKind {
    /// Amounts of fungible assets.
    Secp256k1 = 0,
    /// Non-fungible tokens.
    Nft = 1,
    /// Properties: minted and burned, never transferred.
    Property = 2,
}

impl FxKind {
    /// All, by index.
    pub const ALL: [Self; 3] = [Self::Secp256k1, Self::Nft, Self::Property];

    /// Index among the chain's extensions.
    pub const fn index(self) -> u32 {
        match self {
            Self::Secp256k1 => 0,
            Self::Nft => 1,
            Self::Property => 2,
        }
    }

    /// The extension of that index.
    pub fn from_index(index: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|fx| fx.index() == index)
    }

    /// The reference's name, which padded with zeros is the extension's ID.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Secp256k1 => "secp256k1fx",
            Self::Nft => "nftfx",
            Self::Property => "propertyfx",
        }
    }

    /// ID: the name, padded with zeros.
    pub fn id(self) -> Id {
        Id::from_ascii_name(self.name())
    }

    /// The ID's text.
    pub const fn id_text(self) -> &'static str {
        match self {
            Self::Secp256k1 => "spdxUxVJQbX85MGxMHbKw1sHxMnSqJ3QBzDyDYEP3h6TLuxqQ",
            Self::Nft => "qd2U4HDWUvMrVUeTcCHp6xH3Qpnn1XbU5MDdnBoiifFqvgXwT",
            Self::Property => "rXJsCSEYXg2TehWxCEEGj6JU2PWKTkd6cBdNLjoe2SpsKD9cy",
        }
    }
}
