"""Who comes in, and what they may do: authentication, authority, origins, revocation."""
