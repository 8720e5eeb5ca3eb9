//! Tests each command and configuration in the documentation.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::http::{get, get_json};
use crate::support::process::{ServerProcess, lineside};
use crate::support::{repository, shared_demo};

/// A code block in the documentation, and its place.
struct Block {
    location: String,
    text: String,
}

/// Returns the paths of the readme and of everything under `docs/`.
pub(crate) fn documents() -> Vec<PathBuf> {
    let root = repository();
    let mut documents = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                documents.push(path);
            }
        }
    }
    documents.sort();
    documents
}

/// Returns all code blocks of a language.
fn blocks(language: &str) -> Vec<Block> {
    let opening = format!("```{language}");
    let mut blocks = Vec::new();
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            if line.trim() == opening {
                let inside = lines.by_ref().map(|(_, line)| line);
                let inside: Vec<&str> = inside.take_while(|line| line.trim() != "```").collect();
                let code_location = format!("{}:{}", document.display(), number + 1);
                blocks.push(Block { location: code_location, text: inside.join("\n") });
            }
        }
    }
    assert!(!blocks.is_empty(), "no paper has a block of {language}");
    blocks
}

#[test]
fn every_command_in_the_documentation_exists() {
    let mut n_tested = 0;
    for block in blocks("sh") {
        for line in block.text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let arguments = match words.as_slice() {
                ["lineside" | "target/release/lineside", arguments @ ..] => arguments,
                ["cargo", "xtask", "demo", ..] => &words[2..],
                _ => continue,
            };
            check_command(&format!("{}: {line}", block.location), arguments);
            n_tested += 1;
        }
    }
    assert!(n_tested >= 5, "only {n_tested} commands were found");
}

fn check_command(code_location: &str, arguments: &[&str]) {
    let (verb, arguments) =
        arguments.split_first().unwrap_or_else(|| panic!("{code_location}: no verb"));
    let help = lineside(&[verb, "--help"]).output().unwrap();
    assert!(help.status.success(), "{code_location}: there is no `lineside {verb}`");
    let help = String::from_utf8(help.stdout).unwrap();
    for flag in arguments.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(*flag), "{code_location}: `lineside {verb}` has no {flag}");
    }
}

#[test]
fn every_configuration_in_the_documentation_is_valid() {
    let (check_blocks, server_blocks): (Vec<Block>, Vec<Block>) =
        blocks("toml").into_iter().partition(|block| block.text.starts_with("fail_on"));
    assert!(!check_blocks.is_empty(), "no paper shows settings of `lineside check`");
    for block in check_blocks {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("check.toml"), &block.text).unwrap();
        std::fs::write(folder.path().join("gtfs.zip"), super::check_command::zip()).unwrap();
        let output = lineside(&["check", "gtfs.zip", "--config", "check.toml"])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}:\n{complaint}", block.location);
    }
    for block in server_blocks {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("lineside.toml"), with_its_schedules(&block.text))
            .unwrap();
        for name in values_of(&block.text, "file = \"") {
            write_below(folder.path(), &name, "a-secret");
        }
        for folder_of_recordings in values_of(&block.text, "\"replay://") {
            let name = folder_of_recordings.split('?').next().unwrap();
            write_below(folder.path(), &format!("{name}/1.pb"), "");
        }
        for key in ["pmtiles = \"", "style = \""] {
            for name in values_of(&block.text, key).iter().filter(|name| !name.contains(':')) {
                write_below(folder.path(), name, "{}");
            }
        }
        let mut command = lineside(&["serve", "--check", "--config", "lineside.toml"]);
        command.current_dir(folder.path());
        command.envs(values_of(&block.text, "env = \"").into_iter().map(|name| (name, "a-secret")));
        let output = command.output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}:\n{complaint}", block.location);
    }
}

/// Adds the schedules that a snippet names without showing them.
fn with_its_schedules(text: &str) -> String {
    let mut whole = text.to_owned();
    for schedule in values_of(text, "static = \"") {
        if !whole.contains(&format!("id = \"{schedule}\"")) {
            whole += &format!("\n[[feed]]\nid = \"{schedule}\"\nurl = \"{schedule}.zip\"\n");
        }
    }
    whole
}

fn values_of(text: &str, before: &str) -> Vec<String> {
    let values = text.split(before).skip(1);
    values.filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect()
}

