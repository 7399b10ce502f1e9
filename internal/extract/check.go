package extract

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/andybalholm/cascadia"
	"github.com/theory/jsonpath"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/lazyregexp"
)

// maxSelector is the longest selector or path, in bytes.
const maxSelector = 1024

// Check reports what is wrong with a recipe, as an *invalid.Error, so
// that it can be refused when it is written and not when it is first used.
func Check(r reading.Recipe) error {
	_, err := compile(r)
	return err
}

// CheckSource judges all that a user says of a source, by Source.Check, by its
// recipe, and by a function that knows which URLs may be reached. It returns the
// source in its normal form, or an *invalid.Error.
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

func parseCSS(field, s string) (cascadia.SelectorGroup, error) {
	if err := checkLength(field, s); err != nil {
		return nil, err
	}
	if strings.TrimSpace(s) == "" {
		return nil, invalid.Errorf(field, "is blank; leave it out to watch the whole page")
	}
	group, err := cascadia.ParseGroup(s)
	if err != nil {
		return nil, invalid.Errorf(field, "%s at character %d of %s", cssReason(err), cssPosition(s, err), quoted(s))
	}
	return group, nil
}

var leftOver = lazyregexp.New(`(\d+) bytes left over$`)

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

func parsePath(field, s string) (*jsonpath.Path, error) {
	if err := checkLength(field, s); err != nil {
		return nil, err
	}
	path, err := jsonpath.Parse(s)
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), jsonpath.ErrPathParse.Error()+": ")
		return nil, invalid.Errorf(field, "%s in %s", reason, quoted(s))
	}
	return path, nil
}

// quoted returns s for a message, cut to a readable length.
func quoted(s string) string { return strconv.Quote(oneLine(s, 120)) }
