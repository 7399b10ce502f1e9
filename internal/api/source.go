package api

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"freshet/client"
	"freshet/internal/extract/wrongpage"
	"freshet/internal/freshet"
)

// sourceOf returns a source as the API tells it.
func sourceOf(w freshet.Watched) client.Source {
	s := client.Source{
		Life: w.Life.String(), Urgency: w.Urgency.String(), Noise: w.Noise.String(), Doubt: w.Suspect.String(), Robots: w.Robots.String(), Tags: []string{},
		Origin: w.Origin, CreatedAt: utc(w.Created), Host: w.Host(), Standing: standingOf(w),
	}
	define(&s, w.Source)
	s.URL = freshet.MaskURL(s.URL)
	s.Weight, s.Cost = w.Importance(), w.Price()
	return s
}

// newSourceOf returns what a source could be added with.
func newSourceOf(s freshet.Source) client.NewSource {
	var n client.NewSource
	define(&n, s)
	return n
}

// define sets in a type of the API what a user said of a source.
func define(to any, s freshet.Source) {
	if err := json.Unmarshal(s.Definition(), to); err != nil {
		panic(err) // the API has another type for a field than the definition
	}
}

func standingOf(w freshet.Watched) client.Standing {
	st := w.Standing
	s := client.Standing{
		LastAttempt: utc(st.Begun), LastSeen: utc(st.Seen), NotBefore: utc(st.NotBefore),
		Polls: st.Polls, Requests: st.Requests, Failures: st.Failures,
		Version: st.Head.Number, Title: st.Head.Title, MovedTo: freshet.MaskURL(st.Moved.URL), Changes: st.Changes, ChangedAt: utc(st.ChangedAt),
		Suspect: client.SuspectOf(st.Suspect, st.Landed), LandedOn: freshet.MaskURL(st.Landed),
		Noisy: w.Noisy(),
	}
	if h := st.Held; h.Number > 0 {
		s.Held = &client.Withheld{
			Version: h.Number, Since: utc(h.Since), Looks: h.Looks, Agreed: h.Agreed, Again: utc(h.Again), Next: wrongpage.Next(h), Summary: h.Summary,
		}
	}
	if q := st.Quiets; q != (freshet.Quiets{}) {
		s.Quiet = &client.Quiets{Suspect: q.Suspect, Noise: q.Noise}
	}
	if st.Failures > 0 {
		s.LastError = &client.LastError{Class: st.Failure, Message: freshet.MaskText(st.Err)}
	}
	return s
}

// utc returns t in UTC, and the zero time unchanged.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// watchedOrRemoved returns a source that is watched, or was and has left its history.
func (a *api) watchedOrRemoved(ctx context.Context, id freshet.SourceID) (freshet.Watched, error) {
	w, err := a.Store.Source(ctx, id)
	if errors.Is(err, freshet.ErrNotFound) {
		w, err = a.Store.RemovedSource(ctx, id)
	}
	if err != nil {
		return w, ofSource(id, err)
	}
	return w, nil
}
