//! A finished recording with resolved names, and its encodings for other programs.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use lineside_sync::UnixMillis;
use prost::Message as _;

use super::pprof_messages::{PprofBuilder, SampleLabel};

/// The stacks of a recording, with resolved names.
#[derive(Debug, Clone)]
pub struct SymbolizedProfile {
    /// Start of the recording.
    pub began: UnixMillis,
    /// Duration of the recording.
    pub length: Duration,
    /// Samples per second of processor time.
    pub hertz: u32,
    /// Number of lost samples.
    pub lost: u64,
    /// Number of samples of each stack: the thread's name, its stage, and the functions from the outermost to the
    /// innermost.
    pub stacks: BTreeMap<Vec<Arc<str>>, u64>,
}

impl SymbolizedProfile {
    /// Returns the number of samples.
    pub fn sample_count(&self) -> u64 {
        self.stacks.values().sum()
    }

    /// Returns a line for each stack: its parts from the root, separated by semicolons, and its count.
    pub fn to_folded_stacks(&self) -> String {
        let mut lines = String::new();
        for (stack, count) in &self.stacks {
            let parts: Vec<String> = stack.iter().map(|part| part.replace(';', ",")).collect();
            lines += &format!("{} {count}\n", parts.join(";"));
        }
        lines
    }

    /// Encodes the profile for pprof, gzip-compressed: samples and nanoseconds of processor time, with thread and stage
    /// as labels and as the two outermost functions.
    ///
    /// # Errors
    /// Never fails, because it writes to memory.
    pub fn encode_pprof(&self) -> io::Result<Vec<u8>> {
        let period = 1_000_000_000 / i64::from(self.hertz.max(1));
        let mut profile = PprofBuilder::new(period, self.began.0 * 1_000_000, self.length);
        for (stack, count) in &self.stacks {
            let [thread, stage] = [0, 1].map(|at| stack.get(at).map(AsRef::as_ref));
            let labels = [("thread", thread), ("stage", stage)];
            let labels = labels
                .into_iter()
                .filter_map(|(key, value)| Some(SampleLabel { key, value: value? }));
            profile.add_stack(stack, count.cast_signed(), labels);
        }
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&profile.finish_profile().encode_to_vec())?;
        gzip.finish()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::super::pprof_messages::PprofProfile;
    use super::*;

    /// Returns a profile with two threads and three stacks.
    pub(in super::super) fn example_profile() -> SymbolizedProfile {
        let stack = |text: &str| text.split('>').map(Into::into).collect::<Vec<Arc<str>>>();
        let stacks = [
            (stack("partition-0>deliver>work>flush"), 6),
            (stack("partition-0>deliver>work"), 1),
            (stack("runtime>http>poll>a<b;c"), 3),
        ];
        SymbolizedProfile {
            began: UnixMillis(1_700_000_000_000),
            length: Duration::from_secs(2),
            hertz: 100,
            lost: 1,
            stacks: stacks.into(),
        }
    }

    #[test]
    fn folded_stacks_begin_with_the_root_and_escape_separators() {
        let expect = "partition-0;deliver;work 1\npartition-0;deliver;work;flush 6\nruntime;http;poll;a<b,c 3\n";
        assert_eq!(example_profile().to_folded_stacks(), expect);
    }

    #[test]
    fn pprof_has_every_sample_with_its_time_and_labels() {
        let mut bytes = Vec::new();
        GzDecoder::new(&*example_profile().encode_pprof().unwrap())
            .read_to_end(&mut bytes)
            .unwrap();
        let profile = PprofProfile::decode(&*bytes).unwrap();
        let text = |at: i64| profile.string_table[at as usize].as_str();
        assert_eq!(text(0), "");
        let kinds: Vec<_> =
            profile.sample_type.iter().map(|it| (text(it.kind), text(it.unit))).collect();
        assert_eq!(kinds, [("samples", "count"), ("cpu", "nanoseconds")]);
        assert_eq!((profile.period, profile.duration_nanos), (10_000_000, 2_000_000_000));
        let mut stacks = BTreeMap::new();
        for sample in &profile.sample {
            assert_eq!(sample.value[1], sample.value[0] * profile.period);
            let names = sample.location_id.iter().rev().map(|id| {
                let location = profile.location.iter().find(|it| it.id == *id).unwrap();
                let function =
                    profile.function.iter().find(|it| it.id == location.line[0].function_id);
                Arc::from(text(function.unwrap().name))
            });
            let names: Vec<Arc<str>> = names.collect();
            let labels: Vec<_> =
                sample.label.iter().map(|it| (text(it.key), text(it.str))).collect();
            assert_eq!(labels, [("thread", &*names[0]), ("stage", &*names[1])]);
            stacks.insert(names, sample.value[0].cast_unsigned());
        }
        assert_eq!(stacks, example_profile().stacks);
    }
}
