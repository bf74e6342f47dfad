//! Text in a document: its words, the words that stand out, and its meaning as a whole.

/// A text of a few words or a few sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) spans: Vec<Span>,
    /// The meaning of the whole text. The terminal and the page show it by colour.
    pub(crate) meaning: Meaning,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Span {
    Plain(String),
    /// Stands out: a name, a verdict.
    Strong(String),
    /// Set off a little: a name that is not a target's.
    Emphasis(String),
    /// A sign as it stands in a table.
    Code(String),
    /// Leads to an address; the first is the text.
    Link(String, String),
}

/// The meaning of a text. Markdown has no colours, and leaves it out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Meaning {
    #[default]
    Plain,
    /// The first thing that a reader looks for.
    Main,
    /// Beside the matter.
    Faint,
    /// A change for the better, the best of several, a conclusion that holds.
    Good,
    /// A change for the worse, a figure that is no result.
    Bad,
    /// A reason for doubt.
    Doubt,
    /// What a row belongs to: its place, or its group of equals.
    Place,
}

impl Text {
    pub(crate) fn of(spans: Vec<Span>) -> Self {
        Self { spans, meaning: Meaning::Plain }
    }

    /// The same text with this meaning.
    pub(crate) fn means(self, meaning: Meaning) -> Self {
        Self { meaning, ..self }
    }

    /// The words alone.
    pub(crate) fn words(&self) -> String {
        self.spans.iter().map(Span::words).collect()
    }
}

impl Span {
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::Plain(text)
            | Self::Strong(text)
            | Self::Emphasis(text)
            | Self::Code(text)
            | Self::Link(text, _) => text,
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::of(vec![Span::Plain(text)])
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}
