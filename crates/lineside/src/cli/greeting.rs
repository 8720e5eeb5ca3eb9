//! What a server says once it runs: where it is and what to try next.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::pages::{LOGIN, OPS};
use crate::server::Running;

/// For `serve`.
pub(crate) fn serving(running: &Running) -> String {
    let url = url_of(running.app().config().server.scheme(), running.address());
    let feeds = running.app().ingest().feeds();
    let mut text = format!("Lineside serves {} at {url}/\n", count(feeds.len()));
    if let Some(public) = &running.app().config().server.public_url {
        _ = writeln!(text, "Others reach it at {public}");
    }
    _ = writeln!(text, "It takes {} connections at once", running.app().connections());
    let try_next = match feeds.first() {
        Some(feed) => format!("feed/{}", feed.config().id),
        None => {
            let advice = "\nNo feed is configured yet: add a [[feed]] with an id and a url.\n";
            return text + advice + &line_for_admins(running, &url) + "Stop with Ctrl-C.";
        }
    };
    text + &lines_to_try(&url, &try_next) + &line_for_admins(running, &url) + "\nStop with Ctrl-C."
}

/// For `demo`.
pub(crate) fn demo(running: &Running) -> String {
    let url = url_of(running.app().config().server.scheme(), running.address());
    let mut text = format!("Lineside's demo city runs at {url}/\n");
    text += &lines_to_try(&url, "feed/city");
    _ = writeln!(text, "  How it is doing    {url}{OPS}");
    text += &line_for_admins(running, &url);
    _ = writeln!(text, "  Break a producer   {url}/demo/faults");
    if let Some(demo) = running.app().demo() {
        _ = writeln!(text, "  Its own feeds      http://{}/gtfs.zip and more", demo.address());
    }
    text + "\nStop with Ctrl-C."
}

/// Where admins log in. A token that was made at the start is shown here and nowhere else.
fn line_for_admins(running: &Running, url: &str) -> String {
    match running.app().admin().made_token() {
        Some(token) => format!("  For admins         {url}{LOGIN}?token={}\n", token.reveal()),
        None => format!("  For admins         {url}{LOGIN}\n"),
    }
}

fn lines_to_try(url: &str, channel: &str) -> String {
    format!(
        "\n  Look at the map    {url}/map\n  The feeds          {url}/\n  As JSON            \
         {url}/api/v1/feeds\n  Every change       curl -N '{url}/events?channel={channel}'\n  In the \
         terminal    lineside watch {url} {channel}\n"
    )
}

fn count(feeds: usize) -> String {
    if feeds == 1 { "1 feed".to_owned() } else { format!("{feeds} feeds") }
}

/// An address that a browser on this machine can open.
fn url_of(scheme: &str, address: SocketAddr) -> String {
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
    fn the_address_can_be_opened() {
        assert_eq!(url_of("http", "0.0.0.0:80".parse().unwrap()), "http://127.0.0.1:80");
        assert_eq!(url_of("https", "[::]:8080".parse().unwrap()), "https://[::1]:8080");
        assert_eq!(url_of("http", "192.0.2.1:8080".parse().unwrap()), "http://192.0.2.1:8080");
    }
}
