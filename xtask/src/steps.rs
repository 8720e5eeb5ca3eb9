//! Named steps, each timed, with a summary of the failed and the skipped ones.

use std::time::{Duration, Instant};

use anyhow::bail;

/// The outcome of a step.
enum Outcome {
    Passed,
    Failed(anyhow::Error),
    /// A step that this one needs failed.
    NotRun(&'static str),
}

struct Step {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// The steps taken so far.
#[derive(Default)]
pub(crate) struct Steps {
    taken: Vec<Step>,
}

impl Steps {
    /// Runs a step, unless one of the steps it `needs` failed or was skipped. A failure is recorded
    /// for the summary, and the next step still runs.
    pub(crate) fn run(
        &mut self,
        name: &'static str,
        needs: &[&'static str],
        step: impl FnOnce() -> anyhow::Result<()>,
    ) {
        if let Some(missing) = needs.iter().find(|needed| self.failed(needed)) {
            self.taken.push(Step { name, outcome: Outcome::NotRun(missing), took: Duration::ZERO });
            return;
        }
        println!("\n── {name} ──");
        let start = now();
        let outcome = step().map_or_else(Outcome::Failed, |()| Outcome::Passed);
        let took = start.elapsed();
        match &outcome {
            Outcome::Failed(error) => {
                println!("── {name} FAILED after {}: {error:#}", seconds(took))
            }
            _ => println!("── {name} passed in {}", seconds(took)),
        }
        self.taken.push(Step { name, outcome, took });
    }

    fn failed(&self, name: &str) -> bool {
        self.taken.iter().any(|step| step.name == name && !matches!(step.outcome, Outcome::Passed))
    }

    /// Prints every step with its seconds, and returns an error if one of them failed.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        println!("\n── summary ──");
        let mut failures = Vec::new();
        for step in &self.taken {
            match &step.outcome {
                Outcome::Passed => println!("passed   {:>8}  {}", seconds(step.took), step.name),
                Outcome::Failed(error) => {
                    println!("FAILED   {:>8}  {}: {error:#}", seconds(step.took), step.name);
                    failures.push(step.name);
                }
                Outcome::NotRun(missing) => {
                    println!("not run  {:>8}  {}: it needs {missing}", "-", step.name);
                    failures.push(step.name);
                }
            }
        }
        let total: Duration = self.taken.iter().map(|step| step.took).sum();
        println!("{:>17}  total", seconds(total));
        println!("steps: {} passed, {} failed", self.taken.len() - failures.len(), failures.len());
        if !failures.is_empty() {
            bail!("failed steps: {}", failures.join(", "));
        }
        Ok(())
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[expect(clippy::disallowed_methods, reason = "the time is only printed")]
fn now() -> Instant {
    Instant::now()
}
