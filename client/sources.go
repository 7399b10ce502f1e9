package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// A SourcePage is part of the list of sources.
type SourcePage struct {
	Items []Source `json:"items" nullable:"false"`
	Next  *string  `json:"next" doc:"Pass this as after to get the next page; null on the last page"`
	Total *int     `json:"total,omitempty" doc:"Sources that the whole list has, if asked for"`
}

// A PollAnswer is what asking for a poll brought.
type PollAnswer struct {
	Queued  bool     `json:"queued" doc:"The poll has not been made yet; it will be as soon as the budget and the host allow"`
	Outcome *Outcome `json:"outcome,omitempty" doc:"Result of the poll"`
	Hold    *Hold    `json:"hold,omitempty" doc:"What the poll is waiting for, if it is queued"`
}

// A SourceQuery selects sources. Its zero value selects all.
type SourceQuery struct {
	Tag     string           // only sources with this tag
	Text    string           // only sources with this in their id, URL, name or title, in any case
	States  []State          // only sources in one of these states
	Sort    string           // id, changed, seen, next, polls or changes; "" means id
	Reverse bool             // the other way round
	Next    bool             // say when the next poll of each is expected
	Limit   int              // maximum number; zero means all
	Removed bool             // those that are no longer watched and whose history is kept
	Named   bool             // leave out the pages of sites
	Of      freshet.SourceID // only pages of this site
}

// Sources are what a daemon watches.
type Sources struct {
	endpoint
	getter[freshet.SourceID, Source]
	adder[NewSource, Source]
	editor[freshet.SourceID, Source]
}

// sourcePath returns the path of a source in the API, or of a part of it.
func (r Sources) sourcePath(id freshet.SourceID, below ...string) string {
	return r.at(string(id), below...)
}

// List returns the sources that a query selects, in the order that it asks for.
func (r Sources) List(ctx context.Context, q SourceQuery) (all []Source, err error) {
	// Sorting requires the daemon to go through all sources for each page, so a complete list is
	// sorted here.
	here := q.Limit == 0 && (q.Reverse || q.Sort != "" && q.Sort != "id")
	asked := q
	if here {
		asked.Next, asked.Sort, asked.Reverse = q.Next || q.Sort == "next", "", false
	}
	err = r.Each(ctx, asked, func(s Source) error {
		all = append(all, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if here {
		return all, q.sort(all)
	}
	return all, nil
}

// Each calls yield for each source that a query selects and stops at the first error. It fetches a
// page at a time.
func (r Sources) Each(ctx context.Context, q SourceQuery, yield func(Source) error) error {
	asked := query{}
	asked.text("tag", q.Tag)
	asked.text("q", q.Text)
	var states []string
	for _, s := range q.States {
		states = append(states, string(s))
	}
	asked.text("state", strings.Join(states, ","))
	asked.flag("removed", q.Removed)
	asked.flag("named", q.Named)
	asked.text("of", string(q.Of))
	asked.flag("next", q.Next)
	asked.text("sort", q.Sort)
	asked.flag("reverse", q.Reverse)
	for n := 0; ; {
		limit := 1000
		if q.Limit > 0 {
			limit = min(limit, q.Limit-n)
		}
		asked["limit"] = []string{strconv.Itoa(limit)}
		page, err := get[SourcePage](ctx, r.c, "/sources", asked)
		if err != nil {
			return err
		}
		for _, s := range page.Items {
			if err := yield(s); err != nil {
				return err
			}
		}
		if n += len(page.Items); page.Next == nil || n == q.Limit && q.Limit > 0 {
			return nil
		}
		asked["after"] = []string{*page.Next}
	}
}

// orders are those of a list: each as the daemon has it.
var orders = map[string]func(a, b Source) int{
	"":        func(a, b Source) int { return 0 },
	"id":      func(a, b Source) int { return 0 },
	"changed": func(a, b Source) int { return b.Standing.ChangedAt.Compare(a.Standing.ChangedAt) },
	"seen":    func(a, b Source) int { return a.Standing.LastSeen.Compare(b.Standing.LastSeen) },
	"polls":   func(a, b Source) int { return cmp.Compare(b.Standing.Polls, a.Standing.Polls) },
	"changes": func(a, b Source) int { return cmp.Compare(b.Standing.Changes, a.Standing.Changes) },
	"next": func(a, b Source) int {
		switch { // unknown ones come last
		case a.NextPoll.IsZero() || b.NextPoll.IsZero():
			return cmp.Compare(number(a.NextPoll.IsZero()), number(b.NextPoll.IsZero()))
		}
		return a.NextPoll.Compare(b.NextPoll)
	},
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}

// sort puts sources into the order that the query asks for.
func (q SourceQuery) sort(all []Source) error {
	order, ok := orders[q.Sort]
	if !ok {
		return fmt.Errorf("sources cannot be sorted by %q", q.Sort)
	}
	slices.SortFunc(all, func(a, b Source) int {
		if q.Reverse {
			a, b = b, a
		}
		return cmp.Or(order(a, b), cmp.Compare(a.ID, b.ID))
	})
	return nil
}

// GetRemoved returns a source by its id that is no longer watched and whose
// history is kept.
func (r Sources) GetRemoved(ctx context.Context, id freshet.SourceID) (Source, error) {
	return get[Source](ctx, r.c, r.sourcePath(id), query{"removed": {"true"}})
}

// Reveal returns a source by its id, watched or removed, with its whole URL.
func (r Sources) Reveal(ctx context.Context, id freshet.SourceID) (Source, error) {
	s, err := fetch[Source](ctx, r.c, http.MethodGet, r.sourcePath(id), query{"reveal": {"true"}}, 0, nil)
	if errors.Is(err, freshet.ErrNotFound) {
		removed, missing := get[Source](ctx, r.c, r.sourcePath(id), query{"reveal": {"true"}, "removed": {"true"}})
		if !errors.Is(missing, freshet.ErrNotFound) {
			return removed, missing
		}
	}
	return s, err
}

// Remove stops watching a source. With purge all of its history is deleted,
// too.
func (r Sources) Remove(ctx context.Context, id freshet.SourceID, purge bool) error {
	q := query{}
	q.flag("purge", purge)
	return r.c.Call(ctx, http.MethodDelete, r.sourcePath(id), url.Values(q), nil, nil)
}

// Confirm accepts the version of a source that is held as suspect, whichever it is if
// the number is zero, and returns the change that it is reported as.
func (r Sources) Confirm(ctx context.Context, id freshet.SourceID, number int) (Change, error) {
	q := query{}
	q.number("version", int64(number))
	return post[Change](ctx, r.c, r.sourcePath(id, "confirm"), q, nil)
}

// FirstPoll waits for the first poll of a source, which the daemon makes by itself. If the source was
// polled already, it returns how its latest poll ended.
func (r Sources) FirstPoll(ctx context.Context, id freshet.SourceID, wait time.Duration) (PollAnswer, error) {
	return post[PollAnswer](ctx, r.c, r.sourcePath(id, "poll"), query{"wait": {wait.String()}, "first": {"true"}}, nil)
}

// Poll asks for a poll of a source, to be made as soon as the budget and its
// host allow, and waits for its outcome. A wait of zero only asks. With now the poll does
// not wait for the source's min_gap.
func (r Sources) Poll(ctx context.Context, id freshet.SourceID, wait time.Duration, now bool) (PollAnswer, error) {
	q := query{"wait": {wait.String()}}
	q.flag("now", now)
	return post[PollAnswer](ctx, r.c, r.sourcePath(id, "poll"), q, nil)
}
