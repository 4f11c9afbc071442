//! Puts the modules of the page together into one script: a browser asks once, and one compressed file is smaller than many.
//!
//! Each module becomes a function that runs its code when it is first needed and returns what it exports. So modules keep their own
//! names, and the views are still evaluated when they are first shown. The page's modules have few forms of imports and exports, and
//! others are refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The modules by their paths.
pub(crate) type Modules = BTreeMap<String, String>;

/// What the functions of the modules are made with, and what `import()` becomes.
const HEAD: &str = "const __module = (run) => { let made; return () => (made ??= run()); };\nconst __load = async (module) => module();\n";

/// The script that begins with the module at `entry`.
///
/// # Errors
/// A module has another form, imports a module that is not there, or imports itself over others.
pub(crate) fn bundle(modules: &Modules, entry: &str) -> Result<String, String> {
    let mut out = HEAD.to_owned();
    for (path, content) in modules {
        check_order(modules, path, &mut Vec::new())?;
        let code = module(modules, path, content)?;
        let name = name(modules, path)?;
        writeln!(out, "const {name} = __module(() => {{\n{code}}});").expect("a String takes all");
    }
    writeln!(out, "{}();", name(modules, entry)?).expect("a String takes all");
    Ok(out)
}

/// The body of the module's function.
fn module(modules: &Modules, path: &str, content: &str) -> Result<String, String> {
    if content.contains("__") {
        return Err(format!("{path}: names with two underscores are those of the bundle"));
    }
    let (mut body, mut exported) = (String::new(), Vec::new());
    for line in content.lines() {
        let line = match (line.strip_prefix("import "), line.strip_prefix("export ")) {
            (Some(_), _) => {
                let (names, from) = import(line).ok_or_else(|| refused(path, line))?;
                let names = names.replace(" as ", ": ");
                format!("const {{ {names} }} = {}();", imported(modules, path, from)?)
            }
            (None, Some(rest)) => {
                exported.push(declared(rest).ok_or_else(|| refused(path, line))?);
                rest.to_owned()
            }
            (None, None) => line.to_owned(),
        };
        body.push_str(&with_dynamic_imports(modules, path, &line)?);
        body.push('\n');
    }
    writeln!(body, "return {{ {} }};", exported.join(", ")).expect("a String takes all");
    Ok(body)
}

/// Names and path of `import { a, b as c } from './d.js';`.
fn import(line: &str) -> Option<(&str, &str)> {
    let (names, from) = line.strip_prefix("import { ")?.split_once(" } from '")?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_, ".contains(c);
    names.chars().all(is_plain).then_some((names, from.strip_suffix("';")?))
}

/// The name that a declaration gives.
fn declared(declaration: &str) -> Option<&str> {
    let kinds = ["function ", "async function ", "class ", "const "];
    let rest = kinds.iter().find_map(|kind| declaration.strip_prefix(kind))?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    (end > 0).then(|| &rest[..end])
}

/// The line with `__load(module)` for `import('./module.js')`.
fn with_dynamic_imports(modules: &Modules, path: &str, line: &str) -> Result<String, String> {
    let mut parts = line.split("import('");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (from, rest) = part.split_once("')").ok_or_else(|| refused(path, line))?;
        write!(out, "__load({}){rest}", imported(modules, path, from)?)
            .expect("a String takes all");
    }
    Ok(out)
}

/// The name of the function of a module that another one names.
fn imported(modules: &Modules, path: &str, from: &str) -> Result<String, String> {
    name(modules, &joined(path, from))
        .map_err(|_| format!("{path} imports {from}, which is not there"))
}

fn name(modules: &Modules, path: &str) -> Result<String, String> {
    let place = modules.keys().position(|known| known == path);
    place.map(|place| format!("__{place}")).ok_or_else(|| format!("no module {path}"))
}

/// Refuses modules that need each other before either has run.
fn check_order(modules: &Modules, path: &str, above: &mut Vec<String>) -> Result<(), String> {
    if above.iter().any(|other| other == path) {
        return Err(format!("{} import each other", above.join(", ")));
    }
    above.push(path.to_owned());
    let content = modules.get(path).map_or("", String::as_str);
    for (_, from) in content.lines().filter_map(import) {
        check_order(modules, &joined(path, from), above)?;
    }
    above.pop();
    Ok(())
}

/// The path that a module means by `./other.js` or `../folder/other.js`.
fn joined(path: &str, from: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in from.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn refused(path: &str, line: &str) -> String {
    format!("{path}: not a form that the bundle has: {line}")
}
