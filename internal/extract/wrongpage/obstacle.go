package wrongpage

import (
	"bytes"
	"slices"
	"strings"

	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
)

// What speaks for an obstacle, a page that stands in the way of the one that is
// watched, is added up. Signs that other pages have, too, count for one point
// together, and only beside one that they have not.
const (
	enough  = 3 // points make an obstacle
	certain = 5 // are needed where the title is still that of the page

	shortText = 1200 // bytes of text: obstacles are short
	gone      = 0.25 // of the words of a page are left: the page itself is not there
	smallPast = 500  // bytes of text before say nothing by how they differ
)

// A length is how many bytes of text an obstacle has at most.
type length struct {
	titled int // if it calls itself one
	silent int // if only its text does
	first  int // at a first look, if it calls itself one
}

var longest = map[suspect.Class]length{
	suspect.Blocked:     {5000, 2500, 3000},
	suspect.Consent:     {15000, 2500, 6000},
	suspect.Login:       {8000, 1500, 6000},
	suspect.ErrorPage:   {10000, 2000, 3000},
	suspect.Maintenance: {6000, 2000, 3000},
}

// longestOfAll is longer than no obstacle.
const longestOfAll = 15000

// classes are those of obstacles, in the order in which they are held for likelier
// where as much speaks for several.
var classes = []suspect.Class{
	suspect.Blocked, suspect.Consent, suspect.Login, suspect.Maintenance, suspect.ErrorPage,
}

// obstacle says what stands in the way on a page, if anything does. Kept is the share
// of the past's words that are left. What the past said already does not count.
func obstacle(p Page, past *Past, kept float64) suspect.Class {
	if p.Kind == reading.JSON {
		return complaint(p, past)
	}
	if p.Kind != reading.HTML {
		return ""
	}
	size, need, bonus := len(bytes.TrimSpace(p.Text)), enough, 0
	if size > longestOfAll {
		return ""
	}
	found := signsOf(p)
	if len(found) == 0 {
		return ""
	}
	if past != nil {
		before := past.page(p.Kind)
		for s := range signsOf(before) {
			delete(found, s)
		}
		if len(past.Text) >= smallPast { // all of a small page can change at once
			if kept <= gone {
				bonus++
			}
			if size <= shortText && 2*size < len(past.Text) {
				bonus++
			}
		}
		if before.Title != "" && Alike([]byte(before.Title), []byte(p.Title)) {
			need = certain
		}
	}
	why, most, strong := suspect.Class(""), 0, 0
	for _, class := range classes {
		n, titled := weigh(found, class)
		if n > 0 {
			strong++
		}
		limit := longest[class]
		room := limit.titled
		if !titled {
			room = limit.silent
		}
		if past == nil {
			room = min(room, limit.first)
		}
		if n < 2 || n <= most || n+bonus < need || size > room || !titled && talk(p.Text, class) > mostTalk {
			continue
		}
		why, most = class, n
	}
	if strong > mostStrong { // it speaks of obstacles, and is none
		return ""
	}
	return why
}

const (
	mostTalk   = 600 // bytes that an obstacle says beside what it is known by, if its title does not tell
	mostStrong = 2   // classes that an obstacle has signs of
)

// talk returns how many bytes of the sentences of a text have no sign of a class.
func talk(text []byte, class suspect.Class) (n int) {
	for sentence := range strings.FieldsFuncSeq(plainLines(text), func(r rune) bool { return strings.ContainsRune(".!?\n\u3002", r) }) {
		if !slices.ContainsFunc(phrases, func(s sign) bool { return s.class == class && strings.Contains(sentence, s.text) }) {
			n += len(sentence)
		}
	}
	return n
}

// weigh returns how much signs say for a class, and whether the title is among them.
func weigh(found map[sign]bool, class suspect.Class) (points int, titled bool) {
	faint := 0
	for s := range found {
		switch {
		case s.class != class:
		case s.points == 1:
			faint = 1
		default:
			points += s.points
			titled = titled || s.text == titleSign
		}
	}
	if points == 0 {
		return 0, false
	}
	return points + faint, titled
}

// titleSign is the text of the sign that a title is.
const titleSign = "title"

// A sign is something that speaks for an obstacle.
type sign struct {
	class  suspect.Class
	points int
	text   string // that it is known by
}

var phraseFinder, markupFinder = newFinder(phrases), newFinder(markups)

// signsOf returns the signs of obstacles on a page.
func signsOf(p Page) map[sign]bool {
	found := map[sign]bool{}
	for _, part := range titleParts(p.Title) {
		if class, ok := titles[part]; ok {
			found[sign{class, titlePoints(part), titleSign}] = true
		}
	}
	phraseFinder.find(plain(clip(p.Text, mostText)), found)
	markupFinder.find(bytes.ToLower(clip(p.Body, mostMarkup)), found)
	return found
}

// titleParts returns what a title says, and the parts that it is put together from:
// "Login | Shop", but not "How to log in faster".
func titleParts(title string) []string {
	title = string(plain([]byte(title)))
	split := func(r rune) bool { return strings.ContainsRune("|–—·»:•", r) }
	parts := append(strings.FieldsFunc(strings.ReplaceAll(title, " - ", "|"), split), title)
	for i, part := range parts {
		parts[i] = strings.Trim(part, " .!?\u3002\uff01")
	}
	return parts
}

// complaint says what stands in the way where data was expected: a short object that
// speaks of an error, as no version before it did.
func complaint(p Page, past *Past) suspect.Class {
	const mostComplaint = 1000
	if past == nil || len(p.Text) > mostComplaint || len(past.Text) < 2*len(p.Text) {
		return ""
	}
	text, before := plain(p.Text), plain(clip(past.Text, mostText))
	for _, word := range []string{`"error"`, `"errors"`, `"error_code"`, `"error_description"`, `"errorcode"`, `"fault"`} {
		if bytes.Contains(text, []byte(word)) && !bytes.Contains(before, []byte(word)) {
			return suspect.ErrorPage
		}
	}
	return ""
}
