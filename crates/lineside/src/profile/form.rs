//! The forms in which a recording goes out.

use std::io;

use super::flame;
use super::recorded::Recorded;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A page to look into.
    Html,
    /// The same graph as a picture.
    Svg,
    /// Lines of stacks.
    Folded,
    /// What pprof reads.
    Pprof,
}

impl Form {
    pub(crate) const ALL: [Self; 4] = [Self::Html, Self::Svg, Self::Folded, Self::Pprof];

    /// Its name in addresses, and the end of a file's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Svg => "svg",
            Self::Folded => "folded",
            Self::Pprof => "pb",
        }
    }

    /// What `Content-Type` says of it.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Html => "text/html; charset=utf-8",
            Self::Svg => "image/svg+xml",
            Self::Folded => "text/plain; charset=utf-8",
            Self::Pprof => "application/octet-stream",
        }
    }

    /// What it may load and run, where that is a question.
    pub(crate) fn policy(self) -> Option<String> {
        match self {
            Self::Html => Some(flame::page_policy()),
            Self::Svg => Some(flame::picture_policy()),
            Self::Folded | Self::Pprof => None,
        }
    }
}

impl Recorded {
    /// The recording in this form.
    ///
    /// # Errors
    /// Those of [`pprof`](Self::pprof).
    pub(crate) fn written(&self, form: Form) -> io::Result<Vec<u8>> {
        Ok(match form {
            Form::Html => flame::page(self).into_bytes(),
            Form::Svg => flame::svg(self).into_bytes(),
            Form::Folded => self.folded().into_bytes(),
            Form::Pprof => self.pprof()?,
        })
    }
}
