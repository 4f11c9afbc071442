//! The recorded exchanges, sent to a follower: its answers are those of a node that decides itself.

use esker_e2e::Node;
use esker_e2e::files::profile;
use esker_e2e::golden::{Names, Scenario};

use crate::golden::check;
use crate::support::local;

/// A writer and its follower. What the exchanges send is passed on to the writer.
fn followed(scenario: &Scenario) -> Vec<Node> {
    let node = || local().config(profile(&scenario.profile));
    let source = node().arg("--api-sync-enabled").start().unwrap();
    let follower = node().args(&["--follow", &source.url()]).start().unwrap();
    vec![source, follower]
}

#[test]
fn x_through_a_follower() {
    check("x", Names::Brand, followed);
}

#[test]
fn node_through_a_follower() {
    check("node", Names::Brand, followed);
}

#[test]
fn c_through_a_follower() {
    check("c", Names::Brand, followed);
}
