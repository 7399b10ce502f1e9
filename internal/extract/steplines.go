package extract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"freshet/internal/invalid"
)

// A linesArg is what the step lines takes. It is done in this order.
type linesArg struct {
	Separator string `json:"separator"` // of the parts, instead of the end of a line

	Between texts `json:"between"` // two patterns: keep what stands between them
	Trim    bool  `json:"trim"`
	Keep    texts `json:"keep"`
	Drop    texts `json:"drop"`
	Unique  bool  `json:"unique"`
	Sort    bool  `json:"sort"`
	Fold    bool  `json:"fold"` // sort capitals like small letters
	Reverse bool  `json:"reverse"`
	Head    int   `json:"head"`
	Tail    int   `json:"tail"`
}

func compileLines(a argument) (func(value) (value, error), bool, error) {
	arg, err := readLinesArg(a)
	if err != nil {
		return nil, false, err
	}
	if len(arg.Between) != 0 && len(arg.Between) != 2 {
		return nil, false, invalid.Errorf(a.at("between"), "takes two patterns: where to begin and where to end")
	}
	if arg.Head < 0 || arg.Tail < 0 {
		return nil, false, invalid.Errorf(a.field, "head and tail must not be negative")
	}
	between, err := patterns(a.at("between"), arg.Between)
	if err != nil {
		return nil, false, err
	}
	keep, err := patterns(a.at("keep"), arg.Keep)
	if err != nil {
		return nil, false, err
	}
	drop, err := patterns(a.at("drop"), arg.Drop)
	if err != nil {
		return nil, false, err
	}
	separator := cmp.Or(arg.Separator, "\n")
	if err := checkLength(a.at("separator"), separator); err != nil {
		return nil, false, err
	}
	return func(v value) (value, error) {
		text, err := v.plain()
		if err != nil {
			return v, err
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), separator)
		if len(between) == 2 {
			lines = linesBetween(lines, between[0], between[1])
		}
		if arg.Trim {
			lines = trimmed(lines)
		}
		lines = slices.DeleteFunc(lines, func(line string) bool {
			return len(keep) > 0 && !matchesAny(keep, line) || matchesAny(drop, line)
		})
		return textValue(v, plainText([]byte(strings.Join(arg.arrange(lines), separator)))), nil
	}, !gentle(slices.Concat(arg.Between, arg.Keep, arg.Drop)...), nil
}

// readLinesArg reads an object, or names of what to do: sort, or [trim, unique].
func readLinesArg(a argument) (arg linesArg, err error) {
	var words texts
	if a.json == "" {
		return arg, a.missing("{keep: PATTERN} or sort")
	}
	if strings.HasPrefix(a.json, "{") {
		return arg, a.object(&arg)
	}
	if json.Unmarshal([]byte(a.json), &words) != nil {
		return arg, a.object(&arg)
	}
	for _, w := range words {
		switch w {
		case "trim":
			arg.Trim = true
		case "unique":
			arg.Unique = true
		case "sort":
			arg.Sort = true
		case "reverse":
			arg.Reverse = true
		default:
			return arg, invalid.Errorf(a.field, "%s is not one of trim, unique, sort and reverse; write {keep: PATTERN} to keep lines", quoted(w))
		}
	}
	return arg, nil
}

func (arg linesArg) arrange(lines []string) []string {
	if arg.Unique {
		seen := map[string]bool{}
		lines = slices.DeleteFunc(lines, func(line string) bool {
			again := seen[line]
			seen[line] = true
			return again
		})
	}
	switch {
	case arg.Sort && arg.Fold:
		slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) })
	case arg.Sort:
		slices.Sort(lines)
	}
	if arg.Reverse {
		slices.Reverse(lines)
	}
	if arg.Head > 0 {
		lines = lines[:min(len(lines), arg.Head)]
	}
	if arg.Tail > 0 {
		lines = lines[max(0, len(lines)-arg.Tail):]
	}
	return lines
}

// linesBetween returns the lines between one that begins a part and the next that
// ends it, for every such part.
func linesBetween(lines []string, begin, end *regexp.Regexp) (kept []string) {
	inside := false
	for _, line := range lines {
		switch {
		case inside && end.MatchString(line):
			inside = false
		case inside:
			kept = append(kept, line)
		case begin.MatchString(line):
			inside = true
		}
	}
	return kept
}

// trimmed returns lines without white space around them, and no blank ones.
func trimmed(lines []string) (kept []string) {
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	return kept
}

func matchesAny(list []*regexp.Regexp, line string) bool {
	return slices.ContainsFunc(list, func(re *regexp.Regexp) bool { return re.MatchString(line) })
}

// A masking hides what matches behind a word.
type masking struct {
	re   *regexp.Regexp
	with []byte
}

// masks are what the step mask knows by name, in the order in which they are
// applied: a date is more than a number.
var masks = []struct{ name, pattern, with string }{
	{"dates", `\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b(?i:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? \d{1,2} [A-Za-z]{3,9} \d{4}\b|\b\d{1,2}\.? [A-ZÄÖÜa-zäöüéû]{3,9}\.? \d{4}\b|\b[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4}\b`, "[date]"},
	{"times", `\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?\b|\b\d+ (?i:second|minute|hour|day|week|month|year)s? ago\b`, "[time]"},
	{"hashes", `\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?:[0-9a-f]{16,}|[0-9A-F]{16,})\b`, "[hash]"},
	{"numbers", `[+-]?\d+(?:[.,'\x{a0}\x{202f}]\d+)*`, "[number]"},
}

func compileMask(a argument) (func(value) (value, error), bool, error) {
	var arg struct {
		Numbers bool   `json:"numbers"`
		Dates   bool   `json:"dates"`
		Times   bool   `json:"times"`
		Hashes  bool   `json:"hashes"`
		Pattern texts  `json:"pattern"`
		With    string `json:"with"`
	}
	var words texts
	switch {
	case a.json == "":
		return nil, false, a.missing("numbers or [dates, times]")
	case strings.HasPrefix(a.json, "{") || json.Unmarshal([]byte(a.json), &words) != nil:
		if err := a.object(&arg); err != nil {
			return nil, false, err
		}
	}
	for word, on := range map[string]bool{"numbers": arg.Numbers, "dates": arg.Dates, "times": arg.Times, "hashes": arg.Hashes} {
		if on {
			words = append(words, word)
		}
	}
	var all []masking
	for _, m := range masks {
		if i := slices.Index(words, m.name); i >= 0 {
			words = slices.Delete(words, i, i+1)
			all = append(all, masking{regexp.MustCompile(m.pattern), []byte(m.with)})
		}
	}
	if len(words) > 0 {
		return nil, false, invalid.Errorf(a.field, "%s is not one of numbers, dates, times and hashes; write {pattern: ...} to mask what matches", quoted(words[0]))
	}
	own, err := patterns(a.at("pattern"), arg.Pattern)
	if err != nil {
		return nil, false, err
	}
	with := []byte("[masked]")
	if arg.With != "" {
		with = []byte(oneLine(arg.With, 100))
	}
	for _, re := range own {
		all = append(all, masking{re, with})
	}
	return func(v value) (value, error) {
		text, err := v.plain()
		if err != nil {
			return v, err
		}
		for _, m := range all {
			text = m.re.ReplaceAllLiteral(text, m.with)
		}
		return textValue(v, bytes.Clone(text)), nil
	}, !gentle(arg.Pattern...), nil
}
