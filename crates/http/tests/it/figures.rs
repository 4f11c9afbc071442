//! The figures of the tests: series by their text, as the node names them.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_http::{CloseReason, EndpointMetrics, HttpMetrics, MethodName, Outcome, Page, PageReply};
use esker_primitives::sync::Mutex;
use esker_rpc::work::Work;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use http::{Method, StatusCode};

const CONNECTIONS: &str = "esker_http_connections";
const WEBSOCKETS: &str = "esker_http_websockets";
const OPENED: &str = "esker_http_connections_opened_total";
const RECEIVED: &str = "esker_http_received_bytes_total";
const SENT: &str = "esker_http_sent_bytes_total";
const IN_FLIGHT: &str = "esker_http_requests_in_flight";
const BODY_MEMORY: &str = "esker_http_body_memory_bytes";

/// Every series and its value.
#[derive(Clone, Debug)]
pub(crate) struct Figures(Arc<Mutex<BTreeMap<String, f64>>>);

impl Figures {
    pub(crate) fn new() -> Self {
        let names = [CONNECTIONS, WEBSOCKETS, OPENED, RECEIVED, SENT, IN_FLIGHT, BODY_MEMORY];
        let zeros = names.map(|name| (name.to_owned(), 0.0));
        Self(Arc::new(Mutex::new_named("figures", BTreeMap::from(zeros))))
    }

    /// The value of a series; `None` until it is moved.
    pub(crate) fn get(&self, series: &str) -> Option<f64> {
        self.0.lock().get(series).copied()
    }

    fn add(&self, series: impl Into<String>, change: f64) {
        *self.0.lock().entry(series.into()).or_default() += change;
    }
}

impl HttpMetrics for Figures {
    fn endpoint(
        &self,
        label: &str,
        methods: Vec<(MethodName, String)>,
    ) -> Arc<dyn EndpointMetrics> {
        Arc::new(OfEndpoint { all: self.clone(), label: label.to_owned(), methods })
    }

    fn watch_work(&self, _: &Work) {}

    fn connection_opened(&self) {
        self.add(CONNECTIONS, 1.0);
        self.add(OPENED, 1.0);
    }

    fn connection_ended(&self) {
        self.add(CONNECTIONS, -1.0);
    }

    fn connection_closed(&self, why: CloseReason) {
        let reason = why.label();
        self.add(format!("esker_http_connections_closed_total{{reason=\"{reason}\"}}"), 1.0);
    }

    fn sockets(&self, change: i64) {
        self.add(WEBSOCKETS, change as f64);
    }

    fn received(&self, bytes: usize) {
        self.add(RECEIVED, bytes as f64);
    }

    fn sent(&self, bytes: usize) {
        self.add(SENT, bytes as f64);
    }

    fn in_flight(&self, change: i64) {
        self.add(IN_FLIGHT, change as f64);
    }

    fn body_memory(&self, change: i64) {
        self.add(BODY_MEMORY, change as f64);
    }
}

#[derive(Debug)]
struct OfEndpoint {
    all: Figures,
    label: String,
    methods: Vec<(MethodName, String)>,
}

impl EndpointMetrics for OfEndpoint {
    fn record(&self, method: Option<MethodName>, outcome: Outcome, _: f64) {
        let known = self.methods.iter().find(|(name, _)| method == Some(*name));
        let method = known.map_or("", |(_, text)| text);
        let labels = format!("endpoint=\"{}\",method=\"{method}\"", self.label);
        let outcome = outcome.label();
        self.all.add(format!("esker_http_requests_total{{{labels},outcome=\"{outcome}\"}}"), 1.0);
        self.all.add(format!("esker_http_request_seconds_count{{{labels}}}"), 1.0);
    }
}

/// The text of the test's page.
pub(crate) const PAGE: &str = "page\n";

/// A page without a service.
#[derive(Debug)]
pub(crate) struct ToyPage;

impl Page for ToyPage {
    fn answer<'a>(&'a self, _: &'a Method, _: Option<&'a str>) -> BoxFuture<'a, Option<PageReply>> {
        let body = PAGE.into();
        ready(Some(PageReply { status: StatusCode::OK, content_type: "text/toy", body })).boxed()
    }
}
