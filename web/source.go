package web

import (
	"time"

	"freshet/client"

	"freshet"
)

// sourceOf returns a source as the API tells it.
func sourceOf(w freshet.Watched) client.Source {
	n := newSourceOf(w.Source)
	s := client.Source{
		ID: w.ID, URL: n.URL, Name: n.Name, Tags: n.Tags, Select: n.Select,
		Weight: w.Importance(), Life: w.Life.String(), Urgency: w.Urgency.String(), Cost: w.Price(), Paused: n.Paused, MinGap: n.MinGap, MaxGap: n.MaxGap, Level: n.Level, Keep: n.Keep,
		Origin: w.Origin, CreatedAt: utc(w.Created), Host: w.Host(), Standing: standingOf(w.Standing),
	}
	if s.Tags == nil {
		s.Tags = []string{}
	}
	return s
}

func standingOf(st freshet.Standing) client.Standing {
	s := client.Standing{
		LastAttempt: utc(st.Begun), LastSeen: utc(st.Seen), NotBefore: utc(st.NotBefore),
		Polls: st.Polls, Failures: st.Failures,
		Version: st.Head.Number, Title: st.Head.Title, Changes: st.Changes, ChangedAt: utc(st.ChangedAt),
	}
	if st.Failures > 0 {
		s.LastError = &client.LastError{Class: st.Failure, Message: st.Err}
	}
	return s
}

// newSourceOf returns what a source could be added with.
func newSourceOf(s freshet.Source) client.NewSource {
	return client.NewSource{
		ID: s.ID, URL: s.URL, Name: s.Name, Tags: s.Tags,
		Select: client.Select{CSS: s.Recipe.CSS, JSONPath: s.Recipe.JSONPath, Kind: s.Recipe.Kind},
		Weight: s.Weight, Life: s.Life.String(), Urgency: s.Urgency.String(), Cost: s.Cost, Paused: s.Paused, MinGap: client.Duration(s.MinGap), MaxGap: client.Duration(s.MaxGap),
		Level: s.Level.String(),
		Keep:  client.Keep{Age: client.Duration(s.Keep.Age), Versions: s.Keep.Versions, Bytes: s.Keep.Bytes},
	}
}

// sourceFrom returns the source that n describes.
func sourceFrom(n client.NewSource) freshet.Source {
	return freshet.Source{
		ID: n.ID, URL: n.URL, Name: n.Name, Tags: n.Tags,
		Recipe: freshet.Recipe{CSS: n.Select.CSS, JSONPath: n.Select.JSONPath, Kind: n.Select.Kind},
		Weight: n.Weight, Cost: n.Cost, Paused: n.Paused,
		MinGap: time.Duration(n.MinGap), MaxGap: time.Duration(n.MaxGap),
		Keep: freshet.Keep{Age: time.Duration(n.Keep.Age), Versions: n.Keep.Versions, Bytes: n.Keep.Bytes},
	}
}

// utc returns t in UTC, and the zero time unchanged.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}
