//! Renders benchmark results.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::text::{BAD, DIM, FAINT_TITLE, GOOD, NOTICE, STRONG, counted, grouped, padded, paint};
use crate::bench::load::Latencies;
use crate::bench::{
    BenchReport, CallReport, DeadlineReport, EditsReport, LinksReport, LoadPhase, LoadReport,
    MemoryReport, MemoryTrend, WireReport,
};

/// Columns for the name of a call.
const NAME: usize = 9;

/// Formats the results of each load, the cost of the wire, the results of edits, and the memory.
pub(crate) fn bench(report: &BenchReport) -> String {
    let BenchReport { loads, wire, edits, memory } = report;
    let mut out = loads.iter().map(load).collect::<Vec<_>>().join("\n");
    if let Some(WireReport { p50_ms, cpu_us_per_call }) = wire {
        let cpu = cpu_us_per_call
            .map(|cpu| format!(", and {cpu:+.0} µs of CPU time per call"))
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "\nThe wire adds {:+.0} µs to the median latency{cpu}.",
            p50_ms * 1_000.0
        );
    }
    if let Some(edits) = edits {
        out += &self::edits(edits);
    }
    if let Some(memory) = memory {
        out += &self::memory(memory);
    }
    out
}

/// Formats the latencies of writes, and the number of failed ones by status.
fn times_to_publication(at: &Latencies, errors: &BTreeMap<String, usize>) -> String {
    let [p50, p95, p99, max] = [at.p50, at.p95, at.p99, at.max].map(|ms| format!("{ms:.1}"));
    let mut out = format!("time to publication: p50 {p50} ms, p95 {p95}, p99 {p99}, max {max}\n");
    for (code, n) in errors {
        let _ = writeln!(out, "{} {code}", paint(BAD, &format!("{:>8}", grouped(*n as u64))));
    }
    out
}

fn edits(report: &EditsReport) -> String {
    let EditsReport {
        rate,
        n,
        n_not_sent,
        errors,
        latency_ms: at,
        links,
        p99_ratio,
        n_answers,
        n_answers_of_edited,
        n_inconsistent,
        inconsistencies,
    } = report;
    let mut out = format!(
        "\n{}: {}, {rate} per second\n",
        paint(STRONG, "edits"),
        counted(*n as u64, "note written", "notes written")
    );
    out += &times_to_publication(at, errors);
    if let Some(LinksReport { n, errors, latency_ms }) = links {
        let linked = counted(*n as u64, "mention linked", "mentions linked");
        let _ = writeln!(out, "{linked}, one in each note");
        out += &times_to_publication(latency_ms, errors);
    }
    if *n_not_sent > 0 {
        let n = counted(*n_not_sent as u64, "edit was", "edits were");
        let text = format!("{n} not sent: the previous edit of the note was still in flight");
        let _ = writeln!(out, "{}", paint(NOTICE, &text));
    }
    let _ = writeln!(out, "p99 of the reads with edits is {p99_ratio:.2} times that without");
    let checked = format!(
        "{} checked, {} of edited notes",
        counted(*n_answers as u64, "answer", "answers"),
        grouped(*n_answers_of_edited as u64)
    );
    let verdict = match n_inconsistent {
        0 => paint(GOOD, "all consistent"),
        n => paint(BAD, &format!("{} inconsistent", grouped(*n as u64))),
    };
    let _ = writeln!(out, "{checked}: {verdict}");
    for breach in inconsistencies {
        let _ = writeln!(out, "  {breach}");
    }
    out
}

fn memory(report: &MemoryReport) -> String {
    let MemoryReport { n_samples, first_bytes, last_bytes, max_bytes, trend } = report;
    let [first, last, max] =
        [first_bytes, last_bytes, max_bytes].map(|bytes| format!("{:.1}", *bytes as f64 / 1e6));
    let mut out = format!(
        "\n{}: {first} MB at the start, {last} at the end, {max} at peak ({n_samples} samples)\n",
        paint(STRONG, "memory")
    );
    if let Some(MemoryTrend { kb_per_minute, plus_minus }) = trend {
        let _ =
            writeln!(out, "{kb_per_minute:+.0} ± {plus_minus:.0} kB per minute in the second half");
    }
    out
}

fn deadline(report: &DeadlineReport, n: usize) -> String {
    let DeadlineReport { ms, n_complete, n_with_warnings, n_exceeded, n_failed, n_late } = report;
    let share = |part: usize| format!("{:.2} %", 100.0 * part as f64 / n.max(1) as f64);
    let [complete, warnings, exceeded, failed] =
        [n_complete, n_with_warnings, n_exceeded, n_failed].map(|part| share(*part));
    let mut out = format!(
        "within {ms} ms: {complete} complete, {warnings} with warnings, {exceeded} deadline exceeded\n{failed} failed; "
    );
    let late = format!("{} took longer than {} ms", share(*n_late), ms * 2.0);
    let _ = writeln!(out, "{}", if *n_late > 0 { paint(NOTICE, &late) } else { late });
    out
}

