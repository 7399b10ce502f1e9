package main

import (
	"errors"
	"net/http"
	"net/url"
	"syscall"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// A connection is how a verb reaches the API: over the network, or in this
// process.
type connection struct {
	*client.Client
	local bool // there is no daemon: nobody polls but at our request
	close func() error
}

// remote returns a connection to the daemon at a URL, with a token if there is one.
func remote(base, token string) *connection {
	trusted := fetch.Trusted(patience)
	reach := func(req *http.Request) (*http.Response, error) {
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := trusted.Do(req)
		return resp, advised(err)
	}
	return &connection{Client: client.New(base, reach), close: func() error { return nil }}
}

// advised says what to do if no daemon listens.
func advised(err error) error {
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the client says the address
	}
	return freshet.WithHint(err, "start the daemon with freshet serve, or leave out --server to read the data directory directly")
}
