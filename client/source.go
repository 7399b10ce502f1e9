package client

import (
	"encoding/json"
	"fmt"
	"time"

	"freshet"
)

// A Source is a watched source, as the API tells it.
type Source struct {
	ID        freshet.SourceID `json:"id"`
	URL       string           `json:"url"`
	Name      string           `json:"name,omitempty"`
	Tags      []string         `json:"tags" nullable:"false"`
	Select    Select           `json:"select"`
	Weight    float64          `json:"weight" doc:"Importance next to other sources"`
	Life      string           `json:"life" doc:"How long a change can be captured: overwrite, append, window:10m or last:5"`
	Urgency   string           `json:"urgency" doc:"How its worth falls with the delay: uniform, exp:0.9/1m, window:10m and others"`
	Cost      float64          `json:"cost" doc:"Of a poll, next to other sources"`
	Paused    bool             `json:"paused"`
	MinGap    Duration         `json:"min_gap,omitzero"`
	MaxGap    Duration         `json:"max_gap,omitzero"`
	Level     string           `json:"level,omitempty" doc:"How soon changes are wanted, if somebody said so, such as 90% within 10m"`
	Keep      Keep             `json:"keep"`
	Origin    freshet.Origin   `json:"origin" enum:"api,file" doc:"Where the source was named"`
	CreatedAt time.Time        `json:"created_at"`
	Host      string           `json:"host" doc:"That politeness is owed to"`
	Standing  Standing         `json:"standing"`
	NextPoll  time.Time        `json:"next_poll,omitzero" doc:"When the next poll is expected, as why says it; only in a list that asked for it, and if a daemon is at work and not too busy to say"`
	Removed   bool             `json:"removed,omitempty" doc:"It is no longer watched; its history is kept"`
	Earlier   *Earlier         `json:"earlier,omitempty" doc:"Only in the answer to an addition: the removed source whose history it goes on with, or that watched the same page"`

	// Revision is how often the source has been written, as its ETag says. It is
	// zero in a list.
	Revision int64 `json:"-"`
}

// An Earlier is a source that was removed, and whose history is kept.
type Earlier struct {
	ID      freshet.SourceID `json:"id"`
	URL     string           `json:"url"`
	Version int              `json:"version" doc:"Number of its newest version; 0 if there is none"`
	Resumed bool             `json:"resumed" doc:"Its history goes on in the source that was added"`
}

// Defined returns what a user said of the source. A weight and a cost of 1 are
// what they are if nobody said anything.
func (s Source) Defined() (freshet.Source, error) {
	if s.Weight == 1 {
		s.Weight = 0
	}
	if s.Cost == 1 {
		s.Cost = 0
	}
	text, err := json.Marshal(s)
	if err != nil {
		return freshet.Source{}, fmt.Errorf("encode source %s: %w", s.ID, err)
	}
	return freshet.ParseDefinition(text)
}

// A Select says which part of a response counts, and how it is read.
type Select struct {
	CSS      string       `json:"css,omitempty" doc:"Selects elements of an HTML page"`
	JSONPath string       `json:"jsonpath,omitempty" doc:"Selects values of a JSON document (RFC 9535)"`
	Kind     freshet.Kind `json:"kind,omitempty" doc:"html, json, feed or text; empty means by the look of it"`
}

// A Keep bounds how much history is kept of a source. What is zero bounds
// nothing.
type Keep struct {
	Age      Duration `json:"age,omitzero" doc:"Drop versions superseded longer ago than this"`
	Versions int      `json:"versions,omitempty" minimum:"0" doc:"Keep at most this many"`
	Bytes    int64    `json:"bytes,omitempty" minimum:"0" doc:"Keep at most this many stored bytes"`
}

