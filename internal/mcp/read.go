package mcp

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"freshet/client"
	"freshet/internal/freshet"
)

// Limits of answers, so that one does not fill the context of a model.
const (
	fewItems  = 20
	mostItems = 200
	mostText  = 20_000 // bytes of a text or a diff in one answer
)

// addReading adds the tools that only read.
func (t tools) addReading() {
	add(t, reading("list_sources", "List the watched sources, with the state of each."), t.listSources)
	add(t, reading("list_changes", "List what changed since a time, the oldest first. To go on, pass next as after."), t.listChanges)
	add(t, reading("search_versions", "Search the text of all stored versions, current and past. Words are joined by AND; OR, NOT, \"phrases\" and prefix* work."), t.searchVersions)
	add(t, reading("diff", "Show how two versions of a source differ, as a unified diff. Without numbers, the newest version and the one before it."), t.diff)
	add(t, reading("read_version", "Read the text of a version of a source, the newest unless a number or a time is given. A long text comes in parts; pass next_offset as offset."), t.readVersion)
	add(t, reading("why", "Explain when a source is polled next and why, how often it changes, and what share of its changes is captured."), t.why)
	add(t, reading("status", "Show how the daemon is doing: budget, sources by state, share of changes captured, and what needs attention."), t.status)
}

func reading(name, description string) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: description, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: new(false)}}
}

// few returns how many items an answer has at most, if so many were asked for.
func few(asked int) int {
	if asked <= 0 {
		return fewItems
	}
	return min(asked, mostItems)
}

type sourcesIn struct {
	Text  string `json:"text,omitempty" jsonschema:"only sources with this in their id, URL, name or title"`
	Tag   string `json:"tag,omitempty" jsonschema:"only sources with this tag"`
	State string `json:"state,omitempty" jsonschema:"only sources in this state: ok, failing, paused, unseen, suspect or noisy"`
	Limit int    `json:"limit,omitempty" jsonschema:"at most so many: 20 if missing, at most 200"`
}

type sourcesOut struct {
	Sources []source `json:"sources"`
}

type source struct {
	ID        freshet.SourceID `json:"id"`
	URL       string           `json:"url"`
	Name      string           `json:"name,omitempty"`
	Tags      []string         `json:"tags,omitempty"`
	Paused    bool             `json:"paused,omitempty"`
	LastSeen  time.Time        `json:"last_seen,omitzero" jsonschema:"when the last successful poll began"`
	Changes   int              `json:"changes" jsonschema:"changes seen so far"`
	ChangedAt time.Time        `json:"changed_at,omitzero" jsonschema:"when the newest change was seen"`
	Failures  int              `json:"failures,omitempty" jsonschema:"failed polls since the last successful one"`
	Untrusted sourceText       `json:"untrusted"`
}

type sourceText struct {
	Title string `json:"title,omitempty" jsonschema:"of the newest version"`
	Error string `json:"error,omitempty" jsonschema:"why the last poll failed"`
}

func sourceOf(s client.Source) source {
	st := s.Standing
	out := source{
		ID: s.ID, URL: s.URL, Name: s.Name, Tags: s.Tags, Paused: s.Paused, LastSeen: st.LastSeen,
		Changes: st.Changes, ChangedAt: st.ChangedAt, Failures: st.Failures, Untrusted: sourceText{Title: st.Title},
	}
	if st.LastError != nil {
		out.Untrusted.Error = st.LastError.Message
	}
	return out
}

func (t tools) listSources(ctx context.Context, c *client.Client, in sourcesIn) (out sourcesOut, err error) {
	q := client.SourceQuery{Text: in.Text, Tag: in.Tag, Limit: few(in.Limit)}
	if in.State != "" {
		q.States = []client.State{client.State(in.State)}
	}
	found, err := c.Sources.List(ctx, q)
	out.Sources = []source{}
	for _, s := range found {
		out.Sources = append(out.Sources, sourceOf(s))
	}
	return out, err
}

