//! The theme of the screen: with or without colours, with or without signs beyond ASCII.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar::{NINE_LEVELS, Set};

/// The bars of a terminal that shows ASCII only.
const ASCII_BARS: Set<'static> = Set {
    full: "#",
    seven_eighths: "#",
    three_quarters: "+",
    five_eighths: "+",
    half: "-",
    three_eighths: "-",
    one_quarter: ".",
    one_eighth: ".",
    empty: " ",
};

/// Whether to use colours, and signs beyond ASCII.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Theme {
    pub(crate) colours: bool,
    pub(crate) unicode: bool,
}

impl Theme {
    /// The theme for this terminal. `NO_COLOR` with any text switches colours off (<https://no-color.org>).
    pub(crate) fn of_terminal(unicode: bool) -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        Self { colours: !is_set("NO_COLOR"), unicode }
    }

    fn coloured(self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// A heading.
    pub(crate) fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// The selected row. It needs no colour.
    pub(crate) fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The title of the column that decides the order.
    pub(crate) fn sorting() -> Style {
        Self::strong().add_modifier(Modifier::UNDERLINED)
    }

    /// A server that is down.
    pub(crate) fn alarm(self) -> Style {
        self.coloured(Color::Red)
    }

    /// A state that the user has asked for and may forget.
    pub(crate) fn notice(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// The bars of a history.
    pub(crate) fn bars(self) -> (Set<'static>, Style) {
        (if self.unicode { NINE_LEVELS } else { ASCII_BARS }, self.coloured(Color::Cyan))
    }

    /// The line above the details.
    pub(crate) fn rule(self) -> &'static str {
        if self.unicode { "─" } else { "-" }
    }
}
