//! The health report over HTTP and JSON-RPC.

use std::sync::Arc;

use esker_http::{Endpoint, Page, PageReply, RouteError, Routes};
use esker_rpc::handler::{Handler, waits};
use esker_rpc::{MethodTable, Service};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Health, HealthReport};
use crate::discovery::node_info;
use crate::query::values;

/// Name of the check that determines readiness.
const BOOTSTRAPPED: &str = "bootstrapped";
/// Name of the check that joins the readiness report when it fails: a node that refuses writes is not ready.
const DATABASE: &str = "database";

/// The report of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    /// All checks.
    Health,
    /// Whether the chains are bootstrapped and accept transactions.
    Readiness,
    /// Whether the process answers.
    Liveness,
}

/// The endpoint at `/ext/health` or one of its sub-paths.
#[derive(Debug)]
struct HealthEndpoint {
    health: Arc<Health>,
    report: Report,
    /// The JSON-RPC methods, at `/ext/health` only.
    service: Option<Service>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct Tags {
    tags: Option<Vec<String>>,
}

/// Adds `/ext/health` and its sub-paths.
pub(in crate::api) fn install(health: &Arc<Health>, routes: &Routes) -> Result<(), RouteError> {
    let endpoint = |report, service| {
        Endpoint::Page(Arc::new(HealthEndpoint { health: Arc::clone(health), report, service }))
    };
    let service = methods().bind(Arc::clone(health));
    let service = service.with_discovery(&node_info("health"));
    routes.node("health", endpoint(Report::Health, Some(service)))?;
    routes.node("health/health", endpoint(Report::Health, None))?;
    routes.node("health/readiness", endpoint(Report::Readiness, None))?;
    routes.node("health/liveness", endpoint(Report::Liveness, None))
}

/// The `health` namespace.
pub(crate) fn methods() -> MethodTable<Health> {
    MethodTable::new("health")
        .on("health", report(Report::Health))
        .on("readiness", report(Report::Readiness))
        .on("liveness", report(Report::Liveness))
}

/// The method that answers `report`.
fn report(report: Report) -> Handler<Health, Tags, HealthReport> {
    waits(move |health: Arc<Health>, args: Tags| async move {
        Ok(health.report_of(report, &args.tags.unwrap_or_default()).await)
    })
}

impl Health {
    async fn report_of<T: AsRef<str>>(&self, report: Report, tags: &[T]) -> HealthReport {
        match report {
            Report::Health => self.report(tags).await,
            Report::Readiness => self.report_readiness(BOOTSTRAPPED, DATABASE).await,
            // A process that answers is alive.
            Report::Liveness => HealthReport { checks: Default::default(), healthy: true },
        }
    }
}

impl Page for HealthEndpoint {
    fn answer<'a>(
        &'a self,
        method: &'a Method,
        query: Option<&'a str>,
    ) -> BoxFuture<'a, Option<PageReply>> {
        self.reply(method, query).boxed()
    }

    fn service(&self) -> Option<&Service> {
        self.service.as_ref()
    }
}

impl HealthEndpoint {
    /// The reply to GET; below `/ext/health` to any method. `None` where JSON-RPC answers.
    async fn reply(&self, method: &Method, query: Option<&str>) -> Option<PageReply> {
        if *method != Method::GET && self.service.is_some() {
            return None;
        }
        let report =
            self.health.report_of(self.report, &values(query.unwrap_or_default(), "tag")).await;
        let status =
            if report.is_healthy() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let mut body = esker_go_json::to_go_vec(&report).unwrap_or_default();
        body.push(b'\n');
        Some(PageReply { status, content_type: "application/json", body: body.into() })
    }
}
