package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"freshet"
	"freshet/client"
	"freshet/fetch"
)

// A connection is how a verb reaches the API: over the network, or in this
// process.
type connection struct {
	*client.Client
	local bool // there is no daemon: nobody polls but at our request
	close func() error
}

// remote returns a connection to the daemon at a URL.
func remote(base string) *connection {
	trusted := fetch.Trusted(patience)
	reach := func(req *http.Request) (*http.Response, error) {
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
	return freshet.WithHint(err, "start it with freshet serve, or leave out --server to work on the data directory itself")
}

// find returns the source that was named by its id, its name or its URL.
func (c *connection) find(ctx context.Context, named string) (s client.Source, err error) {
	if freshet.ValidSourceID(freshet.SourceID(named)) {
		s, err := c.Source(ctx, freshet.SourceID(named))
		if err == nil || !errors.Is(err, freshet.ErrNotFound) {
			return s, err
		}
	}
	near, err := c.Sources(ctx, client.SourceQuery{Text: strings.TrimSuffix(named, "/")})
	if err != nil {
		return s, err
	}
	var found []client.Source
	for _, s := range near {
		if s.Name == named || s.URL == named || strings.TrimSuffix(s.URL, "/") == named {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return s, freshet.WithHint(fmt.Errorf("source %q: %w", named, freshet.ErrNotFound), "freshet list shows the sources; name one by its id, its name or its URL")
	case 1:
		return found[0], nil
	}
	ids := each(found, func(s client.Source) string { return string(s.ID) })
	return s, freshet.WithHint(usagef("%q names %d sources", named, len(found)), "name one by its id: "+strings.Join(ids, ", "))
}

// forEach runs do for each source named, goes on after a failure, and returns
// all failures.
func (c *connection) forEach(ctx context.Context, named []string, do func(client.Source) error) error {
	var faults []error
	for _, name := range named {
		s, err := c.find(ctx, name)
		if err == nil {
			err = do(s)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
