//! Followers whose source serves HTTPS.

use std::path::Path;

use esker_e2e::funds::funded;
use esker_e2e::{Node, until};
use serde_json::Value;

use super::client::Certificate;
use crate::support::{local, wait_accepted, wallet};

/// The report of a follower about its source.
fn following(node: &Node) -> Value {
    let reply = node.rpc().http().request("GET", "/ext/status", &[], b"").unwrap();
    let status: Value = serde_json::from_slice(&reply.body).unwrap();
    status["following"].clone()
}

#[test]
fn a_follower_checks_the_certificate_of_its_source() {
    let certificate = Certificate::new();
    let source = certificate.give(local().dev().arg("--api-sync-enabled")).start().unwrap();
    let url = format!("https://localhost:{}", source.address().port());
    let follower = |ca_file: &Path| {
        let node = local().network("dev").args(&["--follow", &url]);
        node.arg("--follow-ca-file").arg(ca_file).spawn().unwrap()
    };
    let node = follower(&certificate.certificate).wait().unwrap();
    until("the follower is at the tip", || {
        let following = following(&node);
        (following["source"] == url.as_str() && following["lagMs"] == 0).then_some(())
    });
    // Transactions take the same way.
    let own = wallet(&node, "X", funded());
    let tx = own.base_tx(Vec::new(), b"over TLS").unwrap();
    let id = node.x().issue_tx(&tx).unwrap();
    wait_accepted(&mut node.x(), &id);

    let other = Certificate::new();
    let distrusting = follower(&other.certificate);
    // It waits at its start, since it does not know when the network began.
    let refused = until("the follower reports the certificate", || {
        let output = distrusting.output();
        output.contains("TLS: invalid peer certificate").then_some(output)
    });
    assert!(refused.contains(&other.certificate.display().to_string()), "{refused}");
}

#[test]
fn a_snapshot_comes_over_a_checked_connection() {
    let certificate = Certificate::new();
    let source = certificate.give(local().dev().arg("--api-sync-enabled")).start().unwrap();
    let url = format!("https://localhost:{}", source.address().port());
    let joiner = |ca_file: &Path| {
        let node = local().network("dev").args(&["--follow", &url, "--snapshot"]);
        node.arg("--follow-ca-file").arg(ca_file).spawn().unwrap()
    };
    let node = joiner(&certificate.certificate).wait().unwrap();
    assert!(node.output().contains("joined from a snapshot"), "{}", node.output());
    let other = Certificate::new();
    let distrusting = joiner(&other.certificate);
    until("the follower reports the certificate", || {
        distrusting.output().contains("TLS: invalid peer certificate").then_some(())
    });
    assert!(!distrusting.output().contains("joined from a snapshot"));
}
