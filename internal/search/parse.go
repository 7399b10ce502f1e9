package search

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// A lexeme is a part of a query as it is typed.
type lexeme struct {
	kind lexKind
	text string
	star bool // it ends with a *
}

type lexKind uint8

const (
	wordLex   lexKind = iota
	openLex           // (
	closeLex          // )
	minusLex          // - before a word, a quote or a parenthesis
	andLex            // AND
	orLex             // OR, or |
	notLex            // NOT
	phraseLex         // in quotes
)

var quotes = map[rune]rune{'"': '"', '“': '”', '„': '“', '«': '»'}

// lex divides a query into its parts. A quote that is not closed ends with the query.
func lex(text string) (list []lexeme) {
	rest := []rune(text)
	for len(rest) > 0 {
		r := rest[0]
		end, quoted := quotes[r]
		switch {
		case unicode.IsSpace(r):
			rest = rest[1:]
		case quoted:
			n := 1
			for n < len(rest) && rest[n] != end && !(r == '„' && rest[n] == '”') {
				n++
			}
			l := lexeme{kind: phraseLex, text: string(rest[1:n])}
			rest = rest[min(n+1, len(rest)):]
			if len(rest) > 0 && rest[0] == '*' {
				l.star, rest = true, rest[1:]
			}
			list = append(list, l)
		case r == '(':
			list, rest = append(list, lexeme{kind: openLex}), rest[1:]
		case r == ')':
			list, rest = append(list, lexeme{kind: closeLex}), rest[1:]
		case r == '|':
			list, rest = append(list, lexeme{kind: orLex}), rest[1:]
		case r == '-' && len(rest) > 1 && !unicode.IsSpace(rest[1]):
			list, rest = append(list, lexeme{kind: minusLex}), rest[1:]
		default:
			n := 0
			for n < len(rest) && !unicode.IsSpace(rest[n]) && rest[n] != '(' && rest[n] != ')' && rest[n] != '|' && rest[n] != '"' {
				n++
			}
			list, rest = append(list, wordOf(string(rest[:n]))), rest[n:]
		}
	}
	return list
}

func wordOf(text string) lexeme {
	switch text {
	case "AND", "&", "&&", "+":
		return lexeme{kind: andLex}
	case "OR":
		return lexeme{kind: orLex}
	case "NOT":
		return lexeme{kind: notLex}
	}
	bare := strings.TrimRight(text, "*")
	return lexeme{kind: wordLex, text: bare, star: bare != text}
}

// A parser makes a query of its parts.
type parser struct {
	tokens []lexeme
	at     int
	depth  int
}

func (p *parser) peek() (lexeme, bool) {
	if p.at == len(p.tokens) {
		return lexeme{}, false
	}
	return p.tokens[p.at], true
}

// any reads parts with OR between them.
func (p *parser) any() (Query, error) {
	var parts []Query
	for {
		q, err := p.all()
		if err != nil {
			return q, err
		}
		parts = append(parts, q)
		if next, ok := p.peek(); !ok || next.kind != orLex {
			break
		}
		p.at++
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return Query{Op: Or, Parts: parts}, nil
}

// all reads parts that must all be there, and those that must not.
func (p *parser) all() (Query, error) {
	var wanted, unwanted []Query
	for {
		next, ok := p.peek()
		if !ok || next.kind == closeLex || next.kind == orLex {
			break
		}
		if next.kind == andLex {
			p.at++
			continue
		}
		not := false
		for ok && (next.kind == notLex || next.kind == minusLex) {
			not = !not
			p.at++
			next, ok = p.peek()
		}
		q, empty, err := p.one()
		switch {
		case err != nil:
			return q, err
		case empty: // of signs alone, which nothing is found by
		case not:
			unwanted = append(unwanted, q)
		default:
			wanted = append(wanted, q)
		}
	}
	switch {
	case len(wanted) == 0 && len(unwanted) > 0:
		return Query{}, errors.New("it only says what is not wanted; add a word that is")
	case len(wanted) == 0:
		return Query{}, p.missing()
	}
	q := Query{Op: And, Parts: wanted}
	if len(wanted) == 1 {
		q = wanted[0]
	}
	if len(unwanted) > 0 {
		q = Query{Op: Not, Parts: append([]Query{q}, unwanted...)}
	}
	return q, nil
}

// missing says what is wrong where a word is wanted and none is.
func (p *parser) missing() error {
	next, more := p.peek()
	switch {
	case more && next.kind == orLex, p.at > 0 && p.tokens[p.at-1].kind == orLex:
		return errors.New("there is no word on one side of an OR; in quotes OR is a word")
	case more && next.kind == closeLex && p.depth == 0:
		return errors.New("there is a ) without a (")
	case more && next.kind == closeLex:
		return errors.New("there is nothing between ( and )")
	}
	return errors.New("there is no word to search for")
}

// one reads a word, a phrase or what is in parentheses. It is empty if there is no word in
// it.
func (p *parser) one() (q Query, empty bool, err error) {
	next, ok := p.peek()
	if !ok || next.kind == orLex || next.kind == closeLex || next.kind == andLex {
		return q, false, errors.New("there is no word after a NOT; in quotes NOT is a word")
	}
	p.at++
	if next.kind == openLex {
		if p.depth++; p.depth > mostPhrases {
			return q, false, fmt.Errorf("more than %d parentheses are open at once", mostPhrases)
		}
		q, err = p.any()
		if err != nil {
			return q, false, err
		}
		if closing, ok := p.peek(); !ok || closing.kind != closeLex {
			return q, false, errors.New("there is a ( without a )")
		}
		p.at++
		p.depth--
		return q, false, nil
	}
	q.Prefix = next.star
	for _, t := range Tokens(next.text) {
		q.Words = append(q.Words, t.Text)
	}
	return q, len(q.Words) == 0, nil
}
