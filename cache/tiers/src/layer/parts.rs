//! The parts of an option's text: `zstd:1k,level:3` is a head and then pairs.

/// Names and values.
pub(super) type Pairs<'t> = Vec<(&'t str, &'t str)>;

/// Splits a text into its head and its pairs. An error names a pair without a colon, or one whose name is not known.
pub(super) fn split<'t>(
    text: &'t str,
    known: &[&str],
    example: &str,
) -> Result<(&'t str, Pairs<'t>), String> {
    let (head, rest) = text.split_once(',').map_or((text, None), |(head, rest)| (head, Some(rest)));
    let mut pairs = Pairs::new();
    for pair in rest.into_iter().flat_map(|rest| rest.split(',')) {
        let named = pair.split_once(':').filter(|(name, _)| known.contains(name));
        let Some((name, value)) = named else {
            let known = known.join(", ");
            return Err(format!("`{pair}` is none of {known} with a value; write {example}"));
        };
        if pairs.iter().any(|(given, _)| *given == name) {
            return Err(format!("`{name}` is given twice; write {example}"));
        }
        pairs.push((name, value));
    }
    Ok((head, pairs))
}

/// Reads a number from `least` to `most`.
pub(super) fn number(what: &str, text: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number of {what} from {least} to {most}"))
}
