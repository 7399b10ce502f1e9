package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/net/html"

	"freshet/client"
	"freshet/internal/api/rest"
	"freshet/internal/daemon"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/rendering"
	"freshet/internal/mask"
	"freshet/internal/worker"
)

// probeAPI looks at pages before they are watched.
type probeAPI struct {
	versions *versionAPI
	sources  Store
	daemon   *daemon.Daemon
	kept     captures
}

func (a *probeAPI) routes() {
	tags := []string{"sources"}
	rest.Route(a.versions.Server, huma.Operation{
		OperationID: "probe", Method: http.MethodPost, Path: "/api/v1/probe", Tags: tags,
		Summary: "Look at a page without watching it", DefaultStatus: http.StatusOK,
		Description: "The look counts against the budget and its host, obeys robots.txt as a poll does, and waits until they allow it. " +
			"Nothing is stored. The answer has what would be compared, ways to read it, and what may help if it is not the page that is wanted.",
	}, a.probe)
	rest.Route(a.versions.Server, huma.Operation{
		OperationID: "get-probe-outline", Method: http.MethodGet, Path: "/api/v1/probe/{id}/outline", Tags: tags,
		Summary:     "List the elements of a page that was looked at, each with a CSS selector",
		Description: "As the outline of a version. A page is kept in memory for some minutes.",
	}, a.outline)
	rest.Route(a.versions.Server, huma.Operation{
		OperationID: "get-probe-rendered", Method: http.MethodGet, Path: "/api/v1/probe/{id}/rendered", Tags: tags,
		Summary:     "Show a page that was looked at without scripts and external content",
		Description: "As a version. A page is kept in memory for some minutes.",
		Responses: map[string]*huma.Response{"200": {
			Description: "OK", Content: map[string]*huma.MediaType{"text/html": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, a.rendered)
}

// probePatience is how long a probe may take, waiting included.
const probePatience = 45 * time.Second

// maxProbeText is how much of the text of a page a probe shows, in bytes.
const maxProbeText = 64 << 10

func (a *probeAPI) probe(ctx context.Context, in *rest.Body[client.NewProbe]) (*rest.Body[client.Probe], error) {
	s, err := a.versions.admit(freshet.Source{URL: in.Body.URL, Recipe: reading.Recipe{Render: rendering.Settings{On: in.Body.Render}}})
	if err != nil {
		return nil, err
	}
	if err := a.versions.judge(s, nil); err != nil {
		return nil, err
	}
	found, err := visit(ctx, a.daemon, s)
	if err != nil {
		return nil, err
	}
	p := client.Probe{
		URL: mask.URL(s.URL), LandedOn: mask.URL(found.Landed), MovedTo: mask.URL(found.Moved.URL), Status: found.Status, Bytes: found.Bytes, TookMS: found.Took.Milliseconds(),
		Failure: found.Failure, Error: mask.Text(found.Err), Suspect: client.SuspectOf(found.Suspect, found.Landed), Items: []client.Suggestion{},
	}
	if p.Known, err = a.known(ctx, s.URL); err != nil {
		return nil, err
	}
	t := trouble{source: s, failure: found.Failure, suspect: found.Suspect, landed: found.Landed, moved: found.Moved.URL}
	if c := found.Capture; c != nil {
		if err := a.read(ctx, &p, c); err != nil {
			return nil, err
		}
		t.checksum = extract.IsChecksum(c.Text)
		t.blank = !s.Recipe.Render.On && extract.NeedsScript(p.MediaType, c.Raw.Body, c.Text)
	}
	p.Remedies = t.remedies()
	return rest.Reply(p), nil
}

// visit looks at a page, as long as a client waits.
func visit(ctx context.Context, d *daemon.Daemon, s freshet.Source) (worker.Result, error) {
	patient, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	found, err := d.Visit(patient, s)
	switch {
	case ctx.Err() != nil:
		return found, ctx.Err()
	case patient.Err() != nil:
		p := rest.NewProblem(http.StatusServiceUnavailable, "the page could not be looked at in time: the budget or its host has no room, or the server is slow")
		p.Hint = "try again in a minute, or add the page: it is then polled when there is room"
		return found, p
	}
	return found, err
}

// known returns the source that watches a URL already.
func (a *probeAPI) known(ctx context.Context, url string) (freshet.SourceID, error) {
	found, err := a.sources.SourcesAt(ctx, []string{url})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].ID, nil
}

// read completes a probe by what was captured.
func (a *probeAPI) read(ctx context.Context, p *client.Probe, c *freshet.Capture) (err error) {
	p.MediaType, p.Title = c.Raw.Header.Get("Content-Type"), c.Title
	p.Text, p.Lines = mask.Shorten(string(c.Text), maxProbeText), bytes.Count(c.Text, []byte("\n"))
	resp := freshet.Response{Body: c.Raw.Body, Header: c.Raw.Header, URL: c.Raw.URL, MediaType: p.MediaType, Status: http.StatusOK}
	p.Items, err = a.versions.suggestions(ctx, resp)
	if err != nil { // what cannot be read in another way is compared as a whole
		p.Items = []client.Suggestion{}
	}
	if strings.Contains(p.MediaType, "html") {
		p.ID = a.kept.keep(a.versions.Now(), p.MediaType, c.Raw.Body)
	}
	return ctx.Err()
}

type probePath struct {
	ID   string `path:"id" maxLength:"64" doc:"ID of the probe"`
	Pick bool   `query:"pick" doc:"As of a version"`
}

func (a *probeAPI) outline(_ context.Context, in *probePath) (*rest.Body[client.Outline], error) {
	page, err := a.page(in.ID)
	if err != nil {
		return nil, err
	}
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	return rest.Reply(outlined(doc, 0)), nil
}

func (a *probeAPI) rendered(_ context.Context, in *probePath) (*renderedOutput, error) {
	page, err := a.page(in.ID)
	if err != nil {
		return nil, err
	}
	out := &renderedOutput{ContentType: "text/html; charset=utf-8", Policy: renderedPolicy, Frame: "SAMEORIGIN"}
	if in.Pick {
		out.Policy = pickPolicy
	}
	out.Body, err = harmless(page, 0, in.Pick)
	return out, err
}

func (a *probeAPI) page(id string) ([]byte, error) {
	c, ok := a.kept.get(a.versions.Now(), id)
	if !ok {
		return nil, rest.NewProblem(http.StatusNotFound, "this page is not kept any more; look at it again")
	}
	return extract.HTML(c.mediaType, c.body)
}

// captures keeps the pages of the latest probes in memory, for the choice of an element.
type captures struct {
	mu  sync.Mutex
	all []capture // the oldest first
}

type capture struct {
	id, mediaType string
	at            time.Time
	body          []byte
}

const (
	keptFor   = 15 * time.Minute
	mostKept  = 16
	keptBytes = 32 << 20
)

// keep keeps a page, and returns its ID; "" if it is too large.
func (k *captures) keep(now time.Time, mediaType string, body []byte) string {
	if len(body) > keptBytes/4 {
		return ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, capture{rand.Text(), mediaType, now, body})
	size := 0
	for i := len(k.all) - 1; i >= 0; i-- {
		if size += len(k.all[i].body); size > keptBytes || len(k.all)-i > mostKept || now.Sub(k.all[i].at) > keptFor {
			k.all = append([]capture(nil), k.all[i+1:]...)
			break
		}
	}
	return k.all[len(k.all)-1].id
}

func (k *captures) get(now time.Time, id string) (capture, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.all {
		if c.id == id && now.Sub(c.at) <= keptFor {
			return c, true
		}
	}
	return capture{}, false
}
