//! The declarations, imports and names of a module.

use std::collections::BTreeSet;

use super::functions::closing;
use super::tokens::{Kind, Token};

/// A module's own text: without `cfg(test)`, and without the modules inside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Its modules.
    pub modules: Vec<Declared>,
    /// Its imports, including those inside functions.
    pub imports: Vec<Import>,
    /// Names of the items that it defines itself.
    pub items: BTreeSet<String>,
    /// Paths outside imports, of one name or more.
    pub paths: Vec<Path>,
}

/// A `mod`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Whether it is for tests only.
    pub test: bool,
    /// Whether `#[path]` names its file.
    pub elsewhere: bool,
    /// Its content, if the file has it.
    pub inline: Option<Scope>,
}

/// One name of a `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The imported path, without a star at the end.
    pub path: Path,
    /// Its name here; `None` for a star.
    pub name: Option<String>,
    /// Whether it is public, so that others can import it from here.
    pub public: bool,
}

/// Names with `::` between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The names.
    pub names: Vec<String>,
    /// The line of the last one.
    pub line: usize,
}

/// Words before the name of an item.
const DEFINERS: [&str; 9] =
    ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "macro_rules"];

/// Reads a module's tokens.
pub fn scope(tokens: &[Token]) -> Scope {
    let mut reader = Reader { tokens, at: 0, depth: 0, scope: Scope::default() };
    let mut marks = Marks::default();
    while reader.at < tokens.len() {
        marks = reader.step(marks);
    }
    reader.scope
}

/// The attributes and the visibility of the next item.
#[derive(Clone, Copy, Debug, Default)]
struct Marks {
    test: bool,
    elsewhere: bool,
    public: bool,
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: usize,
    scope: Scope,
}

