//! The configurations in which the keystore is served.

use expect_test::expect;

use super::*;

#[test]
fn keystore_is_on_by_default_only_on_private_loopback_nodes() {
    let enabled = |network: &str, flags: &[(&'static str, &str)]| {
        let flags: Vec<_> = flags.iter().copied().chain([("network", network)]).collect();
        load(&Given { flags: &flags, ..NOTHING }).unwrap().keystore_enabled()
    };
    assert!(enabled("local", &[]));
    assert!(!enabled("main", &[]));
    assert!(!enabled("test", &[]));
    assert!(!enabled("local", &[("http-host", "0.0.0.0")]));
    assert!(!enabled("local", &[("http-host", "")]));
    assert!(enabled("local", &[("http-host", "[::1]")]));
    assert!(!enabled("local", &[("public", "true")]));
    assert!(!enabled("local", &[("public", "true"), ("api-keystore-enabled", "auto")]));
    assert!(enabled("main", &[("api-keystore-enabled", "true")]));
    assert!(!enabled("local", &[("api-keystore-enabled", "false")]));
    let dev = load(&Given { mode: Mode::Dev, ..NOTHING }).unwrap();
    assert!(dev.keystore_enabled());
}

#[test]
fn why_the_keystore_is_off() {
    let off = |flags: &[(&'static str, &str)]| {
        load(&Given { flags, ..NOTHING }).unwrap().keystore_off().unwrap_or_default()
    };
    assert_eq!(off(&[]), "");
    expect!["api-keystore-enabled is false"].assert_eq(&off(&[("api-keystore-enabled", "false")]));
    expect!["the node is public"].assert_eq(&off(&[("public", "true")]));
    expect![
        "users' keys do not belong on a node of network main; set api-keystore-enabled to true to serve it anyway"
    ]
    .assert_eq(&off(&[("network", "main")]));
    expect!["others can reach 10.0.0.1; set api-keystore-enabled to true to serve it anyway"]
        .assert_eq(&off(&[("http-host", "10.0.0.1")]));
}

#[test]
fn public_nodes_of_real_networks_refuse_the_keystore() {
    let on = ("api-keystore-enabled", "true");
    let (anywhere, allowed) = (("http-host", ""), ("allow-keystore-on-public-address", "true"));
    for place in [("network", "main"), ("network", "test")] {
        let refused = load(&Given { flags: &[on, anywhere, place], ..NOTHING }).unwrap_err();
        assert!(refused.contains("others can reach every address of this machine"), "{refused}");
        assert!(refused.contains("set allow-keystore-on-public-address"), "{refused}");
        load(&Given { flags: &[on, place], ..NOTHING }).unwrap();
        load(&Given { flags: &[anywhere, place], ..NOTHING }).unwrap();
        let flags = [on, anywhere, place, allowed];
        let config = load(&Given { flags: &flags, ..NOTHING }).unwrap();
        assert!(config.keystore_enabled() && config.warnings.len() == 1, "{:?}", config.warnings);
    }
    // On a custom network there is a warning.
    let config = load(&Given { flags: &[on, anywhere], ..NOTHING }).unwrap();
    assert!(config.keystore_enabled() && config.warnings.len() == 1, "{:?}", config.warnings);
}
