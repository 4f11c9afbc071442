//! The jobs that wait at one level, and which of them comes next.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Client, Lane, RunState};

/// Jobs of one client that run at once.
const MAX_RUNNING: usize = 4;

/// How a run of a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Done,
    /// It was interrupted and must be restarted.
    Again,
    /// It left the short lane and must be restarted as long work.
    Longer,
}

/// The work of a job. It is run until it returns [`Progress::Done`].
pub(super) type Task = Box<dyn FnMut(&Arc<RunState>) -> Progress + Send>;

/// Work that waits for a thread.
pub(super) struct Job {
    pub(super) client: Client,
    pub(super) lane: Lane,
    pub(super) can_restart: bool,
    /// The client has left.
    pub(super) is_cancelled: Arc<AtomicBool>,
    /// Of an address the job with the lowest rank runs first: its time of arrival plus [`Client::rank_delay`], in
    /// microseconds since the start.
    pub(super) rank_us: u64,
    pub(super) task: Task,
}

#[derive(Default)]
pub(super) struct Queue(Vec<Job>);

impl Job {
    fn can_run(&self) -> bool {
        self.client.share().jobs_running() < MAX_RUNNING && !self.client.account().is_blocked()
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, job: Job) {
        self.0.push(job);
    }

    /// Whether there is a job that can run.
    pub(super) fn has_next(&self) -> bool {
        self.0.iter().any(|job| !job.is_cancelled() && job.can_run())
    }

    /// Takes the job that comes first of those that can run: one of an address with the fewest places at this level, of
    /// these one whose last turn is longest ago, and its first job.
    pub(super) fn next(&mut self, level: usize) -> Option<Job> {
        self.drop_cancelled();
        let can_run = self.0.iter().enumerate().filter(|(_, job)| job.can_run());
        let (at, _) = can_run.min_by_key(|(_, job)| {
            (job.client.places(level), job.client.last_turn(level), job.rank_us)
        })?;
        Some(self.0.remove(at))
    }

    /// Places of the address that has the fewest of those that wait.
    pub(super) fn fewest_places(&self, level: usize) -> Option<usize> {
        let can_run = self.0.iter().filter(|job| !job.is_cancelled() && job.can_run());
        can_run.map(|job| job.client.places(level)).min()
    }

    pub(super) fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.0.iter()
    }

    pub(super) fn take(&mut self, at: usize) -> Job {
        self.0.remove(at)
    }

    pub(super) fn drop_cancelled(&mut self) {
        self.0.retain(|job| !job.is_cancelled());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::counts::MAX_UNREAD;
    use crate::work::{ReplyBytes, Work, WorkConfig};

    const LEVEL: usize = 1;

    fn job(client: &Client, rank_us: u64) -> Job {
        Job {
            client: client.clone(),
            lane: Lane::Long,
            can_restart: true,
            is_cancelled: Arc::default(),
            rank_us,
            task: Box::new(|_| Progress::Done),
        }
    }

    fn order(queue: &mut Queue) -> Vec<u64> {
        std::iter::from_fn(|| queue.next(LEVEL)).map(|job| job.rank_us).collect()
    }

    #[test]
    fn jobs_run_by_rank_then_arrival() {
        let work = Work::new(WorkConfig::default());
        let [a, b] = [(); 2].map(|()| work.client(None));
        let mut queue = Queue::default();
        for (client, rank) in [(&a, 5), (&b, 3), (&a, 3), (&b, 9)] {
            queue.push(job(client, rank));
        }
        assert_eq!(queue.len(), 4);
        assert!(queue.next(LEVEL).is_some_and(|job| job.client == b && job.rank_us == 3));
        assert_eq!(order(&mut queue), [3, 5, 9]);
        assert!(queue.is_empty());
    }

    #[test]
    fn addresses_take_turns() {
        let work = Work::new(WorkConfig::default());
        let [a, b, c] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
            .map(|address| work.client(Some(address.parse().unwrap())));
        let other_of_a = work.client(Some("127.0.0.1".parse().unwrap()));
        let mut queue = Queue::default();
        for (client, rank) in
            [(&a, 1), (&other_of_a, 2), (&a, 3), (&a, 4), (&b, 50), (&b, 60), (&c, 70)]
        {
            queue.push(job(client, rank));
        }
        let mut turn = 0;
        let mut next = |queue: &mut Queue| {
            let job = queue.next(LEVEL).unwrap();
            turn += 1;
            job.client.take_turn(LEVEL, turn);
            (job.client, job.rank_us)
        };
        let ranks: Vec<u64> = (0..3).map(|_| next(&mut queue).1).collect();
        assert_eq!(ranks, [1, 50, 70], "each address has one place");
        assert_eq!(queue.fewest_places(LEVEL), Some(1));
        assert_eq!(queue.fewest_places(LEVEL + 1), Some(0), "at this level alone");
        b.leave_place(LEVEL);
        assert_eq!(queue.fewest_places(LEVEL), Some(0));
        assert_eq!(next(&mut queue).1, 60, "the one without places");
        b.leave_place(LEVEL);
        c.leave_place(LEVEL);
        queue.push(job(&c, 1_000));
        queue.push(job(&b, 80));
        let ranks: Vec<u64> = (0..5).map(|_| next(&mut queue).1).collect();
        assert_eq!(ranks, [1_000, 80, 2, 3, 4], "then the one whose turn is longest ago");
    }

    #[test]
    fn some_jobs_do_not_run() {
        let work = Work::new(WorkConfig::default());
        let [busy, left, deaf, fine] = [(); 4].map(|()| work.client(None));
        busy.share().running.store(MAX_RUNNING, Ordering::Relaxed);
        let mut reply = ReplyBytes::counted(vec![0; MAX_UNREAD + 1], Some(&deaf)).unwrap();
        reply.mark_sent();
        let mut queue = Queue::default();
        let of_left = job(&left, 1);
        let cancel = Arc::clone(&of_left.is_cancelled);
        queue.push(job(&busy, 0));
        queue.push(of_left);
        queue.push(job(&deaf, 2));
        queue.push(job(&fine, 3));
        cancel.store(true, Ordering::Relaxed);
        assert!(queue.has_next());
        assert_eq!(order(&mut queue), [3]);
        assert!(!queue.has_next());
        assert_eq!(queue.len(), 2, "the job of the client that left is gone");
        drop(reply);
        busy.share().running.store(MAX_RUNNING - 1, Ordering::Relaxed);
        assert_eq!(order(&mut queue), [0, 2]);
    }
}
