package access

import "freshet"

// Take shows take to tests.
func Take(t freshet.Taking, body []byte) (string, error) { return take(t, body) }
