//! `[site]`: the operator's name, logo and legal pages, as every page shows them.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;
use url::Url;

use super::config_checker::{ConfigChecker, expected_message};

/// The default name of a site.
const NAME_DEFAULT: &str = "Lineside";
/// The name appears in the title of every page.
const NAME_CHARS_MAX: usize = 60;
/// Maximum size of a logo, in bytes.
pub const LOGO_BYTES_MAX: u64 = 1 << 20;
/// The image formats that browsers show, by file extension.
const LOGO_TYPES: [(&str, &str); 5] = [
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("webp", "image/webp"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
];

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SiteTable {
    name: Option<Spanned<String>>,
    logo: Option<Spanned<String>>,
    contact: Option<Spanned<String>>,
    imprint: Option<Spanned<String>>,
    privacy: Option<Spanned<String>>,
    accessibility: Option<Spanned<String>>,
}

/// `[site]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteConfig {
    /// The name in the header and the title of each page, at most 60 characters.
    pub name: String,
    /// The image in the header.
    pub logo: Option<SiteLogo>,
    /// An `http(s)` or `mailto:` link.
    pub contact: Option<String>,
    /// The page on the party responsible for the site.
    pub imprint: Option<Url>,
    /// The privacy policy.
    pub privacy: Option<Url>,
    /// The accessibility statement.
    pub accessibility: Option<Url>,
}

/// The operator's logo, read from the disk for each request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteLogo {
    /// The file.
    pub path: PathBuf,
    /// The media type, by the file's extension.
    pub media_type: &'static str,
}

impl Default for SiteConfig {
    fn default() -> Self {
        Self {
            name: NAME_DEFAULT.to_owned(),
            logo: None,
            contact: None,
            imprint: None,
            privacy: None,
            accessibility: None,
        }
    }
}

impl ConfigChecker<'_> {
    pub(super) fn check_site(&mut self, table: SiteTable) -> SiteConfig {
        SiteConfig {
            name: table
                .name
                .and_then(|name| self.check_site_name(&name))
                .unwrap_or_else(default_site_name),
            logo: table.logo.and_then(|file| self.check_site_logo(&file)),
            contact: table.contact.and_then(|contact| self.check_site_contact(&contact)),
            imprint: self.check_site_link("site.imprint", table.imprint),
            privacy: self.check_site_link("site.privacy", table.privacy),
            accessibility: self.check_site_link("site.accessibility", table.accessibility),
        }
    }

    fn check_site_name(&mut self, name: &Spanned<String>) -> Option<String> {
        let text = name.get_ref().trim();
        let is_good = (1..=NAME_CHARS_MAX).contains(&text.chars().count())
            && !text.chars().any(char::is_control);
        if !is_good {
            let expected = format!("1 to {NAME_CHARS_MAX} characters");
            self.add_error(name, "site.name", expected_message(&expected, text));
        }
        is_good.then(|| text.to_owned())
    }

    fn check_site_logo(&mut self, file: &Spanned<String>) -> Option<SiteLogo> {
        let path = self.base.join(file.get_ref());
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let ending = ending.to_ascii_lowercase();
        let media_type = LOGO_TYPES.iter().find(|(known, _)| *known == ending).map(|(_, it)| *it);
        let bytes = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        match (media_type, bytes) {
            (Some(media_type), Some(file)) if file.len() <= LOGO_BYTES_MAX => {
                Some(SiteLogo { path, media_type })
            }
            _ => {
                let expected = "an existing .svg, .png, .webp or .jpg file of at most 1 MiB";
                self.add_error(
                    file,
                    "site.logo",
                    expected_message(expected, &path.to_string_lossy()),
                );
                None
            }
        }
    }

    /// Checks a contact. A mail address may lack its scheme.
    fn check_site_contact(&mut self, contact: &Spanned<String>) -> Option<String> {
        let text = contact.get_ref().trim();
        let mail = text.strip_prefix("mailto:").unwrap_or(text);
        if mail.parse::<lettre::Address>().is_ok() {
            return Some(format!("mailto:{mail}"));
        }
        let url = Url::parse(text).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        if url.is_none() {
            let expected = "an email address or an http(s) URL";
            self.add_error(contact, "site.contact", expected_message(expected, text));
        }
        url.map(Into::into)
    }

    fn check_site_link(&mut self, key: &str, text: Option<Spanned<String>>) -> Option<Url> {
        text.and_then(|text| self.check_web_url(key, &text))
    }
}

fn default_site_name() -> String {
    NAME_DEFAULT.to_owned()
}

#[cfg(test)]
mod tests {
    use crate::Config;

    fn parse(folder: &std::path::Path, site: &str) -> Result<super::SiteConfig, String> {
        let path = folder.join("lineside.toml");
        let config = Config::parse(&path, &format!("[site]\n{site}\n"));
        config.map(|config| config.site).map_err(|errors| errors.to_string())
    }

    #[test]
    fn every_key_of_the_site_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("logo.SVG"), "<svg/>").unwrap();
        let text = "name = \" Transport Ministry \"\nlogo = \"logo.SVG\"\ncontact = \"data@example.org\"\n\
                    imprint = \"https://example.org/imprint\"\nprivacy = \"https://example.org/privacy\"\n\
                    accessibility = \"https://example.org/accessibility\"";
        let site = parse(folder.path(), text).unwrap();
        assert_eq!(site.name, "Transport Ministry");
        assert_eq!(site.logo.unwrap().media_type, "image/svg+xml");
        assert_eq!(site.contact.as_deref(), Some("mailto:data@example.org"));
        let links = [site.imprint, site.privacy, site.accessibility];
        assert!(links.iter().flatten().count() == 3, "{links:?}");
        assert_eq!(parse(folder.path(), "").unwrap(), super::SiteConfig::default());
    }

    #[test]
    fn invalid_values_are_refused_with_their_key() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("logo.exe"), "x").unwrap();
        for (text, key) in [
            ("name = \"\"", "site.name"),
            ("name = \"a\\nb\"", "site.name"),
            ("logo = \"logo.exe\"", "site.logo"),
            ("logo = \"missing.svg\"", "site.logo"),
            ("contact = \"javascript:alert(1)\"", "site.contact"),
            ("imprint = \"/imprint\"", "site.imprint"),
            ("privacy = \"mailto:a@example.org\"", "site.privacy"),
            ("accessibility = \"data:text/html,x\"", "site.accessibility"),
            ("motto = \"x\"", "site.motto"),
        ] {
            let error = parse(folder.path(), text).unwrap_err();
            assert!(error.contains(key), "{text}: {error}");
        }
    }
}