type changesIn struct {
	Since  string `json:"since,omitempty" jsonschema:"only what was seen at this time or later; a day ago if neither this nor after is given"`
	Until  string `json:"until,omitempty" jsonschema:"only what was seen before this time"`
	After  string `json:"after,omitempty" jsonschema:"go on after this cursor"`
	Source string `json:"source,omitempty" jsonschema:"only this source"`
	Tag    string `json:"tag,omitempty" jsonschema:"only sources with this tag"`
	Words  string `json:"words,omitempty" jsonschema:"only changes that contain these words"`
	Limit  int    `json:"limit,omitempty" jsonschema:"at most so many: 20 if missing, at most 200"`
}

type changesOut struct {
	Changes []change `json:"changes"`
	Next    string   `json:"next" jsonschema:"cursor after the last of them"`
}

type change struct {
	Source    freshet.SourceID `json:"source"`
	Name      string           `json:"name,omitempty"`
	URL       string           `json:"url"`
	Version   int              `json:"version" jsonschema:"number of the version that the change led to"`
	After     time.Time        `json:"after" jsonschema:"the change happened after this"`
	Before    time.Time        `json:"before" jsonschema:"and no later than this, when it was seen"`
	Untrusted changeText       `json:"untrusted"`
}

type changeText struct {
	Summary string               `json:"summary"`
	Fields  []client.FieldChange `json:"fields,omitempty" jsonschema:"named values that differ from before"`
	Added   []string             `json:"added,omitempty" jsonschema:"lines, cut; diff has all of them"`
	Removed []string             `json:"removed,omitempty"`
}

func changeOf(c client.Change) change {
	out := change{
		Source: c.Source, Name: c.Name, URL: c.URL, Version: c.Number, After: c.After, Before: c.Before,
		Untrusted: changeText{Summary: c.Summary, Fields: c.Fields},
	}
	if c.Text != nil {
		out.Untrusted.Added, out.Untrusted.Removed = c.Text.Added, c.Text.Removed
	}
	return out
}

func (t tools) listChanges(ctx context.Context, c *client.Client, in changesIn) (out changesOut, err error) {
	q := client.ChangeQuery{ChangeFilter: client.ChangeFilter{Tag: in.Tag, Words: in.Words}, Limit: few(in.Limit)}
	if in.Since == "" && in.After == "" {
		in.Since = "1d"
	}
	if q.Seen.Since, err = t.moment(in.Since); err != nil {
		return out, fmt.Errorf("since: %w", err)
	}
	if q.Seen.Until, err = t.moment(in.Until); err != nil {
		return out, fmt.Errorf("until: %w", err)
	}
	if in.After != "" {
		if q.After, err = freshet.ParsePlace(in.After); err != nil {
			return out, fmt.Errorf("after: %w", err)
		}
	}
	if in.Source != "" {
		s, err := c.Sources.Find(ctx, in.Source)
		if err != nil {
			return out, err
		}
		q.Source = s.ID
	}
	page, err := c.Changes(ctx, q)
	if err != nil {
		return out, err
	}
	out = changesOut{Changes: []change{}, Next: page.Next.String()}
	for _, c := range page.Items {
		out.Changes = append(out.Changes, changeOf(c))
	}
	return out, nil
}

type searchIn struct {
	Words   string `json:"words" jsonschema:"what to look for"`
	Source  string `json:"source,omitempty" jsonschema:"only in this source"`
	Tag     string `json:"tag,omitempty" jsonschema:"only in sources with this tag"`
	Since   string `json:"since,omitempty" jsonschema:"only what was there at this time or later"`
	Until   string `json:"until,omitempty" jsonschema:"only what was there before this time"`
	Current bool   `json:"current,omitempty" jsonschema:"only what is there now"`
	Limit   int    `json:"limit,omitempty" jsonschema:"at most so many: 20 if missing, at most 200"`
	Offset  int    `json:"offset,omitempty" jsonschema:"leave out so many"`
}

type searchOut struct {
	Total int   `json:"total" jsonschema:"hits in all"`
	Hits  []hit `json:"hits"`
}

