//! The messages of an epoch on a channel: its number (varint) before each.

use std::num::NonZeroUsize;

use commonware_cryptography::ed25519::PublicKey;
use commonware_p2p::utils::mux::{self, Muxer, SubSender};
use commonware_p2p::{Message, Receiver, Sender};
use commonware_runtime::Spawner;
use esker_chain::EngineError;

use super::history::MAX_CHANGES;

/// Receives the messages of this epoch. Those of other epochs are dropped. Bytes without an epoch are passed on, to
/// be refused.
#[derive(Debug)]
pub(crate) struct EpochReceiver<R> {
    receiver: R,
    epoch: u64,
}

impl<R: Receiver<PublicKey = PublicKey>> Receiver for EpochReceiver<R> {
    type Error = R::Error;
    type PublicKey = PublicKey;

    async fn recv(&mut self) -> Result<Message<PublicKey>, R::Error> {
        loop {
            let (peer, bytes) = self.receiver.recv().await?;
            match mux::parse(bytes.clone()) {
                Ok((epoch, message)) if epoch == self.epoch => return Ok((peer, message)),
                Ok((epoch, _)) if epoch <= MAX_CHANGES as u64 => {}
                Ok(_) | Err(_) => return Ok((peer, bytes)),
            }
        }
    }

    fn capacity(&self) -> NonZeroUsize {
        self.receiver.capacity()
    }
}

/// Receives nothing: the library's sender of a part of a channel comes with a receiver.
#[derive(Debug)]
struct Nothing(NonZeroUsize);

impl Receiver for Nothing {
    type Error = mux::Error;
    type PublicKey = PublicKey;

    async fn recv(&mut self) -> Result<Message<PublicKey>, mux::Error> {
        std::future::pending().await
    }

    fn capacity(&self) -> NonZeroUsize {
        self.0
    }
}

/// The part of a channel that has an epoch's messages.
pub(crate) async fn of_epoch<E: Spawner, S, R>(
    context: E,
    (sender, receiver): (S, R),
    epoch: u64,
) -> Result<(SubSender<S>, EpochReceiver<R>), EngineError>
where
    S: Sender<PublicKey = PublicKey>,
    R: Receiver<PublicKey = PublicKey>,
{
    let (muxer, mut channels) = Muxer::new(context, sender, Nothing(receiver.capacity()));
    let _running = muxer.start();
    let failed = |error| EngineError::Protocol(format!("the channels of an epoch: {error}"));
    let (sender, _nothing) = channels.register(epoch).await.map_err(failed)?;
    Ok((sender, EpochReceiver { receiver, epoch }))
}
