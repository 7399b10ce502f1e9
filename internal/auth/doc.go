// Package auth says who asks something of the API, and what they may do.
//
// A [Gate] stands before the API. It identifies a caller by the secret of a pass: a session
// (a cookie), a token or a share link. Secrets have 256 random bits, and only their
// hashes are kept, so that a reader of the database cannot use them. Passwords are
// hashed with Argon2id.
//
// While there are no users, requests straight from this machine may do everything, if the API
// listens on this machine alone. From the first user on, every request is authenticated.
package auth
