//! A socket of the object dialect beside one of the positional dialect.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use esker_http::{Endpoint, HttpConfig, Readiness};
use esker_primitives::ChainId;
use esker_primitives::sync::Mutex;
use esker_rpc::handler::quick;
use esker_rpc::object::ObjectSocket;
use esker_rpc::socket::{Overrun, SocketAnswer, SocketDialect, SocketSession};
use esker_rpc::{Caller, MethodTable, NoArgs, RpcError, Service};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::super::{CALL, CALLED};
use super::client::Socket;
use super::{World, request, result};

const PATH: &str = "/ext/bc/second/ws";

/// The object dialect with events that the test sends.
#[derive(Debug)]
struct Announcing {
    methods: ObjectSocket,
    connected: Mutex<Vec<UnboundedSender<Bytes>>>,
}

struct AnnouncingSession {
    methods: ObjectSocket,
    events: Mutex<UnboundedReceiver<Bytes>>,
}

impl Announcing {
    fn announce(&self, event: &'static [u8]) {
        for connected in self.connected.lock().iter() {
            connected.send(Bytes::from_static(event)).unwrap();
        }
    }
}

impl SocketDialect for Announcing {
    fn service(&self) -> &Service {
        self.methods.service()
    }

    fn separator(&self) -> char {
        self.methods.separator()
    }

    fn connect(&self) -> Arc<dyn SocketSession> {
        let (sender, events) = unbounded_channel();
        self.connected.lock().push(sender);
        let events = Mutex::new_named("events", events);
        Arc::new(AnnouncingSession { methods: self.methods.clone(), events })
    }
}

impl SocketSession for AnnouncingSession {
    fn answer<'a>(&'a self, message: &'a [u8], caller: &'a Caller) -> BoxFuture<'a, SocketAnswer> {
        self.methods.answer(message, caller)
    }

    fn poll_events(
        &self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut dyn FnMut(&[Bytes]),
    ) -> Poll<Result<(), Overrun>> {
        if room == 0 {
            return Poll::Pending;
        }
        self.events.lock().poll_recv(cx).map(|event| match event {
            Some(event) => {
                out(&[event, Bytes::from_static(b"\n")]);
                Ok(())
            }
            None => Err(Overrun),
        })
    }
}

/// The world, with a second chain whose socket is of the object dialect.
async fn world() -> (World, Arc<Announcing>) {
    let world = World::new(HttpConfig::default()).await;
    let methods = MethodTable::new("toy")
        .on("ping", quick(|(), _: NoArgs| Ok::<_, RpcError>("pong")))
        .on("fail", quick(|(), _: NoArgs| Err::<(), _>(RpcError::new("no luck"))))
        .bind(Arc::new(()));
    let dialect = Arc::new(Announcing {
        methods: ObjectSocket(methods.clone()),
        connected: Mutex::new_named("connected", Vec::new()),
    });
    let endpoints = vec![
        ("", Endpoint::Object(methods)),
        ("/ws", Endpoint::Socket(Arc::clone(&dialect) as Arc<dyn SocketDialect>)),
    ];
    let chain = ChainId::new([9; 32]);

    world.server.routes.chain(&chain, &["second"], endpoints, &Readiness::ready()).unwrap();
    (world, dialect)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_are_served() {
    let (world, dialect) = world().await;
    let mut object = Socket::open(world.server.address, PATH);
    let mut positional = world.socket();
    let call = |id: u32, method: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{}}}}"#)
    };
    assert_eq!(
        object.ask(&call(1, "toy.ping")),
        "{\"jsonrpc\":\"2.0\",\"result\":\"pong\",\"id\":1}\n"
    );
    assert_eq!(positional.ask(CALL), CALLED);
    let failed = object.ask(&call(2, "toy.fail"));
    assert!(failed.contains("no luck") && failed.ends_with("\"id\":2}\n"), "{failed}");
    // Each has its own names and forms.
    let unknown = object.ask(CALL);
    assert!(unknown.starts_with(r#"{"jsonrpc":"2.0","error""#), "{unknown}");
    assert!(object.ask("[").starts_with(r#"{"jsonrpc":"2.0","error""#));
    let unknown = positional.ask(&call(3, "toy.ping"));
    assert!(unknown.contains("-32601"), "{unknown}");

    dialect.announce(br#"{"accepted":1}"#);
    dialect.announce(br#"{"accepted":2}"#);
    assert_eq!(object.read(), "{\"accepted\":1}\n");
    assert_eq!(object.read(), "{\"accepted\":2}\n");
    // Nothing of it came over the other socket.
    assert_eq!(positional.ask(&request(4, "eth_chainId")), result(4, "0xa868"));

    for (outcome, method, times) in
        [("ok", "toy.ping", 1.0), ("error", "toy.fail", 1.0), ("error", "", 2.0)]
    {
        let series = format!(
            "esker_http_requests_total{{endpoint=\"second/ws\",method=\"{method}\",outcome=\"{outcome}\"}}"
        );
        assert_eq!(world.server.metric(&series), Some(times), "{series}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_notification_has_no_reply_and_an_end_of_events_ends_the_socket() {
    let (world, dialect) = world().await;
    let mut object = Socket::open(world.server.address, PATH);
    object.send(r#"{"jsonrpc":"2.0","method":"toy.ping","params":{}}"#);
    let reply = object.ask(r#"{"jsonrpc":"2.0","id":7,"method":"toy.ping","params":{}}"#);
    assert!(reply.ends_with("\"id\":7}\n"), "{reply}");
    dialect.connected.lock().clear();
    assert_eq!(object.read(), "1008 the client did not read its notifications in time");
}
