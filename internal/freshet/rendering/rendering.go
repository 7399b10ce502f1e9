// Package rendering defines how a browser shows a page before it is read.
package rendering

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// Settings say how a browser shows a page before it is read, for pages that scripts build.
// The zero Settings use no browser.
type Settings struct {
	On bool // the other fields count only if it is set

	WaitFor    string        // a CSS selector that has to match before the page is read
	Wait       time.Duration // how long to wait at most, for that or for quiet; 0 means [DefaultWait]
	Consent    Consent       // what to answer a consent banner
	Steps      []Step        // made in their order when the page is there
	Screenshot bool          // keep a picture of the page with each version
	Viewport   Viewport      // size of the window; zero means [DefaultViewport]

	Compare   Comparison // what decides whether there is a new version
	Region    string     // a CSS selector of the element to take a picture of; "" means the whole page
	Ignore    []string   // parts of the picture that are not compared: CSS selectors and rectangles
	Threshold float64    // share of the picture that may differ without being a change
}

// DefaultWait is the longest wait until a page is quiet.
const DefaultWait = 10 * time.Second

// DefaultViewport is the window that pages are shown in.
var DefaultViewport = Viewport{1280, 800}

// A Consent is an answer to a consent banner.
type Consent string

// The answers to a consent banner. The first one leaves it where it is.
const (
	ConsentNone   Consent = ""
	ConsentAccept Consent = "accept"
	ConsentReject Consent = "reject"
)

// A Viewport is the size of a window in CSS pixels.
type Viewport struct{ Width, Height int }

// Bounds of the settings.
const (
	maxRenderSteps = 50
	maxRenderWait  = time.Minute
	maxRenderText  = 2000 // bytes of a selector or of what is filled in
	minViewport    = 200  // pixels
	maxViewport    = 4000
)

// ParseViewport reads a size such as "1280x800".
func ParseViewport(s string) (Viewport, error) {
	w, h, ok := strings.Cut(s, "x")
	width, err1 := strconv.Atoi(w)
	height, err2 := strconv.Atoi(h)
	v := Viewport{width, height}
	if !ok || err1 != nil || err2 != nil || min(width, height) < minViewport || max(width, height) > maxViewport {
		return Viewport{}, invalid.Errorf("render.viewport", "%.40q is not a size such as 1280x800, with sides of %d to %d pixels", s, minViewport, maxViewport)
	}
	return v, nil
}

// String returns the size as ParseViewport reads it; nothing for the zero Viewport.
func (v Viewport) String() string {
	if v == (Viewport{}) {
		return ""
	}
	return fmt.Sprintf("%dx%d", v.Width, v.Height)
}

// A Step is one action on a page.
type Step struct {
	Do   Action
	At   string        // a CSS selector: what to click, to fill, to scroll to or to wait for
	Text string        // to fill in
	For  time.Duration // to wait, if At is not set
}

// An Action is a kind of Step.
type Action string

// The kinds of steps.
const (
	Click  Action = "click"  // click what At selects
	Fill   Action = "fill"   // put Text into the field that At selects
	Scroll Action = "scroll" // scroll to what At selects, or to the end of the page
	Wait   Action = "wait"   // wait until At selects something, or for a time
)

// ParseStep reads a step as it is written on one line: "click CSS",
// "fill CSS = TEXT", "scroll", "scroll CSS", "wait CSS" or "wait 2s".
func ParseStep(line string) (Step, error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	s := Step{Do: Action(verb), At: rest}
	switch s.Do {
	case Click, Scroll:
	case Fill:
		at, text, ok := strings.Cut(rest, " = ")
		if !ok {
			return s, invalid.Errorf("render.steps", "%.80q says nothing to fill in; write fill CSS = TEXT", line)
		}
		s.At, s.Text = strings.TrimSpace(at), text
	case Wait:
		if d, err := units.ParseDuration(rest); err == nil {
			s.At, s.For = "", d
		}
	default:
		return s, invalid.Errorf("render.steps", "%.80q is not a step; write click CSS, fill CSS = TEXT, scroll [CSS] or wait CSS|TIME", line)
	}
	return s, s.check()
}

// String returns the step as ParseStep reads it.
func (s Step) String() string {
	switch {
	case s.Do == Fill:
		return "fill " + s.At + " = " + s.Text
	case s.Do == Wait && s.At == "":
		return "wait " + units.FormatDuration(s.For)
	}
	return strings.TrimSpace(string(s.Do) + " " + s.At)
}

func (s Step) check() error {
	switch {
	case s.At == "" && (s.Do == Click || s.Do == Fill):
		return invalid.Errorf("render.steps", "%s needs a CSS selector", s.Do)
	case s.Do == Wait && s.At == "" && s.For == 0:
		return invalid.Errorf("render.steps", "wait needs a CSS selector or a time such as 2s")
	case s.For > maxRenderWait:
		return invalid.Errorf("render.steps", "waits %s; the longest allowed is %s", units.FormatDuration(s.For), units.FormatDuration(maxRenderWait))
	case len(s.At) > maxRenderText || len(s.Text) > maxRenderText:
		return invalid.Errorf("render.steps", "a selector or text is longer than %d bytes", maxRenderText)
	case !utf8.ValidString(s.At) || !utf8.ValidString(s.Text):
		return invalid.Errorf("render.steps", "a selector or text is not UTF-8")
	}
	return nil
}
