//! Settings of the HTTP server.

use esker_http::CertificateFiles;
use expect_test::expect;

use super::*;

#[test]
fn the_defaults_of_the_http_limits_are_the_servers() {
    let http = format!("{:?}", load(&NOTHING).unwrap().http());
    assert_eq!(http, format!("{:?}", HttpConfig::default()));
}

#[test]
fn proxies_and_their_header_are_set_together() {
    let load = |flags: &[(&'static str, &str)]| load(&Given { flags, ..NOTHING });
    let (header, proxies) = ("http-client-address-header", "http-trusted-proxies");
    let set = load(&[(header, "x-real-ip"), (proxies, "127.0.0.1, ::1,10.0.0.0/8")]).unwrap();
    let set = set.http().client_address.unwrap();
    assert_eq!((set.name.as_str(), set.proxies.len()), ("x-real-ip", 3));
    assert_eq!(load(&[]).unwrap().http().client_address, None);
    for (flags, expected) in [
        (
            &[(header, "X-Real-IP")][..],
            expect![
                "--http-client-address-header: http-client-address-header: only proxies that http-trusted-proxies names are believed: set it too"
            ],
        ),
        (
            &[(proxies, "10.0.0.1")],
            expect![
                "--http-trusted-proxies: http-trusted-proxies: http-client-address-header has to name the header that they send, such as X-Forwarded-For"
            ],
        ),
        (
            &[(header, "Forwarded"), (proxies, "10.0.0.1")],
            expect![
                "--http-client-address-header: http-client-address-header: Forwarded is not read: let the proxy send X-Forwarded-For or X-Real-IP"
            ],
        ),
        (
            &[(header, "not a name"), (proxies, "10.0.0.1")],
            expect![
                "--http-client-address-header: http-client-address-header: expected the name of a header, such as X-Forwarded-For"
            ],
        ),
        (
            &[(header, "X-Real-IP"), (proxies, "10.0.0.1,::/0")],
            expect![
                "--http-trusted-proxies: http-trusted-proxies: these ranges together have half of all IPv4 or IPv6 addresses or more, and clients there could invent their own: name the proxies alone"
            ],
        ),
        (
            &[(header, "X-Real-IP"), (proxies, "0.0.0.0/1,128.0.0.0/1")],
            expect![
                "--http-trusted-proxies: http-trusted-proxies: these ranges together have half of all IPv4 or IPv6 addresses or more, and clients there could invent their own: name the proxies alone"
            ],
        ),
        (
            &[(proxies, "proxy.example")],
            expect![[
                r#"--http-trusted-proxies: http-trusted-proxies: "proxy.example": expected IP addresses or ranges such as 10.0.0.0/8, not "proxy.example""#
            ]],
        ),
    ] {
        expected.assert_eq(&load(flags).unwrap_err());
    }
}

#[test]
fn tls_needs_both_files() {
    fn files(flags: &[(&'static str, &str)]) -> Option<CertificateFiles> {
        load(&Given { flags, ..NOTHING }).unwrap().tls_files()
    }
    let (cert, key) = (("http-tls-cert-file", "c.pem"), ("http-tls-key-file", "k.pem"));
    let (on, off) = (("http-tls-enabled", "true"), ("http-tls-enabled", "false"));
    let both = CertificateFiles { certificate: "c.pem".into(), key: "k.pem".into() };
    assert_eq!(files(&[cert, key]), Some(both.clone()));
    assert_eq!(files(&[cert, key, on]), Some(both));
    for plain in [&[][..], &[off], &[cert, key, off], &[cert, off]] {
        assert_eq!(files(plain), None, "{plain:?}");
    }
    for (flags, expected) in [
        (
            &[cert][..],
            "http-tls-key-file is missing: set both http-tls-cert-file and http-tls-key-file, or neither",
        ),
        (
            &[key],
            "http-tls-cert-file is missing: set both http-tls-cert-file and http-tls-key-file, or neither",
        ),
        (&[cert, on], "http-tls-enabled is true, and http-tls-key-file is missing"),
        (&[key, on], "http-tls-enabled is true, and http-tls-cert-file is missing"),
        (
            &[on],
            "http-tls-enabled is true, and http-tls-cert-file and http-tls-key-file are missing",
        ),
    ] {
        assert_eq!(load(&Given { flags, ..NOTHING }).unwrap_err(), expected);
    }
}

#[test]
fn client_version_of_a_development_node() {
    let version = |mode, flags| {
        let given = Given { mode, flags, ..NOTHING };
        load(&given).unwrap().client_version()
    };
    let own = concat!("esker/v", env!("CARGO_PKG_VERSION"));
    assert_eq!(version(Mode::Node, &[]), own);
    assert_eq!(version(Mode::Dev, &[]), format!("anvil/{own}"));
    // The development network does not imply a development node.
    assert_eq!(version(Mode::Node, &[("network", "dev")]), own);
    for mode in [Mode::Node, Mode::Dev] {
        assert_eq!(version(mode, &[("client-version", "HardhatNetwork/2")]), "HardhatNetwork/2");
    }
    let long = "x".repeat(257);
    check_error(
        &Given { flags: &[("client-version", &long)], ..NOTHING },
        expect!["--client-version: client-version: expected at most 256 bytes"],
    );
}
