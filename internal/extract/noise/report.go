package noise

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"freshet/internal/freshet/reading"
	"freshet/internal/lazyregexp"
)

// A Report says what differs in a source at nearly every poll.
type Report struct {
	Polls    int // that were looked at
	Differed int // of them, those that found another text
	Noise    int // of those, the ones that were nothing but noise
	Places   []Place
}

// A Place is a part of a source that differs at nearly every poll.
type Place struct {
	Kind    Kind
	Pattern string // a line, with a mark such as <date> for what differs; or a line that stood there
	Times   int    // that it differed
	Noise   bool   // false means that a user may be watching it, so it is reported as a change

	// Step is what a source can read its page with to be rid of it; without a name if
	// none is known that leaves the rest alone.
	Step reading.Step
}

// mostReported is how many places a report has.
const mostReported = 5

// Report returns what has been learnt, the places that differ most often first.
func (m *Memory) Report() Report {
	r := Report{Polls: int(m.polls), Differed: int(m.differed), Noise: int(m.spared)}
	for _, p := range m.places {
		if !m.often(p.habit << 1) {
			continue
		}
		told := Place{Kind: p.kind, Pattern: p.pattern, Times: int(p.times), Step: p.step()}
		switch p.kind {
		case Age, Date, Time, ID, Counter:
			told.Noise = true
		}
		r.Places = append(r.Places, told)
	}
	for _, g := range m.gaps {
		if m.often(g.habit << 1) {
			r.Places = append(r.Places, Place{Kind: Words, Pattern: g.sample, Times: int(g.times), Noise: g.closed()})
		}
	}
	if m.shuffles(m.order << 1) {
		r.Places = append(r.Places, Place{Kind: Order, Pattern: "the order of lines", Times: int(m.moves), Noise: true, Step: step("lines", map[string]bool{"sort": true})})
	}
	slices.SortStableFunc(r.Places, func(a, b Place) int { return cmp.Compare(b.Times, a.Times) })
	r.Places = distinct(r.Places)
	r.Places = r.Places[:min(mostReported, len(r.Places))]
	return r
}

// distinct returns places without those that look like one before.
func distinct(places []Place) (kept []Place) {
	for _, p := range places {
		if !slices.ContainsFunc(kept, func(k Place) bool { return k.Pattern == p.Pattern }) {
			kept = append(kept, p)
		}
	}
	return kept
}

// step returns what removes the place: the whole line, if it says little else, or only
// what differs in it. Without words to know the place by there is no such step.
func (p place) step() reading.Step {
	text, _, _ := strings.Cut(strings.TrimPrefix(p.pattern, "…"), "…")
	whole := text == p.pattern
	all := marks.FindAllStringIndex(text, -1)
	if all == nil {
		return reading.Step{}
	}
	const little, enough = 30, 4 // letters
	before := len(strings.Map(lettersOnly, text[:all[0][0]]))
	words := len(strings.Map(lettersOnly, marks.ReplaceAllString(text, "")))
	switch {
	case words == 0:
		return reading.Step{}
	case !whole || words > little:
		last := all[len(all)-1]
		return step("mask", map[string]string{"pattern": expression(text[:last[1]]) + ending(text[last[1]:])})
	case before >= enough:
		return step("lines", map[string]string{"drop": "^" + regexp.QuoteMeta(text[:all[0][0]])})
	}
	return step("lines", map[string]string{"drop": "^" + expression(text) + "$"})
}

// marks are what stands for kinds in patterns.
var marks = lazyregexp.New(`<(?:age|time|date|id|counter|number|price|version|e-mail address)>`)

// expression returns a regular expression for what a pattern stands for.
func expression(pattern string) string {
	var b strings.Builder
	at := 0
	for _, m := range marks.FindAllStringIndex(pattern, -1) {
		b.WriteString(regexp.QuoteMeta(pattern[at:m[0]]))
		if text := pattern[m[0]:m[1]]; text == mark(Number) || text == mark(Counter) {
			b.WriteString(`[\d.,]+`)
		} else {
			b.WriteString(`.{1,40}?`)
		}
		at = m[1]
	}
	return b.String() + regexp.QuoteMeta(pattern[at:])
}

// ending returns a regular expression for the first of what comes after a place.
func ending(after string) string {
	const few = 8 // bytes
	if after == "" {
		return "$"
	}
	for len(after) > few {
		_, size := utf8.DecodeLastRuneInString(after)
		after = after[:len(after)-size]
	}
	return regexp.QuoteMeta(after)
}

// step returns a step with its argument.
func step(name string, arg any) reading.Step {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(arg); err != nil {
		panic(err) // texts and truth values always marshal
	}
	return reading.Step{Name: name, Arg: strings.TrimSpace(b.String())}
}

// Matcher returns what reports whether a line of a text is the place's; nil if lines
// do not tell.
func (p Place) Matcher() func(line string) bool {
	text, _, _ := strings.Cut(strings.TrimPrefix(p.Pattern, "…"), "…")
	if p.Kind == Words || p.Kind == Order || !marks.MatchString(text) || strings.Map(lettersOnly, marks.ReplaceAllString(text, "")) == "" {
		return nil
	}
	pattern := expression(text)
	if text == p.Pattern {
		pattern = "^" + pattern + "$"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil // too long, perhaps
	}
	return re.MatchString
}
