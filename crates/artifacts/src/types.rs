//! Types of the ABI.

use serde::Deserialize;

/// Most arrays and tuples within each other.
const MAX_DEPTH: usize = 8;
/// Most types in the parameters of an item.
pub(crate) const MAX_TYPES: usize = 256;
/// Most bytes of a type's text.
const MAX_TEXT: usize = 128;
/// Most bytes of a name.
pub(crate) const MAX_NAME: usize = 128;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AbiType {
    /// Of so many bits.
    Uint(usize),
    /// Of so many bits.
    Int(usize),
    Address,
    Bool,
    /// Of so many bytes.
    FixedBytes(usize),
    Bytes,
    String,
    Array(Box<Self>),
    FixedArray(Box<Self>, usize),
    Tuple(Vec<Param>),
}

/// A parameter, or a member of a tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Param {
    /// Empty: it has none.
    pub(crate) name: String,
    pub(crate) ty: AbiType,
    /// Whether it is a topic of its event.
    pub(crate) is_indexed: bool,
}

/// A parameter as artifacts have it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct RawParam {
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(rename = "type")]
    pub(crate) ty: String,
    #[serde(default)]
    pub(crate) components: Vec<Self>,
    #[serde(default)]
    pub(crate) indexed: bool,
}

/// The parameters; `None` if one has no type of the ABI, or if they are too many.
pub(crate) fn parse(raw: &[RawParam]) -> Option<Vec<Param>> {
    let mut left = MAX_TYPES;
    raw.iter().map(|one| parse_param(one, MAX_DEPTH, &mut left)).collect()
}

/// Whether a text is an identifier. Others could be anything on a terminal.
pub(crate) fn is_identifier(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
    !text.is_empty() && text.len() <= MAX_NAME && text.bytes().all(is_part)
}

fn parse_param(raw: &RawParam, depth: usize, left: &mut usize) -> Option<Param> {
    *left = left.checked_sub(1)?;
    if raw.ty.len() > MAX_TEXT {
        return None;
    }
    let arrays = raw.ty.find('[').unwrap_or(raw.ty.len());
    let (base, arrays) = raw.ty.split_at(arrays);
    let depth = depth.checked_sub(arrays.matches('[').count())?;
    let mut ty = match base {
        "tuple" => {
            let depth = depth.checked_sub(1)?;
            let members = raw.components.iter().map(|one| parse_param(one, depth, left));
            AbiType::Tuple(members.collect::<Option<_>>()?)
        }
        base => parse_base(base)?,
    };
    for array in arrays.split_terminator(']') {
        ty = match array.strip_prefix('[')? {
            "" => AbiType::Array(Box::new(ty)),
            length => AbiType::FixedArray(Box::new(ty), length.parse().ok()?),
        };
    }
    if !arrays.is_empty() && !arrays.ends_with(']') {
        return None;
    }
    let name = raw.name.as_deref().filter(|name| is_identifier(name)).unwrap_or_default();
    Some(Param { name: name.to_owned(), ty, is_indexed: raw.indexed })
}

fn parse_base(text: &str) -> Option<AbiType> {
    let bits = |digits: &str| match digits {
        "" => Some(256),
        digits => digits.parse().ok().filter(|bits| bits % 8 == 0 && (8..=256).contains(bits)),
    };
    Some(match text {
        "address" => AbiType::Address,
        "bool" => AbiType::Bool,
        "bytes" => AbiType::Bytes,
        "string" => AbiType::String,
        // An address and a selector.
        "function" => AbiType::FixedBytes(24),
        _ => {
            if let Some(digits) = text.strip_prefix("uint") {
                AbiType::Uint(bits(digits)?)
            } else if let Some(digits) = text.strip_prefix("int") {
                AbiType::Int(bits(digits)?)
            } else {
                let length = text.strip_prefix("bytes")?.parse().ok()?;
                (1..=32).contains(&length).then_some(AbiType::FixedBytes(length))?
            }
        }
    })
}

