package hand

import (
	"context"
	"net/url"
	"time"

	"freshet"
	"freshet/content"
)

// Manners are what the robots.txt of the host of a source asks for.
type Manners struct {
	CrawlDelay time.Duration // between two requests; 0 if it asks for none, or there is none
	RetryAfter time.Duration // how long the server asked us to stay away
	Requests   int           // made to read it
}

// Robots reads the robots.txt of the host that a look would go to first. Agent is
// the name that it may know us by. Only the delay is taken from it.
func (h *Hand) Robots(ctx context.Context, o Order, agent string) (Manners, error) {
	if freshet.MediumOf(o.URL()) != freshet.OnWeb {
		return Manners{}, nil // there is nobody to ask
	}
	at, err := url.Parse(o.URL())
	if err != nil {
		return Manners{}, err
	}
	robots := url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/robots.txt"}
	resp, err := h.fetcher.Fetch(ctx, freshet.Request{URL: robots.String(), Source: o.special(), Bare: true, Room: o.Room, Leave: o.Leave, Slow: o.Slow})
	m := Manners{RetryAfter: resp.RetryAfter, Requests: resp.Requests}
	if err != nil {
		return m, err
	}
	m.CrawlDelay = content.CrawlDelay(resp.Body, agent)
	return m, nil
}
