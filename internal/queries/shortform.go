package queries

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"freshet/internal/suggest"
)

// A ShortForm is a condition as people say it, such as "price < 100", and what it stands for in CEL.
type ShortForm struct {
	Words   string  // what happens, such as "price goes below 100"; "" for a condition in CEL
	When    string  // of the query
	Trigger Trigger // likewise
	Value   string  // likewise
	Field   string  // that the source has to extract; "" if there is none
}

// shortForms are the forms that conditions can have, in the order in which they are tried. %N stands for a
// group of the pattern.
var shortForms = []struct {
	pattern                     string
	words, when, value, trigger string
}{
	{`(?:anything changes|changes|change|any change)?`, "anything changes", "", "", ""},
	{name + ` (?:falls|drops|goes down) by (?:more than )?` + number + `\s*%`, "%1 falls by %2%", `percent(before.%1, now.%1) <= -%2`, "now.%1", ""},
	{name + ` (?:rises|grows|goes up) by (?:more than )?` + number + `\s*%`, "%1 rises by %2%", `percent(before.%1, now.%1) >= %2`, "now.%1", ""},
	{name + ` changes by (?:more than )?` + number + `\s*%`, "%1 changes by %2%", `math.abs(percent(before.%1, now.%1)) >= %2`, "now.%1", ""},
	{name + ` changes`, "%1 changes", `now.%1 != before.%1`, "now.%1", ""},
	{name + ` (?:<|(?:is |goes |falls |drops )?(?:below|under)) ` + number, "%1 goes below %2", `now.%1 < %2`, "now.%1", "becomes"},
	{name + ` (?:>|(?:is |goes |rises )?(?:above|over)) ` + number, "%1 goes above %2", `now.%1 > %2`, "now.%1", "becomes"},
	{`(?:is |it is )?(?:back )?in stock`, "it is back in stock", `now.availability == "in stock"`, "now.availability", "becomes"},
	{name + ` (<=|>=|==|!=) ` + number, "%1 %2 %3", `now.%1 %2 %3`, "now.%1", "becomes"},
	{name + ` (==|!=) ` + quoted, "%1 %2 %3", `now.%1 %2 %3`, "now.%1", "becomes"},
	{`(?:word )?` + quoted + ` appears`, "%1 appears", `mentions(text, %1)`, "", "becomes"},
	{`(?:word )?` + quoted + ` disappears`, "%1 disappears", `!mentions(text, %1)`, "", "becomes"},
	{`new items?(?: appears?)?`, "new items appear", `size(items.added) > 0`, `items.added.map(i, i.title)`, ""},
	{`(?:it )?(?:stops working|fails|is down)`, "it stops working", `poll.failures >= 3`, "", ""},
}

const (
	name   = `(?:now\.)?([\pL_][\pL\pN_]*)`
	number = `[^\d\s.+-]?(-?\d+(?:\.\d+)?)(?:\s?[^\d\s.%]{1,3})?` // with a currency or without
	quoted = `("(?:[^"\\]|\\.)*"|'[^']*')`
)

// ParseShortForm reads a condition as people say it. What is none of the forms is CEL.
func ParseShortForm(text string) ShortForm {
	text = strings.Join(strings.Fields(text), " ")
	for _, f := range shortForms {
		m := regexp.MustCompile(`^(?i:` + f.pattern + `)$`).FindStringSubmatch(spaced(text))
		if m == nil {
			continue
		}
		s := ShortForm{Words: filled(f.words, m), When: filled(f.when, m), Value: filled(f.value, m), Trigger: Trigger(f.trigger)}
		if strings.HasPrefix(f.pattern, name) {
			s.Field = m[1]
		} else if strings.Contains(f.when, "now.availability") {
			s.Field = "availability"
		}
		return s
	}
	return ShortForm{When: text}
}

// spaced puts a space on each side of a comparison, unless it stands in quotes.
func spaced(text string) string {
	if strings.ContainsAny(text, `"'`) {
		return text
	}
	return strings.Join(strings.Fields(regexp.MustCompile(`[<>=!]=?`).ReplaceAllString(text, " $0 ")), " ")
}

// filled puts the groups of a match into a text. What stands in quotes is a text in CEL.
func filled(text string, groups []string) string {
	for i, g := range groups[1:] {
		if inner, ok := strings.CutPrefix(g, "'"); ok {
			g = strconv.Quote(strings.TrimSuffix(inner, "'"))
		}
		text = strings.ReplaceAll(text, fmt.Sprintf("%%%d", i+1), g)
	}
	return text
}

// ShortFormOf returns the words for the condition of a query, and the text that ParseShortForm reads it from;
// "" if there is none.
func ShortFormOf(q Query) (words string) {
	for _, f := range shortForms {
		if f.when == "" {
			if q.When == "" {
				return f.words
			}
			continue
		}
		pattern := regexp.QuoteMeta(f.when)
		var order []int
		for _, at := range regexp.MustCompile(`%(\d)`).FindAllStringSubmatch(pattern, -1) {
			n, _ := strconv.Atoi(at[1])
			order = append(order, n)
		}
		pattern = regexp.MustCompile(`%\d`).ReplaceAllString(pattern, `(.+?)`)
		m := regexp.MustCompile(`^` + pattern + `$`).FindStringSubmatch(q.When)
		if m == nil {
			continue
		}
		groups := make([]string, 4)
		for i, n := range order {
			groups[n] = m[i+1]
		}
		words := filled(f.words, groups)
		if read := ParseShortForm(words); read.When == q.When && (read.Trigger == q.Trigger || read.Trigger == Becomes && q.Trigger == First) {
			return words
		}
	}
	return ""
}

// Lacks reports the field of a short form that a source does not extract, with what to do; nil if it extracts it.
func (s ShortForm) Lacks(fields []string) error {
	if s.Field == "" || slices.Contains(fields, s.Field) {
		return nil
	}
	return &Mistake{Field: "when", Line: 1, Column: 1, Reason: fmt.Sprintf("%q is not a value that the source extracts%s", s.Field, suggest.DidYouMean(s.Field, fields)),
		Help: fmt.Sprintf("say where it is, such as --extract %s='css .%s | number'", s.Field, s.Field)}
}
