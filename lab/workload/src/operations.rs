//! The measured operations, their order, and those that are joined.

use std::fmt;
use std::str::FromStr;

use larder_store::Operation;

/// The phases to measure, one after another; a phase of several operations does them all to each key before the next
/// key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operations(pub Vec<Vec<Operation>>);

impl FromStr for Operations {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |word: &str| match word.trim() {
            "set" => Ok(Operation::Set),
            "get" => Ok(Operation::Get),
            "get_each" => Ok(Operation::GetEach),
            "get_many" => Ok(Operation::GetMany),
            "get_tag" => Ok(Operation::GetTag),
            "set_many" => {
                Err("`set_many` is a set of many keys: write set, and --multiset N".into())
            }
            "get_or_set" => Ok(Operation::GetOrSet),
            "delete" => Ok(Operation::Delete),
            "touch" => Ok(Operation::Touch),
            word => Err(format!(
                "`{word}` is not one of set, get, get_each, get_many, get_tag, get_or_set, delete, touch"
            )),
        };
        let phase = |phase: &str| phase.split('+').map(one).collect::<Result<Vec<_>, _>>();
        let phases: Vec<_> = text.split(',').map(phase).collect::<Result<_, _>>()?;
        let chained = |phase: &&Vec<Operation>| phase.len() > 1;
        if phases.iter().filter(chained).any(|phase| phase.contains(&Operation::GetOrSet)) {
            return Err(
                "`get_or_set` stands alone: it is a get and a set on one key already".into()
            );
        }
        if let Some(of_many) =
            phases.iter().filter(chained).flatten().find(|operation| operation.is_of_many_keys())
        {
            return Err(format!(
                "`{of_many}` stands alone: it reads many keys, a joined operation takes one key"
            ));
        }
        let all = phases.concat();
        for (i, operation) in all.iter().enumerate() {
            if all[..i].contains(operation) {
                return Err(format!("`{operation}` is listed twice"));
            }
        }
        Ok(Self(phases))
    }
}

impl fmt::Display for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phases = self.0.iter().map(|phase| {
            phase.iter().map(|operation| operation.as_str()).collect::<Vec<_>>().join("+")
        });
        f.pad(&phases.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_few_and_each_once() {
        let operations: Operations = "set,get".parse().unwrap();
        assert_eq!(operations.0, [[Operation::Set], [Operation::Get]]);
        for text in ["get,get", "set+get,get", "get+get"] {
            assert_eq!(text.parse::<Operations>().unwrap_err(), "`get` is listed twice");
        }
        let operations: Operations = "set+get, delete".parse().unwrap();
        assert_eq!(operations.0, [vec![Operation::Set, Operation::Get], vec![Operation::Delete]]);
        assert_eq!(operations.to_string(), "set+get,delete");
        let operations: Operations = "get_or_set".parse().unwrap();
        assert_eq!(operations.0, [[Operation::GetOrSet]]);
        let operations: Operations = "get_each,get_many,get_tag".parse().unwrap();
        assert_eq!(operations.to_string(), "get_each,get_many,get_tag");
        assert!("set+get_tag".parse::<Operations>().unwrap_err().contains("`get_tag` stands"));
        assert!("set+get_or_set".parse::<Operations>().unwrap_err().contains("stands alone"));
        assert!("read".parse::<Operations>().unwrap_err().contains("one of set, get"));
    }
}