// A Standing is how things stand with a source.
type Standing struct {
	LastAttempt time.Time  `json:"last_attempt,omitzero" doc:"When a poll was last begun"`
	LastSeen    time.Time  `json:"last_seen,omitzero" doc:"When a poll that saw the source was last begun"`
	NotBefore   time.Time  `json:"not_before,omitzero" doc:"When the host allows the next poll, if it said so"`
	Polls       int64      `json:"polls"`
	Failures    int        `json:"failures" doc:"Polls that failed since the source was last seen"`
	LastError   *LastError `json:"last_error,omitempty" doc:"Why the last poll failed, if it did"`
	Version     int        `json:"version" doc:"Number of the newest version; 0 if there is none"`
	Title       string     `json:"title,omitempty" doc:"Of the newest version"`
	MovedTo     string     `json:"moved_to,omitempty" doc:"Where permanent redirects lead: the URL to give the source"`
	Suspect     *Suspect   `json:"suspect,omitempty" doc:"Why what was last seen is probably not the page that is wanted, if something speaks against it"`
	LandedOn    string     `json:"landed_on,omitempty" doc:"The URL that answered last, if redirects led to another page than the source's"`
	Changes     int        `json:"changes" doc:"Seen so far"`
	ChangedAt   time.Time  `json:"changed_at,omitzero" doc:"When the newest change was seen"`
	Noisy       bool       `json:"noisy,omitempty" doc:"It differs at nearly every poll: at least 10 polls, on average less than an hour apart, of which 9 in 10 found a change"`
}

// A LastError is why a poll failed.
type LastError struct {
	Class   freshet.Failure `json:"class" doc:"Dotted words from the general to the particular"`
	Message string          `json:"message"`
}

// A NewSource is what a source is added with.
type NewSource struct {
	ID      freshet.SourceID `json:"id,omitempty" doc:"Letters, digits, '.', '_' and '-'; made up if it is missing"`
	URL     string           `json:"url" minLength:"1" maxLength:"8192"`
	Name    string           `json:"name,omitempty" doc:"For people"`
	Tags    []string         `json:"tags,omitempty"`
	Select  Select           `json:"select,omitzero"`
	Weight  float64          `json:"weight,omitempty" minimum:"0" maximum:"1000000" doc:"0 means 1"`
	Life    string           `json:"life,omitempty" doc:"How long a change can be captured: overwrite (the default), append, window:10m or last:5"`
	Urgency string           `json:"urgency,omitempty" doc:"How its worth falls with the delay: uniform (the default), exp:0.9/1m, half-life:1h, window:10m, poly:A/1m, polyexp:K,L/1m, chordal:10m or table:1,.../1m; without a unit, time counts in seconds"`
	Cost    float64          `json:"cost,omitempty" minimum:"0" maximum:"1000000" doc:"Of a poll, next to other sources; 0 means 1"`
	Paused  bool             `json:"paused,omitempty"`
	MinGap  Duration         `json:"min_gap,omitzero" doc:"Never poll sooner than this after the last poll"`
	MaxGap  Duration         `json:"max_gap,omitzero" doc:"Poll at least this often, as far as budget and host allow"`
	Level   string           `json:"level,omitempty" doc:"How soon changes are wanted, such as 90% within 10m: a share of them, within a time"`
	Keep    Keep             `json:"keep,omitzero"`
}

// A SourceEdit changes a source: what it names is set, null sets a field back
// to its default, and everything else stays (a JSON merge patch, RFC 7396).
type SourceEdit struct {
	URL     *string     `json:"url,omitempty" minLength:"1" maxLength:"8192"`
	Name    *string     `json:"name,omitempty"`
	Tags    *[]string   `json:"tags,omitempty"`
	Select  *SelectEdit `json:"select,omitempty"`
	Weight  *float64    `json:"weight,omitempty" minimum:"0" maximum:"1000000"`
	Life    *string     `json:"life,omitempty"`
	Urgency *string     `json:"urgency,omitempty"`
	Cost    *float64    `json:"cost,omitempty" minimum:"0" maximum:"1000000"`
	Paused  *bool       `json:"paused,omitempty"`
	MinGap  *Duration   `json:"min_gap,omitempty"`
	MaxGap  *Duration   `json:"max_gap,omitempty"`
	Level   *string     `json:"level,omitempty"`
	Keep    *KeepEdit   `json:"keep,omitempty"`
}

// A SelectEdit changes a Select.
type SelectEdit struct {
	CSS      *string       `json:"css,omitempty"`
	JSONPath *string       `json:"jsonpath,omitempty"`
	Kind     *freshet.Kind `json:"kind,omitempty"`
}

// A KeepEdit changes a Keep.
type KeepEdit struct {
	Age      *Duration `json:"age,omitempty"`
	Versions *int      `json:"versions,omitempty" minimum:"0"`
	Bytes    *int64    `json:"bytes,omitempty" minimum:"0"`
}
