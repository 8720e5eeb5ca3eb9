//! The style sheet of pages with reports.

/// The style sheet of the reports.
pub(super) const STYLE: &str = "report.css";
