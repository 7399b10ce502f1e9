package auth

import (
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
)

// Take shows take to tests.
func Take(t profile.Taking, body []byte) (string, error) { return take(t, body) }

// Offered shows offered to tests.
func Offered(resp freshet.Response) (hub, self string) { return offered(resp) }
