// Package reading defines recipes, which turn a response into the text, values and items to compare.
package reading

import (
	"encoding/json"

	"freshet/internal/freshet/rendering"
)

// A Recipe says how to turn a response into the text that is compared. The
// zero Recipe guesses the kind from the response and takes all of it.
//
// At most one of CSS and JSONPath may be set, and neither together with Read.
type Recipe struct {
	Kind     Kind               `json:"kind,omitempty"`
	CSS      string             `json:"css,omitempty"`      // selects elements of an HTML page
	JSONPath string             `json:"jsonpath,omitempty"` // RFC 9535; selects values of a JSON document
	Read     []Step             `json:"read,omitempty"`     // what is done with the response, step by step
	Extract  Extracts           `json:"extract,omitempty"`  // named values to keep with each version
	Items    Items              `json:"items,omitzero"`     // which parts are items
	Render   rendering.Settings `json:"render,omitzero"`    // how the page is shown in a browser before it is read
}

// Key returns r in a canonical form, equal for equal recipes.
func (r Recipe) Key() string {
	if r.Kind == Auto && r.CSS == "" && r.JSONPath == "" && len(r.Read) == 0 && !r.Render.On {
		return "{}" // what most sources have, and every poll asks for
	}
	r.Render.Screenshot, r.Render.Threshold = false, 0 // which change nothing of what is read
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and steps always marshal
	}
	return string(b)
}

// A Kind is a way of reading a response.
type Kind string

// The kinds of response that can be read. Auto decides by media type and look.
const (
	Auto Kind = ""
	HTML Kind = "html"
	JSON Kind = "json"
	Feed Kind = "feed"
	Text Kind = "text"
	XML  Kind = "xml"
	CSV  Kind = "csv"
	ICal Kind = "ical"
	PDF  Kind = "pdf"
	XLSX Kind = "xlsx"
	DOCX Kind = "docx"
)
