package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/worker"
)

// An errand is an order on its way to a hand.
type errand struct {
	order  *worker.Order
	first  string // URL of the first request
	robots string // the origin whose robots.txt is read; "" means a look

	asked bool  // leave for the first request has been given
	slow  bool  // its server is slow, guarded by the hands
	at    *link // the hand that is at it, likewise; nil if it is the own one, or none
	found doneSay
	by    string // the hand that found it

	asking sync.Mutex // held while a question is answered that is not about a part: a look asks one after the other

	mu     sync.Mutex
	grants int      // requests that had leave
	hops   int      // requests that leave was asked for, but for parts
	parts  int      // likewise, of a page in a browser
	hosts  []string // that they go to
}

// A look makes far fewer requests than these, whatever its settings: a hand that asks for more would
// only spend the budget of others.
const (
	mostHops  = 100    // redirects and ways aside
	mostParts = 20_000 // parts of a page in a browser
)

// ask gets leave for the first request before the order leaves. So a hand need not ask for
// it, which would cost every poll the way there and back.
func (e *errand) ask(ctx context.Context) error {
	if e.asked {
		return nil
	}
	e.asked = true
	return e.leave(ctx, freshet.Hop{URL: e.first})
}

// leave returns when a request may leave, and counts it.
func (e *errand) leave(ctx context.Context, hop freshet.Hop) error {
	if err := e.count(hop.Part); err != nil {
		return err
	}
	if e.order.Leave != nil {
		if err := e.order.Leave(ctx, hop); err != nil {
			return err
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.grants++
	if host := freshet.HostOf(hop.URL); !slices.Contains(e.hosts, host) {
		e.hosts = append(e.hosts, host)
	}
	return nil
}

// count returns an error if a look makes no more requests.
func (e *errand) count(part bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case part && e.order.Source.Recipe.Render.On && e.parts < mostParts:
		e.parts++
		return nil
	case !part && e.hops < mostHops:
		e.hops++
		return nil
	}
	return &freshet.FetchError{Class: failure.LocalHand, Err: errors.New("the hand asks for more requests than a look makes")}
}

// granted returns how many requests had leave: of a hand that is lost nobody knows which of
// them it made.
func (e *errand) granted() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.grants
}

// grantAgain lets the hand of this process make the first request, which has leave already
// because another hand was to make it.
func (e *errand) grantAgain() {
	leave := e.order.Leave
	if leave == nil {
		return
	}
	var once sync.Once
	e.order.Leave = func(ctx context.Context, hop freshet.Hop) error {
		had := false
		if hop.URL == e.first && !hop.Part && !hop.Aside {
			once.Do(func() { had = true })
		}
		if had {
			return nil
		}
		return leave(ctx, hop)
	}
}

// of returns the order that a question is about: that of the errand, or one that is read
// along.
func (e *errand) of(along int) *worker.Order {
	if along >= 1 && along <= len(e.order.Along) {
		return &e.order.Along[along-1]
	}
	return e.order
}

// reply answers a question of the hand.
func (e *errand) reply(ctx context.Context, q askSay) (say answerSay, blob []byte) {
	if q.What != askLeave || q.Hop == nil || !q.Hop.Part {
		e.asking.Lock()
		defer e.asking.Unlock()
	}
	var err error
	o := e.of(q.Along)
	bytes := func(f func(context.Context) ([]byte, error)) {
		if f != nil {
			blob, err = f(ctx)
		}
	}
	switch q.What {
	case askLeave:
		if q.Hop != nil {
			err = e.leave(ctx, *q.Hop)
		}
	case askBase:
		bytes(o.Base)
	case askNoise:
		bytes(o.Noise)
	case askBaseBody:
		bytes(o.BaseBody)
	case askHeldText:
		bytes(o.HeldText)
	case askItems:
		bytes(o.Items)
	case askRecall:
		if o.Recall != nil {
			blob, err = memoryBytes(o.Recall(ctx))
		}
	case askFields:
		if o.Fields != nil {
			say.Fields, err = o.Fields(ctx)
		}
	case askRecent:
		if o.Recent != nil {
			say.Recent, err = o.Recent(ctx, q.Text)
		}
	case askKeys:
		if o.Voice != nil {
			say.Keys, err = o.Voice.Keys(ctx, q.URLs)
		}
	}
	say.Err = sayError(err)
	return say, blob
}
