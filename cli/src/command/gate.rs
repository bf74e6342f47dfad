//! Conditions on a result, for scripts: `--strict` and `--assert`, for every command with a result.

use clap::Args;
use larder_report::figures::count;
use larder_report::{Assertion, Finding, Run, Severity};

use crate::exit::{Exit, Usage, one_line};

/// The conditions by which findings become an exit code.
#[derive(Debug, Args)]
pub(crate) struct Gate {
    /// Exit with 3 when a check finds that a figure is no result
    #[arg(long)]
    strict: bool,

    /// Exit with 4 unless this holds: 'p99(get, memcached:) < 1ms'
    ///
    /// It must hold in every cell that it names; the option may be given several times.
    ///
    /// METRIC(OPERATION, TARGET, COORDINATE=VALUE) < LIMIT, such as `p99(get, memcached:) < 1ms`. METRIC is p50, p90,
    /// p99, p99.9, max, mean, rate, answered, `hits_per_s`, `hit_ratio`, errors, misses, wrong, lost, starved, cpu, `client_cpu`,
    /// `server_cpu`, rss or disk. TARGET is a URL or a name; an omitted argument, or *, stands for any. Where many
    /// operations miss, rate has two figures: answered counts hits and misses, `hits_per_s` hits alone. The assertion
    /// does not hold in a cell without the figure.
    #[arg(long = "assert", value_name = "ASSERTION")]
    assertions: Vec<Assertion>,
}

impl Gate {
    /// Whether anything is asserted.
    pub(crate) fn asserts(&self) -> bool {
        !self.assertions.is_empty()
    }

    /// Refuses an assertion that names no cell of any of these runs.
    pub(crate) fn names_cells(&self, runs: &[&Run]) -> anyhow::Result<()> {
        for assertion in &self.assertions {
            let judged: Result<Vec<_>, _> = runs.iter().map(|run| assertion.judge(run)).collect();
            let named = runs.iter().any(|run| assertion.judge(run).is_ok());
            if let (Err(unmatched), false) = (judged, named) {
                anyhow::bail!(Usage(unmatched.text));
            }
        }
        Ok(())
    }

    /// Reports wrong results where no other message does: a script that only looks at the exit code sees a success.
    pub(crate) fn tell_errors(runs: &[&Run]) {
        let errors =
            runs.iter().flat_map(|run| &run.checks).filter(|check| is_error(check)).count();
        if errors > 0 {
            let findings = count(errors, "finding");
            anstream::eprintln!(
                "checks: {findings} of severity error; the exit code is 0 all the same, and 3 with --strict"
            );
        }
    }

    /// Reports every cell that fails an assertion, a line each, and chooses the exit code: a wrong result takes
    /// precedence over a failed assertion.
    pub(crate) fn judge(&self, runs: &[&Run]) -> Exit {
        let mut holds = true;
        for assertion in &self.assertions {
            for failure in runs.iter().filter_map(|run| assertion.judge(run).ok()).flatten() {
                anstream::eprintln!("larder: {}", one_line(&failure.text));
                holds = false;
            }
        }
        if self.strict && runs.iter().any(|run| run.checks.iter().any(is_error)) {
            Exit::Misleading
        } else if holds {
            Exit::Done
        } else {
            Exit::NotAsserted
        }
    }
}

fn is_error(check: &Finding) -> bool {
    check.severity == Severity::Error
}

#[cfg(test)]
mod tests {
    use larder_report::{ASSERTION_EXPECTED, assertion_metrics};

    use super::*;

    #[test]
    fn the_help_explains_assertions_and_names_every_metric() {
        let command = Gate::augment_args(clap::Command::new("larder"));
        let help = command.get_arguments().find(|argument| argument.get_id() == "assertions");
        let help = help.and_then(clap::Arg::get_long_help).map(ToString::to_string);
        let help = help.unwrap_or_default();
        assert!(help.contains(&one_line(ASSERTION_EXPECTED)), "{help}");
        for metric in assertion_metrics() {
            assert!(help.contains(metric), "{metric} is missing: {help}");
        }
    }
}
