//! Checks web and mail addresses as strictly as the reference validator: a host is a number, or a name under an
//! existing top-level domain.

use std::{collections::HashSet, net::Ipv4Addr, sync::OnceLock};

/// The top-level domains of the reference validator, which are those of February 2017 (IANA), non-ASCII ones in both
/// forms, and `example` for documentation (RFC 2606).
const TOP_DOMAINS: &str = include_str!("top_domains.txt");
/// Maximum length of a host name, in characters (RFC 1035).
const HOST_CHARS_MAX: usize = 253;
/// Maximum length of one part of a host name, in characters.
const LABEL_CHARS_MAX: usize = 63;
/// Maximum length of the part before the `@` (RFC 5321), in UTF-16 code units.
const MAILBOX_CHARS_MAX: usize = 64;

/// Returns true if the text is a URL: a scheme, a host, a path and a query.
pub fn is_url(text: &str) -> bool {
    let text = text.split_once('#').map_or(text, |(text, _)| text);
    let (text, query) = text.split_once('?').map_or((text, ""), |(text, query)| (text, query));
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let schemes = ["https", "http", "ftp"];
    schemes.iter().any(|known| scheme.eq_ignore_ascii_case(known))
        && is_url_authority(authority)
        && is_valid_url_path(path)
        && !query.contains(is_blank_char)
}

fn is_blank_char(c: char) -> bool {
    matches!(c, '\t'..='\r' | ' ')
}

/// Returns true for a host with optional user info and port. Trailing blanks are ignored.
fn is_url_authority(text: &str) -> bool {
    let text = text.trim_end_matches(|c| c <= ' ');
    if let Some((address, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let port = rest.strip_prefix(':');
        let is_plain = address.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b':');
        return is_plain
            && address.parse::<std::net::Ipv6Addr>().is_ok()
            && port.map_or(rest.is_empty(), |port| port.bytes().all(|byte| byte.is_ascii_digit()));
    }
    let host = match text.split_once('@') {
        Some((user, host)) if is_url_user_info(user) => host,
        _ => text,
    };
    let (host, port) = host.split_once(':').unwrap_or((host, ""));
    let is_port = port.is_empty()
        || (port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok());
    is_port && (is_host_name(host) || host.parse::<Ipv4Addr>().is_ok())
}

/// Returns true for a user name with an optional password.
fn is_url_user_info(text: &str) -> bool {
    let is_plain = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"%&'()*+,-._~!$;=".contains(&byte))
    };
    let (name, password) = text.split_once(':').unwrap_or((text, ""));
    !name.is_empty() && is_plain(name) && is_plain(password)
}

/// Returns true for a path of allowed characters that stays below its root and has no empty segments.
fn is_valid_url_path(path: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-_/:@&?=+,.!~*'%$;()".contains(&byte);
    if !path.bytes().all(is_plain) || path.contains("//") {
        return false;
    }
    let mut depth = 0_u32;
    for step in path.split('/').skip(1) {
        match step {
            ".." if depth == 0 => return false,
            ".." => depth -= 1,
            "." | "" => {}
            _ => depth += 1,
        }
    }
    true
}

/// Returns true for a name of at least two parts, the last of which is a top-level domain.
fn is_host_name(text: &str) -> bool {
    let name = text.strip_suffix('.').unwrap_or(text);
    let Some((rest, top)) = name.rsplit_once('.') else { return false };
    text.chars().count() <= HOST_CHARS_MAX
        && rest.split('.').all(is_domain_label)
        && is_top_level_domain(top)
}

/// Returns true for letters and digits, with hyphens between them.
fn is_domain_label(label: &str) -> bool {
    let is_inner = |c: char| c == '-' || may_end_domain_label(c);
    (1..=LABEL_CHARS_MAX).contains(&label.chars().count())
        && label.chars().all(is_inner)
        && label.starts_with(may_end_domain_label)
        && label.ends_with(may_end_domain_label)
}

