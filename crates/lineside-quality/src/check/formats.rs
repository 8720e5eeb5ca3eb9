//! The rules and the check of each format.

use bytes::Bytes;
use lineside_formats::Format;
use lineside_validate::NoticeKind;
use lineside_validate::rules::{gbfs, gtfs, gtfs_rt, netex, siri};

use super::gbfs_check::check_gbfs;
use super::gtfs_check::check_gtfs;
use super::gtfs_rt_check::check_gtfs_rt;
use super::netex_check::check_netex;
use super::siri_check::check_siri;
use super::{CheckPlan, CheckReadProgress, CheckReport};

/// Checks an input of a format. The last argument returns the duration of the check in seconds.
type CheckFunction =
    fn(&Bytes, CheckPlan, &CheckReadProgress, &dyn Fn() -> f64) -> Result<CheckReport, String>;

/// The rules and the check of a format.
pub(super) struct FormatChecks {
    /// Returns the kinds of findings.
    pub(super) kinds: fn() -> Vec<&'static NoticeKind>,
    pub(super) check: CheckFunction,
}

/// Returns the rules and the check of an input's format, if it is known.
pub(super) fn find_checks(format: Option<Format>) -> FormatChecks {
    match format {
        Some(Format::Gtfs) => {
            FormatChecks { kinds: || gtfs::schedule_notice_kinds().collect(), check: check_gtfs }
        }
        Some(Format::GtfsRt) => FormatChecks {
            kinds: || gtfs_rt::realtime_notice_kinds().collect(),
            check: check_gtfs_rt,
        },
        Some(Format::Siri) => {
            FormatChecks { kinds: || siri::siri_notice_kinds().collect(), check: check_siri }
        }
        Some(Format::Netex) => FormatChecks {
            kinds: || netex::publication_notice_kinds().collect(),
            check: check_netex,
        },
        Some(Format::Gbfs) => {
            FormatChecks { kinds: || gbfs::gbfs_notice_kinds().collect(), check: check_gbfs }
        }
        // A GBFS file has no signature that distinguishes it from other JSON.
        Some(Format::Raw) | None => FormatChecks { kinds: Vec::new, check: check_gbfs },
    }
}
