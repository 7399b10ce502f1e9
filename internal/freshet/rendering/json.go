package rendering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/strictjson"
	"freshet/internal/units"
)

// renderObject is a Render as users write it.
type renderObject struct {
	WaitFor    string  `json:"wait_for,omitempty"`
	Wait       string  `json:"wait,omitempty"`
	Consent    Consent `json:"consent,omitempty"`
	Steps      []Step  `json:"steps,omitempty"`
	Screenshot bool    `json:"screenshot,omitempty"`
	Viewport   string  `json:"viewport,omitempty"`

	Compare   Comparison `json:"compare,omitempty"`
	Region    string     `json:"region,omitempty"`
	Ignore    []string   `json:"ignore,omitempty"`
	Threshold string     `json:"threshold,omitempty"`
}

// MarshalJSON writes what users write: true or false, or an object with what differs
// from the defaults.
func (r Settings) MarshalJSON() ([]byte, error) {
	if !r.On {
		return []byte("false"), nil
	}
	o := renderObject{WaitFor: r.WaitFor, Consent: r.Consent, Steps: r.Steps, Screenshot: r.Screenshot, Viewport: r.Viewport.String(),
		Compare: r.Compare, Region: r.Region, Ignore: r.Ignore}
	if r.Wait != 0 {
		o.Wait = units.FormatDuration(r.Wait)
	}
	if r.Threshold != 0 {
		o.Threshold = units.FormatShare(r.Threshold)
	}
	text, err := json.Marshal(o)
	if string(text) == "{}" {
		return []byte("true"), nil
	}
	return text, err
}

// UnmarshalJSON reads what MarshalJSON writes. An object means that the page is
// rendered.
func (r *Settings) UnmarshalJSON(text []byte) error {
	*r = Settings{}
	switch trimmed := bytes.TrimSpace(text); {
	case string(trimmed) == "false", string(trimmed) == "null":
		return nil
	case string(trimmed) == "true":
		r.On = true
		return nil
	case !bytes.HasPrefix(trimmed, []byte("{")):
		return errors.New("is true, false or keys and values such as wait_for: CSS")
	}
	o, err := strictjson.Parse[renderObject](string(text))
	if err != nil {
		return err
	}
	*r = Settings{On: true, WaitFor: o.WaitFor, Consent: o.Consent, Steps: o.Steps, Screenshot: o.Screenshot,
		Compare: o.Compare, Region: o.Region, Ignore: o.Ignore}
	if r.Compare == "text" {
		r.Compare = CompareText
	}
	if o.Threshold != "" {
		if r.Threshold, err = units.ParseShare(o.Threshold); err != nil {
			return fmt.Errorf("threshold: %w", err)
		}
	}
	if o.Wait != "" {
		if r.Wait, err = units.ParseDuration(o.Wait); err != nil {
			return fmt.Errorf("wait: %w", err)
		}
	}
	if o.Viewport != "" {
		if r.Viewport, err = ParseViewport(o.Viewport); err != nil {
			return err
		}
	}
	return nil
}

// MarshalText writes the step on one line.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalJSON reads a step: one line as ParseStep reads it, or an object such
// as {"click": "#more"} or {"fill": {"#name": "text"}}.
func (s *Step) UnmarshalJSON(text []byte) (err error) {
	var line string
	var one map[string]json.RawMessage
	switch {
	case json.Unmarshal(text, &line) == nil:
	case json.Unmarshal(text, &one) == nil && len(one) == 1:
		for verb, arg := range one {
			if line, err = stepLine(verb, arg); err != nil {
				return err
			}
		}
	default:
		return errors.New("a step is a line such as click CSS, or one key with what it takes, such as click: CSS")
	}
	*s, err = ParseStep(line)
	return err
}

// stepLine returns a step that was written as an object on one line.
func stepLine(verb string, arg json.RawMessage) (string, error) {
	var at string
	if json.Unmarshal(arg, &at) == nil {
		return verb + " " + at, nil
	}
	var fields map[string]string
	if verb == string(Fill) && json.Unmarshal(arg, &fields) == nil && len(fields) == 1 {
		for at, text := range fields {
			return "fill " + at + " = " + text, nil
		}
	}
	return "", fmt.Errorf("%s: expected a CSS selector", verb)
}

// check judges what a user says of rendering. The error names the field within it.
func (r Settings) Check() error {
	switch {
	case r.Wait < 0 || r.Wait > maxRenderWait:
		return invalid.Errorf("render.wait", "%s is too long; the longest allowed is %s", units.FormatDuration(r.Wait), units.FormatDuration(maxRenderWait))
	case r.Wait != 0 && r.Wait < 100*time.Millisecond:
		return invalid.Errorf("render.wait", "%s is too short; the shortest allowed is 100ms", units.FormatDuration(r.Wait))
	case r.WaitFor != "" && !isSelector(r.WaitFor):
		return invalid.Errorf("render.wait_for", "is longer than %d bytes or not text", maxRenderText)
	case r.Consent != ConsentNone && r.Consent != ConsentAccept && r.Consent != ConsentReject:
		return invalid.Errorf("render.consent", "%.40q is not accept or reject", r.Consent)
	case len(r.Steps) > maxRenderSteps:
		return invalid.Errorf("render.steps", "there are too many; the most is %d", maxRenderSteps)
	}
	for _, s := range r.Steps {
		if err := s.check(); err != nil {
			return err
		}
	}
	if r.Viewport != (Viewport{}) {
		if _, err := ParseViewport(r.Viewport.String()); err != nil {
			return err
		}
	}
	return r.checkComparison()
}
