//! The method tables of a node, from its own code.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use esker_commands::cli::{self, Invocation};
use esker_node::{Environment, Node};
use esker_rpc::{CallContext, Lookup, MethodInfo, Params, Service};
use esker_settings::config::Config;
use serde_json::Value;

use crate::files::tests_path;

/// All switches of APIs.
pub const SWITCHES: [&str; 3] =
    ["--api-admin-enabled", "--api-keystore-enabled", "--index-enabled"];

/// A configuration file with all switches of single chains.
pub fn every_chain_api() -> PathBuf {
    tests_path("e2e/every-chain-api.toml")
}

/// Suffix of the endpoints of the positional dialect.
const POSITIONAL: &str = "/rpc";

/// The method tables of a development node with all APIs enabled, by path.
pub fn tables() -> Result<Vec<(String, Service)>> {
    let folder = tempfile::tempdir()?;
    let file = format!("--config={}", every_chain_api().display());
    let switches: Vec<&str> = SWITCHES.into_iter().chain([file.as_str()]).collect();
    let config = dev_config(folder.path(), &switches)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let node =
            Node::start(config, Environment::system()).await.context("the node does not start")?;
        let services = node.routes().services();
        node.stop().await.context("the node does not stop")?;
        Ok(services)
    })
}

/// The description of an endpoint, as its methods return it.
pub fn describe(service: &Service) -> Result<Value> {
    let Lookup::Found(method) = service.find("rpc", "discover") else { bail!("no rpc.discover") };
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let context = CallContext::new();
    let answer = runtime.block_on(method.call(Params::Absent, &context, Vec::new()))?;
    Ok(serde_json::from_slice(&answer)?)
}

/// The configuration of a development node on a folder, on free ports.
pub fn dev_config(folder: &Path, switches: &[&str]) -> Result<Config> {
    let mut args: Vec<_> = ["esker", "dev", "--http-port", "0", "--evm-port", "0", "--data-dir"]
        .map(Into::into)
        .to_vec();
    args.push(folder.as_os_str().to_owned());
    args.extend(switches.iter().map(Into::into));
    let Ok(Invocation::Run(mode, flags)) = cli::parse(args, env!("CARGO_PKG_VERSION")) else {
        bail!("no command that runs")
    };
    Config::load(mode, flags, []).map_err(|error| anyhow::anyhow!("{error}"))
}

/// The name by which clients call a method at a path.
pub fn full_name(path: &str, info: &MethodInfo) -> String {
    format!("{}{}{}", info.namespace, separator(path), info.name)
}

/// The separator between a namespace and a method at a path.
pub fn separator(path: &str) -> char {
    if is_positional(path) { '_' } else { '.' }
}

/// Whether methods at a path take lists of arguments.
pub fn is_positional(path: &str) -> bool {
    path.ends_with(POSITIONAL)
}
