//! Documents against the node: what they show is what happens, and nothing is left out.
//!
//! With `UPDATE_EXPECT=1` (`cargo xtask docs`) the answers and the list of methods are written anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use esker_e2e::docs::{Page, Session, layout, parameter_table};
use esker_e2e::files::tests_path;
use esker_e2e::tables::{SWITCHES, describe, every_chain_api, full_name, separator, tables};
use esker_primitives::sync::Mutex;
use esker_rpc::{MethodInfo, Service};

use crate::support::local;

/// A page may be written by one test while another reads it.
static PAGES: Mutex<()> = Mutex::new(());

/// Methods that can't succeed on a fresh development node, or on none, and what they need.
const WITHOUT_RESULT: [(&str, &str); 25] = [
    ("platform.issueTx", "a P-Chain that takes transactions"),
    ("xvm.import", "exports from another chain"),
    ("xvm.subscribe", "a websocket"),
    ("xvm.unsubscribe", "a websocket"),
    ("personal_deriveAccount", "a hardware wallet"),
    ("personal_initializeWallet", "a hardware wallet"),
    ("personal_unpair", "a hardware wallet"),
    ("evm_resend", "a transaction that waits for its block"),
    ("debug_getRawBlockAccessList", "a block with an access list"),
    ("admin.getValidators", "a validator"),
    ("admin.approveValidators", "a validator"),
    ("debug_traceBadBlock", "a block that was refused"),
    ("debug_standardTraceBadBlockToFile", "a block that was refused"),
    ("debug_traceBlock", "the bytes of a block, which are a node's own"),
    ("anvil_setMinGasPrice", "blocks without a base fee"),
    ("hardhat_setMinGasPrice", "blocks without a base fee"),
    ("anvil_setRpcUrl", "a chain on a block of another node"),
    ("debug_gcStats", "a Go runtime"),
    ("debug_setGCPercent", "a Go runtime"),
    ("debug_goTrace", "a Go runtime"),
    ("debug_startGoTrace", "a Go runtime"),
    ("debug_stopGoTrace", "a Go runtime"),
    ("debug_blockProfile", "a Go runtime"),
    ("debug_setBlockProfileRate", "a Go runtime"),
    ("debug_writeBlockProfile", "a Go runtime"),
];

/// When the documented network begins, Unix seconds: 2020-12-05T05:00:00Z.
const START: &str = "1607144400";

#[test]
fn every_answer_is_the_documented_one() {
    let _alone = PAGES.lock();
    let mut report = String::new();
    let mut tried = 0;
    for file in files() {
        let page = Page::read(&file).unwrap();
        if page.sections.iter().all(|section| section.exchanges.is_empty()) {
            continue;
        }
        // A fresh node for each page, as its reader has, but for its start: answers show block 0.
        let node = local().dev().config(every_chain_api()).args(&["--timestamp", START]);
        let node = SWITCHES.iter().fold(node, |node, switch| node.arg(switch));
        let node = node.start().unwrap();
        let mut session = Session::new(node.address(), patience());
        let mut anew = Vec::new();
        for exchange in page.sections.iter().flat_map(|section| &section.exchanges) {
            tried += 1;
            let attempt = session.attempt(&page, exchange).unwrap();
            match (attempt.wrong, &exchange.answer) {
                (Some(_), Some(lines)) if updates() => {
                    anew.push((lines.clone(), layout(&attempt.answer)));
                }
                (Some(wrong), _) => {
                    let _ = writeln!(report, "{}:{}: {wrong}", name(&file), exchange.line);
                }
                (None, _) => {}
            }
        }
        if !anew.is_empty() {
            std::fs::write(&file, page.with_answers(&anew)).unwrap();
        }
    }
    assert!(report.is_empty(), "`cargo xtask docs` writes the answers anew.\n{report}");
    assert!(tried > 0);
}

