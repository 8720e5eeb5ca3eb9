//! The background tasks of validation, and the lookup of their results.
//!
//! Once a second `validation_scheduler` queues new versions of schedules, and `validation_run` validates one on a
//! separate thread, within limits of time and memory. `message_reporter` reports the findings in real-time messages.
//! `validator_scheduler` and `validator_run` do the same as the first two for the operator's own validators.

mod external_comparison;
mod find_report;
mod message_reporter;
mod validation_run;
mod validation_scheduler;
mod validator_run;
mod validator_scheduler;

pub use self::external_comparison::collect_external_comparisons;
pub use self::find_report::{FindReportError, find_report_on_version};
pub use self::message_reporter::run_message_reporter;
pub use self::validation_scheduler::run_validation_scheduler as schedule_validations;
pub use self::validator_scheduler::run_external_validator_scheduler as schedule_external_validators;
