//! The guarantees of a pipeline, with reads that wait, fail, hang and panic on request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::*;
use crate::error::ErrorKind;

const MILLI: Duration = Duration::from_millis(1);

/// What reading and decoding a request does.
#[derive(Debug, Clone, Copy, Default)]
struct Script {
    read_ms: u32,
    make_ms: u32,
    size: u64,
    fails: bool,
    panics: bool,
}

#[derive(Default)]
struct Observations {
    reads: AtomicUsize,
    reading: AtomicUsize,
    most_reading: AtomicUsize,
    making: AtomicUsize,
    most_making: AtomicUsize,
    /// The bytes that were read and are not being decoded, and by the size of a read the most of them when it began.
    bytes: Mutex<(u64, BTreeMap<u64, u64>)>,
    threads: Mutex<BTreeSet<String>>,
    makers: Mutex<BTreeSet<String>>,
    interrupted: AtomicBool,
}

struct ScriptedSource(Arc<Observations>);

/// Counts itself among those that run.
fn within<T>(now: &AtomicUsize, most: &AtomicUsize, run: impl FnOnce() -> T) -> T {
    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    let out = run();
    now.fetch_sub(1, Ordering::SeqCst);
    out
}

impl Source for ScriptedSource {
    type Request = (usize, Script);
    type Bytes = u64;
    type Output = usize;

    fn size(&self, (_, script): &(usize, Script)) -> u64 {
        script.size
    }

    fn read(&self, (_, script): &(usize, Script)) -> Result<u64> {
        let seen = &self.0;
        seen.reads.fetch_add(1, Ordering::SeqCst);
        seen.threads.lock().unwrap().insert(this_thread());
        {
            let mut bytes = seen.bytes.lock().unwrap();
            let before = bytes.0;
            let most = bytes.1.entry(script.size).or_default();
            *most = before.max(*most);
            bytes.0 += script.size;
        }
        within(&seen.reading, &seen.most_reading, || sleep(MILLI * script.read_ms));
        Ok(script.size)
    }

    fn make(&self, (number, script): &(usize, Script), _bytes: u64, give: Sink<'_, usize>) -> Result<()> {
        self.0.makers.lock().unwrap().insert(this_thread());
        self.0.bytes.lock().unwrap().0 -= script.size;
        within(&self.0.making, &self.0.most_making, || sleep(MILLI * script.make_ms));
        assert!(!script.panics, "on purpose");
        if script.fails {
            return Err(Error::new(ErrorKind::Argument, format!("number {number}")));
        }
        give(*number);
        Ok(())
    }

    fn held(&self, _made: &usize) -> u64 {
        0
    }

    fn interrupted(&self) -> Result<()> {
        match self.0.interrupted.load(Ordering::SeqCst) {
            true => Err(Error::new(ErrorKind::Io, "interrupted")),
            false => Ok(()),
        }
    }
}

fn this_thread() -> String {
    format!("{:?}", std::thread::current().id())
}

/// Waits until the condition holds.
fn eventually(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < MILLI * 10_000, "never");
        sleep(MILLI);
    }
}

fn run(
    script: impl IntoIterator<Item = Script>,
    reads: usize,
    threads: usize,
) -> (Pipeline<ScriptedSource>, Arc<Observations>) {
    let seen = Arc::new(Observations::default());
    let requests = script.into_iter().enumerate().collect();
    (Pipeline::new(ScriptedSource(Arc::clone(&seen)), requests, Width { reads, threads }), seen)
}

#[test]
fn results_come_in_the_order_of_requests() {
    for (reads, threads) in [(1, 1), (1, 2), (2, 2), (32, 2), (3, 8)] {
        let script = (0..40).map(|n| Script { read_ms: n * 7 % 5, make_ms: n % 2, ..Script::default() });
        let (pipeline, seen) = run(script, reads, threads);
        let made: Vec<usize> = pipeline.map(|made| made.expect("no error")).collect();
        assert_eq!(made, (0..40).collect::<Vec<_>>(), "{reads} reads, {threads} threads");
        assert!(seen.most_making.load(Ordering::SeqCst) <= threads);
        assert!(seen.most_reading.load(Ordering::SeqCst) <= reads);
    }
}

#[test]
fn many_reads_are_parallel_while_few_threads_decode() {
    let (pipeline, seen) = run(vec![Script { read_ms: 20, ..Script::default() }; 64], 16, 1);
    assert_eq!(pipeline.count(), 64);
    assert!(seen.most_reading.load(Ordering::SeqCst) > 8);
    assert_eq!(seen.most_making.load(Ordering::SeqCst), 1);
}

#[test]
fn threads_that_read_make_nothing_where_there_are_more_reads_than_threads() {
    let (pipeline, seen) = run(vec![Script { read_ms: 2, make_ms: 1, ..Script::default() }; 64], 16, 2);
    assert_eq!(pipeline.count(), 64);
    let (readers, makers) = (seen.threads.lock().unwrap(), seen.makers.lock().unwrap());
    assert!(makers.len() <= 2, "{makers:?}");
    assert!(readers.is_disjoint(&makers), "{readers:?} {makers:?}");
    // Here the same threads read and decode.
    let (pipeline, seen) = run(vec![Script { read_ms: 2, make_ms: 1, ..Script::default() }; 64], 3, 3);
    assert_eq!(pipeline.count(), 64);
    let all = seen.threads.lock().unwrap().union(&seen.makers.lock().unwrap()).count();
    assert!(all <= 3, "{all}");
}

