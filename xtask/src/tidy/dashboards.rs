//! Queries of alerts and dashboards: they must name metrics and labels of the node. If Prometheus' own tool is
//! installed, it loads the alerts and runs their cases.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::workspace;

/// Page with the table of metrics, generated from the code.
const METRICS: &str = "docs/metrics.md";
/// Folder of the files that query them.
const FOLDER: &str = "contrib";
/// First letters of every metric of the node: its own, and those that all programs have.
const PREFIXES: [&str; 2] = ["esker_", "process_"];
/// Labels that Prometheus adds to each series.
const TARGET_LABELS: [&str; 2] = ["instance", "job"];
/// Series of a histogram, by the suffix of its name.
const HISTOGRAM: [&str; 3] = ["_bucket", "_sum", "_count"];

/// Prometheus' tool, and its arguments.
const PROMTOOL: &str = "promtool";
const PROMTOOL_RUNS: [[&str; 3]; 2] = [
    ["check", "rules", "contrib/prometheus/alerts.yml"],
    ["test", "rules", "contrib/prometheus/alerts.test.yml"],
];
/// The dashboard.
const DASHBOARD: &str = "contrib/grafana/esker.json";

/// A metric of the table.
#[derive(Debug, PartialEq, Eq)]
struct Metric {
    is_histogram: bool,
    labels: BTreeSet<String>,
}

pub(super) fn breaches() -> Result<Vec<String>> {
    let page = workspace::text(Path::new(METRICS)).with_context(|| format!("no {METRICS}"))?;
    let metrics = table(&page);
    let mut wrong = run_promtool()?;
    let dashboard = workspace::text(Path::new(DASHBOARD)).unwrap_or_default();
    wrong.extend(panels_without_queries(&dashboard).context(DASHBOARD)?);
    for file in workspace::files()? {
        if !file.starts_with(FOLDER) {
            continue;
        }
        for (index, line) in workspace::text(&file).unwrap_or_default().lines().enumerate() {
            for fault in faults(line, &metrics) {
                wrong.push(format!("{}:{}: {fault}", file.display(), index.saturating_add(1)));
            }
        }
    }
    Ok(wrong)
}

/// The faults that Prometheus' tool finds; none if it is not installed, which is reported.
fn run_promtool() -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for arguments in PROMTOOL_RUNS {
        match Command::new(PROMTOOL).args(arguments).current_dir(workspace::root()).output() {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&text).into_owned();
                wrong.push(format!("{PROMTOOL} {}: {text}", arguments.join(" ")));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                eprintln!("{PROMTOOL} is not installed: the cases of the alerts were not run");
                break;
            }
            Err(error) => return Err(error).context(PROMTOOL),
        }
    }
    Ok(wrong)
}

/// Panels of a dashboard that show nothing, and numbers of panels that occur twice.
fn panels_without_queries(dashboard: &str) -> Result<Vec<String>> {
    let dashboard: Value = serde_json::from_str(dashboard)?;
    let panels = dashboard["panels"].as_array().context("a dashboard has panels")?;
    let (mut wrong, mut ids) = (Vec::new(), BTreeSet::new());
    for panel in panels {
        let title = panel["title"].as_str().unwrap_or("?");
        if !ids.insert(panel["id"].as_u64()) {
            wrong.push(format!("{DASHBOARD}: panel {title} has the ID of another"));
        }
        let mut queries = panel["targets"].as_array().into_iter().flatten();
        let has_query = queries.any(|query| query["expr"].as_str().is_some_and(|e| !e.is_empty()));
        if panel["type"] != "row" && !has_query {
            wrong.push(format!("{DASHBOARD}: panel {title} has no query"));
        }
    }
    Ok(wrong)
}

/// The metrics of the page, by their names.
fn table(page: &str) -> BTreeMap<String, Metric> {
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split('|');
        let name = cells.next()?.trim().trim_end_matches('`').to_owned();
        let is_histogram = cells.next()?.trim() == "histogram";
        let labels = cells.next()?.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some((name, Metric { is_histogram, labels }))
    });
    rows.collect()
}

/// The faults of the series that a line names, and of the labels that it groups them by.
fn faults(line: &str, metrics: &BTreeMap<String, Metric>) -> Vec<String> {
    let mut wrong: Vec<String> = groups(line)
        .filter(|label| !metrics.values().any(|metric| has(metric, label)))
        .map(|label| format!("no metric has the label {label}"))
        .collect();
    for at in names(line) {
        let rest = &line[at..];
        let name = &rest[..rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())];
        match find(name, metrics) {
            None => wrong.push(format!("{METRICS} has no {name}")),
            Some(metric) => {
                let unknown = matchers(&rest[name.len()..])
                    .into_iter()
                    .filter(|label| !has(metric, label))
                    .map(|label| format!("{name} has no label {label}"));
                wrong.extend(unknown);
            }
        }
    }
    wrong
}

