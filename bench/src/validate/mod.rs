//! `validate`: the cost of validating a schedule and a real-time message, compared with the reference validator and
//! with only reading them.

mod realtime;
mod reference;
mod schedule;

use std::path::{Path, PathBuf};

use crate::{child::Contender, report::Report, rounds::Effort};

pub(crate) use self::reference::use_reference;

/// All contenders of this suite that run in a separate process.
pub(crate) static CONTENDERS: &[Contender] =
    &[schedule::ONE_THREAD, schedule::TWO_THREADS, schedule::ONLY_LOADING];

/// Stop times of the generated city.
const STOP_TIMES: usize = 2_500_000;
const STOP_TIMES_QUICK: usize = 100_000;
/// The number of real schedules with recorded results of the reference, those that took it longest.
const RECORDED: usize = 6;

pub(crate) fn run(effort: Effort) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let n = effort.size(STOP_TIMES_QUICK, STOP_TIMES);
    let city = lineside_sim::write_benchmark_city(folder.path(), n)?;
    let mut report = Report::new("validate", effort);
    schedule::run(&Subject::generated(city.clone()), effort, &mut report)?;
    if !effort.is_quick {
        for subject in recorded()? {
            schedule::run(&subject, effort, &mut report)?;
        }
    }
    realtime::run(&city, effort, &mut report)?;
    report.write()
}

/// A validated schedule.
struct Subject {
    name: String,
    file: PathBuf,
    /// Recorded cost of the reference: CPU seconds, and MiB.
    recorded: Option<(f64, f64)>,
}

impl Subject {
    fn generated(file: PathBuf) -> Subject {
        Subject { name: "generated city".to_owned(), file, recorded: None }
    }
}

/// Returns the real schedules that took the reference longest, if a folder with them and its results is next to the
/// repository.
fn recorded() -> anyhow::Result<Vec<Subject>> {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let Ok(text) = std::fs::read_to_string(shared.join("rules/expected/gtfs.json")) else {
        println!("no real schedules beside the repository: only the generated one is measured");
        return Ok(Vec::new());
    };
    let expected: serde_json::Value = serde_json::from_str(&text)?;
    let mut subjects = Vec::new();
    for (name, feed) in expected["feeds"].as_object().into_iter().flatten() {
        let figure = |key: &str| feed["reference"][key].as_f64();
        let file = shared.join("data/gtfs").join(name);
        if let (Some(seconds), Some(mebibytes), true) =
            (figure("user_s"), figure("peak_mb"), file.exists())
        {
            let recorded = Some((seconds, mebibytes));
            subjects.push(Subject { name: name.clone(), file, recorded });
        }
    }
    let seconds = |subject: &Subject| subject.recorded.map_or(0.0, |(seconds, _)| seconds);
    subjects.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    subjects.truncate(RECORDED);
    Ok(subjects)
}
