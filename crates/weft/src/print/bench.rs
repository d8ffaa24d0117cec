//! A load as a table.

use std::fmt::Write as _;

use super::text::{BAD, DIM, FAINT_TITLE, NOTICE, STRONG, counted, grouped, padded, paint};
use crate::bench::{BenchReport, CallReport, LoadReport, WireReport};

/// Columns of a call's name.
const NAME: usize = 9;

/// What became of the calls of each load, and what the wire adds.
pub(crate) fn bench(report: &BenchReport) -> String {
    let BenchReport { loads, wire } = report;
    let mut out = loads.iter().map(load).collect::<Vec<_>>().join("\n");
    if let Some(WireReport { p50_ms, cpu_us_per_call }) = wire {
        let cpu = cpu_us_per_call
            .map(|cpu| format!(", and {cpu:+.0} µs of processor time a call"))
            .unwrap_or_default();
        let _ = writeln!(out, "\nThe wire adds {:+.0} µs in the middle{cpu}.", p50_ms * 1_000.0);
    }
    out
}

fn load(report: &LoadReport) -> String {
    let LoadReport {
        place,
        clients,
        rate,
        seconds,
        calls,
        all,
        n_held_back,
        late_ms_p99,
        cpu_us_per_call,
    } = report;
    let clients = counted(*clients as u64, "client", "clients");
    let pace =
        rate.map_or_else(|| "back to back".to_owned(), |rate| format!("{rate} calls a second"));
    let mut out = format!("{}: {clients}, {pace}, {seconds:.1} s\n\n", paint(STRONG, place));
    let columns =
        ["calls", "a second", "p50 ms", "p95 ms", "p99 ms", "max ms", "degraded", "failed"];
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
    let mut notes = Vec::new();
    if let Some(cpu) = cpu_us_per_call {
        notes.push(format!("{cpu:.0} µs of this process's processor time a call"));
    }
    if let Some(late) = late_ms_p99 {
        notes.push(format!("one call in a hundred left {late:.1} ms late or more"));
    }
    if !notes.is_empty() {
        let _ = writeln!(out, "\n{}", paint(DIM, &notes.join("; ")));
    }
    if *n_held_back > 0 {
        let n = counted(*n_held_back as u64, "call was", "calls were");
        let _ = writeln!(
            out,
            "{}",
            paint(NOTICE, &format!("{n} not made: too many were on their way"))
        );
    }
    out
}

fn row(report: &CallReport) -> String {
    let CallReport { call, n, per_second, n_degraded, errors, latency_ms: at } = report;
    let name = call.map_or("all", |call| call.name());
    let failed: usize = errors.values().sum();
    let mut out = format!("{} {:>8} {per_second:>8.1}", padded(name, NAME), grouped(*n as u64));
    for ms in [at.p50, at.p95, at.p99, at.max] {
        let _ = write!(out, " {ms:>8.2}");
    }
    for (n, style) in [(*n_degraded, NOTICE), (failed, BAD)] {
        let shown = format!("{:>8}", grouped(n as u64));
        let _ = write!(out, " {}", if n > 0 { paint(style, &shown) } else { shown });
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::call::Call;
    use crate::bench::load::Latencies;

    #[test]
    fn a_load_lines_up_in_80_columns() {
        let report = |call, errors: BTreeMap<String, usize>| CallReport {
            call,
            n: 12_345,
            per_second: 1_234.5,
            n_degraded: 3,
            errors,
            latency_ms: Latencies { p50: 0.8, p95: 1.5, p99: 2.25, max: 40.0 },
        };
        let errors = BTreeMap::from([("DeadlineExceeded".to_owned(), 2)]);
        let load = LoadReport {
            place: "over gRPC".into(),
            clients: 8,
            rate: None,
            seconds: 10.0,
            calls: vec![
                report(Some(Call::Search), errors.clone()),
                report(Some(Call::Get), BTreeMap::new()),
            ],
            all: report(None, errors),
            n_held_back: 0,
            late_ms_p99: None,
            cpu_us_per_call: Some(400.0),
        };
        let wire = Some(WireReport { p50_ms: 0.05, cpu_us_per_call: Some(120.0) });
        let text = bench(&BenchReport { loads: vec![load], wire });
        let plain = anstream::adapter::strip_str(&text).to_string();
        let table: Vec<&str> = plain.lines().skip(2).take(4).collect();
        assert!(
            table.iter().all(|line| line.chars().count() == table[0].chars().count()),
            "{plain}"
        );
        assert!(plain.lines().all(|line| line.chars().count() <= 82), "{plain}");
        assert!(plain.contains("2 DeadlineExceeded"), "{plain}");
        assert!(plain.contains("The wire adds +50 µs in the middle, and +120 µs"), "{plain}");
    }
}