impl AbiType {
    /// The name in signatures.
    pub(crate) fn canonical(&self) -> String {
        match self {
            Self::Uint(bits) => format!("uint{bits}"),
            Self::Int(bits) => format!("int{bits}"),
            Self::Address => "address".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::FixedBytes(length) => format!("bytes{length}"),
            Self::Bytes => "bytes".to_owned(),
            Self::String => "string".to_owned(),
            Self::Array(of) => format!("{}[]", of.canonical()),
            Self::FixedArray(of, length) => format!("{}[{length}]", of.canonical()),
            Self::Tuple(members) => format!("({})", list(members)),
        }
    }

    /// Whether its place in a head has an offset.
    pub(crate) fn is_dynamic(&self) -> bool {
        match self {
            Self::Bytes | Self::String | Self::Array(_) => true,
            Self::FixedArray(of, _) => of.is_dynamic(),
            Self::Tuple(members) => members.iter().any(|member| member.ty.is_dynamic()),
            Self::Uint(_) | Self::Int(_) | Self::Address | Self::Bool | Self::FixedBytes(_) => {
                false
            }
        }
    }

    /// About how many bytes of memory it takes beside itself.
    fn size(&self) -> usize {
        match self {
            Self::Array(of) | Self::FixedArray(of, _) => size_of::<Self>() + of.size(),
            Self::Tuple(members) => size(members),
            _ => 0,
        }
    }

    /// Bytes of its place in a head.
    pub(crate) fn head(&self) -> usize {
        match self {
            _ if self.is_dynamic() => 32,
            Self::FixedArray(of, length) => of.head().saturating_mul(*length),
            Self::Tuple(members) => {
                members.iter().fold(0, |sum: usize, member| sum.saturating_add(member.ty.head()))
            }
            _ => 32,
        }
    }
}

/// About how many bytes of memory parameters take.
pub(crate) fn size(params: &[Param]) -> usize {
    let of = |param: &Param| size_of::<Param>() + param.name.len() + param.ty.size();
    params.iter().map(of).sum()
}

/// The types of parameters as signatures have them.
pub(crate) fn list(params: &[Param]) -> String {
    params.iter().map(|param| param.ty.canonical()).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(ty: &str, components: Vec<RawParam>) -> RawParam {
        RawParam { ty: ty.to_owned(), components, ..RawParam::default() }
    }

    #[test]
    fn types_have_their_canonical_names() {
        for (text, canonical, head) in [
            ("uint", Some("uint256"), 32),
            ("int", Some("int256"), 32),
            ("uint8[3][]", Some("uint8[3][]"), 32),
            ("bytes32[2][3]", Some("bytes32[2][3]"), 192),
            ("function", Some("bytes24"), 32),
            ("string[2]", Some("string[2]"), 32),
            ("uint7", None, 0),
            ("bytes33", None, 0),
            ("uint[", None, 0),
            ("uint[]]", None, 0),
            ("uint[x]", None, 0),
            ("uint[]x", None, 0),
            ("contract Token", None, 0),
        ] {
            let parsed = parse(&[raw(text, vec![])]);
            assert_eq!(parsed.as_deref().map(list).as_deref(), canonical, "{text}");
            if let Some(params) = parsed {
                assert_eq!(params[0].ty.head(), head, "{text}");
            }
        }
        let pair = raw("tuple[]", vec![raw("address", vec![]), raw("bytes", vec![])]);
        assert_eq!(list(&parse(&[pair]).unwrap()), "(address,bytes)[]");
    }

    #[test]
    fn depth_and_number_are_bounded() {
        assert!(parse(&[raw(&format!("uint{}", "[]".repeat(MAX_DEPTH)), vec![])]).is_some());
        assert!(parse(&[raw(&format!("uint{}", "[]".repeat(MAX_DEPTH + 1)), vec![])]).is_none());
        let nested = (0..=MAX_DEPTH).fold(raw("bool", vec![]), |of, _| raw("tuple", vec![of]));
        assert!(parse(&[nested]).is_none());
        assert!(parse(&vec![raw("bool", vec![]); MAX_TYPES]).is_some());
        assert!(parse(&vec![raw("bool", vec![]); MAX_TYPES + 1]).is_none());
        // A name that is no identifier is left out.
        let named = RawParam { name: Some("\u{1b}[2J".to_owned()), ..raw("bool", vec![]) };
        assert_eq!(parse(&[named]).unwrap()[0].name, "");
    }
}
