package bench

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"freshet/internal/fetch"
)

// A roundTrip sends a request with a client of its own.
type roundTrip func(*http.Request) (*http.Response, error)

// A bareLoop asks for page after page and does the least with the answers: it
// is what polling costs before anybody has done anything with it.
type bareLoop struct {
	workers []roundTrip // one client each, so that each keeps its connection
	urls    []string
	hash    bool
	etags   []string // by page; as each was last given
	polls   atomic.Int64
	failed  atomic.Pointer[error]
}

func newBareLoop(plan Plan, urls []string) *bareLoop {
	l := &bareLoop{urls: urls, etags: make([]string, len(urls)), hash: plan.Changed > 0 || plan.Bare}
	for range min(plan.Workers, len(urls)) {
		l.workers = append(l.workers, fetch.Trusted(time.Minute).Do)
	}
	return l
}

// run asks for the pages that are this worker's, round and round.
func (l *bareLoop) run(ctx context.Context, worker int) {
	for ctx.Err() == nil {
		for page := worker; page < len(l.urls); page += len(l.workers) {
			if err := l.poll(ctx, l.workers[worker], page); err != nil {
				if ctx.Err() == nil {
					l.failed.Store(&err)
				}
				return
			}
			l.polls.Add(1)
		}
	}
}

// poll asks for one page, conditionally as the daemon would.
func (l *bareLoop) poll(ctx context.Context, send roundTrip, page int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.urls[page], nil)
	if err != nil {
		return err
	}
	if tag := l.etags[page]; tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	l.etags[page] = resp.Header.Get("Etag")
	sum := io.Discard
	if l.hash {
		sum = sha256.New()
	}
	_, err = io.Copy(sum, resp.Body)
	return err
}
