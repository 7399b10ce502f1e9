package client

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/reading"
)

// A Source is a watched source: its definition, with the defaults filled in, and its status.
type Source struct {
	NewSource
	Of         freshet.SourceID `json:"of,omitempty" doc:"The site that it was found for"`
	Index      bool             `json:"index,omitempty" doc:"It lists pages of its site: a sitemap, a feed or robots.txt"`
	Origin     freshet.Origin   `json:"origin" enum:"api,file,site" doc:"Where the source comes from: the file, the API, or a site whose page it is"`
	CreatedAt  time.Time        `json:"created_at"`
	Host       string           `json:"host" doc:"Host that delays and Retry-After apply to"`
	Standing   Standing         `json:"standing"`
	NextPoll   time.Time        `json:"next_poll,omitzero" doc:"When the next poll is expected, as in why; only in a list with next=true, and only if a daemon is running and not too busy"`
	RatePerDay *Rate            `json:"rate_per_day,omitempty" doc:"How often it changes, as in why; only in a list with outlook=true"`
	Captured   *Captured        `json:"captured,omitempty" doc:"What share of its changes is captured, as in why; likewise"`
	Week       []int            `json:"week,omitempty" doc:"How many changes were captured on each of the last seven days of UTC, today last; likewise"`
	Removed    bool             `json:"removed,omitempty" doc:"The source was removed; its history is kept"`
	Earlier    *Earlier         `json:"earlier,omitempty" doc:"Only in the response to an added source: the removed source whose history it continues, or that watched the same page"`

	// Revision is how often the source has been written, as its ETag says. It is
	// zero in a list.
	Revision int64 `json:"-"`
}

func (s *Source) setRevision(r int64) { s.Revision = r }

// An Earlier is a source that was removed, and whose history is kept.
type Earlier struct {
	ID      freshet.SourceID `json:"id"`
	URL     string           `json:"url"`
	Version int              `json:"version" doc:"Number of its newest version; 0 if there is none"`
	Resumed bool             `json:"resumed" doc:"The added source continues its history"`
}

// Defined returns the source that a definition describes. It does not judge it.
func (n NewSource) Defined() (freshet.Source, error) { return parsed(n.ID, n) }

// Defined returns what a user said of the source. A weight and a cost of 1 are
// what they are if nobody said anything.
func (s Source) Defined() (freshet.Source, error) {
	if s.Weight == 1 {
		s.Weight = 0
	}
	if s.Cost == 1 {
		s.Cost = 0
	}
	return parsed(s.ID, s)
}

func parsed(id freshet.SourceID, definition any) (freshet.Source, error) {
	text, err := json.Marshal(definition)
	if err != nil {
		return freshet.Source{}, fmt.Errorf("encode source %s: %w", id, err)
	}
	return freshet.ParseDefinition(text)
}

// A Select says which part of a response counts, and how it is read.
type Select struct {
	CSS      string       `json:"css,omitempty" doc:"Selects elements of an HTML page"`
	JSONPath string       `json:"jsonpath,omitempty" doc:"Selects values of a JSON document (RFC 9535)"`
	Kind     reading.Kind `json:"kind,omitempty" doc:"html, json, feed, text, xml, csv, ical, pdf, xlsx or docx; empty means detected"`
}

// A Keep bounds how much history is kept of a source. What is zero bounds
// nothing.
type Keep struct {
	Age      Duration `json:"age,omitzero" doc:"Delete versions that were replaced longer ago than this"`
	Versions int      `json:"versions,omitempty" minimum:"0" doc:"Keep at most this many versions"`
	Bytes    int64    `json:"bytes,omitempty" minimum:"0" doc:"Keep at most this many bytes of versions"`
}

