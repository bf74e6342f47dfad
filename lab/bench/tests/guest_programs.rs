//! The guests' own tests, each run by the tool of its language: the promises of a program to its caller.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use larder_testkit::{compile_java_fast, everything_is_required, nightly};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// The tests of a language.
struct Suite {
    /// The folder below `guests/`.
    language: &'static str,
    /// The ending of its test files, below `t`.
    ending: &'static str,
    /// The command that runs a test file and reports each case.
    command: &'static [&'static str],
    /// The Debian package with this command.
    package: &'static str,
    /// The text of a case that did not run.
    skipped: &'static str,
}

/// Another language needs one more entry.
const SUITES: &[Suite] = &[
    Suite {
        language: "perl",
        ending: ".t",
        command: &["prove", "--verbose", "-I", "."],
        package: "perl",
        skipped: "# skip",
    },
    Suite {
        language: "php",
        ending: ".php",
        command: &["php"],
        package: "php-cli",
        skipped: "# skip",
    },
    Suite {
        language: "go",
        ending: ".sh",
        command: &["sh"],
        package: "golang-go",
        skipped: "# skip",
    },
    Suite {
        language: "java",
        ending: ".sh",
        command: &["sh"],
        package: "default-jdk-headless",
        skipped: "# skip",
    },
    Suite {
        language: "python",
        ending: "_test.py",
        command: &["python3", "-B", "-m", "unittest", "--verbose"],
        package: "python3",
        skipped: "... skipped",
    },
    Suite {
        language: "node",
        ending: ".test.js",
        command: &["sh", "t/node.sh"],
        package: "nodejs",
        // The summary of a file has `# skipped 0`.
        skipped: "# skip ",
    },
    Suite {
        language: "ruby",
        ending: "_test.rb",
        command: &["ruby"],
        package: "ruby ruby-minitest",
        skipped: "# skip",
    },
];

fn main() -> ExitCode {
    // SAFETY: no other thread runs yet.
    unsafe { compile_java_fast() };
    let trials = SUITES.iter().flat_map(|suite| {
        let tests = suite.tests();
        assert!(!tests.is_empty(), "no tests of {}", suite.language);
        tests.into_iter().map(move |test| {
            let name = format!("{}::{}", suite.language, test.file_stem().unwrap().display());
            Trial::ignorable_test(name, move || suite.pass(&test))
        })
    });
    // Their cases call every library of a language.
    libtest_mimic::run(&Arguments::from_args(), nightly(trials).collect()).exit_code()
}

impl Suite {
    fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests").join(self.language)
    }

    fn tests(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.folder().join("t")).unwrap();
        let paths = files.map(|entry| entry.unwrap().path());
        let mut tests: Vec<PathBuf> =
            paths.filter(|path| path.to_string_lossy().ends_with(self.ending)).collect();
        tests.sort();
        tests
    }

    /// Runs a test. A test with a case that did not run has not passed.
    fn pass(&self, test: &Path) -> Result<Completion, Failed> {
        let (program, arguments) = self.command.split_first().unwrap();
        let ran =
            Command::new(program).args(arguments).arg(test).current_dir(self.folder()).output();
        let ran = match ran {
            Ok(ran) => ran,
            Err(error) => {
                return left_out(format!("{program}: {error}: apt-get install {}", self.package));
            }
        };
        let said = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        if !ran.status.success() {
            return Err(Failed::from(said));
        }
        let skipped = |line: &&str| line.to_lowercase().contains(self.skipped);
        match said.lines().find(skipped) {
            Some(line) => left_out(line.trim().to_owned()),
            None => Ok(Completion::Completed),
        }
    }
}

/// An ignored test, or a failed test where everything is required.
fn left_out(reason: String) -> Result<Completion, Failed> {
    if everything_is_required() {
        return Err(Failed::from(reason));
    }
    Ok(Completion::ignored_with(reason))
}