#[test]
fn a_slow_file_holds_up_nobody_but_who_waits_for_it() {
    let mut script = vec![Script { read_ms: 1, ..Script::default() }; 30];
    script[3].read_ms = 1500;
    let (mut pipeline, seen) = run(script, 30, 2);
    for _ in 0..3 {
        pipeline.next().expect("one").expect("no error");
    }
    // Requests within the look-ahead are read meanwhile.
    eventually(|| seen.reads.load(Ordering::SeqCst) > 7);
    assert_eq!(pipeline.count(), 27);
}

#[test]
fn look_ahead_begins_small_and_grows() {
    let (mut pipeline, seen) = run(vec![Script { read_ms: 1, ..Script::default() }; 200], 64, 2);
    pipeline.next();
    sleep(MILLI * 30);
    // Two before any piece was taken, and at most as many again before the next is requested.
    assert!(seen.reads.load(Ordering::SeqCst) <= 5, "{:?}", seen.reads);
    for _ in 0..6 {
        pipeline.next();
    }
    eventually(|| seen.reads.load(Ordering::SeqCst) > 20);
}

#[test]
fn bytes_ahead_are_bounded_and_one_large_file_is_read_all_the_same() {
    let seen = Arc::new(Observations::default());
    let mut script = vec![Script { size: 10, read_ms: 2, ..Script::default() }; 30];
    script[4].size = 1000;
    let requests = script.into_iter().enumerate().collect();
    let width = Width { reads: 16, threads: 2 };
    let pipeline = Pipeline::bounded(ScriptedSource(Arc::clone(&seen)), requests, width, 70);
    for made in pipeline {
        made.expect("no error");
    }
    assert_eq!(seen.reads.load(Ordering::SeqCst), 30);
    let most = &seen.bytes.lock().unwrap().1;
    // The large one is read alone, except for what two threads are about to decode.
    assert!(most[&1000] <= 20, "{most:?}");
    // A small one is read beside at most the large one and those.
    assert!(most[&10] <= 1000 + 70 + 20, "{most:?}");
}

/// Decodes each ten into that many pieces of a hundred bytes, and counts how many of them exist.
struct Growing {
    pieces: usize,
    there: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

struct GrownPiece(Arc<AtomicUsize>);

impl Drop for GrownPiece {
    fn drop(&mut self) {
        self.0.fetch_sub(100, Ordering::SeqCst);
    }
}

impl Source for Growing {
    type Request = ();
    type Bytes = ();
    type Output = GrownPiece;

    fn size(&self, (): &()) -> u64 {
        10
    }

    fn read(&self, (): &()) -> Result<()> {
        Ok(())
    }

    fn make(&self, (): &(), (): (), give: Sink<'_, GrownPiece>) -> Result<()> {
        for _ in 0..self.pieces {
            let there = self.there.fetch_add(100, Ordering::SeqCst) + 100;
            self.most.fetch_max(there, Ordering::SeqCst);
            if !give(GrownPiece(Arc::clone(&self.there))) {
                break;
            }
        }
        Ok(())
    }

    fn held(&self, _: &GrownPiece) -> u64 {
        100
    }
}

#[test]
fn results_that_are_made_ahead_are_bounded_too() {
    // Requests of one piece, and of more pieces than may be held for all requests.
    for (requests, pieces) in [(60, 1), (6, 20)] {
        let (there, most) = (Arc::default(), Arc::default());
        let source = Growing { pieces, there, most: Arc::clone(&most) };
        let width = Width { reads: 32, threads: 2 };
        let pipeline = Pipeline::bounded(source, vec![(); requests], width, 600);
        let mut made = 0;
        for grown in pipeline {
            sleep(MILLI * 2);
            drop(grown);
            made += 1;
        }
        assert_eq!(made, requests * pieces);
        // Half of the bytes, the piece that is waited for, one that each thread has decoded, and the one that
        // was taken.
        let most = most.load(Ordering::SeqCst);
        assert!(most <= 300 + 100 + 2 * 100 + 100, "{most}");
    }
}

/// Makes as many pieces as a request asks for, each the number of the request, and then fails where that is
/// asked for.
struct NumberSource {
    fails: Option<usize>,
}

impl Source for NumberSource {
    type Request = (usize, usize);
    type Bytes = ();
    type Output = usize;

    fn read(&self, (number, _): &(usize, usize)) -> Result<()> {
        // The later ones are done before the first.
        sleep(MILLI * (20 / (*number as u32 + 1)));
        Ok(())
    }