fn write_below(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn the_configuration_reference_has_every_key() {
    let reference = repository().join("docs/operate/configuration.md");
    let document = std::fs::read_to_string(reference).unwrap();
    let headings = document.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'));
    let headings: BTreeSet<&str> = headings.collect();
    let names = headings.iter().map(|heading| heading.trim_matches(['[', ']']).to_owned());
    let (within, names): (BTreeSet<_>, BTreeSet<_>) = names.partition(|name| name.contains('.'));
    assert_eq!(names, keys_expected_instead_of("zzz = 1"), "sections");
    for heading in headings {
        let mut documented = documented_keys(&document, heading);
        // A nested section is also a key of its parent.
        let name = format!("{}.", heading.trim_matches(['[', ']']));
        documented.extend(within.iter().filter_map(|it| it.strip_prefix(&name)).map(str::to_owned));
        let expected = keys_expected_instead_of(&format!("{heading}\nzzz = 1"));
        assert_eq!(documented, expected, "the keys of {heading}");
    }
}

/// Returns the first column of the table under a section's heading.
fn documented_keys(document: &str, heading: &str) -> BTreeSet<String> {
    let heading = format!("## `{heading}`");
    let section = document.lines().skip_while(|line| *line != heading).skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    let keys = section.filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    keys.map(str::to_owned).collect()
}

/// Returns the known keys that the server lists when it meets an unknown one.
fn keys_expected_instead_of(text: &str) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lineside.toml");
    std::fs::write(&file, text).unwrap();
    let output =
        lineside(&["serve", "--check", "--config", file.to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "an unknown key is refused");
    let complaint = String::from_utf8(output.stderr).unwrap();
    let expected = complaint.split_once("expected").map(|(_, keys)| keys);
    let expected = expected.unwrap_or_else(|| panic!("no keys in: {complaint}"));
    expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[tokio::test]
async fn every_metric_is_documented() {
    let mut text = get(&format!("{}/metrics", shared_demo())).await.text().await.unwrap();
    // Some metrics exist only for feeds with subscribed producers.
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(
        folder.path(),
        "[server]\nlisten = \"127.0.0.1:0\"\npublic_url = \"http://127.0.0.1:1\"\n\
         [[feed]]\nid = \"s\"\nurl = \"http://127.0.0.1:1/siri\"\nformat = \"siri\"\n\
         siri = { services = [\"vm\"], mode = \"subscribe\" }\n",
    );
    text += &get(&format!("{}/metrics", server.url)).await.text().await.unwrap();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let names =
        types.map(
            |(name, kind)| {
                if kind == "counter" { format!("{name}_total") } else { name.to_owned() }
            },
        );
    let document =
        std::fs::read_to_string(repository().join("docs/operate/monitoring.md")).unwrap();
    let explained =
        document.lines().filter_map(|line| line.strip_prefix("| `lineside_")?.split('`').next());
    let explained: BTreeSet<String> = explained.map(|name| format!("lineside_{name}")).collect();
    assert_eq!(names.collect::<BTreeSet<_>>(), explained);
}

#[tokio::test]
async fn every_address_is_documented() {
    let description = get_json(&format!("{}/api/v1/openapi.json", shared_demo())).await;
    let described = description["paths"].as_object().unwrap().keys();
    let explained: BTreeSet<String> = documents()
        .iter()
        .flat_map(|document| values_between_backticks(&std::fs::read_to_string(document).unwrap()))
        .map(|address| with_stars(&address, '<', '>'))
        .collect();
    for address in described {
        let address = with_stars(address, '{', '}');
        assert!(explained.contains(&address), "{address} is in no paper");
    }
}

fn values_between_backticks(text: &str) -> Vec<String> {
    let lines = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    lines.map(str::to_owned).collect()
}

/// Replaces placeholders: `/proxy/<feed>` and `/proxy/{id}` both become `/proxy/*`.
fn with_stars(address: &str, open: char, close: char) -> String {
    let mut stars = String::new();
    let mut rest = address;
    while let Some((before, after)) = rest.split_once(open) {
        stars.push_str(before);
        stars.push('*');
        rest = after.split_once(close).map_or("", |(_, after)| after);
    }
    stars + rest
}
