package noise

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"freshet"
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
	Noise   bool   // false means that somebody may be watching it, so it is told as a change

	// Step is what a source can read its page with to be rid of it; without a name if
	// none is known that leaves the rest alone.
	Step freshet.Step
}

// mostReported is how many places are told.
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
			r.Places = append(r.Places, Place{Kind: Words, Pattern: g.sample, Times: int(g.times), Noise: g.again >= 3 && 3*int(g.again) >= int(g.added)})
		}
	}
	if m.shuffles(m.order << 1) {
		r.Places = append(r.Places, Place{Kind: Order, Pattern: "the order of lines", Times: int(m.moves), Noise: true, Step: step("lines", map[string]bool{"sort": true})})
	}
	slices.SortStableFunc(r.Places, func(a, b Place) int { return cmp.Compare(b.Times, a.Times) })
	r.Places = r.Places[:min(mostReported, len(r.Places))]
	return r
}

// step returns what removes the place: the whole line, if it says little else, or only
// what differs in it.
func (p place) step() freshet.Step {
	at := marks.FindStringIndex(p.pattern)
	if at == nil {
		return freshet.Step{}
	}
	const little, enough = 30, 4 // letters
	before, after := p.pattern[:at[0]], p.pattern[at[1]:]
	words := len(strings.Map(lettersOnly, before+after))
	switch {
	case strings.Contains(p.pattern, "…") || words > little:
		return step("mask", map[string]string{"pattern": regexp.QuoteMeta(strings.TrimPrefix(before, "…")) + something(p.kind) + ending(after)})
	case len(strings.Map(lettersOnly, before)) >= enough:
		return step("lines", map[string]string{"drop": "^" + regexp.QuoteMeta(before)})
	}
	return step("lines", map[string]string{"drop": "^" + regexp.QuoteMeta(before) + something(p.kind) + regexp.QuoteMeta(after) + "$"})
}

// marks are what stands for kinds in patterns.
var marks = regexp.MustCompile(`<(?:age|time|date|id|counter|number|price|version|e-mail address)>`)

// something returns a regular expression for what differs in a place.
func something(k Kind) string {
	if k == Number || k == Counter {
		return `[\d.,]+`
	}
	return `.{1,40}?`
}

// ending returns a regular expression for the first of what comes after a place.
func ending(after string) string {
	const few = 8 // bytes
	after, _, _ = strings.Cut(after, "…")
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
func step(name string, arg any) freshet.Step {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(arg); err != nil {
		panic(err) // texts and truth values always marshal
	}
	return freshet.Step{Name: name, Arg: strings.TrimSpace(b.String())}
}
