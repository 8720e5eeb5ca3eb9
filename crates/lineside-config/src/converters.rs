//! `[[converter]]`: the operator's converter programs, and their use by a feed's `format`.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_model::{ExternalProgram, FormatConverter};
use serde::Deserialize;
use smol_str::SmolStr;
use toml::Spanned;

use super::Config;
use super::config_checker::{ConfigChecker, expected_message};
use super::value::{DurationText, SizeText};

/// Maximum number of converters in a file.
const CONVERTERS_MAX: usize = 100;
/// Maximum length of a converter's or validator's name.
const NAME_CHARS_MAX: usize = 40;
/// Maximum number of arguments, including the program.
const ARGUMENTS_MAX: usize = 200;
/// Maximum number of characters in each argument.
const ARGUMENT_CHARS_MAX: usize = 4_096;
const CONVERTER_LIMITS: ExternalProgramLimits = ExternalProgramLimits {
    timeouts: Duration::from_secs(1)..=Duration::from_secs(60 * 60),
    timeout: Duration::from_secs(60),
    memory: 1 << 30,
};
/// With less memory not even a shell starts.
const MEMORY: RangeInclusive<u64> = (64 << 20)..=(1 << 40);
/// A placeholder in arguments for the folder of the configuration.
const CONFIG_DIR: &str = "{config_dir}";