impl Reader<'_> {
    fn step(&mut self, marks: Marks) -> Marks {
        if self.sign('#') && self.attribute_opens().is_some() {
            return self.attribute(marks);
        }
        match self.word() {
            Some("pub") => return self.visibility(marks),
            Some("mod") if self.word_after(1).is_some() => self.module(marks),
            _ if marks.test => self.skip_item(),
            Some("use") => self.import(marks),
            Some(word) if DEFINERS.contains(&word) => self.item(),
            Some(_) => self.path(),
            None => self.other(),
        }
        Marks::default()
    }

    fn attribute_opens(&self) -> Option<usize> {
        let bang = usize::from(self.sign_after(1, '!'));
        let open = self.at.saturating_add(1).saturating_add(bang);
        self.tokens.get(open).filter(|token| token.is('[')).map(|_| open)
    }

    fn attribute(&mut self, mut marks: Marks) -> Marks {
        let open = self.attribute_opens().unwrap_or(self.at);
        let end = closing(self.tokens, open);
        let words: Vec<&str> =
            self.tokens[open..end.min(self.tokens.len())].iter().filter_map(Token::word).collect();
        match words.first() {
            // `any` and `not` leave it to others as well.
            Some(&"cfg") if words.contains(&"test") => {
                marks.test |= !words.contains(&"any") && !words.contains(&"not");
            }
            Some(&"path") => marks.elsewhere = true,
            _ => {}
        }
        self.at = end.saturating_add(1);
        marks
    }

    fn visibility(&mut self, mut marks: Marks) -> Marks {
        self.at = self.at.saturating_add(1);
        if self.sign('(') {
            self.at = closing(self.tokens, self.at).saturating_add(1);
        }
        marks.public = true;
        marks
    }

    fn module(&mut self, marks: Marks) {
        let name = self.word_after(1).unwrap_or_default().to_owned();
        let open = self.at.saturating_add(2);
        let end = closing(self.tokens, open).min(self.tokens.len());
        let stands_here = self.tokens.get(open).is_some_and(|token| token.is('{'));
        let inline = stands_here.then(|| scope(&self.tokens[open.saturating_add(1)..end]));
        self.at = if stands_here { end } else { open }.saturating_add(1);
        let Marks { test, elsewhere, .. } = marks;
        self.scope.modules.push(Declared { name, test, elsewhere, inline });
    }

    /// Skips an item that is for tests only: up to a semicolon, or a block that ends it.
    fn skip_item(&mut self) {
        let ends_with_semicolon = ["use", "const", "static", "let", "type"];
        let mut block_ends = !self.word().is_some_and(|word| ends_with_semicolon.contains(&word));
        block_ends |= self.word_after(1) == Some("fn");
        while let Some(token) = self.tokens.get(self.at) {
            let opens_block = token.is('{');
            if token.is('}') {
                // The last field or arm of a block.
                return;
            }
            if token.is(';') || token.is(',') {
                self.at = self.at.saturating_add(1);
                return;
            }
            if opens_block || token.is('(') || token.is('[') {
                self.at = closing(self.tokens, self.at);
            }
            self.at = self.at.saturating_add(1);
            if opens_block && block_ends {
                return;
            }
        }
    }

    fn import(&mut self, marks: Marks) {
        self.at = self.at.saturating_add(1);
        if !self.sign(':') {
            self.tree(&[], marks.public);
        }
        // Names of other crates may have `::` before them.
        while self.tokens.get(self.at).is_some_and(|token| !token.is(';')) {
            self.at = self.at.saturating_add(1);
        }
    }

    /// One branch of a `use`.
    fn tree(&mut self, before: &[String], public: bool) {
        let mut names = before.to_vec();
        while let Some(token) = self.tokens.get(self.at) {
            let line = token.line;
            if token.is('{') {
                return self.branches(&names, public);
            }
            self.at = self.at.saturating_add(1);
            if token.is('*') {
                self.scope.imports.push(Import { path: Path { names, line }, name: None, public });
                return;
            }
            let Some(word) = token.word() else { return };
            if word != "self" || before.is_empty() || names.len() > before.len() {
                names.push(word.to_owned());
            }
            if self.sign(':') && self.sign_after(1, ':') {
                self.at = self.at.saturating_add(2);
                continue;
            }
            let mut name = names.last().cloned();
            if self.word() == Some("as") {
                name = self.word_after(1).map(str::to_owned);
                self.at = self.at.saturating_add(2);
            }
            self.scope.imports.push(Import { path: Path { names, line }, name, public });
            return;
        }
    }

    fn branches(&mut self, before: &[String], public: bool) {
        let end = closing(self.tokens, self.at);
        self.at = self.at.saturating_add(1);
        while self.at < end {
            self.tree(before, public);
            if self.sign(',') {
                self.at = self.at.saturating_add(1);
            }
        }
        self.at = end.saturating_add(1);
    }

    fn item(&mut self) {
        let bang = usize::from(self.sign_after(1, '!'));
        let ahead = bang.saturating_add(1);
        let Some(name) = self.word_after(ahead).map(str::to_owned) else {
            // It is a pointer to a function, or the body of a constant.
            self.at = self.at.saturating_add(1);
            return;
        };
        // `const fn` and the like have the item's name as the second word.
        let definer = DEFINERS.contains(&name.as_str());
        self.at = self.at.saturating_add(ahead);
        if !definer {
            self.at = self.at.saturating_add(1);
            if self.depth == 0 {
                self.scope.items.insert(name);
            }
        }
    }

    /// A path, unless it follows a dot or is the tail of something else.
    fn path(&mut self) {
        // A field or method follows, or a tail after generic arguments; two dots are a range.
        let is_tail = (self.before(1, '.') && !self.before(2, '.'))
            || (self.before(1, ':') && self.before(2, ':'));
        let mut names = Vec::new();
        let mut line = 0;
        while let Some(word) = self.word() {
            names.push(word.to_owned());
            line = self.tokens[self.at].line;
            self.at = self.at.saturating_add(1);
            let goes_on = self.sign(':') && self.sign_after(1, ':') && self.word_after(2).is_some();
            if !goes_on {
                break;
            }
            self.at = self.at.saturating_add(2);
        }
        if !is_tail {
            self.scope.paths.push(Path { names, line });
        }
    }

    fn before(&self, back: usize, sign: char) -> bool {
        self.at.checked_sub(back).is_some_and(|at| self.tokens[at].is(sign))
    }

    fn other(&mut self) {
        if self.sign('{') {
            self.depth = self.depth.saturating_add(1);
        } else if self.sign('}') {
            self.depth = self.depth.saturating_sub(1);
        }
        self.at = self.at.saturating_add(1);
    }

    fn word(&self) -> Option<&str> {
        self.word_after(0)
    }

    fn word_after(&self, ahead: usize) -> Option<&str> {
        self.tokens.get(self.at.saturating_add(ahead))?.word()
    }

    fn sign(&self, sign: char) -> bool {
        self.sign_after(0, sign)
    }

    fn sign_after(&self, ahead: usize, sign: char) -> bool {
        let token = self.tokens.get(self.at.saturating_add(ahead));
        token.is_some_and(|token| token.kind == Kind::Sign(sign))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    fn read(text: &str) -> Scope {
        scope(&tokens(text))
    }

    fn imports(text: &str) -> Vec<String> {
        let shown = |import: Import| {
            let star = if import.name.is_none() { "::*" } else { "" };
            let name = import.name.filter(|name| import.path.names.last() != Some(name));
            let name = name.map_or_else(String::new, |name| format!(" as {name}"));
            let public = if import.public { "pub " } else { "" };
            format!("{public}{}{star}{name}", import.path.names.join("::"))
        };
        read(text).imports.into_iter().map(shown).collect()
    }

    fn paths(text: &str) -> Vec<String> {
        read(text).paths.into_iter().map(|path| path.names.join("::")).collect()
    }

    #[test]
    fn imports_are_taken_apart() {
        let text = "use a::{b, c::{self, d as e}, f::*};\npub(crate) use g::h;\nuse ::i::j;\nfn k() { use l as _; }";
        let expected = ["a::b", "a::c", "a::c::d as e", "a::f::*", "pub g::h", "l as _"];
        assert_eq!(imports(text), expected);
        assert_eq!(
            imports("use self::a; use super::super::b::{c};"),
            ["self::a", "super::super::b::c"]
        );
    }

    #[test]
    fn what_tests_have_is_left_out() {
        for text in [
            "#[cfg(test)] use a::b;",
            "#[cfg(test)] const A: [b::C; 1] = [b::C { d: 1 }];",
            "#[cfg(test)] #[derive(Debug)] struct A { b: c::D }",
            "#[cfg(test)] impl A for B { fn c() { d::e() } }",
            "#[cfg(all(test, unix))] pub(crate) fn a() -> b::C { d::e() }",
            "#[cfg(test)] const fn a() { b::c() }",
        ] {
            let read = read(&format!("{text} use x::y;"));
            assert_eq!(read.imports.len(), 1, "{text}");
            assert!(read.paths.is_empty(), "{text}: {:?}", read.paths);
        }
        assert_eq!(imports("#[cfg(any(test, unix))] use a::b;"), ["a::b"]);
        assert_eq!(imports("#[cfg(not(test))] use a::b;"), ["a::b"]);
        assert_eq!(paths("S { #[cfg(test)] a: b::c } d::e();"), ["S", "d::e"]);
    }

    #[test]
    fn modules_are_found() {
        let text = "mod a;\n#[cfg(test)]\nmod b;\n#[path = \"x.rs\"] pub mod c;\nmod d { use e::f; mod g {} }\nuse h::i;";
        let read = read(text);
        let found: Vec<_> = read
            .modules
            .iter()
            .map(|module| (module.name.as_str(), module.test, module.elsewhere))
            .collect();
        assert_eq!(
            found,
            [("a", false, false), ("b", true, false), ("c", false, true), ("d", false, false)]
        );
        let inner = read.modules[3].inline.as_ref().unwrap();
        assert_eq!((inner.imports.len(), inner.modules.len(), read.imports.len()), (1, 1, 1));
    }

    #[test]
    fn items_are_those_of_the_module_itself() {
        let text = "pub const fn a() { fn b() {} }\nimpl C { const D: u8 = 1; }\nmacro_rules! e { () => {} }\n\
                    static F: fn(u8) = a;\nunsafe extern \"C\" fn g() {}\nstruct H<T>(T);\npub async fn i() {}";
        let items: Vec<String> = read(text).items.into_iter().collect();
        assert_eq!(items, ["F", "H", "a", "e", "g", "i"]);
    }

    #[test]
    fn paths_begin_with_their_first_name() {
        let found = paths(
            "impl a::B { x.c; d::<e::F>::g; <h as i::J>::k; super::l!(); $crate::m; 0..n::O }",
        );
        assert_eq!(
            found,
            ["impl", "a::B", "x", "d", "e::F", "h", "as", "i::J", "super::l", "crate::m", "n::O"]
        );
    }
}
