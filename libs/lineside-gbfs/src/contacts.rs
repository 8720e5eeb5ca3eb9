//! Contacts in a system's information that version 3 requires and version 2 does not.

use smol_str::SmolStr;

use super::file::FileContent;
use lineside_formats::ConversionReport;

/// The `feed_contact_email` of a system without one, because version 3 requires it. The domain is reserved for examples
/// (RFC 2606).
pub const FEED_CONTACT_STAND_IN: &str = "feed-contact-unknown@example.org";

/// Maximum number of digits of an E.164 telephone number.
const PHONE_DIGITS_MAX: usize = 15;

impl FileContent {
    /// Adapts a system's contacts to version 3: the telephone number in E.164 form, an address for questions about the
    /// feed, and the manifest at `manifest_url` instead of the producer's, which lists other addresses. Returns what
    /// was dropped.
    pub fn adapt_contacts_to_v3(&mut self, manifest_url: Option<&str>) -> ConversionReport {
        let mut losses = ConversionReport::new();
        let FileContent::SystemInformation(system) = self else { return losses };
        if let Some(phone) = system.phone_number.take() {
            system.phone_number = normalize_phone_to_e164(&phone);
            if system.phone_number.is_none() {
                losses.record_dropped_object(
                    "phone_number",
                    "the number is not in E.164 format",
                    Some(&phone),
                );
            }
        }
        if system.feed_contact_email.is_none() {
            let email = system.email.clone();
            system.feed_contact_email =
                email.or_else(|| Some(SmolStr::new_static(FEED_CONTACT_STAND_IN)));
        }
        let named = std::mem::replace(&mut system.manifest_url, manifest_url.map(SmolStr::new));
        if named.is_some() {
            let why = "the URLs in the manifest are the producer's";
            losses.record_dropped_object("manifest_url", why, named.as_deref());
        }
        losses
    }
}

/// Removes the separators of a telephone number; `None` if it does not begin with `+` and a country code.
fn normalize_phone_to_e164(text: &str) -> Option<SmolStr> {
    let is_sign = |c: char| matches!(c, ' ' | '-' | '.' | '\u{a0}');
    let digits: String = text.trim().strip_prefix('+')?.chars().filter(|c| !is_sign(*c)).collect();
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit())
        && (2..=PHONE_DIGITS_MAX).contains(&digits.len())
        && !digits.starts_with('0');
    is_number.then(|| smol_str::format_smolstr!("+{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::SystemInformation;

    fn fit(
        system: SystemInformation,
        manifest_url: Option<&str>,
    ) -> (SystemInformation, ConversionReport) {
        let mut content = FileContent::SystemInformation(Box::new(system));
        let losses = content.adapt_contacts_to_v3(manifest_url);
        let FileContent::SystemInformation(system) = content else { unreachable!() };
        (*system, losses)
    }

    #[test]
    fn only_phone_numbers_with_a_country_code_are_written() {
        for (text, expected) in [
            ("+18005551234", Some("+18005551234")),
            ("+33 1 23-45.67", Some("+331234567")),
            ("1-800-555-1234", None),
            ("+44 (0)20 7946 0123", None),
            ("+0123", None),
            ("+1234567890123456", None),
            ("+", None),
        ] {
            let system =
                SystemInformation { phone_number: Some(text.into()), ..Default::default() };
            let (system, losses) = fit(system, None);
            assert_eq!(system.phone_number.as_deref(), expected, "{text}");
            let lost: Vec<_> = losses.iter().map(|loss| loss.kind).collect();
            assert_eq!(lost.is_empty(), expected.is_some(), "{text}: {lost:?}");
        }
    }

    #[test]
    fn a_feed_has_a_contact_and_the_url_of_the_manifest_that_lists_the_feed() {
        let own = SystemInformation {
            email: Some("riders@a.example".into()),
            feed_contact_email: Some("feed@a.example".into()),
            manifest_url: Some("https://a.example/manifest.json".into()),
            ..Default::default()
        };
        let contact = |system: &SystemInformation| system.feed_contact_email.clone().unwrap();
        let (converted, losses) = fit(own.clone(), Some("https://b.example/manifest.json"));
        assert_eq!(contact(&converted), "feed@a.example");
        assert_eq!(converted.manifest_url.as_deref(), Some("https://b.example/manifest.json"));
        assert_eq!(losses.dropped_object_count(), 1);
        let (of_riders, losses) = fit(SystemInformation { feed_contact_email: None, ..own }, None);
        assert_eq!(contact(&of_riders), "riders@a.example");
        assert_eq!((of_riders.manifest_url, losses.dropped_object_count()), (None, 1));
        let (unknown, losses) = fit(SystemInformation::default(), None);
        assert_eq!(
            (contact(&unknown).as_str(), losses.dropped_object_count()),
            (FEED_CONTACT_STAND_IN, 0)
        );
    }
}
