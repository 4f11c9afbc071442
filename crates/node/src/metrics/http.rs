//! Counters of one endpoint, found without a lock.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use esker_rpc::Service;
use prometheus::{Histogram, IntCounter};

use super::Metrics;

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a result, or with the empty answer to a notification.
    Ok,
    /// With an error in the reply.
    Error,
    /// With a redirect or a fault of the request.
    Refused,
    /// With a fault of the node.
    Failed,
}

impl Outcome {
    const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// A method's namespace and name, both canonical.
pub(crate) type MethodName = (&'static str, &'static str);

/// Counters of one endpoint. A series comes into being when it is first moved.
#[derive(Debug)]
pub(crate) struct EndpointMetrics {
    label: String,
    metrics: Arc<Metrics>,
    methods: HashMap<MethodName, Series>,
    other: Series,
}

/// Counters of one method of one endpoint.
#[derive(Debug, Default)]
struct Series {
    name: String,
    outcomes: [OnceLock<IntCounter>; 4],
    seconds: OnceLock<Histogram>,
}

impl Metrics {
    /// Counters of an endpoint with these methods.
    pub(crate) fn endpoint(
        self: &Arc<Self>,
        label: &str,
        service: Option<&Service>,
    ) -> EndpointMetrics {
        let series = |name: MethodName| {
            let text = format!("{}.{}", name.0, name.1);
            (name, Series { name: text, ..Series::default() })
        };
        let methods = service.into_iter().flat_map(Service::methods);
        EndpointMetrics {
            label: label.to_owned(),
            metrics: Arc::clone(self),
            methods: methods.map(|method| series((method.namespace, method.name))).collect(),
            other: Series::default(),
        }
    }
}

impl EndpointMetrics {
    /// Counts one request.
    pub(crate) fn record(&self, method: Option<MethodName>, outcome: Outcome, seconds: f64) {
        let series = method.and_then(|name| self.methods.get(&name)).unwrap_or(&self.other);
        let counter = series.outcomes[outcome as usize].get_or_init(|| {
            let labels = &[self.label.as_str(), series.name.as_str(), outcome.label()];
            self.metrics.requests.with_label_values(labels)
        });
        counter.inc();
        let histogram = series.seconds.get_or_init(|| {
            let labels = &[self.label.as_str(), series.name.as_str()];
            self.metrics.request_seconds.with_label_values(labels)
        });
        histogram.observe(seconds);
    }
}
