package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
)

// stream has clients follow the stream of changes of a daemon of its own.
func (b *Sinks) stream(ctx context.Context, share float64) (r SinksRound, err error) {
	r.Failing = int(share * float64(b.Clients))
	r.Healthy = b.Clients - r.Failing
	err = b.measured(ctx, b.Plan.settings(b.Streams), 1, &r, func(ctx context.Context, d *daemon) error {
		first, err := d.firstChange(ctx)
		if err != nil {
			return err
		}
		readers := make([]*reader, b.Clients)
		while, stop := context.WithTimeout(ctx, b.Length)
		defer stop()
		var group sync.WaitGroup
		for i := range readers {
			readers[i] = &reader{do: fetch.Trusted(daemonPatience).Do, url: d.base + "/api/v1/changes/stream", at: first, slow: i < r.Failing}
			if readers[i].slow {
				readers[i].do = fetch.TrustedSparing(daemonPatience).Do
			}
			group.Go(func() { readers[i].follow(while) })
		}
		group.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return b.compare(ctx, d, first, readers, &r)
	})
	return r, err
}

// firstChange waits for the first change and returns its cursor.
func (d *daemon) firstChange(ctx context.Context) (string, error) {
	for {
		list, err := d.api.Changes(ctx, client.ChangeQuery{Limit: 1})
		if err != nil {
			return "", err
		}
		if len(list.Items) > 0 {
			return list.Items[0].Cursor.String(), nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// compare has the slow clients read what they missed, and holds what each client was told
// against the log.
func (b *Sinks) compare(ctx context.Context, d *daemon, first string, readers []*reader, r *SinksRound) error {
	end := ""
	want := map[string]int{first: 0} // places in the order of the log
	err := d.eachChange(ctx, first, func(cursor string) {
		want[cursor] = len(want)
		end = cursor
	})
	if err == nil && end == "" {
		err = errors.New("there were no changes")
	}
	if err != nil {
		return err
	}
	within, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	var group sync.WaitGroup
	for _, c := range readers {
		if c.slow {
			c.until, c.do = end, fetch.Trusted(daemonPatience).Do
			group.Go(func() { c.follow(within) })
		}
	}
	group.Wait()
	var took []float64
	for _, c := range readers {
		for i, cursor := range c.came {
			if at, known := want[cursor]; known && at != i+1 {
				r.Gaps++
			}
		}
		if !c.slow {
			took = append(took, c.took...)
			r.Received += len(c.came)
			r.Broken += c.cut
			continue
		}
		r.Cut += c.cut
		if c.at == end {
			r.Caught++
		}
	}
	r.Took = tookOf(took)
	return nil
}

// eachChange goes through the log after a cursor.
func (d *daemon) eachChange(ctx context.Context, after string, see func(cursor string)) error {
	for {
		place, err := freshet.ParsePlace(after)
		if err != nil {
			return err
		}
		list, err := d.api.Changes(ctx, client.ChangeQuery{After: place, Limit: 500})
		if err != nil || len(list.Items) == 0 {
			return err
		}
		for _, c := range list.Items {
			after = c.Cursor.String()
			see(after)
		}
	}
}

// A reader follows the stream of changes as a browser does: when it is cut off, it comes back
// with the id of the last event.
type reader struct {
	do    func(*http.Request) (*http.Response, error)
	url   string
	at    string // id of the last event
	until string // id of the event to stop at; "" means none
	slow  bool   // it takes an event, and nothing for long, until there is something to stop at
	came  []string
	took  []float64 // seconds
	cut   int
}

// idleReader is for how long a slow client reads nothing: until the buffers between are full,
// and longer than the daemon waits then.
const idleReader = 100 * time.Second

// follow reads until ctx is done, or until what it is to stop at has come.
func (c *reader) follow(ctx context.Context) {
	for ctx.Err() == nil && (c.until == "" || c.at != c.until) {
		err := c.connect(ctx)
		if err != nil && ctx.Err() == nil {
			c.cut++
			if pause(ctx, time.Second) != nil {
				return
			}
		}
	}
}

// connect reads from one connection.
func (c *reader) connect(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Last-Event-ID", c.at)
	resp, err := c.do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the stream answers %s", resp.Status)
	}
	id, first := "", true
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		if rest, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(rest)
		}
		if strings.HasPrefix(line, "data: ") {
			c.note(id, line)
			if c.at == c.until {
				return nil
			}
			if c.slow && c.until == "" && first {
				first = false
				if pause(ctx, idleReader) != nil {
					return nil
				}
			}
		}
	}
}

// note keeps an event.
func (c *reader) note(id, data string) {
	c.at = id
	c.came = append(c.came, id)
	_, rest, _ := strings.Cut(data, `"time":"`)
	text, _, _ := strings.Cut(rest, `"`)
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		c.took = append(c.took, time.Since(at).Seconds())
	}
}
