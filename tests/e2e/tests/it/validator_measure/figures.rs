//! The counted and printed figures.

use std::collections::HashMap;
use std::process::Command;
use std::time::{Duration, Instant};

use esker_e2e::Node;
use serde_json::{Value, json};

use super::load::Sent;

/// Ticks of a second in /proc.
const TICKS: f64 = 100.0;

/// The use of all validators together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    cpu_s: f64,
    /// Bytes that they have sent to each other.
    bytes: u64,
}

/// User and system time of a process, seconds.
fn cpu_s(node: &Node) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", node.pid())).unwrap();
    // Behind the name, which may hold spaces.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    let ticks = |field: usize| -> f64 { fields.split(' ').nth(field).unwrap().parse().unwrap() };
    (ticks(11) + ticks(12)) / TICKS
}

/// Bytes that the ends of all connections to a port have received, from `ss` of iproute2.
fn bytes_at(port: u16) -> u64 {
    let filter = format!("( sport = :{port} or dport = :{port} )");
    let output = Command::new("ss").args(["-tniHO", &filter]).output().expect("ss of iproute2");
    let text = String::from_utf8(output.stdout).unwrap();
    let counts = text.split_whitespace().filter_map(|word| word.strip_prefix("bytes_received:"));
    counts.map(|count| count.parse::<u64>().unwrap()).sum()
}

impl Usage {
    /// Of nodes whose network listens at these ports.
    pub(super) fn now(nodes: &[Node], ports: &[u16]) -> Self {
        Self {
            cpu_s: nodes.iter().map(cpu_s).sum(),
            bytes: ports.iter().map(|port| bytes_at(*port)).sum(),
        }
    }

    pub(super) fn since(self, before: &Self) -> Self {
        let bytes = self.bytes.saturating_sub(before.bytes);
        Self { cpu_s: self.cpu_s - before.cpu_s, bytes }
    }
}

/// Latencies in ascending order.
#[derive(Debug)]
struct Latencies(Vec<Duration>);

impl Latencies {
    fn new(mut latencies: Vec<Duration>) -> Self {
        latencies.sort_unstable();
        Self(latencies)
    }

    /// Milliseconds; `None` if there are no latencies.
    fn percentile_ms(&self, percent: usize) -> Option<f64> {
        let at = self.0.get(self.0.len() * percent / 100)?;
        Some((at.as_secs_f64() * 10_000.0).round() / 10.0)
    }

    fn row(&self) -> Value {
        json!({"p50": self.percentile_ms(50), "p99": self.percentile_ms(99)})
    }
}

/// The result of a phase.
#[derive(Debug)]
pub(super) struct Figures {
    count: usize,
    took: Duration,
    used: Usage,
    /// Of X and C, at the node that took the transaction and at another one.
    latencies: [[Latencies; 2]; 2],
}

impl Figures {
    /// `seen` is of the first node, and of the last one if there are several.
    pub(super) fn new(
        sent: &HashMap<String, Sent>,
        seen: &[HashMap<String, Instant>],
        took: Duration,
        used: Usage,
    ) -> Self {
        let latencies = |is_x: bool, watch: usize| {
            let of_first = sent.iter().filter(|(_, sent)| sent.node == 0 && sent.is_x == is_x);
            let latency = |(id, sent): (&String, &Sent)| {
                Some(seen.get(watch)?.get(id)?.saturating_duration_since(sent.answered))
            };
            Latencies::new(of_first.filter_map(latency).collect())
        };
        let latencies = [true, false].map(|is_x| [0, 1].map(|watch| latencies(is_x, watch)));
        Self { count: sent.len(), took, used, latencies }
    }

    fn per_second(&self) -> f64 {
        (self.count as f64 / self.took.as_secs_f64()).round()
    }

    /// CPU seconds of all validators for 1,000 transactions.
    fn cpu_s(&self) -> f64 {
        (self.used.cpu_s * 1e6 / self.count as f64).round() / 1e3
    }

    fn bytes(&self) -> u64 {
        self.used.bytes / self.count as u64
    }

    pub(super) fn row(&self, validators: usize, phase: &str) -> Value {
        let [x, c] = &self.latencies;
        json!({
            "validators": validators,
            "phase": phase,
            "transactions": self.count,
            "per_second": self.per_second(),
            "cpu_s_per_1000": self.cpu_s(),
            "bytes_per_transaction": self.bytes(),
            "latency_ms": {
                "x_same": x[0].row(), "x_other": x[1].row(), "c_same": c[0].row(), "c_other": c[1].row(),
            },
        })
    }

    pub(super) fn describe(&self) -> String {
        let of = |latencies: &Latencies| {
            let ms = |percent| latencies.percentile_ms(percent).unwrap_or_default();
            format!("p50 {} ms, p99 {} ms", ms(50), ms(99))
        };
        let [x, c] = &self.latencies;
        format!(
            "{} transactions, {}/s, {} CPU s and {} bytes between validators for 1,000; X: {}, on another node {}; C: {}, on \
             another node {}",
            self.count,
            self.per_second(),
            self.cpu_s(),
            1_000 * self.bytes(),
            of(&x[0]),
            of(&x[1]),
            of(&c[0]),
            of(&c[1]),
        )
    }
}