// A Standing is how things stand with a source.
type Standing struct {
	LastAttempt time.Time    `json:"last_attempt,omitzero" doc:"When the last poll began"`
	LastSeen    time.Time    `json:"last_seen,omitzero" doc:"When the last successful poll began"`
	NotBefore   time.Time    `json:"not_before,omitzero" doc:"When the host allows the next poll, if it asked to wait"`
	Polls       int64        `json:"polls"`
	Requests    int          `json:"requests,omitempty" doc:"Requests that the last poll made"`
	Failures    int          `json:"failures" doc:"Failed polls since the last successful one"`
	LastError   *LastError   `json:"last_error,omitempty" doc:"Why the last poll failed, if it did"`
	Version     int          `json:"version" doc:"Number of the newest version; 0 if there is none"`
	Title       string       `json:"title,omitempty" doc:"Title of the newest version"`
	MovedTo     string       `json:"moved_to,omitempty" doc:"Where permanent redirects lead: change the URL of the source to this"`
	Suspect     *Suspect     `json:"suspect,omitempty" doc:"Why the last poll probably got the wrong page, if it did"`
	Held        *Quarantined `json:"held,omitempty" doc:"A suspect version that is stored and not reported as a change yet"`
	Quiet       *Quiets      `json:"quiet_versions,omitempty" doc:"How many versions were stored without a change being reported"`
	LandedOn    string       `json:"landed_on,omitempty" doc:"The final URL of the last poll, if redirects led to a different page"`
	Changes     int          `json:"changes" doc:"Number of changes seen so far"`
	ChangedAt   time.Time    `json:"changed_at,omitzero" doc:"When the newest change was seen"`
	Noisy       bool         `json:"noisy,omitempty" doc:"The source changes at almost every poll: at least 10 polls, less than an hour apart on average, of which 9 in 10 found a change"`
	Remedies    []Remedy     `json:"remedies,omitempty" doc:"What may help, if the source fails, is suspect, is noisy or has moved; the likeliest first"`
	Taught      *Taught      `json:"taught,omitempty" doc:"Imported update times; not in a list"`
	Noise       *Noise       `json:"noise,omitempty" doc:"Where the source changes at nearly every poll, if it does; not in a list"`
}

// A LastError is why a poll failed.
type LastError struct {
	Class   failure.Class `json:"class" doc:"Class of the failure: dotted words, from general to specific"`
	Message string        `json:"message"`
}

// A NewSource is the definition of a source: what it is added with, and what an edit
// patches. [freshet.SourceFields] lists the same fields.
type NewSource struct {
	ID       freshet.SourceID    `json:"id,omitempty" doc:"Letters, digits, '.', '_' and '-'; generated if missing"`
	URL      string              `json:"url" minLength:"1" maxLength:"8192"`
	Name     string              `json:"name,omitempty" doc:"Name to show"`
	Tags     []string            `json:"tags,omitzero"`
	Request  map[string]any      `json:"request,omitempty" doc:"How the source is requested: use, method, headers, body, form, cookies, jar, auth, cert, proxy, language, timeout and login; see docs/reference/requests.md"`
	Expect   map[string]any      `json:"expect,omitempty" doc:"Which responses count: status, match and no_match; others are failed polls"`
	Select   Select              `json:"select" required:"false"`
	Read     []any               `json:"read,omitempty" doc:"Steps that turn the response into text, in order: names such as text, or one key with its argument, such as css: article"`
	Noise    string              `json:"noise,omitempty" enum:"auto,report,off" doc:"What to do about parts that change at nearly every poll, such as a clock: store such versions without reporting a change (auto, the default of new sources), report where they are (report), or do nothing (off)"`
	Extract  map[string]any      `json:"extract,omitempty" doc:"Named values to keep with each version, such as price: {css: .price, as: number}; also in one line: css .price | number"`
	Items    map[string]any      `json:"items,omitempty" doc:"Which parts of the response are items, such as {css: li, key: a@href}"`
	Render   any                 `json:"render,omitempty" doc:"Show the page in a browser before it is read: true, or an object with wait_for, wait, consent, steps, screenshot, viewport, compare, region, ignore and threshold"`
	Weight   float64             `json:"weight,omitempty" minimum:"0" maximum:"1000000" doc:"Importance compared with other sources; 0 means 1"`
	Dial     string              `json:"dial,omitempty" doc:"A preset of life and urgency: stock ticker, auction, front page, news list or archive; responses show its values instead"`
	Life     string              `json:"life,omitempty" doc:"How long a change can be seen: overwrite (the default), append, window:10m or last:5"`
	Urgency  string              `json:"urgency,omitempty" doc:"How fast a change loses value: uniform (the default), exp:0.9/1m, half-life:1h, window:10m, poly:A/1m, polyexp:K,L/1m, chordal:10m or table:1,.../1m; times without a unit are seconds"`
	Cost     float64             `json:"cost,omitempty" minimum:"0" maximum:"1000000" doc:"Cost of a poll compared with other sources; 0 means 1"`
	Paused   bool                `json:"paused" required:"false"`
	MinGap   Duration            `json:"min_gap,omitzero" doc:"Wait at least this long between two polls"`
	MaxGap   Duration            `json:"max_gap,omitzero" doc:"Poll at least this often, if the budget and the host allow"`
	Strategy string              `json:"strategy,omitempty" doc:"Poll it at these times and at no others: hour {5, 35}, day {06:30, 14:00} Europe/Berlin or week {mon 09:00, thu 17:30}; the zone is UTC if none is named"`
	Active   string              `json:"active,omitempty" doc:"Poll it only in these hours: mon-fri 09:00-17:00 Europe/Berlin, or 08:00-20:00, sat 10:00-14:00; the zone is UTC if none is named"`
	Level    string              `json:"level,omitempty" doc:"How soon changes should be captured: a share of them within a time, such as 90% within 10m"`
	Aim      objective.Objective `json:"aim,omitempty" enum:"captures,freshness,age" doc:"Objective of its polls: to see as many changes as possible (captures), to have an up-to-date copy as much of the time as possible (freshness), or a copy that is never out of date for long (age); the setting aim if missing"`
	Next     string              `json:"next_change,omitempty" doc:"The value of extract that says when the page changes next, the time zone of such times in its text, or both, such as next_update Europe/Berlin"`
	From     string              `json:"from,omitempty" maxLength:"64" doc:"Poll it only from workers at this place, such as eu-west; from any if missing"`
	Doubt    string              `json:"suspect,omitempty" enum:"hold,mark,off" doc:"What to do with a capture that is probably the wrong page: report it when a second look agrees (hold, the default), report it at once with a mark (mark), or do not check (off)"`
	Robots   string              `json:"robots,omitempty" enum:"obey,ignore,default" doc:"Whether to poll it only if the robots.txt files of its hosts allow it: obey, ignore, or as the settings of the daemon say (default)"`
	Site     any                 `json:"site,omitempty" doc:"Watch the whole site that begins at the URL: true, or an object with match, exclude, find, limit, depth, subdomains and share; see docs/reference/sites.md"`
	Keep     Keep                `json:"keep" required:"false"`
}

