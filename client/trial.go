package client

import (
	"time"

	"freshet/internal/freshet"
)

// A SourceTrial is what another way of reading makes of the last capture.
type SourceTrial struct {
	Version int            `json:"version" doc:"That was read"`
	Steps   []StepTrial    `json:"steps" nullable:"false" doc:"What each step made of it"`
	Text    string         `json:"text" doc:"What would be compared; cut if it is long"`
	Fields  freshet.Fields `json:"fields,omitempty"`
	Items   int            `json:"items" doc:"Items that were found"`
	History *HistoryTrial  `json:"history,omitempty"`
}

// A StepTrial is what one step made of a response.
type StepTrial struct {
	Step   string  `json:"step"`
	Out    string  `json:"out"`
	TookMS float64 `json:"took_ms"`
}

// A HistoryTrial is what another way of reading makes of stored versions.
type HistoryTrial struct {
	Items   []VersionTrial `json:"items" nullable:"false" doc:"The oldest first"`
	Changes int            `json:"changes" doc:"That would be reported"`
	Spared  int            `json:"spared" doc:"Versions that would be the same as the one before"`
	Failed  int            `json:"failed" doc:"Versions that cannot be read so"`
	Cut     bool           `json:"cut,omitempty" doc:"It took too long; the newest versions were not read"`
}

// A VersionTrial is what another way of reading makes of one version.
type VersionTrial struct {
	Number  int       `json:"number"`
	SeenAt  time.Time `json:"seen_at"`
	Change  bool      `json:"change" doc:"It would be reported"`
	Summary string    `json:"summary,omitempty"`
	Error   string    `json:"error,omitempty" doc:"Why it cannot be read"`
}

// Suggestions are ways to read a source.
type Suggestions struct {
	Version int          `json:"version" doc:"Of which they speak"`
	Items   []Suggestion `json:"items" nullable:"false" doc:"The likeliest first"`
}

// A Suggestion is a way to read a source, with what it would read. What it has can be
// sent as an edit of the source.
type Suggestion struct {
	What    string         `json:"what" enum:"main,list,table,price,feed"`
	Why     string         `json:"why"`
	URL     string         `json:"url,omitempty" doc:"To watch instead"`
	Select  Select         `json:"select,omitzero"`
	Read    []any          `json:"read,omitempty"`
	Extract map[string]any `json:"extract,omitempty"`
	Items   map[string]any `json:"items,omitempty"`
	Text    string         `json:"text,omitempty" doc:"What would be compared, from its beginning"`
	Count   int            `json:"count,omitempty" doc:"Items"`
	Fields  freshet.Fields `json:"fields,omitempty"`
}
