//! Paths of pages that the request layers treat differently.

/// The path prefix of the dashboard.
pub const OPS: &str = "/ops";
/// The path of the login page.
pub const LOGIN: &str = "/login";
/// The path of the page for uploads.
pub const VALIDATE: &str = "/validate";

/// Returns true if a path belongs to uploads.
pub fn is_upload_path(path: &str) -> bool {
    path.strip_prefix(VALIDATE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_below_validate_are_upload_paths() {
        for path in ["/validate", "/validate/", "/validate/x/report.json"] {
            assert!(is_upload_path(path), "{path}");
        }
        for path in ["/", "/validated", "/feeds/validate", "/api/v1/feeds"] {
            assert!(!is_upload_path(path), "{path}");
        }
    }
}
