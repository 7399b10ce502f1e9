package sinks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
	"freshet/internal/queries"
)

// A Sink is a receiver of changes or matches: where it is, which it gets, and in what words. The
// meaning of its settings depends on its kind.
type Sink struct {
	// Name consists of letters, digits, '.', '_' and '-'. The sink's position in its stream is
	// stored under it.
	Name string `json:"name"`

	Kind string        `json:"kind"`          // such as "webhook" or "slack"
	URL  profile.Value `json:"url,omitempty"` // where; its scheme can say the kind

	// Queries are those whose matches the sink receives, at the pace of each query. Without any it
	// receives changes.
	Queries []queries.ID `json:"queries,omitempty"`

	// Tags and Sources select changes: those of sources that have one of the tags at the time, and
	// those of the sources. Both empty means all.
	Tags    []string           `json:"tags,omitempty"`
	Sources []freshet.SourceID `json:"sources,omitempty"`

	// Template is the message as a text/template; "" means that of the kind.
	Template string `json:"template,omitempty"`

	Settings map[string]profile.Value `json:"settings,omitempty"` // by name, whatever else the kind needs
	Headers  map[string]profile.Value `json:"headers,omitempty"`  // of requests, if the kind sends any
	Paused   bool                     `json:"paused,omitempty"`   // nothing is sent; deliveries wait

	Origin   freshet.Origin `json:"-"`
	Revision int64          `json:"-"` // grows with each edit; zero for a sink of the file
}

const (
	maxTemplate    = 64 << 10 // bytes
	maxSinkValues  = 32       // settings or headers
	maxSinkValue   = 8192     // bytes
	maxSinkSources = 10_000
	maxTag         = 64 // bytes
	maxSinkQueries = 1000
)

// CheckCommon checks the settings that all kinds have in common, and returns the sink in its normal
// form. The error is an *InvalidError.
func (s Sink) CheckCommon() (Sink, error) {
	if !freshet.ValidSourceID(freshet.SourceID(s.Name)) {
		return s, invalid.Errorf("name", "%.80q is not a valid name; use up to 64 letters, digits, '.', '_' and '-'", s.Name)
	}
	if len(s.Template) > maxTemplate {
		return s, invalid.Errorf("template", "is longer than %d bytes", maxTemplate)
	}
	if len(s.Sources) > maxSinkSources {
		return s, invalid.Errorf("sources", "has more than %d items; use a tag", maxSinkSources)
	}
	for _, id := range s.Sources {
		if !freshet.ValidSourceID(id) {
			return s, invalid.Errorf("sources", "%.80q is not the id of a source", id)
		}
	}
	if err := s.checkQueries(); err != nil {
		return s, err
	}
	tags := make([]string, 0, len(s.Tags))
	for _, tag := range s.Tags {
		if tag = strings.TrimSpace(tag); tag == "" || len(tag) > maxTag {
			return s, invalid.Errorf("tags", "%.80q is not a tag; use up to %d bytes", tag, maxTag)
		}
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	s.Tags = slices.Compact(tags)
	s.Sources = slices.Compact(slices.Sorted(slices.Values(s.Sources)))
	s.Queries = slices.Compact(slices.Sorted(slices.Values(s.Queries)))
	return s, s.checkValues()
}

// checkQueries checks the queries of the sink.
func (s Sink) checkQueries() error {
	if len(s.Queries) > maxSinkQueries {
		return invalid.Errorf("queries", "has more than %d items", maxSinkQueries)
	}
	for i, id := range s.Queries {
		if !freshet.ValidSourceID(freshet.SourceID(id)) {
			return invalid.Errorf(fmt.Sprintf("queries[%d]", i), "%.80q is not the id of a query", id)
		}
	}
	if len(s.Queries) > 0 && len(s.Tags)+len(s.Sources) > 0 {
		return invalid.Errorf("queries", "cannot be used together with tags or sources: the scope of a query says which sources it is about")
	}
	return nil
}

// checkValues checks the parts that can refer to secrets.
func (s Sink) checkValues() error {
	if len(s.Settings) > maxSinkValues || len(s.Headers) > maxSinkValues {
		return invalid.Errorf("settings", "has more than %d items", maxSinkValues)
	}
	for field, v := range s.Values() {
		if len(v) > maxSinkValue {
			return invalid.Errorf(field, "is longer than %d bytes", maxSinkValue)
		}
		refs, err := v.References()
		if err != nil {
			return invalid.Errorf(field, "%v", err)
		}
		if slices.ContainsFunc(refs, func(r profile.Reference) bool { return r.Kind == profile.TakenValue }) {
			return invalid.Errorf(field, "only ${env:NAME}, ${file:/path} and ${secret:NAME} can be used here; write $${ for a literal ${")
		}
	}
	return nil
}

// Values returns the parts that can refer to secrets, by the names of their fields.
func (s Sink) Values() map[string]profile.Value {
	all := map[string]profile.Value{"url": s.URL}
	for name, v := range s.Settings {
		all["settings."+name] = v
	}
	for name, v := range s.Headers {
		all["headers."+name] = v
	}
	return all
}

// Local returns the name of a field that refers to a file or an environment variable of
// this machine; "" if there is none.
func (s Sink) Local() string {
	for field, v := range s.Values() {
		refs, _ := v.References() // they have been checked
		if slices.ContainsFunc(refs, func(r profile.Reference) bool { return r.Kind == profile.EnvSecret || r.Kind == profile.FileSecret }) {
			return field
		}
	}
	return ""
}

// Stream returns the stream that the sink follows.
func (s Sink) Stream() Stream {
	if len(s.Queries) > 0 {
		return StreamBatches
	}
	return StreamChanges
}

// WantsBatch reports whether the sink receives a batch.
func (s Sink) WantsBatch(b queries.Batch) bool { return slices.Contains(s.Queries, b.Query) }

// WantsAll reports whether the sink receives everything in its stream.
func (s Sink) WantsAll() bool { return len(s.Sources)+len(s.Tags)+len(s.Queries) == 0 }

// Wants reports whether the sink receives a change.
func (s Sink) Wants(c freshet.Change) bool {
	return s.WantsAll() || slices.Contains(s.Sources, c.Source) ||
		slices.ContainsFunc(c.Label.Tags, func(tag string) bool { return slices.Contains(s.Tags, tag) })
}

// A Record is a sink as it is stored.
type Record struct {
	Name       string
	Definition []byte // sealed; nil if the sink is one of the configuration file
	Revision   int64  // zero likewise
	Condition  Condition
}

// A Condition is whether the receiver of a sink accepts deliveries.
type Condition struct {
	Failing time.Time // since when it has accepted nothing; zero if it accepts deliveries
	Held    time.Time // since when it is tried once an hour; zero if it is not
	Err     string    // of the first failure
}