    fn make(&self, (number, pieces): &(usize, usize), (): (), give: Sink<'_, usize>) -> Result<()> {
        (0..*pieces).take_while(|_| give(*number)).for_each(drop);
        match self.fails == Some(*number) {
            true => Err(Error::new(ErrorKind::Argument, format!("behind the pieces of {number}"))),
            false => Ok(()),
        }
    }

    fn held(&self, _: &usize) -> u64 {
        100
    }
}

#[test]
fn pieces_come_in_the_order_of_their_requests() {
    let pieces = [3, 0, 50, 1, 0, 0, 7, 0];
    let wanted: Vec<usize> = pieces.iter().enumerate().flat_map(|(at, count)| vec![at; *count]).collect();
    // With memory for less than a request, for some, and for all of them.
    for bytes in [100, 1_000, 1 << 20] {
        for (reads, threads) in [(1, 1), (1, 2), (2, 2), (16, 2), (16, 1)] {
            let requests = pieces.into_iter().enumerate().collect();
            let source = NumberSource { fails: None };
            let pipeline = Pipeline::bounded(source, requests, Width { reads, threads }, bytes);
            let made: Vec<usize> = pipeline.map(|made| made.expect("no error")).collect();
            assert_eq!(made, wanted, "{bytes} bytes, {reads} reads, {threads} threads");
        }
    }
}

#[test]
fn an_error_comes_after_the_pieces_that_were_made_before_it() {
    for (reads, threads) in [(1, 1), (2, 2), (16, 2)] {
        let requests = (0..6).map(|number| (number, 4)).collect();
        let source = NumberSource { fails: Some(2) };
        let mut pipeline = Pipeline::bounded(source, requests, Width { reads, threads }, 300);
        let made: Vec<_> = pipeline.by_ref().collect();
        assert_eq!(made.len(), 13);
        let error = made.last().and_then(|made| made.as_ref().err()).expect("an error");
        assert_eq!(error.to_string(), "behind the pieces of 2");
        assert!(pipeline.next().is_none());
    }
}

#[test]
fn stopping_within_a_request_leaves_no_waiting_thread() {
    let requests = (0..6).map(|number| (number, 1_000)).collect();
    let width = Width { reads: 8, threads: 2 };
    let mut pipeline = Pipeline::bounded(NumberSource { fails: None }, requests, width, 300);
    pipeline.next().expect("one").expect("no error");
    // Stops, and waits for its threads.
    drop(pipeline);
}

#[test]
fn the_first_error_in_order_is_given_and_ends_it() {
    let mut script = vec![Script { read_ms: 1, ..Script::default() }; 20];
    script[5] = Script { fails: true, make_ms: 30, ..Script::default() };
    script[6].fails = true;
    let (mut pipeline, _) = run(script, 16, 4);
    let made: Vec<_> = pipeline.by_ref().collect();
    assert_eq!(made.len(), 6);
    let error = made.last().and_then(|made| made.as_ref().err()).expect("an error");
    assert_eq!(error.to_string(), "number 5");
    assert!(pipeline.next().is_none());
}

#[test]
fn stopping_early_reads_little_and_leaves_no_thread() {
    let (mut pipeline, seen) = run(vec![Script { read_ms: 5, ..Script::default() }; 500], 32, 2);
    pipeline.next();
    drop(pipeline);
    let reads = seen.reads.load(Ordering::SeqCst);
    assert!(reads < 10, "{reads}");
    sleep(MILLI * 30);
    assert_eq!(seen.reads.load(Ordering::SeqCst), reads);
    assert_eq!(seen.reading.load(Ordering::SeqCst), 0);
    // The test has one reference; the pipeline has dropped its own.
    assert_eq!(Arc::strong_count(&seen), 1);
}

#[test]
fn a_panic_comes_in_place_of_its_result() {
    let mut script = vec![Script::default(); 10];
    script[4].panics = true;
    let (mut pipeline, _) = run(script, 8, 2);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pipeline.by_ref().count()));
    std::panic::set_hook(hook);
    assert!(outcome.is_err());
}

#[test]
fn an_interruption_is_answered_while_reads_hang() {
    let (mut pipeline, seen) = run(vec![Script { read_ms: 6000, ..Script::default() }; 4], 4, 2);
    let start = Instant::now();
    let shared = Arc::clone(&seen);
    let interrupter = std::thread::spawn(move || {
        sleep(MILLI * 60);
        shared.interrupted.store(true, Ordering::SeqCst);
    });
    let error = pipeline.next().expect("an answer").expect_err("the interruption");
    assert_eq!(error.to_string(), "interrupted");
    drop(pipeline);
    assert!(start.elapsed() < MILLI * 5000, "{:?}", start.elapsed());
    interrupter.join().expect("no panic");
}

#[test]
fn one_thread_is_enough() {
    let (pipeline, seen) = run(vec![Script::default(); 9], 1, 1);
    assert_eq!(pipeline.count(), 9);
    assert_eq!(seen.threads.lock().unwrap().len(), 1);
    assert!(seen.threads.lock().unwrap().contains(&this_thread()));
    let (none, _) = run([], 32, 2);
    assert_eq!(none.count(), 0);
}
