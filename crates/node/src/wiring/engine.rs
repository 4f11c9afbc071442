//! The engine's thread.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use esker_chain::{ChainMachine, Engine, EngineError, Shutdown, ShutdownTrigger};
use tokio::sync::watch;

use super::StartError;

/// The engine on a thread of its own, with a runtime of its own: however busy the API is, blocks go on.
#[derive(Debug)]
pub(super) struct EngineThread {
    stop: ShutdownTrigger,
    thread: Option<JoinHandle<Result<(), EngineError>>>,
    /// Closed when the thread has ended.
    alive: watch::Receiver<()>,
}

impl EngineThread {
    pub(super) fn spawn(
        engine: Arc<dyn Engine>,
        machine: Arc<dyn ChainMachine>,
    ) -> Result<Self, StartError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(StartError::Thread)?;
        let (stop, stopped) = Shutdown::new();
        let (ended, alive) = watch::channel(());
        let run = move || {
            let _ended = ended;
            runtime.block_on(engine.run(machine, stopped))
        };
        let thread = named("engine", run).map_err(StartError::Thread)?;
        Ok(Self { stop, thread: Some(thread), alive })
    }

    /// Resolves when the engine has ended, by itself or because it was told to.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut alive = self.alive.clone();
        async move { while alive.changed().await.is_ok() {} }
    }

    /// Tells the engine to end, waits until what it is writing is written, and gives what it ended with.
    pub(super) async fn stop(&mut self) -> Result<(), StartError> {
        self.stop.trigger();
        self.ended().await;
        match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error.into()),
            Some(Err(_)) => Err(StartError::EnginePanic),
        }
    }
}

fn named<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}
