package api

import (
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/internal/api/rest"
	"freshet/internal/freshet"
	"freshet/internal/mask"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

func (a *changeAPI) routeFeeds() {
	for _, f := range []struct{ name, media, title string }{
		{"atom", "application/atom+xml", "an Atom feed"}, {"rss", "application/rss+xml", "an RSS feed"}, {"json", "application/feed+json", "a JSON Feed"},
	} {
		answer := map[string]*huma.Response{
			"200": {Description: "OK", Content: map[string]*huma.MediaType{f.media: {Schema: &huma.Schema{Type: huma.TypeString}}}},
			"304": {Description: "Not modified"},
		}
		rest.Route(a.Server, huma.Operation{
			OperationID: "get-feed-" + f.name, Method: http.MethodGet, Path: "/api/v1/feed." + f.name, Tags: []string{"changes"},
			Summary: "Read changes as " + f.title + ", the newest first, with the diff", Responses: answer,
		}, func(ctx context.Context, in *feedInput) (*feedOutput, error) { return a.changeFeed(ctx, in, f.name) })
		rest.Route(a.Server, huma.Operation{
			OperationID: "get-source-feed-" + f.name, Method: http.MethodGet, Path: "/api/v1/sources/{id}/feed." + f.name, Tags: []string{"changes"},
			Summary: "Read the changes of a source as " + f.title + ", the newest first, with the diff", Responses: answer,
		}, func(ctx context.Context, in *sourceFeedInput) (*feedOutput, error) {
			return a.sourceFeed(ctx, in, f.name)
		})
		rest.Route(a.Server, huma.Operation{
			OperationID: "get-query-feed-" + f.name, Method: http.MethodGet, Path: "/api/v1/queries/{id}/feed." + f.name, Tags: []string{"queries"},
			Summary: "Read the matches of a query as " + f.title + ", the newest first, with the diff", Responses: answer,
		}, func(ctx context.Context, in *queryFeedInput) (*feedOutput, error) {
			return a.queryFeed(ctx, in, f.name)
		})
	}
}

type feedInput struct {
	Tag    string `query:"tag" maxLength:"64" doc:"Only changes of sources that had this tag then"`
	Before string `query:"before" doc:"Only changes before this cursor: the next page"`
	Limit  int    `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"At most this many entries"`
	Known  string `header:"If-None-Match" doc:"ETag of the feed that the client has"`
}

type sourceFeedInput struct {
	ID     freshet.SourceID `path:"id" maxLength:"64" doc:"ID of the source"`
	Before int              `query:"before" minimum:"0" doc:"Only changes that led to versions with numbers below this: the next page"`
	Limit  int              `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"At most this many entries"`
	Known  string           `header:"If-None-Match" doc:"ETag of the feed that the client has"`
}

type queryFeedInput struct {
	ID     queries.ID `path:"id" maxLength:"64" doc:"ID of the query"`
	Before int64      `query:"before" minimum:"0" doc:"Only matches with numbers below this: the next page"`
	Limit  int        `query:"limit" default:"20" minimum:"1" maximum:"100" doc:"At most this many entries"`
	Known  string     `header:"If-None-Match" doc:"ETag of the feed that the client has"`
}

type feedOutput struct {
	Status      int
	ContentType string `header:"Content-Type"`
	ETag        string `header:"ETag"`
	Body        []byte
}

// A feed is a page of changes or of matches for feed readers.
type feed struct {
	id, title, path string
	query           url.Values // of the path, without before
	changes         []freshet.Change
	matches         []queries.Match
	next            string // before of the next page; "" if there is none
}

// maxFeedScan is how far back in the log a page is looked for.
const maxFeedScan = 20_000

// changeFeed returns a page of all changes, or of those with a tag.
func (a *changeAPI) changeFeed(ctx context.Context, in *feedInput, form string) (*feedOutput, error) {
	end, err := a.endBefore(ctx, in.Before)
	if err != nil {
		return nil, err
	}
	f := feed{id: "urn:freshet:changes", title: "Changes", path: "/api/v1/feed." + form, query: url.Values{}}
	if in.Tag != "" {
		f.id, f.title = "urn:freshet:tag:"+url.PathEscape(in.Tag), "Changes of "+in.Tag
		f.query.Set("tag", in.Tag)
	}
	if in.Limit != 20 {
		f.query.Set("limit", strconv.Itoa(in.Limit))
	}
	if f.changes, _, err = a.newestUpTo(ctx, end, ChangeFilter{Tag: in.Tag}, in.Limit+1); err != nil {
		return nil, err
	}
	if len(f.changes) > in.Limit {
		f.changes = f.changes[:in.Limit]
		f.next = f.changes[in.Limit-1].Place().String()
	}
	return a.writeFeed(ctx, f, form, in.Known)
}

// sourceFeed returns a page of the changes of one source.
func (a *changeAPI) sourceFeed(ctx context.Context, in *sourceFeedInput, form string) (*feedOutput, error) {
	w, err := rest.FindSource(ctx, a.store, in.ID)
	if err != nil {
		return nil, err
	}
	f := feed{
		id: "urn:freshet:source:" + url.PathEscape(string(in.ID)), title: cmp.Or(w.Name, mask.URL(w.URL)),
		path: "/api/v1/sources/" + url.PathEscape(string(in.ID)) + "/feed." + form, query: url.Values{},
	}
	if in.Limit != 20 {
		f.query.Set("limit", strconv.Itoa(in.Limit))
	}
	upto := w.Status.Head.Number
	if in.Before > 0 {
		upto = in.Before - 1
	}
	if f.changes, err = a.newestOf(ctx, in.ID, upto, in.Limit+1); err != nil {
		return nil, err
	}
	if len(f.changes) > in.Limit {
		f.changes = f.changes[:in.Limit]
		f.next = strconv.Itoa(f.changes[in.Limit-1].Number)
	}
	return a.writeFeed(ctx, f, form, in.Known)
}

// queryFeed returns a page of the matches of a query.
func (a *changeAPI) queryFeed(ctx context.Context, in *queryFeedInput, form string) (*feedOutput, error) {
	q, err := a.queries.Query(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	f := feed{
		id: "urn:freshet:query:" + url.PathEscape(string(in.ID)), title: cmp.Or(q.Name, string(q.ID)),
		path: "/api/v1/queries/" + url.PathEscape(string(in.ID)) + "/feed." + form, query: url.Values{},
	}
	if in.Limit != 20 {
		f.query.Set("limit", strconv.Itoa(in.Limit))
	}
	page := queries.MatchQuery{Query: in.ID, Newest: true, Limit: in.Limit + 1}
	if in.Before > 0 {
		page.Last = in.Before - 1
	}
	if page.Last == 0 && in.Before > 0 {
		return a.writeFeed(ctx, f, form, in.Known)
	}
	if f.matches, err = a.queries.Matches(ctx, page); err != nil {
		return nil, err
	}
	if len(f.matches) > in.Limit {
		f.matches = f.matches[:in.Limit]
		f.next = strconv.FormatInt(f.matches[in.Limit-1].Number, 10)
	}
	return a.writeFeed(ctx, f, form, in.Known)
}

// writeFeed writes a page of a feed, unless the client has it already.
func (a *changeAPI) writeFeed(ctx context.Context, f feed, form, known string) (*feedOutput, error) {
	newest := ""
	switch {
	case len(f.changes) > 0:
		newest = f.changes[0].ID()
	case len(f.matches) > 0:
		newest = f.matches[0].ID()
	}
	tag := `"` + freshet.HashOf([]byte(f.id + f.title + f.next + newest)).String()[:16] + `"`
	if known != "" && strings.Contains(known, tag) {
		return &feedOutput{Status: http.StatusNotModified, ETag: tag}, nil
	}
	events, err := a.feedEvents(ctx, f)
	if err != nil {
		return nil, err
	}
	entries := make([]feedEntry, 0, len(events))
	for _, e := range events {
		body, err := e.HTML()
		if err != nil {
			return nil, err
		}
		entries = append(entries, feedEntry{e, body})
	}
	out := &feedOutput{Status: http.StatusOK, ETag: tag}
	switch form {
	case "json":
		out.ContentType = "application/feed+json; charset=utf-8"
		out.Body, err = f.json(entries, a.base)
	case "rss":
		out.ContentType = "application/rss+xml; charset=utf-8"
		out.Body, err = f.rss(entries, a.base)
	default:
		out.ContentType = "application/atom+xml; charset=utf-8"
		out.Body, err = f.atom(entries, a.base)
	}
	return out, err
}

// feedEvents returns what stands in a feed.
func (a *changeAPI) feedEvents(ctx context.Context, f feed) (events []*sinks.Event, err error) {
	for _, c := range f.changes {
		c, texts, err := delivery.Shown(ctx, a.store, c)
		if err != nil {
			return nil, err
		}
		events = append(events, sinks.NewEvent(ctx, c, a.base, texts))
	}
	for _, m := range f.matches {
		known, err := delivery.Known(ctx, a.store, m)
		if err != nil {
			return nil, err
		}
		events = append(events, sinks.NewMatchEvent(ctx, known, f.title, a.base))
	}
	return events, nil
}

// A feedEntry is a change or a match with its HTML.
type feedEntry struct {
	*sinks.Event
	html string
}

// title says what happened.
func (e feedEntry) title() string {
	if e.Cause == string(queries.MatchSilent) {
		return e.Title + " is silent"
	}
	switch e.Page {
	case "new":
		return e.Title + " is a new page"
	case "gone":
		return e.Title + " is gone"
	case "back":
		return e.Title + " is back"
	}
	return e.Title + " changed"
}

// address returns where a page of the feed is; before is "" for the first.
func (f feed) address(base, before string) string {
	q := url.Values{}
	for name, values := range f.query {
		q[name] = values
	}
	if before != "" {
		q.Set("before", before)
	}
	address := strings.TrimSuffix(base, "/") + f.path
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
	Type string `xml:"type,attr,omitempty"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

type atomCategory struct {
	Term string `xml:"term,attr"`
}

type atomEntry struct {
	ID         string         `xml:"id"`
	Title      string         `xml:"title"`
	Updated    string         `xml:"updated"`
	Links      []atomLink     `xml:"link"`
	Categories []atomCategory `xml:"category"`
	Summary    string         `xml:"summary,omitempty"`
	Content    atomText       `xml:"content"`
}

type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

// atom returns the page as RFC 4287 has it, with the links of RFC 5005.
func (f feed) atom(entries []feedEntry, base string) ([]byte, error) {
	page := atomFeed{
		ID: f.id, Title: f.title, Author: "Freshet", Updated: time.Unix(0, 0).UTC().Format(time.RFC3339),
		Links: []atomLink{{Rel: "self", Href: f.address(base, ""), Type: "application/atom+xml"}},
	}
	if f.next != "" {
		page.Links = append(page.Links, atomLink{Rel: "next", Href: f.address(base, f.next), Type: "application/atom+xml"})
	}
	for i, e := range entries {
		at := e.Before.Format(time.RFC3339Nano)
		if i == 0 {
			page.Updated = at
		}
		entry := atomEntry{ID: "urn:freshet:" + e.Kind + ":" + url.PathEscape(e.ID), Title: e.title(), Updated: at, Summary: e.Summary, Content: atomText{"html", e.html}}
		if e.URL != "" {
			entry.Links = []atomLink{{Rel: "alternate", Href: e.URL}}
		}
		if diff := e.DiffLink(); diff != "" {
			entry.Links = append(entry.Links, atomLink{Rel: "related", Href: diff, Type: "text/html"})
		}
		for _, tag := range e.Tags {
			entry.Categories = append(entry.Categories, atomCategory{tag})
		}
		page.Entries = append(page.Entries, entry)
	}
	text, err := xml.MarshalIndent(page, "", " ")
	return append([]byte(xml.Header), text...), err
}

type jsonFeedItem struct {
	ID        string   `json:"id"`
	URL       string   `json:"url,omitempty"`
	Title     string   `json:"title"`
	HTML      string   `json:"content_html"`
	Summary   string   `json:"summary,omitempty"`
	Published string   `json:"date_published"`
	Tags      []string `json:"tags,omitempty"`
}

// json returns the page as JSON Feed 1.1 has it.
func (f feed) json(entries []feedEntry, base string) ([]byte, error) {
	page := struct {
		Version string         `json:"version"`
		Title   string         `json:"title"`
		Feed    string         `json:"feed_url"`
		Next    string         `json:"next_url,omitempty"`
		Items   []jsonFeedItem `json:"items"`
	}{Version: "https://jsonfeed.org/version/1.1", Title: f.title, Feed: f.address(base, ""), Items: []jsonFeedItem{}}
	if f.next != "" {
		page.Next = f.address(base, f.next)
	}
	for _, e := range entries {
		page.Items = append(page.Items, jsonFeedItem{
			ID: e.ID, URL: e.URL, Title: e.title(), HTML: e.html, Summary: e.Summary, Published: e.Before.Format(time.RFC3339Nano), Tags: e.Tags,
		})
	}
	return json.Marshal(page)
}
