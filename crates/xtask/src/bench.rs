//! Runs the benches and prints the results as one table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::Context as _;
use serde::Deserialize;

/// Name of a bench in criterion's files.
#[derive(Deserialize)]
struct Identity {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
}

/// Results of a bench in criterion's files.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

/// One result, in nanoseconds.
#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

/// Nanoseconds by size of an operation.
type Sizes = BTreeMap<u64, f64>;

/// Runs the benches with `arguments` for `cargo bench`, then prints the table and the additional figures that benches report: 99th percentiles, recall, processor time, memory.
///
/// Returns true if they passed. Results measured before a failure are printed too.
#[expect(
    clippy::disallowed_methods,
    reason = "results of earlier runs are recognized by their time"
)]
pub(crate) fn run(root: &Path, criterion: &Path, arguments: &[&str]) -> anyhow::Result<bool> {
    let start = SystemTime::now();
    let mut command = Command::new("cargo");
    command.args(["bench", "--package", "weft-benches"]).args(arguments).current_dir(root);
    let mut cargo = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let mut figures = Vec::new();
    for line in cargo.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        let line = line.context("the output of the benches is not UTF-8")?;
        println!("{line}");
        figures.extend(is_figure(&line).then_some(line));
    }
    let passed = cargo.wait()?.success();
    println!("\n{}\n\n{}", origin(root), table(criterion, start)?);
    figures.iter().for_each(|line| println!("- {line}"));
    Ok(passed)
}

/// Describes the code and the machine that were measured, as far as known.
fn origin(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        Some(text.trim().to_owned())
    };
    let build = match (git(&["rev-parse", "--short", "HEAD"]), git(&["status", "--porcelain"])) {
        (Some(commit), Some(changes)) if changes.is_empty() => format!("Commit {commit}"),
        (Some(commit), _) => format!("Commit {commit} with changes"),
        (None, _) => "Code without a commit".to_owned(),
    };
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let fact = |name: &str| {
        let line = processor.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = match (fact("model name"), fact("cpu family"), fact("model\t")) {
        (Some(name), Some(family), Some(model)) => {
            format!("{name}, family {family}, model {model}")
        }
        _ => std::env::consts::ARCH.to_owned(),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{build}; {cores} × {processor}.")
}

/// Returns true if `line` comes from a bench instead of criterion: it starts with an operation and a colon.
fn is_figure(line: &str) -> bool {
    let operation = line.split_once(": ").map(|(operation, _)| operation);
    operation.is_some_and(|operation| operation.contains('/') && !operation.contains(' '))
}

/// Formats the results since `start` below `criterion` as Markdown: one operation per line, its sizes, and the growth of its cost from the smallest to the largest size.
///
/// Older results are left out: they may come from other code.
fn table(criterion: &Path, start: SystemTime) -> anyhow::Result<String> {
    let mut operations: BTreeMap<String, Sizes> = BTreeMap::new();
    let mut pending = Vec::new();
    pending.extend(criterion.is_dir().then(|| criterion.to_owned()));
    while let Some(folder) = pending.pop() {
        let identity = folder.join("benchmark.json");
        if folder.ends_with("new") && identity.is_file() {
            if fs::metadata(&identity)?.modified()? < start {
                continue;
            }
            let Identity { group_id, function_id, value_str } = read(&identity)?;
            let Estimates { median } = read(&folder.join("estimates.json"))?;
            let name = function_id.map_or(group_id.clone(), |name| format!("{group_id}/{name}"));
            let size = value_str.unwrap_or_default();
            match size.parse() {
                Ok(size) => {
                    operations.entry(name).or_default().insert(size, median.point_estimate);
                }
                Err(_) => eprintln!("left out, its id does not end in a size: {name}/{size}"),
            }
            continue;
        }
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    Ok(lines(&operations))
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> anyhow::Result<T> {
    let text = fs::read(path).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&text).with_context(|| path.display().to_string())
}

fn lines(operations: &BTreeMap<String, Sizes>) -> String {
    let mut out = "| operation | size: median | cost over size |\n|---|---|---|\n".to_owned();
    for (name, sizes) in operations {
        let medians: Vec<String> =
            sizes.iter().map(|(size, ns)| format!("{size}: {}", time(*ns))).collect();
        let growth = match (sizes.first_key_value(), sizes.last_key_value()) {
            (Some((small, fast)), Some((large, slow))) if large > small => {
                format!("{:.1} × for {} ×", slow / fast, large / small)
            }
            _ => String::new(),
        };
        let _ = writeln!(out, "| {name} | {} | {growth} |", medians.join(", "));
    }
    out
}

/// Formats nanoseconds with three digits and a unit.
fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "µs"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let decimals = match value {
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn table_has_one_line_per_operation_with_its_growth() {
        let folder = tempfile::tempdir().unwrap();
        for (size, ns) in [("1000", 1_500.0), ("100000", 3_000_000.0)] {
            let new = folder.path().join("query/hybrid").join(size).join("new");
            fs::create_dir_all(&new).unwrap();
            let identity = format!(
                r#"{{"group_id": "query", "function_id": "hybrid", "value_str": "{size}"}}"#
            );
            fs::write(new.join("benchmark.json"), identity).unwrap();
            let estimates = format!(r#"{{"median": {{"point_estimate": {ns}}}}}"#);
            fs::write(new.join("estimates.json"), estimates).unwrap();
        }
        let of_run = table(folder.path(), SystemTime::UNIX_EPOCH).unwrap();
        assert!(
            of_run.ends_with(
                "| query/hybrid | 1000: 1.50 µs, 100000: 3.00 ms | 2000.0 × for 100 × |\n"
            )
        );
        let later = SystemTime::UNIX_EPOCH + Duration::from_secs(u32::MAX.into());
        let of_later = table(folder.path(), later).unwrap();
        assert!(of_later.ends_with("|---|---|---|\n"), "{of_later}");
    }

    #[test]
    fn figures_of_benches_are_distinguished_from_criterion_output() {
        for (line, expected) in [
            ("query/hybrid/20000: p50 1.94ms, p99 3.77ms", true),
            ("query/hybrid/20000      time:   [1 ms 2 ms 3 ms]", false),
            ("Benchmarking query/hybrid/20000: Warming up for 3.0000 s", false),
            ("test result: ok", false),
        ] {
            assert_eq!(is_figure(line), expected, "{line}");
        }
    }

    #[test]
    fn times_have_three_digits() {
        let times = [0.5, 12.34, 999.0, 1_000.0, 45_600.0, 2.5e9].map(time);
        assert_eq!(times, ["0.50 ns", "12.3 ns", "999 ns", "1.00 µs", "45.6 µs", "2.50 s"]);
    }
}
