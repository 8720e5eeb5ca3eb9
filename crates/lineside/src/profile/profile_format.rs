//! The forms in which a recording goes out.

use std::io;

use super::flame;
use super::symbolized_profile::SymbolizedProfile;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProfileFormat {
    /// A page to look into.
    Html,
    /// The same graph as a picture.
    Svg,
    /// Lines of stacks.
    Folded,
    /// What pprof reads.
    Pprof,
}

impl ProfileFormat {
    pub(crate) const ALL: [Self; 4] = [Self::Html, Self::Svg, Self::Folded, Self::Pprof];

    /// Its name in addresses, and the end of a file's name.
    pub(crate) const fn file_extension(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Svg => "svg",
            Self::Folded => "folded",
            Self::Pprof => "pb",
        }
    }

    /// What `PublishContent-Type` says of it.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Svg => "image/svg+xml",
            Self::Folded => "text/plain; charset=utf-8",
            Self::Pprof => "application/octet-stream",
        }
    }

    /// What it may load and run, where that is a question.
    pub(crate) fn content_security_policy(self) -> Option<String> {
        match self {
            Self::Html => Some(flame::page_policy()),
            Self::Svg => Some(flame::picture_policy()),
            Self::Folded | Self::Pprof => None,
        }
    }
}

impl SymbolizedProfile {
    /// The recording in this form.
    ///
    /// # Errors
    /// Those of [`pprof`](Self::encode_pprof).
    pub(crate) fn encode_as(&self, form: ProfileFormat) -> io::Result<Vec<u8>> {
        Ok(match form {
            ProfileFormat::Html => flame::render_page(self).into_bytes(),
            ProfileFormat::Svg => flame::render_svg(self).into_bytes(),
            ProfileFormat::Folded => self.to_folded_stacks().into_bytes(),
            ProfileFormat::Pprof => self.encode_pprof()?,
        })
    }
}
