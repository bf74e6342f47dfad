//! Runs of scripts by a session.

use larder_store::Result;
use redis::{ServerErrorKind, Value};

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

    /// As [`Self::run`], with a value as one more argument, which is sent without a copy if it is large.
    pub(super) fn run_with(
        &mut self,
        script: &Script,
        key: &[u8],
        arguments: &[&[u8]],
        value: Option<&[u8]>,
    ) -> Result<Value> {
        let mut ask = |name: Name| {
            self.request.clear();
            script.add(name, &mut self.request, key, arguments, value);
            self.routed(key, value.unwrap_or_default())
        };
        let mut answer = ask(Name::Hash)?;
        if let Value::ServerError(error) = &answer
            && error.kind() == Some(ServerErrorKind::NoScript)
        {
            answer = ask(Name::Text)?;
        }
        match answer {
            Value::ServerError(error) => Err(self.refused(&error)),
            answer => Ok(answer),
        }
    }
}