#[test]
fn every_method_is_documented() {
    let _alone = PAGES.lock();
    let (tables, pages) = (tables().unwrap(), api_pages());
    let mut wrong = Vec::new();
    let mut documented = BTreeMap::new();
    for (page, section) in
        pages.iter().flat_map(|page| page.sections.iter().map(move |s| (page, s)))
    {
        let at = format!("{}:{}: {}", name(&page.file), section.line, section.title);
        for exchange in &section.exchanges {
            if exchange.answer.is_none() {
                wrong.push(format!("{}:{}: no answer", name(&page.file), exchange.line));
            }
        }
        if !is_method(&section.title) {
            continue;
        }
        if let Some(other) = documented.insert(section.title.clone(), at.clone()) {
            wrong.push(format!("{at} is documented twice, also in {other}"));
        }
        wrong.extend(
            faults(page, section, &tables).into_iter().map(|fault| format!("{at}: {fault}")),
        );
    }
    let served: BTreeSet<_> = tables
        .iter()
        .flat_map(|(path, service)| service.methods().map(|info| full_name(path, info)))
        .collect();
    let missing = served.iter().filter(|method| !documented.contains_key(*method));
    wrong.extend(missing.map(|method| format!("{method} is served and not documented")));
    let gone = documented.iter().filter(|(method, _)| !served.contains(*method));
    wrong.extend(gone.map(|(_, at)| format!("{at} is not served")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Namespaces that the specification names without their methods, and the keystore's.
const SPECIFIED: [&str; 7] = ["web3", "net", "evm", "personal", "txpool", "debug", "keystore"];

#[test]
fn every_specified_method_has_a_row() {
    let page = std::fs::read_to_string(tests_path("../docs/specification.md")).unwrap();
    let rows: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(['`', ':', ' ']).next())
        .collect();
    let mut found = 0;
    for (path, service) in tables().unwrap() {
        for info in service.methods().filter(|info| SPECIFIED.contains(&info.namespace)) {
            let method = full_name(&path, info);
            assert!(rows.contains(method.as_str()), "docs/specification.md has no row of {method}");
            found += 1;
        }
    }
    assert!(found > 100, "{found}");
}

/// The faults of the section of a method.
fn faults(
    page: &Page,
    section: &esker_e2e::docs::Section,
    tables: &[(String, Service)],
) -> Vec<String> {
    let mut wrong = Vec::new();
    let calls: Vec<_> = section
        .exchanges
        .iter()
        .filter_map(|exchange| Some((exchange.request().ok()?, page.answer(exchange)?)))
        .filter(|(request, _)| request.method().as_ref() == Some(&section.title))
        .collect();
    let waits = WITHOUT_RESULT.iter().any(|(method, _)| *method == section.title);
    match calls.iter().any(|(_, answer)| answer.contains("\"result\"")) {
        false if !waits => wrong.push("no request of this method with a result".to_owned()),
        true if waits => {
            wrong.push("has a result: take it off the list of those without".to_owned());
        }
        _ => {}
    }
    for (request, _) in &calls {
        let table = tables.iter().find(|(path, _)| *path == request.path);
        let Some(info) = table.and_then(|(path, service)| {
            service.methods().find(|info| full_name(path, info) == section.title)
        }) else {
            wrong.push(format!("not served at {}", request.path));
            continue;
        };
        let (says, is) = (deprecation(&section.text), info.deprecated_since);
        if says != is {
            wrong.push(format!("deprecated since {is:?}, the page says {says:?}"));
        }
    }
    wrong
}

/// The release after `Deprecated since`.
fn deprecation(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("Deprecated since ")?;
    Some(rest.split([' ', ',', ':', ';']).next()?.trim_end_matches('.'))
}

#[test]
fn the_list_of_methods_is_current() {
    let _alone = PAGES.lock();
    let file = tests_path("../docs/api/README.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (begin, end) =
        ("<!-- methods: written by `cargo xtask docs` -->\n", "<!-- end of methods -->\n");
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let current = format!("{before}{begin}{}{end}{after}", list(&tables().unwrap(), &api_pages()));
    if updates() {
        std::fs::write(&file, current).unwrap();
    } else {
        assert_eq!(page, current, "`cargo xtask docs` writes the list anew");
    }
}

/// Each method's section has the parameters that its endpoint describes.
#[test]
fn the_list_of_parameters_is_current() {
    let _alone = PAGES.lock();
    let described: Vec<_> = tables()
        .unwrap()
        .into_iter()
        .map(|(path, service)| (describe(&service).unwrap(), path, service))
        .collect();
    let (mut wrong, mut tables) = (Vec::new(), 0);
    for page in api_pages() {
        let mut anew = Vec::new();
        for section in &page.sections {
            let found = described.iter().find_map(|(document, path, service)| {
                let is_it = |info: &MethodInfo| full_name(path, info) == section.title;
                service.methods().any(is_it).then_some(())?;
                let methods = document["methods"].as_array()?;
                let method = methods.iter().find(|method| method["name"] == *section.title)?;
                Some((document, method))
            });
            let Some((document, method)) = found else { continue };
            let table = parameter_table(&page, section, document, method);
            let Some((lines, table)) = table else { continue };
            tables += 1;
            if page.lines[lines.clone()] != table {
                wrong.push(format!("{}:{}: {}", name(&page.file), section.line, section.title));
                anew.push((lines, table.join("\n") + "\n"));
            }
        }
        if updates() && !anew.is_empty() {
            std::fs::write(&page.file, page.with_answers(&anew)).unwrap();
        }
    }
    assert!(tables > 100, "{tables} tables");
    let wrong = if updates() { Vec::new() } else { wrong };
    assert!(wrong.is_empty(), "`cargo xtask docs` writes tables anew.\n{}", wrong.join("\n"));
}

/// The methods, by namespace, in the order of their tables.
fn list(tables: &[(String, Service)], pages: &[Page]) -> String {
    let mut namespaces: BTreeMap<(&str, char), Vec<(String, &MethodInfo)>> = BTreeMap::new();
    for (path, service) in tables {
        for info in service.methods() {
            let methods = namespaces.entry((info.namespace, separator(path))).or_default();
            let method = full_name(path, info);
            if !methods.iter().any(|(known, _)| *known == method) {
                methods.push((method, info));
            }
        }
    }
    let mut out = String::new();
    for ((namespace, separator), methods) in namespaces {
        let _ = write!(out, "\n### {namespace}\n\n");
        let aliases: Vec<_> = methods[0]
            .1
            .namespace_aliases
            .iter()
            .map(|alias| format!("`{alias}{separator}`"))
            .collect();
        if !aliases.is_empty() {
            let _ = write!(out, "Also with the prefix {}.\n\n", aliases.join(", "));
        }
        out.push_str("| Method | At | Cost | Deprecated since |\n|---|---|---|---|\n");
        for (method, info) in methods {
            let since = info.deprecated_since.unwrap_or_default();
            let other: String = info.aliases.iter().map(|alias| format!(", `{alias}`")).collect();
            let (link, paths) = places(&method, pages);
            let _ =
                writeln!(out, "| [{method}]({link}){other} | {paths} | {} | {since} |", info.cost);
        }
    }
    out.push('\n');
    out
}

/// Where a method is documented, and the paths at which its page calls it.
fn places(method: &str, pages: &[Page]) -> (String, String) {
    for page in pages {
        if let Some(section) = page.sections.iter().find(|section| section.title == method) {
            let mut paths = Vec::new();
            for request in section.exchanges.iter().filter_map(|exchange| exchange.request().ok()) {
                let path = format!("`{}`", request.path);
                if request.method().as_deref() == Some(method) && !paths.contains(&path) {
                    paths.push(path);
                }
            }
            let file = page.file.file_name().unwrap().to_string_lossy();
            let anchor = method.replace('.', "").to_lowercase();
            return (format!("{file}#{anchor}"), paths.join(", "));
        }
    }
    (String::new(), String::new())
}

/// The pages of the APIs.
pub(crate) fn api_pages() -> Vec<Page> {
    let files = files().into_iter().filter(|file| file.parent().unwrap().ends_with("docs/api"));
    files.map(|file| Page::read(&file).unwrap()).collect()
}

/// Every page that may show requests.
fn files() -> Vec<PathBuf> {
    let mut files = vec![tests_path("../README.md")];
    for folder in ["../docs", "../docs/api"] {
        let entries = std::fs::read_dir(tests_path(folder)).unwrap();
        files.extend(
            entries
                .map(|entry| entry.unwrap().path())
                .filter(|file| file.extension().is_some_and(|e| e == "md")),
        );
    }
    files.sort();
    files
}

fn name(file: &Path) -> String {
    let root = tests_path("..");
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

/// Whether a heading names a method.
fn is_method(title: &str) -> bool {
    let is_plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric());
    if let Some((namespace, name)) = title.split_once('.') {
        return is_plain(namespace) && is_plain(name);
    }
    // `evm_signTypedData_v4`
    title
        .split_once('_')
        .is_some_and(|(namespace, name)| is_plain(namespace) && name.split('_').all(is_plain))
}

/// Where a difference is what is expected, it is not waited for.
fn patience() -> Duration {
    Duration::from_secs(if updates() { 2 } else { 20 })
}

fn updates() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some()
}
