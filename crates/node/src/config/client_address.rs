//! Which header names a client's address, and which proxies may say so.

use esker_http::ClientAddressHeader;

use super::Settings;

/// A header whose form is another: `for=192.0.2.60;proto=http`.
const FORWARDED: &str = "forwarded";

/// The header and its proxies; `None`: an address is that of its connection.
///
/// The error has the setting at fault.
pub(super) fn header(
    settings: &Settings,
) -> Result<Option<ClientAddressHeader>, (&'static str, String)> {
    let name = settings.http_client_address_header.as_str();
    let proxies = settings.http_trusted_proxies.0.clone();
    if name.is_empty() && proxies.is_empty() {
        return Ok(None);
    }
    let fault = |reason: &str| Err(("http-client-address-header", reason.to_owned()));
    if name.is_empty() {
        let reason = "http-client-address-header has to name the header that they send, such as X-Forwarded-For";
        return Err(("http-trusted-proxies", reason.to_owned()));
    }
    if proxies.is_empty() {
        return fault("only proxies that http-trusted-proxies names are believed: set it too");
    }
    if proxies.iter().any(|range| range.prefix_len() == 0) {
        let reason = "a range of all addresses would let every client invent its own";
        return Err(("http-trusted-proxies", reason.to_owned()));
    }
    if name.eq_ignore_ascii_case(FORWARDED) {
        return fault("Forwarded is not read: let the proxy send X-Forwarded-For or X-Real-IP");
    }
    match name.parse() {
        Ok(name) => Ok(Some(ClientAddressHeader { name, proxies })),
        Err(_) => fault("expected the name of a header, such as X-Forwarded-For"),
    }
}

/// Refuses one without the other.
pub(super) fn check(settings: &Settings) -> Result<(), (&'static str, String)> {
    header(settings).map(|_| ())
}