/// The positions at which names of metrics begin.
fn names(line: &str) -> impl Iterator<Item = usize> {
    let starts = PREFIXES.iter().flat_map(move |prefix| line.match_indices(prefix));
    starts.map(|(at, _)| at).filter(|at| !line[..*at].ends_with(is_word))
}

/// The metric of a series: its own name, or a histogram's with the name of its part.
fn find<'a>(series: &str, metrics: &'a BTreeMap<String, Metric>) -> Option<&'a Metric> {
    let parts = HISTOGRAM.iter().filter_map(|part| series.strip_suffix(part));
    let of_histogram = parts.filter_map(|name| metrics.get(name)).find(|m| m.is_histogram);
    of_histogram.or_else(|| metrics.get(series).filter(|metric| !metric.is_histogram))
}

fn has(metric: &Metric, label: &str) -> bool {
    metric.labels.contains(label)
        || TARGET_LABELS.contains(&label)
        || (metric.is_histogram && label == "le")
}

/// Labels in the braces that follow a name; empty if there are none.
fn matchers(after: &str) -> Vec<String> {
    let inside = after.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    let Some((inside, _)) = inside else { return Vec::new() };
    let names = inside
        .split(',')
        .map(|matcher| matcher.trim().chars().take_while(|c| is_word(*c)).collect::<String>());
    names.filter(|name| !name.is_empty()).collect()
}

/// Labels in the parentheses after `by`.
fn groups(line: &str) -> impl Iterator<Item = &str> {
    let lists = line.split("by (").skip(1).filter_map(|rest| rest.split_once(')'));
    lists.flat_map(|(labels, _)| labels.split(',')).map(str::trim)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "| name | kind | labels | meaning |\n|---|---|---|---|\n\
                        | `esker_up` | gauge |  | A text. |\n\
                        | `process_open_fds` | gauge |  | A text. |\n\
                        | `esker_calls_total` | counter | `method`, `outcome` | A text with `words`. |\n\
                        | `esker_call_seconds` | histogram | `method` | A text. |\n";

    #[test]
    fn panels_have_queries_and_numbers_of_their_own() {
        let panel = |id: u32, expr: &str| {
            format!(r#"{{"id":{id},"type":"stat","title":"P","targets":[{{"expr":"{expr}"}}]}}"#)
        };
        let row = r#"{"id":9,"type":"row","title":"R"}"#;
        for (panels, wrong) in [
            (format!("{},{},{row}", panel(1, "a"), panel(2, "b")), 0),
            (format!("{},{},{row}", panel(1, "a"), panel(1, "b")), 1),
            (format!("{},{}", panel(1, ""), r#"{"id":2,"type":"stat"}"#), 2),
        ] {
            let dashboard = format!(r#"{{"panels":[{panels}]}}"#);
            assert_eq!(panels_without_queries(&dashboard).unwrap().len(), wrong, "{dashboard}");
        }
        panels_without_queries("{").unwrap_err();
    }

    #[test]
    fn series_and_labels_are_held_against_the_table() {
        let metrics = table(PAGE);
        for (line, expected) in [
            ("expr: esker_up == 0", &[][..]),
            ("rate(esker_calls_total{outcome=\"failed\",instance=~\"$i\"}[5m])", &[]),
            ("\"expr\": \"rate(esker_call_seconds_bucket{le=\\\"1\\\"}[5m])\"", &[]),
            ("esker_call_seconds_sum / esker_call_seconds_count", &[]),
            ("sum by (method, instance, le) (rate(esker_call_seconds_bucket[5m]))", &[]),
            ("summary: no metric", &[]),
            ("sum by (chain) (esker_up)", &["no metric has the label chain"]),
            ("esker_down", &["docs/metrics.md has no esker_down"]),
            ("process_open_fds{job=\"esker\"} > 9", &[]),
            ("process_files", &["docs/metrics.md has no process_files"]),
            ("the_process_is, subprocess_open", &[]),
            ("esker_call_seconds", &["docs/metrics.md has no esker_call_seconds"]),
            ("esker_calls_total_sum", &["docs/metrics.md has no esker_calls_total_sum"]),
            ("esker_up{method!=\"x\"}", &["esker_up has no label method"]),
            ("esker_calls_total{le=\"1\"}", &["esker_calls_total has no label le"]),
        ] {
            assert_eq!(faults(line, &metrics), expected, "{line}");
        }
    }
}
