//! What the screens show of nodes of each kind.

use esker_settings::networks::accounts::well_known;
use expect_test::expect;

use super::*;

fn ready() -> Ready {
    let paths = [
        "/ext/X",
        "/ext/admin",
        "/ext/bc/2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed",
        "/ext/bc/C/rpc",
        "/ext/bc/P",
        "/ext/bc/X",
        "/ext/bc/X/wallet",
        "/ext/bc/avm",
        "/ext/health",
        "/ext/health/liveness",
        "/ext/index/X/block",
        "/ext/index/X/tx",
        "/ext/info",
        "/ext/keystore",
        "/ext/metrics",
        "/ext/vm/avm",
        "/ext/vm/xvm",
    ];
    let chain = |alias: &str, id: &str, runs| (alias.to_owned(), id.to_owned(), runs);
    Ready {
        version: "0.1.0",
        network: "dev".to_owned(),
        network_id: 12345,
        url: "http://127.0.0.1:9650".to_owned(),
        has_dashboard: true,
        http_addr: "127.0.0.1:9650".to_owned(),
        further_addrs: Vec::new(),
        evm_addr: Some("127.0.0.1:8545".to_owned()),
        evm_url: Some("http://127.0.0.1:8545".to_owned()),
        node_id: "NodeID-111111111111111111116DBWJs".to_owned(),
        ready_ms: 31,
        endpoints: endpoints(
            &paths.map(str::to_owned),
            &["X".to_owned(), "C".to_owned(), "P".to_owned()],
        ),
        chains: vec![
            chain("X", "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed", true),
            chain("C", "2BWjAem9GFUrxT8pAagsjJeLzCZGXKnLZzhRK7pbw4ZjYZ7UkL", true),
        ],
        has_x_chain: true,
        evm_chain_id: 43112,
        hardfork: None,
        native_asset_id: "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe".to_owned(),
        native_aliases: vec!["NAT".to_owned(), "AVAX".to_owned()],
        dev_accounts: Some(DevAccounts::usual().clone()),
        data_dir: None,
        evm_in_use: None,
        start_s: 1_764_000_000,
        genesis_number: 0,
        gas_limit: 30_000_000,
        base_fee: 1_000_000_000,
        fork: None,
        taken_over: None,
        fixture: Vec::new(),
        is_verbose: false,
    }
}

#[test]
fn accounts_of_another_mnemonic() {
    let mut ready = ready();
    let mut accounts = DevAccounts::usual().accounts.clone();
    accounts.push(well_known());
    // 24 long words, as many as there can be.
    let mnemonic = ["abstract"; 24].join(" ");
    ready.dev_accounts = Some(DevAccounts {
        mnemonic: mnemonic.clone(),
        path: "m/7".to_owned(),
        balance: 1_234,
        accounts,
    });
    let screen = render(&ready, false);
    assert!(screen.contains("\nAvailable Accounts, 1,234 each\n"), "{screen}");
    assert!(screen.contains("\n(10) 0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC\n"), "{screen}");
    assert!(screen.contains("\nDerivation path:   m/7/N\n"), "{screen}");
    assert!(screen.contains("\nFor development: whoever sees them "), "{screen}");
    assert!(!screen.contains("These keys are public"), "{screen}");
    let words = screen.split_once("Mnemonic:").unwrap().1.split_once("Derivation").unwrap().0;
    assert_eq!(words.split_whitespace().collect::<Vec<_>>().join(" "), mnemonic);
    assert_narrow(&screen);
}

