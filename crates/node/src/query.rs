//! Parameters in the query of a page's address.

/// The values of a parameter in a query. Decodes percent escapes and `+`, and drops invalid ones, as Go does.
pub(crate) fn values(query: &str, name: &str) -> Vec<String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let named = pairs.filter(|(key, _)| *key == name || decode(key).as_deref() == Some(name));
    named.filter_map(|(_, value)| decode(value)).collect()
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_query() {
        for (query, want) in [
            ("", &[][..]),
            ("tag=a", &["a"]),
            ("tag=a&tag=b", &["a", "b"]),
            ("x=1&tag=a%20b+c&tags=d&tag", &["a b c"]),
            ("t%61g=a&t%zg=b", &["a"]),
            ("tag=%zz&tag=%4&tag=%ff&tag=ok", &["ok"]),
        ] {
            assert_eq!(values(query, "tag"), want, "{query}");
        }
        assert_eq!(values("name%5B%5D=a&name[]=b", "name[]"), ["a", "b"]);
    }
}
