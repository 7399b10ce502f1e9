package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"freshet"
	"freshet/web"
)

// A client calls the API, of a daemon or in this process.
type client struct {
	base  string
	local bool // there is no daemon: nobody polls but at our request
	do    func(*http.Request) (*http.Response, error)
	close func() error
}

// An apiError is a refusal of the API.
type apiError struct {
	web.Problem
}

// Error says what is wrong, field by field.
func (e *apiError) Error() string {
	if len(e.Errors) == 0 {
		return e.Detail
	}
	var faults []string
	for _, d := range e.Errors {
		field := strings.TrimPrefix(strings.TrimPrefix(d.Location, "body."), "query.")
		faults = append(faults, strings.TrimPrefix(field+": "+d.Message, ": "))
	}
	return strings.Join(faults, "; ")
}

// Is makes the errors that the exit code depends on known again.
func (e *apiError) Is(target error) bool {
	switch target {
	case freshet.ErrNotFound:
		return e.Status == http.StatusNotFound
	case freshet.ErrConflict:
		return e.Status == http.StatusConflict
	case freshet.ErrStorage, freshet.ErrDamaged: // no status of their own
		return e.Status >= 500 && strings.Contains(e.Detail, target.Error())
	}
	return false
}

// get reads an answer into to.
func (c *client) get(ctx context.Context, path string, query url.Values, to any) error {
	return c.call(ctx, http.MethodGet, path, query, nil, to)
}

// call makes a request with a JSON body, nil for none, and reads the answer
// into to, nil for none.
func (c *client) call(ctx context.Context, method, path string, query url.Values, body, to any) error {
	var payload io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(text)
	}
	resp, err := c.send(ctx, method, path, query, payload)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if to == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(to); err != nil {
		return freshet.WithHint(fmt.Errorf("read the answer of %s: %w", c.base, err), "is that address a freshet of this version?")
	}
	return nil
}

// send makes a request and returns an answer that is no refusal.
func (c *client) send(ctx context.Context, method, path string, query url.Values, body io.Reader) (*http.Response, error) {
	where := c.base + "/api/v1" + path
	if len(query) > 0 {
		where += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, where, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

// refusal reads why the API refused.
func refusal(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	e := &apiError{}
	if err == nil {
		err = json.Unmarshal(text, &e.Problem)
	}
	if err != nil || e.Status == 0 {
		e.Status, e.Detail = resp.StatusCode, "the server answers "+resp.Status
	}
	return freshet.WithHint(e, e.Hint)
}

func (c *client) unreachable(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the address is said already
	}
	err = fmt.Errorf("ask the daemon at %s: %w", c.base, err)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return freshet.WithHint(err, "start it with freshet serve, or leave out --server to work on the data directory itself")
	}
	return err
}

// sourcePath returns the path of a source in the API, and of what is below it.
func sourcePath(id freshet.SourceID, below ...string) string {
	path := "/sources/" + url.PathEscape(string(id))
	for _, part := range below {
		path += "/" + url.PathEscape(part)
	}
	return path
}

// sources returns all sources that a query selects.
func (c *client) sources(ctx context.Context, query url.Values) (all []web.Source, err error) {
	asked := url.Values{"limit": {"1000"}}
	for key, values := range query {
		asked[key] = values
	}
	for {
		var page web.SourcePage
		if err := c.get(ctx, "/sources", asked, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Next == nil {
			return all, nil
		}
		asked.Set("after", *page.Next)
	}
}

// source finds the source that was named by its id, its name or its URL.
func (c *client) source(ctx context.Context, named string) (s web.Source, err error) {
	if freshet.ValidSourceID(freshet.SourceID(named)) {
		err := c.get(ctx, sourcePath(freshet.SourceID(named)), nil, &s)
		if err == nil || !errors.Is(err, freshet.ErrNotFound) {
			return s, err
		}
	}
	near, err := c.sources(ctx, url.Values{"q": {strings.TrimSuffix(named, "/")}})
	if err != nil {
		return s, err
	}
	var found []web.Source
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
	ids := each(found, func(s web.Source) string { return string(s.ID) })
	return s, freshet.WithHint(usagef("%q names %d sources", named, len(found)), "name one by its id: "+strings.Join(ids, ", "))
}