/// Returns true for an output format of converters: one that Lineside reads from one body.
fn is_output_format(format: &Format) -> bool {
    format.is_schedule() || format.is_realtime()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [[converter]] table")]
pub(super) struct ConverterTable {
    from: Spanned<String>,
    to: Spanned<String>,
    command: Spanned<Vec<String>>,
    timeout: Option<Spanned<DurationText>>,
    memory: Option<Spanned<SizeText>>,
}

/// The limits of a kind of programs.
pub(super) struct ExternalProgramLimits {
    pub(super) timeouts: RangeInclusive<Duration>,
    /// The default timeout, and the default address space in bytes.
    pub(super) timeout: Duration,
    pub(super) memory: u64,
}

/// `command`, `timeout` and `memory`.
pub(super) type ExternalProgramKeys =
    (Spanned<Vec<String>>, Option<Spanned<DurationText>>, Option<Spanned<SizeText>>);

impl Config {
    /// Returns the warnings about the configuration: ignored parts of its files, and converters and validators that
    /// cannot start on this machine. Reads from the disk.
    pub fn config_warnings(&self) -> impl Iterator<Item = String> {
        let file = self.source.file.as_ref().map(|file| format!("{}, ", file.display()));
        let file = file.unwrap_or_default();
        let converters = self.converters.iter().map(|it| &it.program).enumerate();
        let validators = self.external_validators.iter().map(|it| &it.program).enumerate();
        let converters = converters.map(|(number, it)| ("converter", number, it));
        let all =
            converters.chain(validators.map(|(number, it)| ("external_validator", number, it)));
        let program_warnings = all.filter_map(move |(list, number, program)| {
            let fault = program.find_start_problem()?;
            Some(format!("{file}{list}[{number}].command: {fault}"))
        });
        self.source.warnings.iter().cloned().chain(program_warnings)
    }
}

impl ConfigChecker<'_> {
    pub(super) fn check_converters(
        &mut self,
        tables: Vec<ConverterTable>,
        numbers: &[usize],
    ) -> Vec<Arc<FormatConverter>> {
        if let Some(extra) = tables.get(CONVERTERS_MAX) {
            let reason = format!("more than {CONVERTERS_MAX} converters");
            self.add_error(&extra.from, "converter", reason);
        }
        let mut converters: Vec<Arc<FormatConverter>> = Vec::new();
        for (number, table) in numbers.iter().zip(tables) {
            let key = format!("converter[{number}]");
            if converters.iter().any(|other| other.from == table.from.get_ref().as_str()) {
                let reason = format!(
                    "another converter already has from = {:?}: give this one another name",
                    table.from.get_ref()
                );
                self.add_error(&table.from, &format!("{key}.from"), reason);
            }
            converters.push(Arc::new(self.check_converter(&key, table)));
        }
        converters
    }

    /// Checks a converter. An invalid value is replaced by a valid one after it is reported, so that feeds that name
    /// the converter are not reported too.
    fn check_converter(&mut self, key: &str, table: ConverterTable) -> FormatConverter {
        let ConverterTable { from, to, command, timeout, memory } = table;
        self.check_operator_chosen_name(&format!("{key}.from"), &from);
        let as_one = match from.get_ref().as_str() {
            "gbfs" => Some("a GBFS system has many files, and a program gets only one body"),
            "raw" => Some("raw data are served unchanged: give the format another name"),
            _ => None,
        };
        if let Some(reason) = as_one {
            self.add_error(&from, &format!("{key}.from"), reason);
        }
        let output_format = Format::from_name(to.get_ref()).filter(is_output_format);
        if output_format.is_none() {
            let formats = Format::ALL.into_iter().filter(is_output_format);
            let names = formats.map(Format::as_str).collect::<Vec<_>>().join(", ");
            let reason = expected_message(&format!("one of {names}"), to.get_ref());
            self.add_error(&to, &format!("{key}.to"), reason);
        }
        let program =
            self.check_external_program(key, (command, timeout, memory), &CONVERTER_LIMITS);
        FormatConverter {
            from: SmolStr::new(from.get_ref()),
            to: output_format.unwrap_or(Format::Gtfs),
            program,
        }
    }

    /// Checks a name that the operator chooses.
    pub(super) fn check_operator_chosen_name(&mut self, key: &str, name: &Spanned<String>) {
        if !is_valid_name(name.get_ref()) {
            let wanted = format!("1 to {NAME_CHARS_MAX} characters of a-z 0-9 . _ -");
            self.add_error(name, key, expected_message(&wanted, name.get_ref()));
        }
    }

    pub(super) fn check_external_program(
        &mut self,
        key: &str,
        (command, timeout, memory): ExternalProgramKeys,
        may_take: &ExternalProgramLimits,
    ) -> ExternalProgram {
        let timeout =
            self.check_duration(&format!("{key}.timeout"), timeout, may_take.timeouts.clone());
        let memory = self.check_size(&format!("{key}.memory"), &memory, MEMORY);
        ExternalProgram {
            command: self.check_command(&format!("{key}.command"), command),
            timeout: timeout.unwrap_or(may_take.timeout),
            memory: memory.unwrap_or(may_take.memory),
        }
    }

    /// Checks a command. A program in the folder of the configuration is made absolute, so that it is found from any
    /// working folder.
    fn check_command(&mut self, key: &str, command: Spanned<Vec<String>>) -> Vec<String> {
        let is_long = |argument: &String| argument.chars().count() > ARGUMENT_CHARS_MAX;
        let fault = match command.get_ref().as_slice() {
            [] => Some(
                "expected a program and its arguments, such as [\"base64\", \"-d\"]".to_owned(),
            ),
            [name, ..] if name.trim().is_empty() => {
                Some("expected the name of a program".to_owned())
            }
            all if all.len() > ARGUMENTS_MAX => {
                Some(format!("more than {ARGUMENTS_MAX} arguments"))
            }
            all if all.iter().any(is_long) => {
                Some(format!("an argument is longer than {ARGUMENT_CHARS_MAX} characters"))
            }
            all if all.iter().any(|argument| argument.contains('\0')) => {
                Some("an argument cannot contain a zero byte".to_owned())
            }
            _ => None,
        };
        if let Some(reason) = fault {
            self.add_error(&command, key, reason);
        }
        let folder = std::path::absolute(self.base.join(".")).unwrap_or_else(|_| self.base.into());
        let mut command = command.into_inner();
        for argument in &mut command {
            *argument = argument.replace(CONFIG_DIR, &folder.to_string_lossy());
        }
        if let Some(name) = command.first_mut()
            && name.contains('/')
            && Path::new(name.as_str()).is_relative()
        {
            let whole: PathBuf = folder.join(name.as_str()).components().collect();
            *name = whole.to_string_lossy().into_owned();
        }
        command
    }

    /// Resolves a feed's `format`: a built-in format, or one that a converter turns into a built-in format. A converter
    /// for a built-in format takes precedence.
    pub(super) fn resolve_feed_format(
        &mut self,
        key: &str,
        text: Option<Spanned<String>>,
    ) -> (Option<Format>, Option<Arc<FormatConverter>>) {
        let Some(text) = text else { return (None, None) };
        let name = text.get_ref().as_str();
        let mut converters = self.converters.iter();
        if let Some(converter) = converters.find(|it| it.from == name).map(Arc::clone) {
            return (Some(converter.to), Some(converter));
        }
        let format = Format::from_name(name);
        if format.is_none() && self.has_all_converters {
            let names = Format::ALL.map(|format| format!("`{}`", format.as_str())).join(", ");
            let wanted = format!("one of {names}, or the `from` of a [[converter]]");
            self.add_error(&text, key, expected_message(&wanted, name));
        }
        (format, None)
    }
}

