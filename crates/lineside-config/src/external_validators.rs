//! `[[external_validator]]`: the operator's own programs that validate schedules, in addition to our rules.

use std::sync::Arc;
use std::time::Duration;

use lineside_formats::Format;
use lineside_model::ExternalProgram;
use serde::Deserialize;
use smol_str::SmolStr;
use toml::Spanned;

use super::config_checker::{ConfigChecker, expected_message};
use super::converters::ExternalProgramLimits;
use super::value::{DurationText, SizeText};

/// Maximum number of validators: each checks each version of its format.
const VALIDATORS_MAX: usize = 20;
const VALIDATOR_LIMITS: ExternalProgramLimits = ExternalProgramLimits {
    timeouts: Duration::from_secs(1)..=Duration::from_secs(86_400),
    timeout: Duration::from_secs(10 * 60),
    // Address space: Java reserves much more than it uses.
    memory: 4 << 30,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [[external_validator]] table")]
pub(super) struct ExternalValidatorTable {
    name: Spanned<String>,
    format: Spanned<String>,
    command: Spanned<Vec<String>>,
    timeout: Option<Spanned<DurationText>>,
    memory: Option<Spanned<SizeText>>,
}

/// `[[external_validator]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalValidatorConfig {
    /// The name on pages and in the API.
    pub name: SmolStr,
    /// The format whose new versions are validated.
    pub format: Format,
    pub program: ExternalProgram,
}

impl ConfigChecker<'_> {
    pub(super) fn check_external_validators(
        &mut self,
        tables: Vec<ExternalValidatorTable>,
        numbers: &[usize],
    ) -> Vec<Arc<ExternalValidatorConfig>> {
        if let Some(extra) = tables.get(VALIDATORS_MAX) {
            let reason = format!("more than {VALIDATORS_MAX} validators");
            self.add_error(&extra.name, "external_validator", reason);
        }
        let mut validators: Vec<Arc<ExternalValidatorConfig>> = Vec::new();
        for (number, table) in numbers.iter().zip(tables) {
            let key = format!("external_validator[{number}]");
            if validators.iter().any(|other| other.name == table.name.get_ref().as_str()) {
                let reason =
                    format!("another validator already has the name {:?}", table.name.get_ref());
                self.add_error(&table.name, &format!("{key}.name"), reason);
            }
            validators.push(Arc::new(self.check_external_validator(&key, table)));
        }
        validators
    }

    fn check_external_validator(
        &mut self,
        key: &str,
        table: ExternalValidatorTable,
    ) -> ExternalValidatorConfig {
        let ExternalValidatorTable { name, format, command, timeout, memory } = table;
        self.check_operator_chosen_name(&format!("{key}.name"), &name);
        let known = Format::from_name(format.get_ref()).filter(|format| format.is_schedule());
        if known.is_none() {
            let reason = match Format::from_name(format.get_ref()) {
                Some(format) if format.is_shared_mobility() => {
                    "a GBFS system has many files, and a program gets only one".to_owned()
                }
                Some(format) if format.is_realtime() => {
                    "real-time feeds are not validated externally, because each poll has a new message"
                        .to_owned()
                }
                _ => expected_message("\"gtfs\" or \"netex\"", format.get_ref()),
            };
            self.add_error(&format, &format!("{key}.format"), reason);
        }
        let program =
            self.check_external_program(key, (command, timeout, memory), &VALIDATOR_LIMITS);
        ExternalValidatorConfig {
            name: SmolStr::new(name.get_ref()),
            format: known.unwrap_or(Format::Gtfs),
            program,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Config;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("/etc/lineside/lineside.toml"), text)
            .map_err(|errors| errors.to_string())
    }

    #[test]
    fn every_key_is_read() {
        let text = "[[external_validator]]\nname = \"canonical\"\nformat = \"gtfs\"\n\
            command = [\"java\", \"-jar\", \"{config_dir}/v.jar\", \"-i\", \"{input}\", \"-o\", \"{output}\"]\n\
            [[external_validator]]\nname = \"profile\"\nformat = \"netex\"\ncommand = [\"./check\"]\n\
            timeout = \"1d\"\nmemory = \"64MiB\"\n";
        let config = parse(text).unwrap();
        let [canonical, profile] = &config.external_validators[..] else {
            panic!("{:?}", config.external_validators)
        };
        assert_eq!((canonical.name.as_str(), canonical.format), ("canonical", Format::Gtfs));
        assert_eq!(canonical.program.command[2], "/etc/lineside/v.jar");
        assert_eq!(
            (canonical.program.timeout, canonical.program.memory),
            (VALIDATOR_LIMITS.timeout, VALIDATOR_LIMITS.memory)
        );
        assert_eq!(profile.format, Format::Netex);
        assert_eq!(profile.program.command, ["/etc/lineside/check"]);
        assert_eq!(
            (profile.program.timeout, profile.program.memory),
            (Duration::from_secs(86_400), 64 << 20)
        );
        let faults: Vec<String> = config.config_warnings().collect();
        assert!(
            faults.iter().any(|it| it.starts_with("external_validator[1].command: ")),
            "{faults:?}"
        );
    }

    #[test]
    fn errors_name_their_key() {
        let one = |keys: &str| format!("[[external_validator]]\n{keys}\n");
        let good = one("name = \"a\"\nformat = \"gtfs\"\ncommand = [\"cat\"]");
        for (text, expected_message) in [
            (
                good.replace("\"a\"", "\"A b\""),
                "line 2, external_validator[0].name: expected 1 to 40",
            ),
            (
                good.repeat(2),
                "line 6, external_validator[1].name: another validator already has the name \"a\"",
            ),
            (good.replace("gtfs", "siri"), "line 3, external_validator[0].format: real-time feeds"),
            (
                good.replace("gtfs", "gtfs-rt"),
                "line 3, external_validator[0].format: real-time feeds",
            ),
            (
                good.replace("gtfs", "gbfs"),
                "line 3, external_validator[0].format: a GBFS system has many",
            ),
            (
                good.replace("gtfs", "hafas"),
                "external_validator[0].format: expected \"gtfs\" or \"netex\"",
            ),
            (
                good.replace("[\"cat\"]", "[]"),
                "line 4, external_validator[0].command: expected a program",
            ),
            (
                format!("{good}timeout = \"2d\"\n"),
                "external_validator[0].timeout: 2d is out of range",
            ),
            (format!("{good}memory = 1\n"), "external_validator[0].memory: 1 is out of range"),
            (format!("{good}from = \"x\"\n"), "external_validator[0].from: unknown field `from`"),
            (good.replace("name = \"a\"\n", ""), "external_validator[0]: missing field `name`"),
            (
                good.replace("[[external_validator]]", "[external_validator]"),
                "external_validator: expected a list of tables",
            ),
        ] {
            let refused = parse(&text).unwrap_err();
            assert!(
                refused.contains(expected_message) && refused.lines().count() == 1,
                "{expected_message}: {refused}"
            );
        }
        let many: String =
            (0..=VALIDATORS_MAX).map(|n| good.replace("\"a\"", &format!("\"a{n}\""))).collect();
        assert!(parse(&many).unwrap_err().contains("more than 20 validators"));
    }
}
