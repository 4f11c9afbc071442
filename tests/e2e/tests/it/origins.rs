//! Web pages of other sites against a whole node: what they may read and send, and what they never reach.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use esker_client::HttpReply;
use esker_e2e::Node;
use esker_e2e::docs::Page;
use esker_e2e::tables::tables;
use esker_rpc::UNTRUSTED_ORIGIN;
use serde_json::{Value, json};

use crate::docs::api_pages;
use crate::support::local;

const LOCAL: [&str; 3] = ["http://localhost:3000", "http://127.0.0.1:5173", "https://[::1]"];
const FOREIGN: [&str; 4] = [
    "https://evil.example",
    "null",
    "http://localhost.evil.example",
    "http://127.0.0.1.nip.example",
];

fn post(node: &Node, path: &str, origin: &str, body: &str) -> HttpReply {
    let headers = [("Content-Type", "application/json"), ("Origin", origin)];
    node.rpc().http().request("POST", path, &headers, body.as_bytes()).unwrap()
}

fn body(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn error(reply: &HttpReply) -> Option<String> {
    let reply: Value = serde_json::from_slice(&reply.body).unwrap();
    reply["error"]["message"].as_str().map(str::to_owned)
}

/// Path and body of every documented request that names a password.
fn requests_with_passwords(pages: &[Page]) -> BTreeSet<(String, String)> {
    let exchanges =
        pages.iter().flat_map(|page| &page.sections).flat_map(|section| &section.exchanges);
    let requests = exchanges.filter_map(|exchange| exchange.request().ok());
    let with_password = requests.filter(|request| request.body.contains("\"password\""));
    with_password.map(|request| (request.path, request.body)).collect()
}

#[test]
fn every_method_with_a_password_and_every_admin_method_is_for_trusted_callers() {
    let requests = requests_with_passwords(&api_pages());
    let mut guarded = 0;
    for (path, service) in tables().unwrap() {
        for info in service.methods() {
            let name = format!("{}.{}", info.namespace, info.name);
            let takes_password = requests
                .iter()
                .any(|(at, body)| *at == path && body.contains(&format!("\"{name}\"")));
            let of_node = matches!(info.namespace, "admin" | "keystore" | "personal");
            // Paths that no page shows, such as aliases, have the same table.
            if takes_password || of_node {
                assert!(info.trusted_callers_only, "{path} {name}");
                guarded += 1;
            }
        }
    }
    assert!(guarded >= 30, "{guarded}");
}

#[test]
fn pages_of_other_sites_reach_no_password_and_no_admin_method() {
    let node = local().dev().arg("--api-admin-enabled").arg("--api-keystore-enabled");
    let node = node.start().unwrap();
    let requests = requests_with_passwords(&api_pages());
    assert!(requests.len() >= 25, "{}", requests.len());
    for origin in FOREIGN {
        for (path, body) in &requests {
            let reply = post(&node, path, origin, body);
            if path == "/ext/keystore" {
                assert_eq!((reply.status, reply.text().as_str()), (403, "origin not allowed\n"));
            } else {
                assert_eq!(error(&reply).as_deref(), Some(UNTRUSTED_ORIGIN), "{origin} {body}");
            }
        }
        for (path, method) in [
            ("/ext/admin", "admin.getLoggerLevel"),
            ("/ext/admin", "admin.getLogs"),
            ("/ext/admin", "admin.getSettings"),
            ("/ext/keystore", "keystore.listUsers"),
            ("/ext/keystore", "nothing"),
        ] {
            assert_eq!(post(&node, path, origin, &body(method, &json!({}))).status, 403);
        }
    }
    // None of it was carried out, by other names neither.
    let user = json!({ "username": "alice", "password": "Str0ng-Pass-W0rd!" });
    for (path, method) in [
        ("/ext/bc/X", "avm.createAddress"),
        ("/ext/avm", "xvm.createAddress"),
        ("/ext/bc/X/wallet", "wallet.send"),
        ("/ext/bc/C/avax", "avax.importKey"),
        ("/ext/C/nat", "avax.exportAVAX"),
    ] {
        let reply = post(&node, path, FOREIGN[0], &body(method, &user));
        assert_eq!(error(&reply).as_deref(), Some(UNTRUSTED_ORIGIN), "{method}");
    }
    let users: Value = node.rpc().call("/ext/keystore", "keystore.listUsers", json!({})).unwrap();
    assert_eq!(users["users"], json!([]));
}

#[test]
fn local_pages_are_trusted_and_all_may_read() {
    let app = "https://app.example";
    let node = local().dev().arg(format!("--http-allowed-origins=* {app}"));
    let node = node.arg("--api-admin-enabled").start().unwrap();
    let user = |n: usize| json!({ "username": format!("u{n}"), "password": "Str0ng-Pass-W0rd!" });
    for (n, origin) in LOCAL.into_iter().chain([app]).enumerate() {
        let reply = post(&node, "/ext/keystore", origin, &body("keystore.createUser", &user(n)));
        assert_eq!((reply.status, error(&reply)), (200, None), "{origin}");
        let reply = post(&node, "/ext/bc/X", origin, &body("xvm.createAddress", &user(n)));
        assert_eq!(error(&reply), None, "{origin}");
        let reply = post(&node, "/ext/admin", origin, &body("admin.getLoggerLevel", &json!({})));
        assert_eq!(error(&reply), None, "{origin}");
    }
    let reply = post(&node, "/ext/bc/X", FOREIGN[0], &body("xvm.getHeight", &json!({})));
    assert_eq!(error(&reply), None);
    assert_eq!(reply.header("access-control-allow-origin").as_deref(), Some("*"));
    // Signatures of the public accounts.
    let accounts = post(&node, "/ext/bc/C/rpc", FOREIGN[0], &body("eth_accounts", &json!([])));
    let accounts: Value = serde_json::from_slice(&accounts.body).unwrap();
    let (from, to) = (&accounts["result"][0], &accounts["result"][1]);
    let send = body("eth_sendTransaction", &json!([{ "from": from, "to": to, "value": "0x1" }]));
    assert_eq!(error(&post(&node, "/ext/bc/C/rpc", FOREIGN[0], &send)), None);
}

/// The status of a call whose `Host` is this name, from a page of this origin or from a program.
fn status_for_host(node: &Node, host: &str, origin: Option<&str>) -> u16 {
    let body = body("eth_chainId", &json!([]));
    let origin = origin.map_or(String::new(), |origin| format!("Origin: {origin}\r\n"));
    let request = format!(
        "POST /ext/bc/C/rpc HTTP/1.1\r\nHost: {host}\r\n{origin}Content-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(node.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_development_node_is_called_by_the_names_of_containers_and_by_no_public_one() {
    const PRIVATE: [&str; 4] =
        ["host.docker.internal:8545", "esker:8545", "my_project-esker-1:9650", "laptop.local:8545"];
    let dev = local().dev().start().unwrap();
    let node = local().start().unwrap();
    let private = local().arg("--http-allowed-hosts=private").start().unwrap();
    for host in PRIVATE {
        assert_eq!(status_for_host(&dev, host, None), 200, "{host}");
        assert_eq!(status_for_host(&dev, host, Some("http://app:3000")), 200, "{host}");
        assert_eq!(status_for_host(&dev, host, Some(&format!("http://{host}"))), 403, "{host}");
        assert_eq!(status_for_host(&node, host, None), 403, "as the reference: {host}");
        assert_eq!(status_for_host(&private, host, None), 200, "{host}");
    }
    for host in ["rebind.example.com:8545", "127.0.0.1.nip.io:8545", "localtest.me", "esker."] {
        for origin in [None, Some("https://evil.example"), Some(&*format!("http://{host}"))] {
            assert_eq!(status_for_host(&dev, host, origin), 403, "{host} {origin:?}");
        }
    }
    let output = dev.output();
    assert_eq!(output.matches("list its name in http-allowed-hosts").count(), 1, "{output}");
}

#[test]
fn websockets_of_origins_that_are_not_allowed() {
    let app = "https://app.example";
    let node = local().dev().arg(format!("--http-allowed-origins={app}")).start().unwrap();
    let open = |origin: Option<&str>| {
        let mut headers = vec![
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        node.rpc().http().request("GET", "/ext/bc/C/ws", &headers, b"").unwrap().status
    };
    assert_eq!((open(None), open(Some(app))), (101, 101));
    for origin in FOREIGN.into_iter().chain(LOCAL) {
        assert_eq!(open(Some(origin)), 403, "{origin}");
    }
}

#[test]
fn pages_of_other_sites_do_not_use_unlocked_accounts() {
    const RPC: &str = "/ext/bc/C/rpc";
    const OF_DEV: &str = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
    let node = local().dev().start().unwrap();
    let ask = |origin: &str, method: &str, params: &Value| {
        let reply = post(&node, RPC, origin, &body(method, params));
        serde_json::from_slice::<Value>(&reply.body).unwrap()
    };
    let made = ask(LOCAL[0], "personal_newAccount", &json!(["secret"]));
    let account = made["result"].as_str().unwrap();
    let unlocked = ask(LOCAL[0], "personal_unlockAccount", &json!([account, "secret", 0]));
    assert_eq!(unlocked["result"], true);
    let tx = |from: &str| json!({ "from": from, "to": OF_DEV, "value": "0x0", "gas": "0x5208", "gasPrice": "0x77359400", "nonce": "0x63" });
    let typed = json!({ "types": { "EIP712Domain": [] }, "primaryType": "EIP712Domain", "domain": {}, "message": {} });
    let uses = |from: &str| {
        [
            ("eth_sign", json!([from, "0x68"])),
            ("eth_signTransaction", json!([tx(from)])),
            ("eth_signTypedData_v4", json!([from, typed])),
            ("eth_sendTransaction", json!([tx(from)])),
        ]
    };
    for (method, params) in uses(account) {
        for origin in FOREIGN {
            let reply = ask(origin, method, &params);
            assert_eq!(reply["error"]["message"], UNTRUSTED_ORIGIN, "{method}: {reply}");
        }
        // A page of this machine may; that the account has no funds is another matter.
        let reply = ask(LOCAL[0], method, &params);
        assert_ne!(reply["error"]["message"], UNTRUSTED_ORIGIN, "{method}: {reply}");
        assert_eq!(reply.get("result").is_some(), method != "eth_sendTransaction", "{reply}");
    }
    for origin in FOREIGN {
        let reply = ask(origin, "eth_sendTransactionSync", &json!([tx(account), 1]));
        assert_eq!(reply["error"]["message"], UNTRUSTED_ORIGIN, "{reply}");
    }
    for (method, params) in uses(OF_DEV) {
        let reply = ask(FOREIGN[0], method, &params);
        assert!(reply.get("result").is_some(), "{method}: {reply}");
    }
}
