//! The output formats of a recording.

use std::io;

use super::flame;
use super::symbolized_profile::SymbolizedProfile;

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileFormat {
    /// An interactive page.
    Html,
    /// The flame graph as an image.
    Svg,
    /// Folded stacks, one per line.
    Folded,
    /// The protobuf of pprof, gzip-compressed.
    Pprof,
}

impl ProfileFormat {
    pub const ALL: [Self; 4] = [Self::Html, Self::Svg, Self::Folded, Self::Pprof];

    /// Returns the name in addresses, which is also the file extension.
    pub const fn file_extension(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Svg => "svg",
            Self::Folded => "folded",
            Self::Pprof => "pb",
        }
    }

    /// Returns the value of the `Content-Type` header.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Svg => "image/svg+xml",
            Self::Folded => "text/plain; charset=utf-8",
            Self::Pprof => "application/octet-stream",
        }
    }

    /// Returns the content security policy, if the format can load or run anything.
    pub fn content_security_policy(self) -> Option<String> {
        match self {
            Self::Html => Some(flame::standalone_page_csp()),
            Self::Svg => Some(flame::picture_policy()),
            Self::Folded | Self::Pprof => None,
        }
    }
}

impl SymbolizedProfile {
    /// Encodes the recording in a format.
    ///
    /// # Errors
    /// Returns the errors of [`encode_pprof`](Self::encode_pprof).
    pub fn encode_profile(&self, profile_format: ProfileFormat) -> io::Result<Vec<u8>> {
        Ok(match profile_format {
            ProfileFormat::Html => flame::render_standalone_page(self).into_bytes(),
            ProfileFormat::Svg => flame::render_svg(self).into_bytes(),
            ProfileFormat::Folded => self.to_folded_stacks().into_bytes(),
            ProfileFormat::Pprof => self.encode_pprof()?,
        })
    }
}