fn load(report: &LoadReport) -> String {
    let LoadReport {
        place,
        phase,
        clients,
        rate,
        seconds,
        calls,
        all,
        deadline,
        n_not_sent,
        late_ms_p99,
        cpu_us_per_call,
    } = report;
    let clients = counted(*clients as u64, "client", "clients");
    let pace = rate
        .map_or_else(|| "back to back".to_owned(), |rate| format!("{rate:.1} calls per second"));
    let place = match phase {
        None => place.clone(),
        Some(LoadPhase::Capacity) => format!("{place}, maximum throughput"),
        Some(LoadPhase::Quiet) => format!("{place}, without edits"),
        Some(LoadPhase::Edits) => format!("{place}, with edits"),
    };
    let mut out = format!("{}: {clients}, {pace}, {seconds:.1} s\n\n", paint(STRONG, &place));
    let columns =
        ["calls", "calls/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "warnings", "failed"];
    let heading: String = columns.iter().map(|name| format!(" {name:>8}")).collect();
    let _ = writeln!(out, "{}{}", padded("", NAME), paint(FAINT_TITLE, &heading));
    for call in calls {
        out += &row(call);
    }
    if calls.len() > 1 {
        out += &row(all);
    }
    for (code, n) in &all.errors {
        let _ = writeln!(out, "{} {}", paint(BAD, &format!("{:>8}", grouped(*n as u64))), code);
    }
    if let Some(deadline) = deadline {
        out += &self::deadline(deadline, all.n);
    }
    let mut notes = Vec::new();
    if let Some(cpu) = cpu_us_per_call {
        notes.push(format!("{cpu:.0} µs of CPU time of this process per call"));
    }
    if let Some(late) = late_ms_p99 {
        notes.push(format!("p99 of the sending delay is {late:.1} ms"));
    }
    if !notes.is_empty() {
        let _ = writeln!(out, "\n{}", paint(DIM, &notes.join("; ")));
    }
    if *n_not_sent > 0 {
        let n = counted(*n_not_sent as u64, "call was", "calls were");
        let _ =
            writeln!(out, "{}", paint(NOTICE, &format!("{n} not sent: too many were in flight")));
    }
    out
}

fn row(report: &CallReport) -> String {
    let CallReport { call, n, per_second, n_with_warnings, errors, latency_ms: at } = report;
    let name = call.map_or("all", |call| call.name());
    let failed: usize = errors.values().sum();
    let mut out = format!("{} {:>8} {per_second:>8.1}", padded(name, NAME), grouped(*n as u64));
    for ms in [at.p50, at.p95, at.p99, at.max] {
        let _ = write!(out, " {ms:>8.2}");
    }
    for (n, style) in [(*n_with_warnings, NOTICE), (failed, BAD)] {
        let shown = format!("{:>8}", grouped(n as u64));
        let _ = write!(out, " {}", if n > 0 { paint(style, &shown) } else { shown });
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::call::Call;

    #[test]
    fn load_table_is_aligned_and_fits_82_columns() {
        let report = |call, errors: BTreeMap<String, usize>| CallReport {
            call,
            n: 12_345,
            per_second: 1_234.5,
            n_with_warnings: 3,
            errors,
            latency_ms: Latencies { p50: 0.8, p95: 1.5, p99: 2.25, max: 40.0 },
        };
        let errors = BTreeMap::from([("DeadlineExceeded".to_owned(), 2)]);
        let load = LoadReport {
            place: "over gRPC".into(),
            phase: Some(LoadPhase::Edits),
            clients: 8,
            rate: None,
            seconds: 10.0,
            calls: vec![
                report(Some(Call::Search), errors.clone()),
                report(Some(Call::Get), BTreeMap::new()),
            ],
            all: report(None, errors.clone()),
            deadline: Some(DeadlineReport {
                ms: 50.0,
                n_complete: 9_999,
                n_with_warnings: 1_000,
                n_exceeded: 1_346,
                n_failed: 0,
                n_late: 1,
            }),
            n_not_sent: 0,
            late_ms_p99: None,
            cpu_us_per_call: Some(400.0),
        };
        let wire = Some(WireReport { p50_ms: 0.05, cpu_us_per_call: Some(120.0) });
        let edits = Some(EditsReport {
            rate: 50.0,
            n: 500,
            n_not_sent: 1,
            errors,
            latency_ms: Latencies { p50: 10.8, p95: 11.5, p99: 22.25, max: 40.0 },
            links: None,
            p99_ratio: 1.5,
            n_answers: 12_345,
            n_answers_of_edited: 1_234,
            n_inconsistent: 1,
            inconsistencies: vec![
                "note 3 in generation 9: version 2, which it does not contain".into(),
            ],
        });
        let trend = Some(MemoryTrend { kb_per_minute: 1.2, plus_minus: 3.4 });
        let memory = Some(MemoryReport {
            n_samples: 90,
            first_bytes: 81_000_000,
            last_bytes: 82_000_000,
            max_bytes: 83_000_000,
            trend,
        });
        let text = bench(&BenchReport { loads: vec![load], wire, edits, memory });
        let plain = anstream::adapter::strip_str(&text).to_string();
        let table: Vec<&str> = plain.lines().skip(2).take(4).collect();
        assert!(
            table.iter().all(|line| line.chars().count() == table[0].chars().count()),
            "{plain}"
        );
        assert!(plain.lines().all(|line| line.chars().count() <= 82), "{plain}");
        assert!(plain.contains("2 DeadlineExceeded"), "{plain}");
        assert!(plain.contains("1 inconsistent\n  note 3"), "{plain}");
        assert!(plain.contains("+1 ± 3 kB per minute in the second half"), "{plain}");
        assert!(
            plain.contains("The wire adds +50 µs to the median latency, and +120 µs"),
            "{plain}"
        );
    }
}