/// Returns true if a name is valid.
fn is_valid_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-_".contains(c);
    (1..=NAME_CHARS_MAX).contains(&text.len()) && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONVERTER: &str = "[[converter]]\nfrom = \"hafas\"\nto = \"gtfs-rt\"\n";
    const FEED: &str = "[[feed]]\nid = \"a\"\nurl = \"https://a.example/\"\nformat = \"hafas\"\n";

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("/etc/lineside/lineside.toml"), text)
            .map_err(|errors| errors.to_string())
    }

    #[track_caller]
    fn check_refused(text: &str, expected_message: &[&str]) {
        let refused = parse(text).unwrap_err();
        assert_eq!(refused.lines().count(), expected_message.len(), "{refused}");
        for (line, expected_message) in refused.lines().zip(expected_message) {
            assert!(line.contains(expected_message), "{line}");
        }
    }

    #[test]
    fn a_feed_uses_the_converter_of_its_format() {
        let command = "command = [\"./bin/convert\", \"{config_dir}/map.csv\", \"{input}\"]\n";
        let config = parse(&format!("{CONVERTER}{command}memory = \"2GiB\"\n{FEED}")).unwrap();
        let feed = &config.feeds[0];
        assert_eq!(feed.configured_format(), Some(Format::GtfsRt));
        let converter = feed.converter.as_ref().unwrap();
        assert_eq!((converter.from.as_str(), converter.program.memory), ("hafas", 2 << 30));
        assert_eq!(converter.program.timeout, CONVERTER_LIMITS.timeout);
        assert_eq!(
            converter.program.command,
            ["/etc/lineside/bin/convert", "/etc/lineside/map.csv", "{input}"]
        );
        // A built-in format goes through its converter too, if the feed names the format.
        let known = CONVERTER.replace("hafas", "siri");
        let feeds =
            FEED.replace("hafas", "siri") + "[[feed]]\nid = \"b\"\nurl = \"https://b.example/\"\n";
        let config = parse(&format!("{known}command = [\"cat\"]\n{feeds}")).unwrap();
        let through: Vec<bool> = config.feeds.iter().map(|it| it.converter.is_some()).collect();
        assert_eq!(through, [true, false]);
    }

    #[test]
    fn errors_in_a_converter_name_their_key() {
        check_refused(FEED, &["line 4, feed[0].format: expected one of `gtfs`, "]);
        let bad = |keys: &str| format!("[[converter]]\n{keys}\n{FEED}");
        check_refused(
            &bad("from = \"hafas\"\nto = \"hafas\"\ncommand = []\ntimeout = \"2h\"\nmemory = 1"),
            &[
                "line 3, converter[0].to: expected one of gtfs, gtfs-rt, netex, siri",
                "line 4, converter[0].command: expected a program",
                "line 5, converter[0].timeout: 2h is out of range",
                "line 6, converter[0].memory: 1 is out of range",
            ],
        );
        // Each fault is reported once.
        check_refused(&bad("from = \"hafas\"\nto = \"gtfs\""), &["missing field `command`"]);
        check_refused(
            &bad("from = \"hafas\"\nto = \"gtfs\"\ncommand = \"cat\""),
            &["line 4, converter[0].command: invalid type: string \"cat\""],
        );
        let one = "[[converter]]\nfrom = \"hafas\"\nto = \"gtfs\"\ncommand = [\"cat\"]\n";
        check_refused(
            &format!("{one}{one}{FEED}"),
            &["line 6, converter[1].from: another converter already has from = \"hafas\""],
        );
        for (from, says) in
            [("Ha Fas", "1 to 40"), ("gbfs", "many files"), ("raw", "served unchanged")]
        {
            check_refused(&one.replace("hafas", from), &[says]);
        }
        let siri = one.replace("hafas", "siri");
        let subscribed = "siri = { mode = \"subscribe\", requestor_ref = \"a\" }\n";
        check_refused(
            &format!("{siri}{}{subscribed}", FEED.replace("hafas", "siri")),
            &["feed[0].siri.mode: a converter needs complete responses"],
        );
        let named = "siri = { mode = \"lite\", requestor_ref = \"a\" }\n";
        let named = format!("{}{named}", FEED.replace("hafas", "siri"));
        check_refused(&format!("{siri}{named}"), &["feed[0].siri.requestor_ref: with a requestor"]);
        let mended = siri.replace("to = \"gtfs\"", "to = \"siri\"");
        assert!(
            parse(&format!("{mended}{named}")).is_ok(),
            "changes to SIRI are merged after the conversion"
        );
    }

    #[test]
    fn a_missing_program_is_reported_with_its_key() {
        let config = parse(&format!("{CONVERTER}command = [\"no such program\"]\n")).unwrap();
        let faults: Vec<String> = config.config_warnings().collect();
        assert_eq!(
            faults,
            [
                "converter[0].command: there is no program \"no such program\" in the PATH of this server"
            ]
        );
        let config = parse(&format!("{CONVERTER}command = [\"sh\"]\n")).unwrap();
        assert_eq!(config.config_warnings().count(), 0);
    }
}
