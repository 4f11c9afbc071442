//! The dashboard in a browser: the journeys of `tests/clients/dashboard` through the page of a node.

use std::process::{Command, Stdio};

use esker_e2e::NodeBuilder;

use crate::clients::{run_in_browser, skip};
use crate::support::local;
use crate::validators::{builder, new_network};

/// Goes on a journey.
fn travel(journey: &str) {
    travel_on(journey, local().dev());
}

/// Goes on a journey through the page of a node.
fn travel_on(journey: &str, node: NodeBuilder) {
    let chromium = std::env::var_os("CLIENT_TESTS_CHROMIUM").unwrap_or_else(|| "chromium".into());
    let mut version = Command::new(&chromium);
    version.arg("--version").stdin(Stdio::null());
    if !version.output().is_ok_and(|output| output.status.success()) {
        skip("Chromium is not installed: `cargo xtask test` says how to install it");
        return;
    }
    run_in_browser("chromium", journey, node);
}

#[test]
fn blocks_appear_without_a_reload() {
    travel("blocks");
}

#[test]
fn each_kind_of_id_is_found() {
    travel("search");
}

#[test]
fn reason_and_calls_of_a_failed_transaction_are_shown() {
    travel("failure");
}

#[test]
fn a_utxo_is_followed_across_the_chains() {
    travel("utxo");
}

#[test]
fn an_amount_is_moved_between_the_chains_by_mouse_and_by_keyboard() {
    travel("move");
}

#[test]
fn a_contract_is_deployed_and_read() {
    travel("contract");
}

#[test]
fn hostile_texts_are_shown_as_text() {
    travel("hostile");
}

#[test]
fn each_view_is_accessible() {
    travel("access");
}

#[test]
fn the_main_views_are_complete_in_both_themes_and_widths() {
    travel("shots");
}

#[test]
fn a_lost_connection_is_shown_and_mended() {
    travel("lost");
}

#[test]
fn a_snapshot_is_taken_and_reverted_to() {
    travel("snapshots");
}

#[test]
fn an_address_with_many_transactions_is_shown_in_pages() {
    travel("many");
}

#[test]
fn rounds_settings_and_log_levels_of_a_validator_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let network = folder.path().join("net");
    new_network(&network, 1);
    let node = builder(&network, 1).arg("--dashboard").arg("--api-admin-enabled");
    travel_on("operate", node);
}

#[test]
fn the_log_is_followed_and_settings_show_their_origins() {
    travel_on("log", local().dev().arg("--api-admin-enabled"));
}

#[test]
fn what_the_page_asks_stays_in_bounds() {
    travel("bounded");
}

#[test]
fn calls_with_hostile_texts_are_shown_in_bounds() {
    travel("hostile_calls");
}

/// The journeys that use most of the page. Without Firefox they are left out.
#[test]
fn the_page_works_in_firefox() {
    if std::env::var_os("CLIENT_TESTS_FIREFOX").is_none() {
        eprintln!("left out: Firefox is not installed");
        return;
    }
    for journey in ["blocks", "failure", "utxo", "move"] {
        run_in_browser("firefox", journey, local().dev());
    }
}
