package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// mostPhrases is how many words and phrases a query may have.
const mostPhrases = 32

// An Op says how the parts of a Query belong together.
type Op uint8

// What a Query can be.
const (
	Phrase Op = iota // words that follow each other
	And              // all of the parts
	Or               // one of the parts
	Not              // the first part and none of the others
)

// A Query is a parsed search.
type Query struct {
	Op     Op
	Parts  []Query  // of And, Or and Not
	Words  []string // of a Phrase, as they are compared
	Prefix bool     // the last word of a Phrase is the beginning of one
}

// Parse reads a query. Its errors say what is wrong with it in a sentence.
func Parse(text string) (Query, error) {
	p := parser{tokens: lex(text)}
	q, err := p.any()
	if err != nil {
		return Query{}, err
	}
	if p.at < len(p.tokens) {
		return Query{}, errors.New("there is a ) without a (")
	}
	if n := len(q.Phrases()); n > mostPhrases {
		return Query{}, fmt.Errorf("it has %d words and phrases, more than %d", n, mostPhrases)
	}
	return q, nil
}

// Phrases returns the words and phrases of a query, those that must not be there too, in
// their order.
func (q Query) Phrases() []Query {
	if q.Op == Phrase {
		return []Query{q}
	}
	var all []Query
	for _, part := range q.Parts {
		all = append(all, part.Phrases()...)
	}
	return all
}

// Wanted returns the words and phrases that may be in what is found.
func (q Query) Wanted() []Query {
	switch q.Op {
	case Phrase:
		return []Query{q}
	case Not:
		return q.Parts[0].Wanted()
	}
	var all []Query
	for _, part := range q.Parts {
		all = append(all, part.Wanted()...)
	}
	return all
}

// In reports whether passages have what is searched for. A phrase must be within one.
func (q Query) In(passages ...string) bool {
	tokens := make([][]Token, len(passages))
	for i, text := range passages {
		tokens[i] = Tokens(text)
	}
	return q.in(tokens)
}

func (q Query) in(passages [][]Token) bool {
	has := func(part Query) bool { return part.in(passages) }
	switch q.Op {
	case And:
		return !slices.ContainsFunc(q.Parts, func(part Query) bool { return !has(part) })
	case Or:
		return slices.ContainsFunc(q.Parts, has)
	case Not:
		return has(q.Parts[0]) && !slices.ContainsFunc(q.Parts[1:], has)
	}
	return slices.ContainsFunc(passages, func(tokens []Token) bool { return len(q.places(tokens, 1)) > 0 })
}

// Marks returns where the words and phrases that are wanted stand in a text, in bytes,
// one after the other.
func (q Query) Marks(text string) [][2]int {
	tokens := Tokens(text)
	var marks [][2]int
	for _, phrase := range q.Wanted() {
		marks = append(marks, phrase.places(tokens, -1)...)
	}
	slices.SortFunc(marks, func(a, b [2]int) int { return a[0] - b[0] })
	var joined [][2]int
	for _, m := range marks {
		if n := len(joined); n > 0 && m[0] <= joined[n-1][1] {
			joined[n-1][1] = max(joined[n-1][1], m[1])
			continue
		}
		joined = append(joined, m)
	}
	return joined
}

// places returns where a phrase stands among words, at most so many times if that is not
// below zero.
func (q Query) places(tokens []Token, most int) (found [][2]int) {
	n := len(q.Words)
	for i := 0; i+n <= len(tokens) && len(found) != most; i++ {
		same := true
		for k, word := range q.Words {
			got := tokens[i+k].Text
			if got != word && !(q.Prefix && k == n-1 && strings.HasPrefix(got, word)) {
				same = false
				break
			}
		}
		if same {
			found = append(found, [2]int{tokens[i].From, tokens[i+n-1].To})
		}
	}
	return found
}
