// Package secrets keeps what nobody else should see.
//
// A [Vault] is two files in a data directory: a key, and secrets that are encrypted
// with it. Programs seal what they have to store elsewhere, such as cookies, with the
// same key, so that a copy of the database alone reveals nothing. A user who can read
// the whole directory can read the secrets: the files are for their owner alone.
package secrets
