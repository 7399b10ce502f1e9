package content

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/cascadia"
	"github.com/theory/jsonpath"

	"freshet"
)

// maxSelector is the longest selector or path, in bytes.
const maxSelector = 1024

// Check reports what is wrong with a recipe, as a *freshet.InvalidError, so
// that it can be refused when it is written and not when it is first used.
func Check(r freshet.Recipe) error {
	_, err := compile(r)
	return err
}

// CheckSource judges all that a user says of a source, by Source.Check, by its
// recipe, and by a function that knows which URLs may be reached. It returns the
// source in its normal form, or a *freshet.InvalidError.
func CheckSource(s freshet.Source, checkURL func(string) (string, error)) (freshet.Source, error) {
	s, err := s.Check()
	if err != nil {
		return s, err
	}
	normal, err := checkURL(s.URL)
	if err != nil {
		return s, err
	}
	s.URL = normal
	return s, Check(s.Recipe)
}

// A selection is a recipe ready for use.
type selection struct {
	kind freshet.Kind
	css  cascadia.SelectorGroup
	path *jsonpath.Path
}

func compile(r freshet.Recipe) (selection, error) {
	s := selection{kind: r.Kind}
	switch r.Kind {
	case freshet.Auto, freshet.HTML, freshet.JSON, freshet.Feed, freshet.Text:
	default:
		return s, invalid("select.kind", "unknown kind %q; use html, json, feed or text, or leave it out", r.Kind)
	}
	if len(r.Read) > 0 {
		return s, invalid("read[0]", "unknown step %q", r.Read[0].Name)
	}
	var err error
	switch {
	case r.CSS != "" && r.JSONPath != "":
		return s, invalid("select.jsonpath", "use a CSS selector or a JSONPath, not both")
	case r.CSS != "":
		if s.kind != freshet.Auto && s.kind != freshet.HTML {
			return s, invalid("select.kind", "a CSS selector needs html, not %s", s.kind)
		}
		s.kind = freshet.HTML
		s.css, err = parseCSS(r.CSS)
	case r.JSONPath != "":
		if s.kind != freshet.Auto && s.kind != freshet.JSON {
			return s, invalid("select.kind", "a JSONPath needs json, not %s", s.kind)
		}
		s.kind = freshet.JSON
		s.path, err = parsePath(r.JSONPath)
	}
	return s, err
}

func invalid(field, format string, args ...any) error {
	return &freshet.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

func checkLength(field, s string) error {
	if len(s) > maxSelector {
		return invalid(field, "is %d bytes long; the most is %d", len(s), maxSelector)
	}
	if !utf8.ValidString(s) {
		return invalid(field, "is not valid UTF-8")
	}
	return nil
}

func parseCSS(s string) (cascadia.SelectorGroup, error) {
	if err := checkLength("select.css", s); err != nil {
		return nil, err
	}
	if strings.TrimSpace(s) == "" {
		return nil, invalid("select.css", "is blank; leave it out to watch the whole page")
	}
	group, err := cascadia.ParseGroup(s)
	if err != nil {
		return nil, invalid("select.css", "%s at character %d of %s", cssReason(err), cssPosition(s, err), quoted(s))
	}
	return group, nil
}

var leftOver = regexp.MustCompile(`(\d+) bytes left over$`)

func cssReason(err error) string {
	if leftOver.MatchString(err.Error()) {
		return "unexpected character"
	}
	return err.Error()
}

// cssPosition returns the character at which the parser gave up, which it does
// not tell: no part of s before that character meets the same complaint.
func cssPosition(s string, err error) int {
	if m := leftOver.FindStringSubmatch(err.Error()); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n <= len(s) {
			return utf8.RuneCountInString(s[:len(s)-n]) + 1
		}
	}
	if strings.Contains(err.Error(), "EOF") {
		return utf8.RuneCountInString(s)
	}
	count := 0
	for i := range s {
		if _, e := cascadia.ParseGroup(s[:i]); e != nil && e.Error() == err.Error() && i > 0 {
			return max(count, 1)
		}
		count++
	}
	return max(count, 1)
}

func parsePath(s string) (*jsonpath.Path, error) {
	if err := checkLength("select.jsonpath", s); err != nil {
		return nil, err
	}
	path, err := jsonpath.Parse(s)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), jsonpath.ErrPathParse.Error()+": ")
		return nil, invalid("select.jsonpath", "%s in %s", reason, quoted(s))
	}
	return path, nil
}

// quoted returns s for a message, cut to a readable length.
func quoted(s string) string { return strconv.Quote(oneLine(s, 120)) }
