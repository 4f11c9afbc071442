//! `cargo xtask plots FILE`: the table and the plots of docs/performance.md, from the figures of the test
//! `slow_how_fast_validators_are`.

mod chart;

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use self::chart::BarChart;
use crate::workspace;

/// The page, and the lines around the table.
const PAGE: &str = "docs/performance.md";
const BEGIN: &str = "<!-- begin: cargo xtask plots -->\n";
const END: &str = "<!-- end: cargo xtask plots -->\n";

/// The folder of the plots, and its name on the page.
const FOLDER: &str = "docs/plots";
const ON_PAGE: &str = "plots";

/// Writes the table and the plots.
pub fn run(arguments: &[String]) -> Result<()> {
    let [file] = arguments else { bail!("cargo xtask plots FILE") };
    let text = fs::read_to_string(file).with_context(|| file.clone())?;
    let rows: Vec<Value> = serde_json::from_str(&text).with_context(|| file.clone())?;
    let folder = workspace::root().join(FOLDER);
    fs::create_dir_all(&folder)?;
    let charts = charts(&rows)?;
    for (name, chart) in &charts {
        fs::write(folder.join(format!("{name}.svg")), chart.svg())?;
    }
    let page = workspace::root().join(PAGE);
    let text = fs::read_to_string(&page)?;
    let mut content = table(&rows)?;
    for (name, chart) in &charts {
        write!(content, "\n![{}]({ON_PAGE}/{name}.svg)\n", chart.title)?;
    }
    fs::write(page, with_content(&text, &content)?)?;
    Ok(())
}

/// A page with other content between the two lines.
fn with_content(page: &str, content: &str) -> Result<String> {
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.context("the page lacks the lines around the table")?;
    Ok(format!("{before}{BEGIN}{content}{END}{after}"))
}

fn number(row: &Value, field: &str) -> Result<f64> {
    row[field].as_f64().with_context(|| format!("{field} is missing in {row}"))
}

/// Milliseconds; `None` if there is no other node.
fn latency(row: &Value, of: &str, percentile: &str) -> Option<f64> {
    row["latency_ms"][of][percentile].as_f64()
}

/// The phases in words.
fn phase(row: &Value) -> &str {
    match row["phase"].as_str() {
        Some("steady") => "steady",
        _ => "as fast as possible",
    }
}

fn table(rows: &[Value]) -> Result<String> {
    let mut out = String::from(
        "| Validators | Load | Transactions a second | X, same node, p50 / p99 ms | X, another node | C, same node | C, another \
         node | CPU s for 1,000 | Bytes a transaction |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let pair = |of| match (latency(row, of, "p50"), latency(row, of, "p99")) {
            (Some(p50), Some(p99)) => format!("{p50:.0} / {p99:.0}"),
            _ => String::new(),
        };
        writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {:.2} | {} |",
            number(row, "validators")?,
            phase(row),
            number(row, "per_second")?,
            pair("x_same"),
            pair("x_other"),
            pair("c_same"),
            pair("c_other"),
            number(row, "cpu_s_per_1000")?,
            number(row, "bytes_per_transaction")?,
        )?;
    }
    Ok(out)
}

/// The plots by the names of their files.
fn charts(rows: &[Value]) -> Result<Vec<(&'static str, BarChart)>> {
    let label = |row: &Value| -> Result<String> {
        Ok(format!("{} validators, {}", number(row, "validators")?, phase(row)))
    };
    let chart = |title: &str, series: &[&str], values: &dyn Fn(&Value) -> Result<Vec<f64>>| {
        let groups: Result<_> = rows.iter().map(|row| Ok((label(row)?, values(row)?))).collect();
        let series = series.iter().map(|name| (*name).to_owned()).collect();
        groups.map(|groups| BarChart { title: title.to_owned(), series, groups })
    };
    let of = ["x_same", "x_other", "c_same", "c_other"];
    let latencies = |row: &Value, percentile: &str| -> Vec<f64> {
        of.iter().map(|of| latency(row, of, percentile).unwrap_or_default()).collect()
    };
    let nodes = ["X, same node", "X, another node", "C, same node", "C, another node"];
    let one = |field: &'static str| move |row: &Value| Ok(vec![number(row, field)?]);
    Ok(vec![
        (
            "validators-latency-p50",
            chart("Finality latency, p50, ms", &nodes, &|row| Ok(latencies(row, "p50")))?,
        ),
        (
            "validators-latency-p99",
            chart("Finality latency, p99, ms", &nodes, &|row| Ok(latencies(row, "p99")))?,
        ),
        (
            "validators-throughput",
            chart("Transactions accepted per second", &[], &one("per_second"))?,
        ),
        (
            "validators-cpu",
            chart(
                "CPU seconds of all validators for 1,000 transactions",
                &[],
                &one("cpu_s_per_1000"),
            )?,
        ),
        (
            "validators-bytes",
            chart("Bytes between validators per transaction", &[], &one("bytes_per_transaction"))?,
        ),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows() -> Vec<Value> {
        let latency = json!({"p50": 20.4, "p99": 90.6});
        let none = json!({"p50": null, "p99": null});
        let row = |validators: u32, other: &Value| {
            json!({
                "validators": validators, "phase": "steady", "transactions": 4000, "per_second": 200.0,
                "cpu_s_per_1000": 1.25, "bytes_per_transaction": 5000,
                "latency_ms": {"x_same": latency, "x_other": other, "c_same": latency, "c_other": other},
            })
        };
        vec![row(1, &none), row(4, &latency)]
    }

    #[test]
    fn rows_become_a_table_and_charts() {
        let table = table(&rows()).unwrap();
        assert!(
            table.contains("| 1 | steady | 200 | 20 / 91 |  | 20 / 91 |  | 1.25 | 5000 |\n"),
            "{table}"
        );
        let charts = charts(&rows()).unwrap();
        assert_eq!(charts.len(), 5);
        for (name, chart) in charts {
            let svg = chart.svg();
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{name}: {svg}");
            assert!(svg.contains("4 validators, steady"), "{name}: {svg}");
        }
    }

    #[test]
    fn rows_without_figures_are_refused() {
        let error = table(&[json!({"phase": "full"})]).unwrap_err().to_string();
        assert!(error.starts_with("validators is missing in "), "{error}");
    }

    #[test]
    fn the_page_has_a_place_for_the_table() {
        let page = fs::read_to_string(workspace::root().join(PAGE)).unwrap();
        let changed = with_content(&page, "table\n").unwrap();
        assert!(changed.contains(&format!("{BEGIN}table\n{END}")));
        assert!(with_content("another page", "table\n").is_err());
    }
}
