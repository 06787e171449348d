//! Times other Rust readers and writers on the manifests of one table, beside the floors that no reader can pass.
//!
//! ```text
//! manifest-peers [--repeats N] [--warmup N] FILE...     one JSON line per reader: median and minimum
//! manifest-peers --list                                 the readers: name, version, task, format
//! manifest-peers --serve NAME TASK FILE...              one run per line on standard input
//! ```
//!
//! Every run of a reader starts at the path, every run of a writer at records in memory, and ends with the whole
//! result in memory, on one thread; dropping the result is not timed. Repeats are interleaved: each round runs
//! every reader once, so that a busy machine slows them all alike. `--serve` lets a caller interleave them with
//! readers and writers of its own and measure their memory.

mod container;
mod readers;
mod walk;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use crate::container::{Container, Inflater};
use crate::readers::{Job, PEERS, Peer, format_of};

/// Any reader's error: only its text is of use here.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("--list") => list(),
        Some("--serve") => match &args[1..] {
            [name, task, files @ ..] => {
                let files: Vec<PathBuf> = files.iter().map(|file| absolute(file)).collect::<Result<_>>()?;
                serve(find(name, task, &files)?, &files)
            }
            _ => Err("--serve needs a reader's name and task, then files".into()),
        },
        _ => compare(&args),
    }
}

/// The paimon crate refuses `..`, and takes relative paths for ones below the root.
fn absolute(file: &str) -> Result<PathBuf> {
    Ok(std::fs::canonicalize(file)?)
}

fn find(name: &str, task: &str, files: &[PathBuf]) -> Result<&'static Peer> {
    let peer = peers_for(files)?.into_iter().find(|peer| peer.name == name && peer.task == task);
    Ok(peer.ok_or_else(|| format!("no reader {name} for {task} of these files; --list names them"))?)
}

/// The readers of the files' format, which is that of the first.
fn peers_for(files: &[PathBuf]) -> Result<Vec<&'static Peer>> {
    let format = format_of(&Container::open(files.first().ok_or("no file")?)?.schema);
    Ok(PEERS.iter().filter(|peer| peer.format.is_none_or(|own| own == format)).collect())
}

fn list() -> Result<()> {
    for peer in PEERS {
        let version = version(peer.name);
        println!(
            "{}",
            json!({"peer": peer.name, "version": version, "task": peer.task, "format": peer.format})
        );
    }
    Ok(())
}

/// The version that `Cargo.toml` pins; null for the floors, which are this program's own.
fn version(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(" core").unwrap_or(name);
    let line = include_str!("../Cargo.toml").lines().find(|line| line.starts_with(&format!("{name} = ")))?;
    line.split('"').nth(1)?.strip_prefix('=')
}

/// One run: seconds by the clock and of the processor, rows and the size of what was written, or the reader's error.
fn measure(job: &Job) -> Value {
    let (start, before) = (Instant::now(), processor_seconds());
    let outcome = job();
    let (seconds, processor) = (start.elapsed().as_secs_f64(), processor_seconds());
    let processor = processor.zip(before).map(|(after, before)| after - before);
    match outcome {
        Ok(outcome) => {
            json!({"seconds": seconds, "processor": processor, "rows": outcome.rows, "bytes": outcome.bytes})
        }
        Err(error) => json!({"error": error.to_string()}),
    }
}

/// What this thread has been given of the processor so far; `None` where there is no /proc.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos: u64 = stat.split(' ').next()?.parse().ok()?;
    Some(nanos as f64 / 1e9)
}

/// Says `{}` when ready, then answers every line with one run.
fn serve(peer: &Peer, files: &[PathBuf]) -> Result<()> {
    let mut out = io::stdout().lock();
    let job = peer.prepare(files)?;
    writeln!(out, "{{}}")?;
    out.flush()?;
    for line in io::stdin().lock().lines() {
        line?;
        writeln!(out, "{}", measure(&job))?;
        out.flush()?;
    }
    Ok(())
}

fn compare(args: &[String]) -> Result<()> {
    let (mut repeats, mut warmup, mut files) = (9, 2, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--repeats" => repeats = args.next().ok_or("--repeats needs a number")?.parse()?,
            "--warmup" => warmup = args.next().ok_or("--warmup needs a number")?.parse()?,
            file => files.push(absolute(file)?),
        }
    }
    if files.is_empty() || repeats == 0 {
        return Err("give at least one manifest and one repeat".into());
    }
    let (compressed, inflated) = sizes(&files)?;
    let peers: Vec<_> = peers_for(&files)?.into_iter().filter(|peer| !peer.writes()).collect();
    let jobs = peers.iter().map(|peer| peer.prepare(&files)).collect::<Result<Vec<_>>>()?;
    let mut runs: Vec<Vec<Value>> = vec![Vec::new(); peers.len()];
    for round in 0..warmup + repeats {
        for (job, runs) in jobs.iter().zip(&mut runs) {
            let run = measure(job);
            if round >= warmup {
                runs.push(run);
            }
        }
    }
    for (peer, runs) in peers.iter().zip(&runs) {
        let mut line = summary(runs);
        line["peer"] = peer.name.into();
        line["version"] = version(peer.name).into();
        line["task"] = peer.task.into();
        line["bytes_compressed"] = compressed.into();
        line["bytes_inflated"] = inflated.into();
        println!("{line}");
    }
    Ok(())
}

/// Median, minimum and rows of the runs, or the first error among them.
fn summary(runs: &[Value]) -> Value {
    if let Some(failed) = runs.iter().find(|run| run.get("error").is_some()) {
        return json!({"median_s": "n/a", "error": failed["error"]});
    }
    let mut seconds: Vec<f64> = runs.iter().filter_map(|run| run["seconds"].as_f64()).collect();
    seconds.sort_by(f64::total_cmp);
    json!({"median_s": seconds[seconds.len() / 2], "min_s": seconds[0], "rows": runs[0]["rows"]})
}

/// The files' size, and that of their blocks once inflated \[bytes\].
fn sizes(files: &[PathBuf]) -> Result<(usize, usize)> {
    let mut inflater = Inflater::new()?;
    let (mut compressed, mut inflated) = (0, 0);
    for file in files {
        let container = Container::open(file)?;
        compressed += container.len();
        container.for_each_block(&mut inflater, |_, _, len| {
            inflated += len;
            Ok(())
        })?;
    }
    Ok((compressed, inflated))
}
