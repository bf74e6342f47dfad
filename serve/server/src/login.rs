//! What is known of the login of a client, in each protocol.

/// The longest value with a user and a password, in bytes.
pub(crate) const MAX_LOGIN_LEN: usize = 2048;

/// The login of a client.
#[derive(Debug, Default)]
pub(crate) struct Login {
    /// The client has logged in, or does not have to. Until then no other request is carried out.
    pub(crate) is_known: bool,
    /// The client has begun to log in by SASL, and its message comes with a step.
    pub(crate) has_begun: bool,
}
