//! The icons of the pages, drawn on a 24 × 24 grid in the color of the surrounding text.

use maud::{Markup, PreEscaped};

macro_rules! icon {
    ($(#[$doc:meta])* $name:ident, $paths:literal) => {
        $(#[$doc])*
        pub(super) fn $name() -> Markup {
            PreEscaped(concat!(
                r#"<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2.2" "#,
                r#"stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">"#,
                $paths,
                "</svg>"
            ).to_owned())
        }
    };
}

icon!(
    /// A line with a stop, and an arrow next to it.
    mark,
    r#"<path d="M7 2v20"/><circle cx="7" cy="8" r="3.2" fill="var(--surface)"/><path d="M12.5 16.5h7m-3-3 3 3-3 3"/>"#
);
icon!(ok, r#"<circle cx="12" cy="12" r="9"/><path d="m8 12.3 2.8 2.8L16.2 9.5"/>"#);
icon!(late, r#"<circle cx="12" cy="12" r="9"/><path d="M12 7v5.4l3.4 2"/>"#);
icon!(
    stale,
    r#"<path d="M6.5 3h11M6.5 21h11M8 3c0 5 8 5 8 9s-8 4-8 9m8-18c0 5-8 5-8 9s8 4 8 9"/>"#
);
icon!(
    expired,
    r#"<rect x="3.5" y="5" width="17" height="15.5" rx="2"/><path d="M3.5 10h17M8 2.8V6m8-3.2V6m-6.2 6.6 4.4 4.4m0-4.4-4.4 4.4"/>"#
);
icon!(failing, r#"<path d="M12 3.5 2.5 20h19L12 3.5z"/><path d="M12 10v4.5m0 2.6v.1"/>"#);
icon!(empty, r#"<circle cx="12" cy="12" r="9" stroke-dasharray="3.4 3.7"/>"#);
icon!(paused, r#"<circle cx="12" cy="12" r="9"/><path d="M9.8 8.5v7m4.4-7v7"/>"#);
icon!(
    unknown,
    r#"<circle cx="12" cy="12" r="9"/><path d="M9.4 9.4a2.7 2.7 0 1 1 3.9 2.4c-.8.4-1.3 1-1.3 1.9m0 3.2v.1"/>"#
);
icon!(search, r#"<circle cx="10.5" cy="10.5" r="6.5"/><path d="m15.5 15.5 5 5"/>"#);
icon!(warning, r#"<path d="M12 3.5 2.5 20h19L12 3.5z"/><path d="M12 10v4.5m0 2.6v.1"/>"#);
icon!(
    locate,
    r#"<circle cx="12" cy="12" r="6"/><circle cx="12" cy="12" r="1.6" fill="currentColor"/><path d="M12 2v4m0 12v4M2 12h4m12 0h4"/>"#
);
icon!(
    star,
    r#"<path d="m12 3 2.8 5.7 6.2.9-4.5 4.4 1.1 6.2-5.6-2.9-5.6 2.9 1.1-6.2L3 9.6l6.2-.9z"/>"#
);
icon!(list, r#"<path d="M9 6h11M9 12h11M9 18h11M4.5 6h.1M4.5 12h.1M4.5 18h.1"/>"#);
icon!(chevron, r#"<path d="m6 15 6-6 6 6"/>"#);