// NewSourceOf returns the definition of a source.
func NewSourceOf(s freshet.Source) NewSource {
	n := NewSource{
		ID: s.ID, URL: s.URL, Name: s.Name, Tags: s.Tags, Request: objectOf(s.Request), Expect: objectOf(s.Expect),
		Select: Select{CSS: s.Recipe.CSS, JSONPath: s.Recipe.JSONPath, Kind: s.Recipe.Kind}, Noise: string(s.Noise),
		Weight: s.Weight, Cost: s.Cost, Paused: s.Paused, MinGap: Duration(s.MinGap), MaxGap: Duration(s.MaxGap),
		Strategy: s.Strategy.String(), Active: s.Active.String(), Level: s.Level.String(), Aim: s.Aim, Next: s.NextChange.String(), From: s.From,
		Doubt: string(s.Suspect), Robots: string(s.Robots),
		Keep: Keep{Age: Duration(s.Keep.Age), Versions: s.Keep.Versions, Bytes: s.Keep.Bytes},
	}
	if s.Life != (objective.Visibility{}) {
		n.Life = s.Life.String()
	}
	if s.Urgency.Kind != objective.UrgencyUniform {
		n.Urgency = s.Urgency.String()
	}
	n.Extract, n.Items = objectOf(s.Recipe.Extract), objectOf(s.Recipe.Items)
	if len(s.Recipe.Read) > 0 {
		n.Read = decoded[[]any](s.Recipe.Read)
	}
	if s.Recipe.Render.On {
		n.Render = decoded[any](s.Recipe.Render)
	}
	if s.Site != nil {
		n.Site = decoded[any](s.Site)
	}
	return n
}

// objectOf returns a structured field as the object that it is in JSON; nil if it is
// empty, as it mostly is.
func objectOf[T any](v T) map[string]any {
	if reflect.ValueOf(&v).Elem().IsZero() {
		return nil
	}
	if object := decoded[map[string]any](v); len(object) > 0 {
		return object
	}
	return nil
}

// decoded returns a value as another type has its JSON.
func decoded[T any](v any) (as T) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &as)
	}
	if err != nil {
		panic(err) // the API has another type for the field than the kernel
	}
	return as
}
