//! Formats a report as a table for the terminal.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use super::{LoadTestReport, ProcessCosts, QuantileSummary};

impl Display for LoadTestReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (sessions, channels) = (format_grouped(self.sessions as u64), self.channels.join(", "));
        let transport = match self.transport {
            crate::SessionTransport::WebSocket => format!("websocket ({})", self.format),
            crate::SessionTransport::Sse => self.transport.to_string(),
        };
        let tls = if self.tls { " with TLS" } else { "" };
        writeln!(f, "{sessions} sessions over {transport}{tls} on {channels}")?;
        writeln!(f, "at {}, client processes: {}\n", self.server, self.processes)?;
        self.write_connects(f)?;
        self.write_deliveries(f)?;
        self.write_losses(f)?;
        if let Some(costs) = &self.server_process {
            write_process_costs(f, "server", costs)?;
        }
        if let Some(costs) = &self.generator {
            write_process_costs(f, "generator", costs)?;
        }
        Ok(())
    }
}

impl LoadTestReport {
    fn write_connects(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let connect = &self.connect;
        let (ready, rate) =
            (format_grouped(connect.ready), format_grouped(connect.per_second as u64));
        let bytes = format_bytes(connect.bytes as f64);
        writeln!(
            f,
            "connecting    {ready} ready in {:.2} s: {rate} a second, {bytes}",
            connect.seconds
        )?;
        writeln!(f, "{:<24}{:>10}{:>10}{:>10}", "", "p50", "p99", "last")?;
        let rows = [
            ("accepted", connect.accepted_ms),
            ("first byte of state", connect.first_byte_ms),
            ("complete", connect.complete_ms),
        ];
        for (name, quantiles) in rows {
            let Some(QuantileSummary { p50, p99, last }) = quantiles else { continue };
            writeln!(
                f,
                "  {name:<22}{:>10}{:>10}{:>10}",
                format_millis(p50),
                format_millis(p99),
                format_millis(last)
            )?;
        }
        Ok(())
    }

    fn write_deliveries(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let deliveries = &self.deliveries;
        let (publications, count) =
            (format_grouped(deliveries.publications), format_grouped(deliveries.deliveries));
        let (rate, bytes) =
            (format_grouped(deliveries.per_second as u64), format_bytes(deliveries.bytes as f64));
        let seconds = deliveries.seconds;
        writeln!(
            f,
            "\ndeliveries    {count} ({publications} publications) in {seconds:.1} s: {rate} a second, {bytes}"
        )?;
        let Some(latency) = &self.latency_ms else {
            return writeln!(
                f,
                "  no publication contains its time of sending, so there are no latencies"
            );
        };
        let columns = [
            ("first", latency.first),
            ("p50", latency.p50),
            ("p99", latency.p99),
            ("p99.9", latency.p99_9),
            ("last", latency.last),
            ("worst", latency.worst),
        ];
        writeln!(f, "{:<24}{}", "", columns.map(|(name, _)| format!("{name:>10}")).concat())?;
        writeln!(
            f,
            "  {:<22}{}",
            "latency",
            columns.map(|(_, value)| format!("{:>10}", format_millis(value))).concat()
        )
    }

    fn write_losses(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let deliveries = &self.deliveries;
        let (missing, twice) =
            (format_grouped(deliveries.missing), format_grouped(deliveries.duplicates));
        writeln!(
            f,
            "\nlosses        {missing} missing, {twice} twice, {} gaps replaced by a state",
            format_grouped(deliveries.gaps)
        )?;
        write_failure_reasons(f, "not connected", &self.connect.failed)?;
        write_failure_reasons(f, "closed", &deliveries.closed)?;
        write_failure_reasons(f, "not published", &deliveries.refused)
    }
}

fn write_failure_reasons(
    f: &mut Formatter<'_>,
    what: &str,
    reasons: &BTreeMap<String, u64>,
) -> fmt::Result {
    reasons.iter().try_for_each(|(reason, times)| {
        writeln!(f, "  {:>8} {what}: {reason}", format_grouped(*times))
    })
}

fn write_process_costs(f: &mut Formatter<'_>, who: &str, costs: &ProcessCosts) -> fmt::Result {
    let process = costs.process.map_or(String::new(), |id| format!("process {id}: "));
    let delivery = costs
        .cpu_us_per_delivery
        .map_or(String::new(), |cpu| format!("{cpu:.2} µs of CPU per delivery, "));
    writeln!(
        f,
        "{who:<14}{process}{delivery}{:.0} µs per session opened",
        costs.cpu_us_per_session
    )?;
    let [before, idle, after, peak] = [
        costs.resident_bytes_before,
        costs.resident_bytes_idle,
        costs.resident_bytes_after,
        costs.resident_bytes_peak,
    ]
    .map(|bytes| format_bytes(bytes as f64));
    let each = format_bytes(costs.resident_bytes_per_session);
    writeln!(
        f,
        "{:<14}memory {before} before, {idle} with the sessions ({each} each), {after} after, \
        {peak} peak",
        ""
    )
}

/// Formats 1234567 as 1,234,567.
fn format_grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn format_millis(millis: f64) -> String {
    match millis {
        short if short < 10.0 => format!("{short:.2} ms"),
        middle if middle < 100.0 => format!("{middle:.1} ms"),
        long if long < 10_000.0 => format!("{long:.0} ms"),
        longest => format!("{:.1} s", longest / 1e3),
    }
}

fn format_bytes(bytes: f64) -> String {
    const STEPS: [(f64, &str); 3] = [(1073741824.0, "GiB"), (1048576.0, "MiB"), (1024.0, "KiB")];
    match STEPS.iter().find(|(step, _)| bytes >= *step) {
        Some((step, name)) => format!("{:.1} {name}", bytes / step),
        None => format!("{bytes:.0} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_with_separators_and_units() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(format_grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [0.3, 12.34, 173.4, 12_345.6].map(format_millis),
            ["0.30 ms", "12.3 ms", "173 ms", "12.3 s"]
        );
        assert_eq!([200.0, 3_072.0, 5e9].map(format_bytes), ["200 bytes", "3.0 KiB", "4.7 GiB"]);
    }
}
