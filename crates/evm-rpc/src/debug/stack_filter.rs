//! The filter of `stacks`: names that a stack holds, with `!`, `&&`, `||` and parentheses.

/// Longest filter, bytes; also bounds how deep parentheses nest.
const MAX_BYTES: usize = 1024;

/// A condition on a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StackFilter {
    Holds(String),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
}

impl StackFilter {
    /// `None` if the text is no filter.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_BYTES {
            return None;
        }
        let mut reader = Reader(text.trim_start());
        let filter = reader.any()?;
        reader.0.is_empty().then_some(filter)
    }

    pub(super) fn matches(&self, stack: &str) -> bool {
        match self {
            Self::Holds(name) => stack.contains(name.as_str()),
            Self::Not(filter) => !filter.matches(stack),
            Self::And(a, b) => a.matches(stack) && b.matches(stack),
            Self::Or(a, b) => a.matches(stack) || b.matches(stack),
        }
    }
}

struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.0.strip_prefix(sign);
        if let Some(rest) = rest {
            self.0 = rest.trim_start();
        }
        rest.is_some()
    }

    /// Filters with `||` between them.
    fn any(&mut self) -> Option<StackFilter> {
        let mut filter = self.all()?;
        while self.takes("||") {
            filter = StackFilter::Or(Box::new(filter), Box::new(self.all()?));
        }
        Some(filter)
    }

    /// Filters with `&&` between them.
    fn all(&mut self) -> Option<StackFilter> {
        let mut filter = self.one()?;
        while self.takes("&&") {
            filter = StackFilter::And(Box::new(filter), Box::new(self.one()?));
        }
        Some(filter)
    }

    fn one(&mut self) -> Option<StackFilter> {
        if self.takes("!") {
            return Some(StackFilter::Not(Box::new(self.one()?)));
        }
        if self.takes("(") {
            let filter = self.any()?;
            return self.takes(")").then_some(filter);
        }
        let is_of_name =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '/' | '.' | '_' | '-');
        let end = self.0.find(|c| !is_of_name(c)).unwrap_or(self.0.len());
        let (name, rest) = self.0.split_at(end);
        self.0 = rest.trim_start();
        (!name.is_empty()).then(|| StackFilter::Holds(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_signs() {
        let stack = "thread 1 \"esker\" [sleeping]:\n\ttokio::park\n\tesker_evm::pool::add\n";
        for (text, want) in [
            ("tokio", Some(true)),
            (" esker_evm::pool ", Some(true)),
            ("machine", Some(false)),
            ("!machine", Some(true)),
            ("tokio && !esker_evm", Some(false)),
            ("machine || tokio", Some(true)),
            ("machine && tokio || esker", Some(true)),
            ("machine && (tokio || esker)", Some(false)),
            ("!!tokio", Some(true)),
            ("nothing matches this", None),
            ("(tokio", None),
            ("tokio)", None),
            ("tokio &&", None),
            ("&& tokio", None),
            ("tokio & park", None),
            ("\"tokio\"", None),
            ("!", None),
        ] {
            let filter = StackFilter::parse(text);
            assert_eq!(filter.map(|filter| filter.matches(stack)), want, "{text}");
        }
        assert_eq!(StackFilter::parse(&"(".repeat(2000)), None);
        assert_eq!(StackFilter::parse(&"!".repeat(1024)), None);
    }
}
