//! The greeting of a server that has started: its addresses and commands to try next.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use lineside_http::page_paths::{LOGIN, OPS};

use crate::server::RunningServer;

/// Returns the greeting of `serve`.
pub(crate) fn serve_greeting(running: &RunningServer) -> String {
    let url = url_for_local_browser(
        running.shared_app().config().server.url_scheme(),
        running.listen_address(),
    );
    let feeds = running.shared_app().ingest().feeds();
    let mut text = format!("Lineside serves {} at {url}/\n", format_feed_count(feeds.len()));
    if let Some(public) = &running.shared_app().config().server.public_url {
        _ = writeln!(text, "Public address: {public}");
    }
    _ = writeln!(text, "Connection limit: {}", running.shared_app().max_connections());
    let try_next = match feeds.first() {
        Some(feed) => format!("feed/{}", feed.config().id),
        None => {
            let advice = "\nNo feed is configured yet: add a [[feed]] with an id and a url.\n";
            return text + advice + &admin_login_line(running, &url) + "Stop with Ctrl-C.";
        }
    };
    text + &example_commands(&url, &try_next)
        + &admin_login_line(running, &url)
        + "\nStop with Ctrl-C."
}

/// Returns the greeting of `demo`.
pub(crate) fn demo_greeting(running: &RunningServer) -> String {
    let url = url_for_local_browser(
        running.shared_app().config().server.url_scheme(),
        running.listen_address(),
    );
    let mut text = format!("Lineside's demo city runs at {url}/\n");
    text += &example_commands(&url, "feed/city");
    _ = writeln!(text, "  Dashboard          {url}{OPS}");
    text += &admin_login_line(running, &url);
    _ = writeln!(text, "  Inject faults      {url}/demo/faults");
    if let Some(demo) = running.demo_city() {
        _ = writeln!(
            text,
            "  Source feeds       http://{}/gtfs.zip and more",
            demo.city_server_address()
        );
    }
    text + "\nStop with Ctrl-C."
}

/// Returns the line with the login address of admins. Only this line shows a token that was generated at the start.
fn admin_login_line(running: &RunningServer, url: &str) -> String {
    match running.shared_app().admin_auth().generated_admin_token() {
        Some(token) => format!("  For admins         {url}{LOGIN}?token={}\n", token.reveal()),
        None => format!("  For admins         {url}{LOGIN}\n"),
    }
}

fn example_commands(url: &str, channel: &str) -> String {
    format!(
        "\n  Map                {url}/map\n  Feeds              {url}/\n  As JSON            \
         {url}/api/v1/feeds\n  Every change       curl -N '{url}/events?channel={channel}'\n  In the \
         terminal    lineside watch {url} {channel}\n"
    )
}

fn format_feed_count(feeds: usize) -> String {
    if feeds == 1 { "1 feed".to_owned() } else { format!("{feeds} feeds") }
}

/// Returns an address that a browser on this machine can open.
fn url_for_local_browser(scheme: &str, address: SocketAddr) -> String {
    let ip = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        std::net::IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        std::net::IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_address_can_be_opened_in_a_browser() {
        assert_eq!(
            url_for_local_browser("http", "0.0.0.0:80".parse().unwrap()),
            "http://127.0.0.1:80"
        );
        assert_eq!(
            url_for_local_browser("https", "[::]:8080".parse().unwrap()),
            "https://[::1]:8080"
        );
        assert_eq!(
            url_for_local_browser("http", "192.0.2.1:8080".parse().unwrap()),
            "http://192.0.2.1:8080"
        );
    }
}
