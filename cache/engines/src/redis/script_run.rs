//! Runs of scripts by a session.

use larder_protocol::resp::Value;
use larder_store::Result;

use super::scripts::{Name, Script};
use super::session::RedisSession;

impl RedisSession {
    /// Runs a script on the node that has `key`; sends the text to a node that does not know the script yet.
    pub(super) fn run(
        &mut self,
        script: &Script,
        key: &[u8],
        arguments: &[&[u8]],
    ) -> Result<Value> {
        self.run_with(script, key, arguments, None)
    }

    /// As [`Self::run`], with a value as one more argument, of which a large one is not copied.
    pub(super) fn run_with(
        &mut self,
        script: &Script,
        key: &[u8],
        arguments: &[&[u8]],
        value: Option<&[u8]>,
    ) -> Result<Value> {
        let mut ask = |name: Name| {
            self.client.call(key, "EVALSHA", |link| script.add(name, link, key, arguments, value))
        };
        let mut answer = ask(Name::Hash)?;
        if let Value::Error(error) = &answer
            && error.code() == "NOSCRIPT"
        {
            answer = ask(Name::Text)?;
        }
        match answer {
            Value::Error(error) => Err(self.client.refused(&error)),
            answer => Ok(answer),
        }
    }
}
