//! pprof's own message, as far as it is used here, and how it is put together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub(super) sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(super) sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub(super) location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub(super) function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(super) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(super) time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub(super) duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    pub(super) period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    pub(super) period: i64,
}

/// Texts are numbers in the table of strings, here and below.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct ValueType {
    #[prost(int64, tag = "1")]
    pub(super) kind: i64,
    #[prost(int64, tag = "2")]
    pub(super) unit: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Sample {
    /// The innermost first.
    #[prost(uint64, repeated, tag = "1")]
    pub(super) location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(super) label: Vec<TextLabel>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct TextLabel {
    #[prost(int64, tag = "1")]
    pub(super) key: i64,
    #[prost(int64, tag = "2")]
    pub(super) str: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Location {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(message, repeated, tag = "4")]
    pub(super) line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Line {
    #[prost(uint64, tag = "1")]
    pub(super) function_id: u64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Function {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "2")]
    pub(super) name: i64,
}

/// A label of a sample.
pub(super) struct Label<'a> {
    pub(super) key: &'static str,
    pub(super) value: &'a str,
}

/// Puts a profile together: each text and each function once.
pub(super) struct Builder {
    profile: Profile,
    texts: HashMap<String, i64>,
    functions: HashMap<Arc<str>, u64>,
}

impl Builder {
    /// `period` is the processor time that a sample stands for, in nanoseconds, and `began` the start, in nanoseconds since 1970.
    pub(super) fn new(period: i64, began: i64, length: Duration) -> Self {
        let profile = Profile {
            period,
            time_nanos: began,
            duration_nanos: i64::try_from(length.as_nanos()).unwrap_or(i64::MAX),
            ..Profile::default()
        };
        let mut builder = Self { profile, texts: HashMap::new(), functions: HashMap::new() };
        // The first has to be empty.
        builder.text("");
        let [samples, time] = [("samples", "count"), ("cpu", "nanoseconds")]
            .map(|(kind, unit)| ValueType { kind: builder.text(kind), unit: builder.text(unit) });
        builder.profile.sample_type = vec![samples, time];
        builder.profile.period_type = Some(time);
        builder
    }

    /// Adds a stack that was seen `count` times, the outermost function first.
    pub(super) fn add<'a>(
        &mut self,
        stack: &[Arc<str>],
        count: i64,
        labels: impl Iterator<Item = Label<'a>>,
    ) {
        let location_id = stack.iter().rev().map(|name| self.location(name)).collect();
        let label = labels
            .map(|label| TextLabel { key: self.text(label.key), str: self.text(label.value) })
            .collect();
        let value = vec![count, count.saturating_mul(self.profile.period)];
        self.profile.sample.push(Sample { location_id, value, label });
    }

    pub(super) fn finish(self) -> Profile {
        self.profile
    }

    /// The place of a function; each is one, as addresses are of no use elsewhere.
    fn location(&mut self, name: &Arc<str>) -> u64 {
        if let Some(id) = self.functions.get(name) {
            return *id;
        }
        let id = self.functions.len() as u64 + 1;
        let text = self.text(name);
        self.functions.insert(Arc::clone(name), id);
        self.profile.function.push(Function { id, name: text });
        self.profile.location.push(Location { id, line: vec![Line { function_id: id }] });
        id
    }

    fn text(&mut self, text: &str) -> i64 {
        if let Some(number) = self.texts.get(text) {
            return *number;
        }
        let number = self.profile.string_table.len() as i64;
        self.profile.string_table.push(text.to_owned());
        self.texts.insert(text.to_owned(), number);
        number
    }
}
