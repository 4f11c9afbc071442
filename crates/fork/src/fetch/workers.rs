//! Tasks that read. Reads that wait for one at the same time become one request.

use std::sync::Arc;

use futures_util::future::join_all;

use super::context::Context;
use super::flights::Flight;
use super::job::run;
use crate::error::ForkError;
use crate::misses::Want;

/// Most requests for state that are made at a time. Reads that come meanwhile wait, together.
const MAX_RUNNING: usize = 8;

/// A place of a task that reads. It becomes free also if the task panics.
struct Place {
    context: Arc<Context>,
    is_left: bool,
}

impl Place {
    /// The next reads. If there are none, the place is left.
    fn next(&mut self) -> Vec<Flight> {
        let mut state = self.context.queue.0.lock();
        let next = state.take(self.context.max_accounts());
        if next.is_empty() {
            state.running -= 1;
            self.is_left = true;
        }
        next
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_left {
            self.context.queue.0.lock().running -= 1;
        }
    }
}

/// Reads groups to their ends, whoever waits for them.
pub(super) fn add(context: &Arc<Context>, flights: Vec<Flight>) {
    let mut begun = Vec::new();
    {
        let mut state = context.queue.0.lock();
        state.waiting.extend(flights);
        while state.running < MAX_RUNNING {
            // What has come at once has a group for each request already.
            let Some(flight) = state.waiting.pop_front() else { break };
            state.running += 1;
            begun.push(flight);
        }
    }
    for flight in begun {
        let place = Place { context: Arc::clone(context), is_left: false };
        tokio::spawn(work(place, vec![flight]));
    }
}

async fn work(mut place: Place, mut group: Vec<Flight>) {
    loop {
        let outcomes = read(&place.context, &group).await;
        let next = place.next();
        if next.is_empty() {
            // Who waits may drop the fork and open its cache again.
            drop(place);
            return finish(group, outcomes);
        }
        finish(group, outcomes);
        group = next;
    }
}

fn finish(group: Vec<Flight>, outcomes: Vec<Result<(), ForkError>>) {
    group.into_iter().zip(outcomes).for_each(|(flight, outcome)| flight.finish(outcome));
}

/// Reads all parts of several groups. A part that can't be read fails only its own group.
async fn read(context: &Context, group: &[Flight]) -> Vec<Result<(), ForkError>> {
    let wants = group.iter().flat_map(|flight| &flight.wants);
    // What was read meanwhile may prove some of them.
    let unknown = wants.filter(|want| !context.known.is_known_or_implied(want));
    let all: Vec<Want> = unknown.cloned().collect();
    if all.is_empty() {
        return group.iter().map(|_| Ok(())).collect();
    }
    let Err(error) = run_noted(context, &all).await else {
        return group.iter().map(|_| Ok(())).collect();
    };
    if group.len() == 1 {
        return vec![Err(error)];
    }
    let each = group.iter().map(|flight| async {
        if flight.wants.iter().all(|want| context.known.is_known(want)) {
            return Ok(());
        }
        // A source that does not answer, or a full memory, fails all alike.
        let is_of_all = matches!(error, ForkError::Source(_) | ForkError::Full(_));
        match is_of_all {
            true => Err(error.clone()),
            false => run_noted(context, &flight.wants).await,
        }
    });
    join_all(each).await
}

async fn run_noted(context: &Context, wants: &[Want]) -> Result<(), ForkError> {
    let outcome = context.read_from(|reading| async move { run(context, &reading, wants).await });
    let outcome = outcome.await;
    if let Err(error) = &outcome
        && error.is_wrong_answer()
    {
        context.counters.note_wrong(error.to_string());
    }
    outcome
}
