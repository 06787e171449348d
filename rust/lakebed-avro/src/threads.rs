//! Threads that live inside one call.

use std::sync::Mutex;
use std::thread::Builder;

/// Runs each job and returns the results in the order of the jobs, on as many threads as there are jobs, including
/// this one. Where no more threads can be started, the existing ones run the rest.
///
/// A panic in a job is resumed in the caller.
pub(crate) fn each<J: Send, O: Send>(jobs: Vec<J>, work: impl Fn(J) -> O + Sync) -> Vec<O> {
    each_on(&Builder::new, jobs, work)
}

fn each_on<J: Send, O: Send>(
    thread: &dyn Fn() -> Builder,
    jobs: Vec<J>,
    work: impl Fn(J) -> O + Sync,
) -> Vec<O> {
    let helpers = jobs.len().saturating_sub(1);
    let waiting = Mutex::new(jobs.into_iter().enumerate());
    let take = || waiting.lock().ok().and_then(|mut jobs| jobs.next());
    let run = || std::iter::from_fn(take).map(|(at, job)| (at, work(job))).collect::<Vec<_>>();
    let mut done = std::thread::scope(|scope| {
        let started = (0..helpers).map_while(|_| thread().spawn_scoped(scope, run).ok());
        let started: Vec<_> = started.collect();
        let mut done = run();
        for thread in started {
            done.extend(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::thread::current;

    use super::*;

    #[test]
    fn each_job_has_a_thread_and_answers_keep_their_order() {
        let together = Barrier::new(4);
        let answers = each((0..4).collect(), |job| {
            together.wait();
            (job, current().id())
        });
        assert_eq!(answers.iter().map(|(job, _)| *job).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(answers.iter().map(|(_, thread)| *thread).collect::<HashSet<_>>().len(), 4);
    }

    #[test]
    fn a_machine_without_more_threads_does_all_on_one() {
        // No address space has room for this stack.
        let none = || Builder::new().stack_size(1 << 62);
        let answers = each_on(&none, (0..4).collect(), |job| (job, current().id()));
        assert_eq!(answers, (0..4).map(|job| (job, current().id())).collect::<Vec<_>>());
    }

    #[test]
    fn there_may_be_nothing_to_do() {
        assert!(each(Vec::<u8>::new(), |job| job).is_empty());
    }
}
