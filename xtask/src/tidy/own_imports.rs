//! A crate's own code imports items from their modules, not through its `lib.rs`.

use anyhow::Result;

use crate::source::modules::{Detour, Modules};
use crate::workspace;

pub(super) fn breaches() -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for root in workspace::crate_roots()? {
        let detours = Modules::read(&root, &workspace::text).detours();
        wrong.extend(detours.iter().map(shown));
    }
    Ok(wrong)
}

fn shown(detour: &Detour) -> String {
    let Detour { file, line, path, instead } = detour;
    format!("{}:{line}: `{path}` is `{instead}`", file.display())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_detour_is_shown_with_the_way() {
        let text = |file: &Path| match file.to_str()? {
            "src/lib.rs" => Some("mod a; mod b; pub use a::A;".to_owned()),
            "src/a.rs" => Some("pub struct A;".to_owned()),
            "src/b.rs" => Some("\nuse crate::A;".to_owned()),
            _ => None,
        };
        let detours = Modules::read(Path::new("src/lib.rs"), &text).detours();
        let shown: Vec<String> = detours.iter().map(shown).collect();
        assert_eq!(shown, ["src/b.rs:2: `crate::A` is `crate::a::A`"]);
    }
}