type hit struct {
	Source    freshet.SourceID `json:"source"`
	Name      string           `json:"name,omitempty"`
	URL       string           `json:"url"`
	First     int              `json:"first_version" jsonschema:"of a run of versions that all have the words"`
	Last      int              `json:"last_version"`
	Since     time.Time        `json:"since" jsonschema:"when the words were first seen there"`
	Until     time.Time        `json:"until,omitzero" jsonschema:"when they were gone; missing if they are there now"`
	Untrusted hitText          `json:"untrusted"`
}

type hitText struct {
	Title    string   `json:"title,omitempty"`
	Passages []string `json:"passages"`
}

func hitOf(h client.SearchHit) hit {
	out := hit{
		Source: h.Source, Name: h.Name, URL: h.URL, First: h.First, Last: h.Last, Since: h.Since, Until: h.Until,
		Untrusted: hitText{Title: h.Title, Passages: []string{}},
	}
	for _, p := range h.Passages {
		out.Untrusted.Passages = append(out.Untrusted.Passages, p.Text)
	}
	return out
}

func (t tools) searchVersions(ctx context.Context, c *client.Client, in searchIn) (out searchOut, err error) {
	q := client.SearchQuery{Words: in.Words, Tag: in.Tag, Current: in.Current, Limit: few(in.Limit), Offset: in.Offset}
	if q.Seen.Since, err = t.moment(in.Since); err != nil {
		return out, fmt.Errorf("since: %w", err)
	}
	if q.Seen.Until, err = t.moment(in.Until); err != nil {
		return out, fmt.Errorf("until: %w", err)
	}
	if in.Source != "" {
		s, err := c.Sources.Find(ctx, in.Source)
		if err != nil {
			return out, err
		}
		q.Source = s.ID
	}
	page, err := c.Search(ctx, q)
	out = searchOut{Total: page.Total, Hits: []hit{}}
	for _, h := range page.Items {
		out.Hits = append(out.Hits, hitOf(h))
	}
	return out, err
}

type diffIn struct {
	Source string `json:"source"`
	From   int    `json:"from,omitempty" jsonschema:"number of the old version; that before to if missing"`
	To     int    `json:"to,omitempty" jsonschema:"number of the new version; the newest if missing"`
}

type diffOut struct {
	Source    freshet.SourceID `json:"source"`
	From      seen             `json:"from"`
	To        seen             `json:"to"`
	Cut       bool             `json:"cut,omitempty" jsonschema:"the diff is longer"`
	Untrusted diffText         `json:"untrusted"`
}

type seen struct {
	Version int       `json:"version"`
	SeenAt  time.Time `json:"seen_at"`
}

type diffText struct {
	Diff string `json:"diff"`
}

func (t tools) diff(ctx context.Context, c *client.Client, in diffIn) (out diffOut, err error) {
	s, err := c.Sources.Find(ctx, in.Source)
	if err != nil {
		return out, err
	}
	d, err := c.Sources.Diff(ctx, s.ID, in.From, in.To)
	if err != nil {
		return out, err
	}
	text, err := c.Sources.FormattedDiff(ctx, s.ID, d.From.Number, d.To.Number, client.DiffUnified)
	out = diffOut{Source: s.ID, From: seen{d.From.Number, d.From.SeenAt}, To: seen{d.To.Number, d.To.SeenAt}}
	out.Untrusted.Diff = cut(text, 0)
	out.Cut = len(out.Untrusted.Diff) < len(text)
	return out, err
}

type versionIn struct {
	Source  string `json:"source"`
	Version int    `json:"version,omitempty" jsonschema:"its number; the newest if missing"`
	AsOf    string `json:"as_of,omitempty" jsonschema:"the version that was current at this time, instead of a number"`
	Offset  int    `json:"offset,omitempty" jsonschema:"leave out so many bytes"`
}

type versionOut struct {
	Source     freshet.SourceID `json:"source"`
	URL        string           `json:"url"`
	Version    int              `json:"version"`
	SeenAt     time.Time        `json:"seen_at"`
	Bytes      int              `json:"bytes" jsonschema:"of the whole text"`
	NextOffset int              `json:"next_offset,omitempty" jsonschema:"where the next part begins; missing at the end"`
	Untrusted  versionText      `json:"untrusted"`
}

