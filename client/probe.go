package client

import (
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A NewProbe names a page to look at.
type NewProbe struct {
	URL    string `json:"url" minLength:"1" maxLength:"8192"`
	Render bool   `json:"render,omitempty" doc:"Show the page in a browser before it is read"`
}

// A Probe is what a look at a page found. Nothing of it is stored; what was captured can be asked for
// by its ID for some minutes.
type Probe struct {
	ID        string           `json:"id,omitempty" doc:"For its outline and its picture; missing if there is no HTML page"`
	URL       string           `json:"url" doc:"In its normal form"`
	LandedOn  string           `json:"landed_on,omitempty" doc:"The page that answered, if redirects led to another one"`
	MovedTo   string           `json:"moved_to,omitempty" doc:"Where permanent redirects lead"`
	Known     freshet.SourceID `json:"known,omitempty" doc:"The source that watches this URL already"`
	Status    int              `json:"status,omitempty"`
	MediaType string           `json:"media_type,omitempty"`
	Title     string           `json:"title,omitempty"`
	Bytes     int64            `json:"bytes"`
	TookMS    int64            `json:"took_ms"`
	Text      string           `json:"text,omitempty" doc:"What would be compared, from its beginning"`
	Lines     int              `json:"lines"`
	Failure   failure.Class    `json:"failure,omitempty" doc:"Why the page was not seen, if it was not"`
	Error     string           `json:"error,omitempty" doc:"Likewise, in words"`
	Suspect   *Suspect         `json:"suspect,omitempty" doc:"Why it is probably not the page that is wanted, if so"`
	Remedies  []Remedy         `json:"remedies,omitempty" doc:"What may help, if the page failed, is suspect or is blank without JavaScript"`
	Items     []Suggestion     `json:"items" nullable:"false" doc:"Ways to read it, the likeliest first"`
}

// A Remedy is something that may help with a page that fails, is suspect, changes at every poll or has
// moved.
type Remedy struct {
	What    string         `json:"what" enum:"render,login,accept,ignore,choose,limit,follow,consent,robots,slower,language,poll,pause,browser" doc:"What it does"`
	Words   string         `json:"words" doc:"For a button"`
	Why     string         `json:"why" doc:"What it is good for, in a sentence"`
	Edit    map[string]any `json:"edit,omitempty" doc:"To be sent as an edit of the source"`
	Command string         `json:"command,omitempty" doc:"That does the same; SOURCE stands for a page that is not watched yet"`
}