fn may_end_domain_label(c: char) -> bool {
    c.is_ascii_alphanumeric() || (!c.is_ascii() && c.is_alphanumeric())
}

fn is_top_level_domain(name: &str) -> bool {
    static KNOWN: OnceLock<HashSet<&str>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| TOP_DOMAINS.lines().collect());
    known.contains(name) || known.contains(name.to_lowercase().as_str())
}

/// Returns true if the text is a mail address: a name, `@` and a host.
pub fn is_email_address(text: &str) -> bool {
    let Some((mailbox, host)) = text.rsplit_once('@') else { return false };
    if text.ends_with('.') || !is_email_local_part(mailbox) {
        return false;
    }
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<std::net::IpAddr>().is_ok(),
        None => is_host_name(host),
    }
}

/// Returns true for words separated by dots; a word is plain or quoted.
fn is_email_local_part(text: &str) -> bool {
    let mut rest = text;
    loop {
        let Some(behind) = strip_local_part_word(rest) else { return false };
        match behind.strip_prefix('.') {
            Some(next) => rest = next,
            None => return behind.is_empty() && text.encode_utf16().count() <= MAILBOX_CHARS_MAX,
        }
    }
}

/// Returns the text after the first word; `None` if it does not begin with a word.
fn strip_local_part_word(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut is_escaped = false;
        let end = quoted.find(|c: char| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends
        });
        return end.map(|end| &quoted[end + 1..]);
    }
    let mut chars = text.char_indices();
    let end = loop {
        match chars.next() {
            Some((_, '\\')) => drop(chars.next()?),
            Some((_, c))
                if !is_blank_char(c) && !c.is_ascii_control() && !r#"()<>@,;:".[]"#.contains(c) => {
            }
            Some((at, _)) => break at,
            None => break text.len(),
        }
    };
    (end > 0).then_some(&text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_validated() {
        for text in [
            "https://north.example/x?y=ü#z",
            "HTTP://a.NO",
            "ftp://a.b.c.com:21/",
            "http://user:word@a.com/",
            "http://1.2.3.4/x",
            "http://[::1]:80/",
            "https://a.com./x",
            "https://mølla.no",
            "http://a.xn--p1ai",
            "http://a.рф",
            "http://a.com/b/../c/./d",
            "http://a.com?q",
            "http://a.com /x",
        ] {
            assert!(is_url(text), "{text}");
        }
        for text in [
            "a.com",
            "www.a.com",
            "mailto:a@a.com",
            "gopher://a.com",
            "http://",
            "http://a",
            "http://a.notld",
            "http://a b.com",
            "http://a.com/b c",
            "http://a.com/b//c",
            "http://a.com/../b",
            "http://a.com/ü",
            "http://a.com:99999",
            "http://a.com:x",
            "http://-a.com",
            "http://a-.com",
            "http://a..com",
            "http://256.1.1.1",
            "http:/a.com",
            "http://a.com/?q r",
            "http//a.com",
            "https://a.com/{x}",
            "",
            "http://a_b.com",
            "http://[::g]/",
            "http://[::1]80",
        ] {
            assert!(!is_url(text), "{text}");
        }
    }

    #[test]
    fn mail_addresses_are_validated() {
        for text in [
            "a@b.example",
            "a.b+c@d.no",
            "\"a b\"@c.com",
            "o'neil@a.com",
            "a@[1.2.3.4]",
            "ü@a.com",
            "a\\ b@c.com",
            "\"a@b\"@c.com",
        ] {
            assert!(is_email_address(text), "{text}");
        }
        for text in [
            "a",
            "@a.com",
            "a@",
            "a@b",
            "a@b.com.",
            "a b@c.com",
            "a..b@c.com",
            ".a@b.com",
            "a.@b.com",
            "a@b@c.com",
            "a@b.notld",
            "a, b@c.com",
            "mailto:a@b.com",
            "a@b.com; c@d.com",
            "",
        ] {
            assert!(!is_email_address(text), "{text}");
        }
    }
}