type versionText struct {
	Title  string         `json:"title,omitempty"`
	Fields map[string]any `json:"fields,omitempty"`
	Text   string         `json:"text"`
}

func (t tools) readVersion(ctx context.Context, c *client.Client, in versionIn) (out versionOut, err error) {
	if in.AsOf != "" && in.Version != 0 {
		return out, fmt.Errorf("give version or as_of, not both")
	}
	s, err := c.Sources.Find(ctx, in.Source)
	if err != nil {
		return out, err
	}
	at, err := t.moment(in.AsOf)
	if err != nil {
		return out, fmt.Errorf("as_of: %w", err)
	}
	var v client.Version
	if in.AsOf != "" {
		v, err = c.Sources.VersionAt(ctx, s.ID, at)
	} else {
		v, err = c.Sources.Version(ctx, s.ID, in.Version)
	}
	if err != nil {
		return out, err
	}
	text, err := c.Sources.Text(ctx, s.ID, v.Number)
	if err != nil {
		return out, err
	}
	out = versionOut{Source: s.ID, URL: s.URL, Version: v.Number, SeenAt: v.SeenAt, Bytes: len(text)}
	out.Untrusted = versionText{Title: v.Title, Fields: v.Fields, Text: cut(string(text), in.Offset)}
	if end := max(in.Offset, 0) + len(out.Untrusted.Text); end < len(text) {
		out.NextOffset = end
	}
	return out, nil
}

// cut returns the part of a text that begins at an offset and fits an answer. It does not end
// within a character.
func cut(text string, offset int) string {
	text = text[min(max(offset, 0), len(text)):]
	if len(text) <= mostText {
		return text
	}
	end := mostText
	for end > mostText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

type whyIn struct {
	Source string `json:"source"`
}

type whyOut struct {
	Source  freshet.SourceID `json:"source"`
	Words   string           `json:"words"`
	Details string           `json:"details,omitempty"`
}

func (t tools) why(ctx context.Context, c *client.Client, in whyIn) (out whyOut, err error) {
	s, err := c.Sources.Find(ctx, in.Source)
	if err != nil {
		return out, err
	}
	w, err := c.Sources.Why(ctx, s.ID)
	if err != nil {
		return out, err
	}
	return whyOut{Source: s.ID, Words: w.Words(time.UTC), Details: w.Details()}, nil
}

type statusOut struct {
	Version   string             `json:"version"`
	Running   bool               `json:"running" jsonschema:"polls are made"`
	Budget    string             `json:"budget"`
	Sources   client.StateCounts `json:"sources"`
	Captured  *captured          `json:"captured,omitempty" jsonschema:"missing if nothing is known yet"`
	Untrusted statusText         `json:"untrusted"`
}

type statusText struct {
	Attention []string `json:"attention" jsonschema:"what needs attention, most urgent first; it names pages, URLs and answers of servers"`
}

type captured struct {
	Share float64 `json:"share" jsonschema:"of the changes, estimated"`
	Low   float64 `json:"low" jsonschema:"nine times in ten the share is expected above this"`
	High  float64 `json:"high" jsonschema:"and below this"`
}

func (t tools) status(ctx context.Context, c *client.Client, _ struct{}) (out statusOut, err error) {
	o, err := c.Overview(ctx)
	if err != nil {
		return out, err
	}
	out = statusOut{Version: o.Status.Version, Running: o.Status.Running, Budget: o.Status.Budget, Sources: o.Sources, Untrusted: statusText{Attention: []string{}}}
	if o.Captured != nil && o.Captured.TooEarly == "" {
		out.Captured = &captured{o.Captured.Share.Mean, o.Captured.Share.Low, o.Captured.Share.High}
	}
	for _, a := range o.Attention {
		out.Untrusted.Attention = append(out.Untrusted.Attention, a.Text)
	}
	return out, nil
}
