//! The conclusions of a set, each once, however many of its runs judge it.
//!
//! An article may be repeated in both forms. The corrected form decides a conclusion where it can, because it times
//! the work that the author meant to time. Otherwise the published form decides.

use crate::article::{JudgedClaim, judged_claims};
use crate::model::{Article, ArticleForm, ClaimVerdict, Run};

/// The forms. The verdict of the first counts most.
const FORMS: [ArticleForm; 2] = [ArticleForm::Corrected, ArticleForm::Published];

/// A conclusion with the answers of all runs of its article.
#[derive(Debug)]
pub(crate) struct Conclusion<'a> {
    /// The article.
    pub(crate) article: &'a Article,
    /// The answer that counts.
    pub(crate) said: JudgedClaim<'a>,
    /// The position of its run among all runs.
    pub(crate) run: usize,
    /// The form of the scenario in that run.
    pub(crate) form: ArticleForm,
    /// Different verdicts of runs in the other form.
    pub(crate) otherwise: Vec<(ArticleForm, &'static str)>,
    /// The verdict of each form, in the order of [`FORMS`]; `None` where no run in that form judges the conclusion.
    by_form: [Option<ClaimVerdict>; 2],
}

/// A statement of an author. It may have several conclusions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement<'a> {
    article: &'a str,
    name: Option<&'a str>,
    /// The verdict of all its conclusions together.
    pub(crate) verdict: ClaimVerdict,
    by_form: [Option<ClaimVerdict>; 2],
}

impl Statement<'_> {
    /// Whether the statement holds as published, but not with the mistakes corrected.
    pub(crate) fn holds_by_mistake(&self) -> bool {
        let [corrected, published] = self.by_form;
        corrected.is_some_and(ClaimVerdict::fails) && published == Some(ClaimVerdict::Holds)
    }

    fn add(&mut self, verdict: ClaimVerdict, by_form: [Option<ClaimVerdict>; 2]) {
        self.verdict = self.verdict.and(verdict);
        for (form, other) in self.by_form.iter_mut().zip(by_form) {
            *form = form.zip(other).map(|(one, other)| one.and(other)).or(*form).or(other);
        }
    }
}

impl Conclusion<'_> {
    /// The place of the conclusion and its text: `A003, line 134: …`.
    pub(crate) fn says(&self) -> String {
        let line = self.said.claim.line.map(|line| format!(", line {line}")).unwrap_or_default();
        format!("{}{line}: {}", self.article.id, self.said.says())
    }

    /// The form that decides, and the other form's verdict where it differs.
    pub(crate) fn told_by(&self) -> String {
        let others = self.otherwise.iter();
        let others: Vec<String> =
            others.map(|(form, verdict)| format!("; {}: {verdict}", in_words(*form))).collect();
        format!("{}{}", in_words(self.form), others.concat())
    }
}

pub(super) fn in_words(form: ArticleForm) -> &'static str {
    match form {
        ArticleForm::Corrected => "with the mistakes corrected",
        ArticleForm::Published => "as published",
    }
}

/// Every conclusion of these runs, in the order in which the runs judge them.
pub(crate) fn all_conclusions<'a>(runs: &[&'a Run]) -> Vec<Conclusion<'a>> {
    let articles = || {
        let numbered = runs.iter().enumerate();
        numbered.filter_map(|(at, run)| Some((at, run.article.as_ref()?)))
    };
    let mut all: Vec<Vec<(usize, &Article, JudgedClaim<'_>)>> = Vec::new();
    for (at, article) in articles() {
        for said in judged_claims(article) {
            let same = |(_, other, known): &(usize, &Article, JudgedClaim<'_>)| {
                other.id == article.id && known.claim.says == said.claim.says
            };
            // Where a run has two conclusions of the same text, each has its own counterpart in another run.
            let mut open = all.iter_mut().filter(|answers| answers.iter().all(|one| one.0 != at));
            match open.find(|answers| answers.iter().any(same)) {
                Some(answers) => answers.push((at, article, said)),
                None => all.push(vec![(at, article, said)]),
            }
        }
    }
    all.into_iter().filter_map(one).collect()
}

/// One conclusion from several answers. The first answer that decides counts, in the order of the forms.
fn one<'a>(mut answers: Vec<(usize, &'a Article, JudgedClaim<'a>)>) -> Option<Conclusion<'a>> {
    let tells = |verdict: ClaimVerdict| verdict != ClaimVerdict::CannotBeTold;
    let rank = |(_, article, said): &(usize, &Article, JudgedClaim<'_>)| {
        let form = FORMS.iter().position(|form| *form == article.form);
        (!tells(said.claim.verdict), form)
    };
    answers.sort_by_key(rank);
    let by_form = FORMS.map(|form| {
        let mut own = answers.iter().filter(|(_, article, _)| article.form == form);
        own.next().map(|(_, _, said)| said.claim.verdict)
    });
    let mut answers = answers.into_iter();
    let (run, article, said) = answers.next()?;
    let otherwise = answers.filter(|(_, other, answer)| {
        let verdict = answer.claim.verdict;
        other.form != article.form && tells(verdict) && verdict != said.claim.verdict
    });
    let otherwise = otherwise.map(|(_, other, answer)| (other.form, answer.verdict)).collect();
    Some(Conclusion { article, form: article.form, said, run, otherwise, by_form })
}

/// The statements of the authors, each once.
pub(crate) fn statements<'a>(asked: &[Conclusion<'a>]) -> Vec<Statement<'a>> {
    let mut known: Vec<Statement<'a>> = Vec::new();
    for Conclusion { article, said, by_form, .. } in
        asked.iter().filter(|one| !one.said.claim.derived)
    {
        let (article, name) = (article.id.as_str(), said.claim.statement.as_deref());
        let verdict = said.claim.verdict;
        let is_same = |other: &&mut Statement<'_>| {
            name.is_some() && (other.article, other.name) == (article, name)
        };
        match known.iter_mut().find(is_same) {
            Some(statement) => statement.add(verdict, *by_form),
            None => known.push(Statement { article, name, verdict, by_form: *by_form }),
        }
    }
    known
}
