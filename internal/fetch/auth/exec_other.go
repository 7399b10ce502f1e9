//go:build !unix

package auth

import (
	"context"
	"errors"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

const nonBlocking = 0

// run runs no command here: there are no groups of processes that could be killed whole.
func (c *Client) run(context.Context, freshet.Request, string, int64) ([]byte, error) {
	return nil, &freshet.FetchError{Class: failure.Exec, Err: errors.New("commands cannot be watched on this system")}
}

// RunCommand runs no command here either.
func RunCommand(context.Context, string, []byte, int64) ([]byte, error) {
	return nil, &freshet.FetchError{Class: failure.Exec, Err: errors.New("commands cannot be run on this system")}
}
