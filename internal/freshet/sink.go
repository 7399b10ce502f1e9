package freshet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Sink is somebody who is told of changes: where, of which, and in what words. What
// its settings mean depends on its kind; package sink knows the kinds.
type Sink struct {
	// Name is of letters, digits, '.', '_' and '-'. The sink's place in the log is kept
	// under it.
	Name string `json:"name"`

	Kind string `json:"kind"`          // such as "webhook" or "slack"
	URL  Value  `json:"url,omitempty"` // where; its scheme can say the kind

	// Queries are those whose matches the sink is told, as each query tells them. Without
	// any the sink is told of changes.
	Queries []QueryID `json:"queries,omitempty"`

	// Tags and Sources say of which changes the sink is told: those of sources that have
	// one of the tags then, and those of the sources. Both empty means all.
	Tags    []string   `json:"tags,omitempty"`
	Sources []SourceID `json:"sources,omitempty"`

	// Template has the words, as package text/template reads them; "" means those of
	// the kind.
	Template string `json:"template,omitempty"`

	Settings map[string]Value `json:"settings,omitempty"` // by name, whatever else the kind needs
	Headers  map[string]Value `json:"headers,omitempty"`  // of requests, if the kind sends any
	Paused   bool             `json:"paused,omitempty"`   // nothing is sent, and all that it wants waits

	Origin   Origin `json:"-"`
	Revision int64  `json:"-"` // grows with each edit; zero for a sink of the file
}

const (
	maxTemplate    = 64 << 10 // bytes
	maxSinkValues  = 32       // settings or headers
	maxSinkValue   = 8192     // bytes
	maxSinkSources = 10_000
	maxSinkQueries = 1000
)

// Check judges what every kind of sink has in common, and returns the sink in its normal
// form. The error is an *InvalidError.
func (s Sink) Check() (Sink, error) {
	if !ValidSourceID(SourceID(s.Name)) {
		return s, wrong("name", "%.80q is not a valid name; use up to 64 letters, digits, '.', '_' and '-'", s.Name)
	}
	if len(s.Template) > maxTemplate {
		return s, wrong("template", "is longer than %d bytes", maxTemplate)
	}
	if len(s.Sources) > maxSinkSources {
		return s, wrong("sources", "has more than %d items; use a tag", maxSinkSources)
	}
	for _, id := range s.Sources {
		if !ValidSourceID(id) {
			return s, wrong("sources", "%.80q is not the id of a source", id)
		}
	}
	if err := s.checkQueries(); err != nil {
		return s, err
	}
	tags := make([]string, 0, len(s.Tags))
	for _, tag := range s.Tags {
		if tag = strings.TrimSpace(tag); tag == "" || len(tag) > maxTag {
			return s, wrong("tags", "%.80q is not a tag; use up to %d bytes", tag, maxTag)
		}
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	s.Tags = slices.Compact(tags)
	s.Sources = slices.Compact(slices.Sorted(slices.Values(s.Sources)))
	s.Queries = tidy(s.Queries)
	return s, s.checkValues()
}

// checkQueries judges which queries the sink follows.
func (s Sink) checkQueries() error {
	if len(s.Queries) > maxSinkQueries {
		return wrong("queries", "has more than %d items", maxSinkQueries)
	}
	for i, id := range s.Queries {
		if !ValidSourceID(SourceID(id)) {
			return wrong(fmt.Sprintf("queries[%d]", i), "%.80q is not the id of a query", id)
		}
	}
	if len(s.Queries) > 0 && len(s.Tags)+len(s.Sources) > 0 {
		return wrong("queries", "cannot be used together with tags or sources: the scope of a query says which sources it is about")
	}
	return nil
}

// checkValues judges the parts that can refer to secrets.
func (s Sink) checkValues() error {
	if len(s.Settings) > maxSinkValues || len(s.Headers) > maxSinkValues {
		return wrong("settings", "has more than %d items", maxSinkValues)
	}
	for field, v := range s.Values() {
		if len(v) > maxSinkValue {
			return wrong(field, "is longer than %d bytes", maxSinkValue)
		}
		refs, err := v.References()
		if err != nil {
			return wrong(field, "%v", err)
		}
		if slices.ContainsFunc(refs, func(r Reference) bool { return r.Kind == TakenValue }) {
			return wrong(field, "only ${env:NAME}, ${file:/path} and ${secret:NAME} can be used here; write $${ for a literal ${")
		}
	}
	return nil
}

// Values returns the parts that can refer to secrets, by the names of their fields.
func (s Sink) Values() map[string]Value {
	all := map[string]Value{"url": s.URL}
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
		if slices.ContainsFunc(refs, func(r Reference) bool { return r.Kind == EnvSecret || r.Kind == FileSecret }) {
			return field
		}
	}
	return ""
}

// Stream returns what the sink follows.
func (s Sink) Stream() Stream {
	if len(s.Queries) > 0 {
		return StreamParcels
	}
	return StreamChanges
}

// WantsParcel reports whether the sink is to be told of what a query tells.
func (s Sink) WantsParcel(p Parcel) bool { return slices.Contains(s.Queries, p.Query) }

// WantsAll reports whether the sink is to be told of all that is in its stream.
func (s Sink) WantsAll() bool { return len(s.Sources)+len(s.Tags)+len(s.Queries) == 0 }

// Wants reports whether the sink is to be told of a change.
func (s Sink) Wants(c Change) bool {
	return s.WantsAll() || slices.Contains(s.Sources, c.Source) ||
		slices.ContainsFunc(c.Label.Tags, func(tag string) bool { return slices.Contains(s.Tags, tag) })
}

// A SinkRecord is what a store keeps of a sink.
type SinkRecord struct {
	Name       string
	Definition []byte // sealed; nil if the sink is one of the configuration file
	Revision   int64  // zero likewise
	Condition  SinkCondition
}

// A SinkCondition is how it stands with the receiver of a sink.
type SinkCondition struct {
	Failing time.Time // since when it has accepted nothing; zero if it accepts deliveries
	Held    time.Time // since when it is tried only now and then; zero if it is not
	Err     string    // of the failure that this began with
}
