package worker

import (
	"context"
	"errors"
	"net/http"
	"time"

	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// Manners are how a read of the robots.txt of an origin ended.
type Manners struct {
	Answer     robots.Answer
	RetryAfter time.Duration // how long the server asked us to stay away
	Requests   int           // made to read it
	Bytes      int64         // of body taken off the wire
}

// Robots reads the robots.txt of an origin on the way to a source. It returns an error if
// there is no answer to go by because nobody was asked: what the order needs was not to
// be had here, or the guard does not let the request out. A file that could not be read
// is an answer.
func (h *Hand) Robots(ctx context.Context, o Order, origin string) (Manners, error) {
	resp, err := h.fetcher.Fetch(ctx, freshet.Request{
		URL: robots.URL(origin), Source: o.special(), Bare: true, Enough: robots.MaxBytes + 1,
		Room: o.Room, Leave: o.Leave, Slow: o.Slow,
	})
	m := Manners{RetryAfter: resp.RetryAfter, Requests: resp.Requests, Bytes: resp.WireBytes}
	m.Answer, err = AnswerOf(resp, err)
	return m, err
}

// AnswerOf returns what a fetch of a robots.txt stands for, or why nobody was asked.
func AnswerOf(resp freshet.Response, err error) (robots.Answer, error) {
	if err == nil {
		return robots.Answer{Status: resp.Status, Body: resp.Body, FreshFor: resp.FreshFor}, nil
	}
	e, ok := errors.AsType[*freshet.FetchError](err)
	if !ok {
		return robots.Answer{}, err
	}
	switch c := e.Class; {
	case c.Is(failure.Deferred), c.Is(failure.Local), c.Is(failure.Canceled), c.Is(failure.Internal), c.Is(failure.Blocked),
		c.Is(failure.Secret), c.Is(failure.Token), c.Is(failure.Login), c.Is(failure.Proxy):
		return robots.Answer{}, err
	case c.Is(failure.RedirectLimit):
		return robots.Answer{Lost: true}, nil
	case c.Is(failure.NoContent):
		return robots.Answer{Status: http.StatusNoContent}, nil
	case c.Is(failure.HTTP), c.Is(failure.Gone), c.Is(failure.ServerError), c.Is(failure.RetryAfter):
		return robots.Answer{Status: resp.Status}, nil
	}
	return robots.Answer{}, nil
}
