//! The used part of pprof's protobuf message, and its builder.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PprofProfile {
    #[prost(message, repeated, tag = "1")]
    pub(super) sample_type: Vec<PprofValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(super) sample: Vec<PprofSample>,
    #[prost(message, repeated, tag = "4")]
    pub(super) location: Vec<PprofLocation>,
    #[prost(message, repeated, tag = "5")]
    pub(super) function: Vec<PprofFunction>,
    #[prost(string, repeated, tag = "6")]
    pub(super) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(super) time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub(super) duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    pub(super) period_type: Option<PprofValueType>,
    #[prost(int64, tag = "12")]
    pub(super) period: i64,
}

/// Here and below, texts are indexes into the string table.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct PprofValueType {
    #[prost(int64, tag = "1")]
    pub(super) kind: i64,
    #[prost(int64, tag = "2")]
    pub(super) unit: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PprofSample {
    /// The location ids, innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub(super) location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(super) label: Vec<PprofLabel>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct PprofLabel {
    #[prost(int64, tag = "1")]
    pub(super) key: i64,
    #[prost(int64, tag = "2")]
    pub(super) str: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PprofLocation {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(message, repeated, tag = "4")]
    pub(super) line: Vec<PprofLine>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct PprofLine {
    #[prost(uint64, tag = "1")]
    pub(super) function_id: u64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct PprofFunction {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "2")]
    pub(super) name: i64,
}

pub(super) struct SampleLabel<'a> {
    pub(super) key: &'static str,
    pub(super) value: &'a str,
}

/// Builds a profile in which each text and each function occurs once.
pub(super) struct PprofBuilder {
    profile: PprofProfile,
    texts: HashMap<String, i64>,
    functions: HashMap<Arc<str>, u64>,
}

impl PprofBuilder {
    /// Creates a builder. `period` is the processor time per sample in nanoseconds, `began` the start in nanoseconds
    /// since 1970.
    pub(super) fn new(period: i64, began: i64, length: Duration) -> Self {
        let profile = PprofProfile {
            period,
            time_nanos: began,
            duration_nanos: i64::try_from(length.as_nanos()).unwrap_or(i64::MAX),
            ..PprofProfile::default()
        };
        let mut builder = Self { profile, texts: HashMap::new(), functions: HashMap::new() };
        // pprof requires the first string to be empty.
        builder.string_table_index("");
        let [samples, time] =
            [("samples", "count"), ("cpu", "nanoseconds")].map(|(kind, unit)| PprofValueType {
                kind: builder.string_table_index(kind),
                unit: builder.string_table_index(unit),
            });
        builder.profile.sample_type = vec![samples, time];
        builder.profile.period_type = Some(time);
        builder
    }

    /// Adds a stack that was sampled `count` times, the outermost function first.
    pub(super) fn add_stack<'a>(
        &mut self,
        stack: &[Arc<str>],
        count: i64,
        labels: impl Iterator<Item = SampleLabel<'a>>,
    ) {
        let location_id = stack.iter().rev().map(|name| self.location_id(name)).collect();
        let label = labels
            .map(|label| PprofLabel {
                key: self.string_table_index(label.key),
                str: self.string_table_index(label.value),
            })
            .collect();
        let value = vec![count, count.saturating_mul(self.profile.period)];
        self.profile.sample.push(PprofSample { location_id, value, label });
    }

    pub(super) fn finish_profile(self) -> PprofProfile {
        self.profile
    }

    /// Returns the location of a function. Each function has one, because addresses mean nothing outside this process.
    fn location_id(&mut self, name: &Arc<str>) -> u64 {
        if let Some(id) = self.functions.get(name) {
            return *id;
        }
        let id = self.functions.len() as u64 + 1;
        let text = self.string_table_index(name);
        self.functions.insert(Arc::clone(name), id);
        self.profile.function.push(PprofFunction { id, name: text });
        self.profile.location.push(PprofLocation { id, line: vec![PprofLine { function_id: id }] });
        id
    }

    fn string_table_index(&mut self, text: &str) -> i64 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.profile.string_table.len() as i64;
        self.profile.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }
}
