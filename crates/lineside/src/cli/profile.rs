//! `lineside profile`: records a profile of a running server.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use lineside_config::ADMIN_TOKEN_VARIABLE as TOKEN_VARIABLE;
use lineside_profile::{ProfileFormat, SECONDS, SECONDS_DEFAULT};
use lineside_sync::real_time::run_with_timeout;
use reqwest::StatusCode;
use url::Url;

use super::{CommandFailure, print};

/// Time that the server may take beyond the recording itself: the first recording looks up every symbol name.
const EXTRA_TIME_MAX: Duration = Duration::from_secs(60);

/// Profile the threads of a running server, and write a flame graph
///
/// The server takes samples for some seconds while it continues to work. Each stack begins with the thread and
/// its stage: fetch, decode, apply, publish, deliver, http. One recording runs at a time.
#[derive(Debug, Args)]
#[command(after_help = "The file extension selects the format:
  .html    an interactive page in one file: zoom, search, keys
  .svg     the same graph as a picture
  .folded  a line for each stack, for other tools
  .pb      gzip-compressed, for pprof: go tool pprof flame.pb

The server's admin token is read from LINESIDE_ADMIN_TOKEN.
Example: LINESIDE_ADMIN_TOKEN=… lineside profile http://127.0.0.1:8080 --seconds 10 --output flame.html")]
pub(crate) struct ProfileArguments {
    /// The server, such as http://127.0.0.1:8080
    #[arg(value_name = "SERVER-URL", value_parser = super::parse_server_url)]
    server: Url,
    /// Seconds to record, from 1 to 60
    #[arg(long, value_name = "N", default_value_t = SECONDS_DEFAULT,
        value_parser = clap::value_parser!(u64).range(SECONDS))]
    seconds: u64,
    /// The file to write: .html, .svg, .folded or .pb
    #[arg(long, value_name = "FILE", value_parser = parse_output)]
    output: (PathBuf, ProfileFormat),
}

/// Parses the output file and the profile format that its extension names.
fn parse_output(text: &str) -> Result<(PathBuf, ProfileFormat), String> {
    let file = Path::new(text);
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let profile_format = ProfileFormat::ALL
        .into_iter()
        .find(|profile_format| profile_format.file_extension() == ending);
    let form =
        profile_format.ok_or("expected a file name that ends with .html, .svg, .folded or .pb")?;
    Ok((file.to_owned(), form))
}

pub(crate) async fn run_profile(arguments: ProfileArguments) -> Result<(), CommandFailure> {
    let ProfileArguments { server, seconds, output: (file, profile_format) } = arguments;
    let token = env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
    let token = token.ok_or_else(|| {
        CommandFailure::Usage(format!(
            "only admins can record a profile: set {TOKEN_VARIABLE} to the server's admin token"
        ))
    })?;
    print::print_to_stderr(&format!("recording {server} for {seconds} s"));
    let timeout = Duration::from_secs(seconds) + EXTRA_TIME_MAX;
    let answer = run_with_timeout(
        timeout,
        fetch_profile_from_server(&server, &token, seconds, profile_format),
    )
    .await;
    let body = answer.unwrap_or_else(|| {
        Err(CommandFailure::Unfinished(format!(
            "{server}: no response within {} s",
            timeout.as_secs()
        )))
    })?;
    std::fs::write(&file, &body).map_err(|error| {
        CommandFailure::Unfinished(format!(
            "{} cannot be written: {error}; name another file",
            file.display()
        ))
    })?;
    print::print_line_to_stdout(&format!("{}: {} bytes", file.display(), body.len()));
    Ok(())
}

async fn fetch_profile_from_server(
    server: &Url,
    token: &str,
    seconds: u64,
    profile_format: ProfileFormat,
) -> Result<Vec<u8>, CommandFailure> {
    let unreachable = |error: reqwest::Error| {
        CommandFailure::from_anyhow(
            &anyhow::Error::from(error.without_url()).context(server.to_string()),
        )
    };
    let mut url = server.clone();
    url.set_path("/api/v1/admin/profile");
    url.query_pairs_mut()
        .clear()
        .append_pair("seconds", &seconds.to_string())
        .append_pair("format", profile_format.file_extension());
    // Redirects are off so that the token goes only to the named server.
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
    let request = client.map_err(unreachable)?.get(url).bearer_auth(token);
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    let body = response.bytes().await.map_err(unreachable)?;
    if status == StatusCode::OK {
        return Ok(body.into());
    }
    let problem: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
    let detail = problem.as_ref().and_then(|problem| problem["detail"].as_str());
    let detail = detail.unwrap_or("the address may not be a Lineside server");
    let failure_text = format!("{server} answered {status}: {detail}");
    Err(if status == StatusCode::UNAUTHORIZED {
        CommandFailure::Usage(failure_text)
    } else {
        CommandFailure::Unfinished(failure_text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_extension_selects_the_profile_format() {
        for (name, profile_format) in [
            ("flame.html", ProfileFormat::Html),
            ("a/b/flame.svg", ProfileFormat::Svg),
            ("x.y.folded", ProfileFormat::Folded),
            ("flame.pb", ProfileFormat::Pprof),
        ] {
            assert_eq!(parse_output(name), Ok((name.into(), profile_format)));
        }
        assert!(
            ["flame", "flame.", ".html", "flame.json"]
                .iter()
                .all(|name| parse_output(name).is_err())
        );
    }
}
