//! What the benches measured, as one table.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

/// What criterion keeps of a bench's name.
#[derive(Deserialize)]
struct Identity {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
}

/// What criterion keeps of its figures.
#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

/// One of them, in nanoseconds.
#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

/// Nanoseconds of each size of an operation.
type Sizes = BTreeMap<u64, f64>;

/// All that was measured so far, below `criterion`, as Markdown: an operation a line, a size a column, and how cost grows from the smallest to the largest size.
pub(crate) fn table(criterion: &Path) -> anyhow::Result<String> {
    let mut operations: BTreeMap<String, Sizes> = BTreeMap::new();
    let mut pending = vec![criterion.to_owned()];
    while let Some(folder) = pending.pop() {
        let identity = folder.join("benchmark.json");
        if folder.ends_with("new") && identity.is_file() {
            let Identity { group_id, function_id, value_str } = read(&identity)?;
            let Estimates { median } = read(&folder.join("estimates.json"))?;
            let name = function_id.map_or(group_id.clone(), |name| format!("{group_id}/{name}"));
            let size = value_str.and_then(|size| size.parse().ok()).unwrap_or_default();
            operations.entry(name).or_default().insert(size, median.point_estimate);
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
        let medians: Vec<String> = sizes
            .iter()
            .map(|(size, ns)| match size {
                0 => time(*ns),
                size => format!("{size}: {}", time(*ns)),
            })
            .collect();
        let growth = match (sizes.first_key_value(), sizes.last_key_value()) {
            (Some((small, fast)), Some((large, slow))) if *small > 0 && large > small => {
                format!("{:.1} × for {} ×", slow / fast, large / small)
            }
            _ => String::new(),
        };
        let _ = writeln!(out, "| {name} | {} | {growth} |", medians.join(", "));
    }
    out
}

/// Nanoseconds with three digits and a unit.
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
    use super::*;

    #[test]
    fn an_operation_is_a_line_with_its_growth() {
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
        let table = table(folder.path()).unwrap();
        assert!(
            table.ends_with(
                "| query/hybrid | 1000: 1.50 µs, 100000: 3.00 ms | 2000.0 × for 100 × |\n"
            )
        );
    }

    #[test]
    fn times_have_three_digits() {
        let times = [0.5, 12.34, 999.0, 1_000.0, 45_600.0, 2.5e9].map(time);
        assert_eq!(times, ["0.50 ns", "12.3 ns", "999 ns", "1.00 µs", "45.6 µs", "2.50 s"]);
    }
}
