package freshet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// How the changes of a query are counted together, besides by a condition.
const (
	BySource  = "source" // those of each source alone: the default
	ByNothing = "all"    // all of them
)

// A Window says how a query looks at more than one change. The zero Window looks at
// each source alone.
type Window struct {
	// By says which changes are counted together: BySource, ByNothing, or what a
	// condition in CEL comes to, such as source.site or now.sku. A list puts a change
	// into a group for each of its elements.
	By string

	Over   time.Duration // how far back functions look that are not told; zero means that they must be
	For    time.Duration // the condition must hold for so long; zero means no time
	Silent Silence       // tell when no change fits the condition any more; zero means do not
}

// A Silence is how long nothing must be heard of: a length of time, or a multiple of
// the time that usually lies between two changes.
type Silence struct {
	For   time.Duration
	Times float64
}

// ParseSilence reads "3d", or "2x" for twice the usual time between changes.
func ParseSilence(text string) (Silence, error) {
	if number, ok := strings.CutSuffix(strings.TrimSpace(text), "x"); ok {
		times, err := strconv.ParseFloat(number, 64)
		if err != nil || !(times >= 1) || times > 1000 {
			return Silence{}, fmt.Errorf("%.40q is not a multiple from 1x to 1000x, such as 2x", text)
		}
		return Silence{Times: times}, nil
	}
	d, err := ParseDuration(text)
	if err != nil {
		return Silence{}, fmt.Errorf("%.40q is neither a length of time, such as 3d, nor a multiple of the usual one, such as 2x", text)
	}
	return Silence{For: d}, nil
}

// String returns the silence as ParseSilence reads it; "" if there is none.
func (s Silence) String() string {
	switch {
	case s.Times > 0:
		return strconv.FormatFloat(s.Times, 'f', -1, 64) + "x"
	case s.For > 0:
		return FormatDuration(s.For)
	}
	return ""
}

// The bounds of lengths of time in a query. What is shorter is a slip, and what is
// longer would never be forgotten.
const (
	shortestWindow = time.Second
	longestWindow  = 5 * 366 * Day
)

func (w *Window) check() error {
	for _, d := range []struct {
		field  string
		length time.Duration
	}{{"window.over", w.Over}, {"window.for", w.For}, {"window.silent", w.Silent.For}} {
		if err := checkLength(d.field, d.length, shortestWindow); err != nil {
			return err
		}
		if d.length < 0 || d.length > longestWindow {
			return wrong(d.field, "is too long; the longest allowed is %s", FormatDuration(longestWindow))
		}
	}
	if t := w.Silent.Times; t != 0 && !(t >= 1 && t <= 1000) || math.IsNaN(t) {
		return wrong("window.silent", "must be from 1x to 1000x")
	}
	if w.For > 0 && w.Silent != (Silence{}) {
		return wrong("window.silent", "cannot be used together with window.for")
	}
	if w.By == BySource {
		w.By = ""
	}
	return nil
}

// windowJSON is a Window as it is written.
type windowJSON struct {
	By     string `json:"by,omitempty"`
	Over   string `json:"over,omitempty"`
	For    string `json:"for,omitempty"`
	Silent string `json:"silent,omitempty"`
}

// MarshalJSON writes what UnmarshalJSON reads.
func (w Window) MarshalJSON() ([]byte, error) {
	out := windowJSON{By: w.By, Silent: w.Silent.String()}
	if w.Over > 0 {
		out.Over = FormatDuration(w.Over)
	}
	if w.For > 0 {
		out.For = FormatDuration(w.For)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads an object, or a text that says how far back to look.
func (w *Window) UnmarshalJSON(text []byte) error {
	var in windowJSON
	if bytes.HasPrefix(text, []byte(`"`)) {
		if err := json.Unmarshal(text, &in.Over); err != nil {
			return err
		}
	} else {
		var err error
		if in, err = parseValue[windowJSON](string(text)); err != nil {
			return wrong("window", "%v", err)
		}
	}
	*w = Window{By: in.By}
	for _, d := range []struct {
		field, text string
		to          *time.Duration
	}{{"window.over", in.Over, &w.Over}, {"window.for", in.For, &w.For}} {
		if d.text == "" {
			continue
		}
		length, err := ParseDuration(d.text)
		if err != nil {
			return wrong(d.field, "%v", err)
		}
		*d.to = length
	}
	if in.Silent != "" {
		silence, err := ParseSilence(in.Silent)
		if err != nil {
			return wrong("window.silent", "%v", err)
		}
		w.Silent = silence
	}
	return nil
}