/// No line is wider than a terminal.
fn assert_narrow(screen: &str) {
    for line in screen.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn the_banner_of_anvil() {
    let mut ready = ready();
    ready.dev_accounts.as_mut().unwrap().accounts.truncate(2);
    let mut more = AnvilBanner { has_gas_limit: true, ipc: None, notes: Vec::new() };
    let banner = anvil_banner(&ready, &more);
    expect![[r#"

            Esker 0.1.0, with the flags and the banner of anvil 1.7.1

        Available Accounts
        ==================

        (0) 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (10000.000000000000000000 ETH)
        (1) 0x70997970C51812dc3A010C7d01b50e0d17dc79C8 (10000.000000000000000000 ETH)

        Private Keys
        ==================

        (0) 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80
        (1) 0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d

        Wallet
        ==================
        Mnemonic:          test test test test test test test test test test test junk
        Derivation path:   m/44'/60'/0'/0/


        Chain ID
        ==================

        43112

        Base Fee
        ==================

        1000000000

        Gas Limit
        ==================

        30000000

        Genesis Timestamp
        ==================

        1764000000

        Genesis Number
        ==================

        0

        Listening on 127.0.0.1:8545
    "#]]
    .assert_eq(&banner);
    (more.has_gas_limit, more.ipc) = (false, Some("a.ipc".into()));
    more.notes.push("--md: none".to_owned());
    let noted = anvil_banner(&ready, &more);
    assert!(noted.contains("\nGas Limit\n==================\n\nDisabled\n"), "{noted}");
    let end = "Flags Without Effect\n==================\n\n--md: none\n\nIPC path: a.ipc\nListening on 127.0.0.1:8545\n";
    assert!(noted.ends_with(end), "{noted}");
}

#[test]
fn the_screen() {
    let screen = render(&ready(), false);
    assert_narrow(&screen);
    expect![[r#"

        Esker 0.1.0  network dev (12345), ready in 31 ms
        Data is removed at the end: --data-dir DIR keeps it
        Dashboard:         http://127.0.0.1:9650/

        EVM, the C-Chain
        ==================
        RPC URL:           http://127.0.0.1:8545
        Websocket:         ws://127.0.0.1:8545
        Chain ID:          43112

        X-Chain
        ==================
        URL:               http://127.0.0.1:9650/ext/bc/X
        Native asset:      NAT or AVAX
        Its ID:            2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe

        Available Accounts, 10,000 each
        ==================
        (0) 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266
        (1) 0x70997970C51812dc3A010C7d01b50e0d17dc79C8
        (2) 0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC
        (3) 0x90F79bf6EB2c4f870365E785982E1f101E93b906
        (4) 0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65
        (5) 0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc
        (6) 0x976EA74026E726554dB657fA54763abd0C3a0aa9
        (7) 0x14dC79964da2C08b23698B3D3cc7Ca32193d9955
        (8) 0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f
        (9) 0xa0Ee7A142d267C1f36714E4a8F75612F20a79720

        Private Keys
        ==================
        These keys are public: anyone can take what they own on other networks.

        (0) 0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80
        (1) 0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d
        (2) 0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a
        (3) 0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6
        (4) 0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a
        (5) 0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba
        (6) 0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e
        (7) 0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356
        (8) 0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97
        (9) 0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6

        Wallet
        ==================
        Mnemonic:          test test test test test test test test test test test junk
        Derivation path:   m/44'/60'/0'/0/N
        Balances are in NAT on each of C (10^18 wei) and X (10^9 units).

        Try: esker accounts
             esker call evm_chainId
             esker balance ADDRESS
             esker dev --verbose

        Listening on 127.0.0.1:8545
    "#]]
    .assert_eq(&screen);
}

#[test]
fn the_whole_screen() {
    let brief = render(&ready(), false);
    let screen = render(&Ready { is_verbose: true, ..ready() }, false);
    assert_narrow(&screen);
    // It begins as the brief one.
    let (same, _) = brief.split_once("\nTry: ").unwrap();
    let (_, more) = screen.split_once(same).unwrap();
    expect![[r#"

        Blocks
        ==================
        Gas limit:         30000000
        Base fee:          1000000000 wei at first
        Began at:          1764000000

        Chains
        ==================
        X-Chain ID:        2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed
        C-Chain ID:        2BWjAem9GFUrxT8pAagsjJeLzCZGXKnLZzhRK7pbw4ZjYZ7UkL
        Node:              NodeID-111111111111111111116DBWJs

        Endpoints
        ==================
        X-Chain:           http://127.0.0.1:9650/ext/bc/X
        X wallet:          http://127.0.0.1:9650/ext/bc/X/wallet
        C-Chain:           http://127.0.0.1:9650/ext/bc/C/rpc
        P-Chain:           http://127.0.0.1:9650/ext/bc/P
        asset VM:          http://127.0.0.1:9650/ext/vm/xvm
        info:              http://127.0.0.1:9650/ext/info
        health:            http://127.0.0.1:9650/ext/health
        metrics:           http://127.0.0.1:9650/ext/metrics
        admin:             http://127.0.0.1:9650/ext/admin
        keystore:          http://127.0.0.1:9650/ext/keystore
        X index:           http://127.0.0.1:9650/ext/index/X/block

        Accounts on the X-Chain
        ==================
        (0) X-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v
        (1) X-local1cjzphr67dug28rw9ueewrqllmxlqe5f0unaxss
        (2) X-local1sj3m3zudqkw4plsvm7p08h9q89lsy4wput6fxp
        (3) X-local1y3fgntsaf2cmylsnu3880g7wp6aj73zu2kkjd4
        (4) X-local1jft4f7x5cajyw6w8vfj9708mx9jfswq0a739vp
        (5) X-local1syp9y2mlfrrjwdaj5ytezh9wuerwuhncjwye9m
        (6) X-local1zyf8ga3p89xmjaxje2ckvtvhjzv7g24s30j6rq
        (7) X-local1mer4xr0wqlq7v8m678vvx4zeyep20v8rhw76tp
        (8) X-local1l5rrv44ufqq97psu2jqx909mdnjapwv0sapt8w
        (9) X-local14flvw0x8fstzly79tacgsulxvkpv858q9nskex

        Private Keys for tools of the X-Chain
        ==================
        (0) PrivateKey-2JmTFo8knhffGK32o8vv4oRd8sA7MYo2xx1j4yhAPxN3JrLgMh
        (1) PrivateKey-gYChgv9KmCAaRH47tkCCm94bZLAxdQAygvZKNRUsaq7KM14hL
        (2) PrivateKey-iMKNGkysaBKiThvdKfzLtPFDvVLcku2E1A2AXQJAroN8exmr5
        (3) PrivateKey-wqhSPTuv3JB9YPixRMp8DYgPPsc3iV2fDT5gXUVn1MZsZZrz2
        (4) PrivateKey-Yf6fhJUE97QgwBkb5ttXE3yR1UFCT3YVjZmfLU7KUVUj5UeA2
        (5) PrivateKey-24KNq4HhQo5BL6xMXYFKyoH33KN7aPUkeF9QDy7sVAmo4m1GXd
        (6) PrivateKey-27gEa9Qudm22UaxCuRY9EGVM88msZo17PyA92qcU1DvUbwW4hv
        (7) PrivateKey-aMXjshukTmhmsn2PdeBXDrU5rhEWB5VCgqr2eJ6ianKWVrQSv
        (8) PrivateKey-2fpphtBdokVfG6uAWP7mFSu3Zsw6ojVQiHrctLpSvT6dPgYc23
        (9) PrivateKey-KjKHSmNQ9bFN3bK2nkG1ecEaasisjKZE1VqEi8crRRJDM8xYP

        Well-known key
        ==================
        0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC
        X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u
        0x56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027
        PrivateKey-ewoqjP7PxY4yr3iLTpLisriqt94hdyDFNgchSxGGztUrTXtNN

        Try: esker accounts
             esker call evm_chainId
             esker balance ADDRESS

        Listening on 127.0.0.1:8545
    "#]]
    .assert_eq(more);
}

/// A chain of the EVM alone.
fn alone() -> Ready {
    let paths = ["/", "/ext/bc/evm/rpc", "/ext/bc/evm/ws", "/ext/health", "/ext/metrics"];
    let usual = ready();
    Ready {
        network: "evm".to_owned(),
        url: "http://127.0.0.1:8545".to_owned(),
        http_addr: "127.0.0.1:8545".to_owned(),
        endpoints: endpoints(&paths.map(str::to_owned), &["evm".to_owned()]),
        chains: vec![("evm".to_owned(), usual.chains[1].1.clone(), true)],
        has_x_chain: false,
        evm_chain_id: 31337,
        hardfork: Some("Osaka"),
        ..usual
    }
}

#[test]
fn a_chain_that_is_alone_shows_nothing_of_x() {
    for is_verbose in [false, true] {
        let screen = render(&Ready { is_verbose, ..alone() }, false);
        assert_narrow(&screen);
        for text in ["X-", "C-Chain", "NAT", "asset", "info"] {
            assert!(!screen.contains(text), "{text}: {screen}");
        }
        assert!(screen.contains("\nRPC URL:           http://127.0.0.1:8545\n"), "{screen}");
        assert!(screen.contains("\nHardfork:          Osaka\n"), "{screen}");
        assert!(screen.ends_with("\nListening on 127.0.0.1:8545\n"), "{screen}");
    }
    let line: serde_json::Value = serde_json::from_str(&json_line(&alone())).unwrap();
    assert_eq!(line["accounts"][0]["address"], "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    assert_eq!((line.get("nativeAssetID"), line["accounts"][0].get("xAddress")), (None, None));
}

fn forked(is_proven: bool) -> Ready {
    let fork = ForkedBlock {
        url: Some("https://node.example:443/v2/***".to_owned()),
        chain_id: 1,
        number: 23_000_000,
        hash: format!("0x{}", "ab".repeat(32)),
        base_fee: 7,
        is_proven,
    };
    Ready { fork: Some(fork), ..alone() }
}

#[test]
fn a_fork_shows_its_source_and_what_values_rest_on() {
    let screen = render(&forked(true), false);
    let more = &screen[screen.find("\nFork\n").unwrap()..];
    let more = &more[..more.find("\nAvailable").unwrap()];
    expect![[r#"

        Fork
        ==================
        Endpoint:          https://node.example:443/v2/***
        Block number:      23000000
        Block hash:
        0xabababababababababababababababababababababababababababababababab
        Chain ID:          1
        Values:            proved against the state root of the block
    "#]]
    .assert_eq(more);
    let screen = render(&forked(false), false);
    assert!(screen.contains("\nValues:            the source's word, without"), "{screen}");
    let banner = AnvilBanner { has_gas_limit: true, ipc: None, notes: Vec::new() };
    let banner = anvil_banner(&forked(false), &banner);
    let expected = "\nFork\n==================\nEndpoint:       https://node.example:443/v2/***\n\
                    Block number:   23000000\nBlock hash:     0xabab";
    assert!(banner.contains(expected), "{banner}");
    assert!(banner.contains("\nValues:         the source's word"), "{banner}");
    let banner = hardhat_banner(&forked(true));
    assert!(banner.contains("\nBlock number: 23000000\n"), "{banner}");
    let line: serde_json::Value = serde_json::from_str(&json_line(&forked(true))).unwrap();
    assert_eq!(line["fork"]["blockNumber"], 23_000_000);
    assert_eq!(line["fork"]["isProven"], true);
}

#[test]
fn a_fixture_has_its_assets_and_contracts() {
    let asset = ("TSTC".to_owned(), ready().native_asset_id);
    let contract = |n: usize| (format!("contracts[{n}]"), format!("0x{n:040x}"));
    let fixture: Vec<_> = [asset].into_iter().chain((0..30).map(contract)).collect();
    let mut ready = Ready { fixture, ..ready() };
    let screen = render(&ready, false);
    assert_narrow(&screen);
    let (_, shown) = screen.split_once("\nFixture\n==================\n").unwrap();
    let lines: Vec<_> = shown.lines().take(21).collect();
    assert_eq!(lines[0], "TSTC:              2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe");
    assert_eq!(lines[1], "contracts[0]:      0x0000000000000000000000000000000000000000");
    assert_eq!(lines[20], "11 more: --verbose");
    ready.is_verbose = true;
    assert!(render(&ready, false).contains("\ncontracts[29]:     0x"));
}

#[test]
fn a_port_that_another_program_has() {
    let mut ready = ready();
    ready.evm_addr = None;
    ready.evm_url = None;
    ready.evm_in_use = Some("127.0.0.1:8545".to_owned());
    let screen = render(&ready, false);
    assert_narrow(&screen);
    for text in [
        "\nRPC URL:           http://127.0.0.1:9650/ext/bc/C/rpc\n",
        "\nWebsocket:         ws://127.0.0.1:9650/ext/bc/C/ws\n",
        "\nAnother program has 127.0.0.1:8545: tools that use it don't reach this node.\n",
    ] {
        assert!(screen.contains(text), "{text}: {screen}");
    }
    assert!(screen.ends_with("\n\nListening on 127.0.0.1:9650\n"), "{screen}");
}

#[test]
fn a_chain_that_does_not_run() {
    let mut ready = Ready { is_verbose: true, ..ready() };
    ready.chains[1].2 = false;
    (ready.evm_addr, ready.evm_url) = (None, None);
    ready.endpoints.retain(|(name, _)| name != "C-Chain");
    let screen = render(&ready, false);
    assert!(screen.contains("\nnot served by this version\nChain ID:          43112\n"));
    assert!(screen.contains("ZjYZ7UkL\n                   not served by this version\n"));
}

#[test]
fn with_tls_the_addresses_say_so() {
    let mut ready = ready();
    ready.url = ready.url.replace("http:", "https:");
    ready.evm_url = Some("https://127.0.0.1:8545".to_owned());
    let screen = render(&ready, false);
    assert!(screen.contains("\nWebsocket:         wss://127.0.0.1:8545\n"), "{screen}");
}

#[test]
fn colours_change_no_text() {
    let (plain, colours) = (render(&ready(), false), render(&ready(), true));
    let mut stripped = colours.clone();
    for code in ["\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[33m", "\x1b[0m"] {
        stripped = stripped.replace(code, "");
    }
    assert_eq!(stripped, plain);
    assert_ne!(colours, plain);
    // Programs look for the last line as it is.
    assert!(colours.ends_with("\nListening on 127.0.0.1:8545\n"), "{colours}");
}

#[test]
fn the_line_for_programs() {
    let line = json_line(&ready());
    assert_eq!(line.matches('\n').count(), 1);
    let value: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["http"], "127.0.0.1:9650");
    assert_eq!(value["evm"], "127.0.0.1:8545");
    assert_eq!(value["evmUrl"], "http://127.0.0.1:8545");
    assert_eq!(value["chains"]["X"], "2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed");
    assert_eq!(value["mnemonic"], DEV_MNEMONIC);
    assert_eq!(value["accounts"].as_array().unwrap().len(), 10);
    let first = json!({
        "xAddress": "X-local15428vq2uzwhm3taey9sr9x5vm6tk78ew499s5v",
        "cAddress": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "privateKey": "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
        "xPrivateKey": "PrivateKey-2JmTFo8knhffGK32o8vv4oRd8sA7MYo2xx1j4yhAPxN3JrLgMh",
    });
    assert_eq!(value["accounts"][0], first);
    // Other nodes than `esker dev` have none to show.
    let other: serde_json::Value =
        serde_json::from_str(&json_line(&Ready { dev_accounts: None, ..ready() })).unwrap();
    assert_eq!((other.get("accounts"), other.get("mnemonic")), (None, None));
}
