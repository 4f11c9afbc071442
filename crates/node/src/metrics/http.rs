//! Implements the HTTP server's metrics. An endpoint's series are found without a lock.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use esker_http::{CloseReason, EndpointMetrics, HttpMetrics, MethodName, Outcome, Page, PageReply};
use esker_rpc::work::Work;
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use http::{Method, StatusCode};
use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec};

use super::{CONTENT_TYPE, Metrics};
use crate::query::values;

/// The parameter of a query that names a family, as in the reference's language: `?name[]=a&name[]=b`.
const NAME: &str = "name[]";

/// Metrics of one endpoint. A series is created when it is first used.
#[derive(Debug)]
struct EndpointSeries {
    label: String,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    methods: HashMap<MethodName, Series>,
    other: Series,
}

/// Metrics of one method of one endpoint.
#[derive(Debug, Default)]
struct Series {
    name: String,
    outcomes: [OnceLock<IntCounter>; 4],
    seconds: OnceLock<Histogram>,
}

impl HttpMetrics for Metrics {
    fn endpoint(
        &self,
        label: &str,
        methods: Vec<(MethodName, String)>,
    ) -> Arc<dyn EndpointMetrics> {
        let methods = methods.into_iter();
        Arc::new(EndpointSeries {
            label: label.to_owned(),
            requests: self.requests.clone(),
            request_seconds: self.request_seconds.clone(),
            methods: methods
                .map(|(key, name)| (key, Series { name, ..Series::default() }))
                .collect(),
            other: Series::default(),
        })
    }

    fn watch_work(&self, work: &Work) {
        self.sources.lock().work = Some(work.clone());
    }

    fn connection_opened(&self) {
        self.connections.inc();
        self.connections_opened.inc();
    }

    fn connection_ended(&self) {
        self.connections.dec();
    }

    fn connection_closed(&self, why: CloseReason) {
        self.connections_closed.with_label_values(&[why.label()]).inc();
    }

    fn sockets(&self, change: i64) {
        self.websockets.add(change);
    }

    fn received(&self, bytes: usize) {
        self.received_bytes.inc_by(bytes as u64);
    }

    fn sent(&self, bytes: usize) {
        self.sent_bytes.inc_by(bytes as u64);
    }

    fn in_flight(&self, change: i64) {
        self.in_flight.add(change);
    }

    fn body_memory(&self, change: i64) {
        self.body_memory.add(change);
    }
}

impl EndpointMetrics for EndpointSeries {
    fn record(&self, method: Option<MethodName>, outcome: Outcome, seconds: f64) {
        let series = method.and_then(|name| self.methods.get(&name)).unwrap_or(&self.other);
        let counter = series.outcomes[outcome as usize].get_or_init(|| {
            let labels = &[self.label.as_str(), series.name.as_str(), outcome.label()];
            self.requests.with_label_values(labels)
        });
        counter.inc();
        let histogram = series.seconds.get_or_init(|| {
            let labels = &[self.label.as_str(), series.name.as_str()];
            self.request_seconds.with_label_values(labels)
        });
        histogram.observe(seconds);
    }
}

/// The metrics page, for any method.
impl Page for Metrics {
    fn answer<'a>(
        &'a self,
        _: &'a Method,
        query: Option<&'a str>,
    ) -> BoxFuture<'a, Option<PageReply>> {
        let names = values(query.unwrap_or_default(), NAME);
        let body = match names.is_empty() {
            true => self.render().into(),
            false => self.render_only(&names.into_iter().collect()).into(),
        };
        ready(Some(PageReply { status: StatusCode::OK, content_type: CONTENT_TYPE, body })).boxed()
    }
}
