package wrongpage_test

import (
	"encoding/json"
	"os"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/extract/wrongpage"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
)

// A collection is pages that servers send instead of the one that is watched, and
// pages that have really changed. Every other one of each was written to make the
// signs with; the rest was meant for measuring, though some of it was looked at when
// signs were changed.
type collection struct {
	Bases    map[string]string `json:"bases"` // pages as they should be, by name
	Suspects []struct {
		Name   string        `json:"name"`
		Class  suspect.Class `json:"class"`
		Before string        `json:"before"`
		Page   string        `json:"page"`
	} `json:"suspects"`
	Edits []struct {
		Name   string `json:"name"`
		Before string `json:"before"`
		Page   string `json:"page"`
		Held   bool   `json:"held"` // it may be held until a second look
	} `json:"edits"`
}

func pages(t *testing.T, file string) (c collection) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// read reads markup as a hand does.
func read(t *testing.T, markup string) wrongpage.Page {
	t.Helper()
	r, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: "text/html", Body: []byte(markup)})
	if err != nil {
		t.Fatal(err)
	}
	return wrongpage.Page{Kind: r.Kind, Title: r.Title, Text: r.Text, Body: []byte(markup)}
}

// judge holds a page against the one before.
func judge(t *testing.T, before, now string) suspect.Class {
	t.Helper()
	was := read(t, before)
	return wrongpage.Judge(read(t, now), &wrongpage.Past{Text: was.Text, Body: func() []byte { return was.Body }})
}

// A count is how many of some pages were judged wrongly, in the half that the signs
// were made with and in the other.
type count struct{ wrong, of [2]int }

func (c *count) add(i int, wrong bool) {
	c.of[i%2]++
	if wrong {
		c.wrong[i%2]++
	}
}

// Wrong pages are held and real changes are not, up to a few; and no real change is
// taken for what never comes through. The pages of the second file were written when the
// signs were made; docs/explanation/suspect.md has what was measured on them before they were used.
func TestPages(t *testing.T) {
	for _, file := range []string{"pages.json", "later.json"} {
		t.Run(file, func(t *testing.T) { measure(t, pages(t, file)) })
	}
}

func measure(t *testing.T, c collection) {
	t.Helper()
	var missed, misnamed, held, lost count
	for i, s := range c.Suspects {
		why := judge(t, c.Bases[s.Before], s.Page)
		if why == "" {
			t.Logf("missed: %s (half %d)", s.Name, i%2)
		} else if why != s.Class {
			t.Logf("called %s: %s, which is %s (half %d)", why, s.Name, s.Class, i%2)
		}
		missed.add(i, why == "")
		misnamed.add(i, why != "" && why != s.Class)
	}
	for i, e := range c.Edits {
		why := judge(t, c.Bases[e.Before], e.Page)
		if why != "" && !e.Held || wrongpage.Hides(why) && why != "" {
			t.Logf("held as %s: %s (half %d)", why, e.Name, i%2)
		}
		held.add(i, why != "" && !e.Held)
		lost.add(i, why != "" && (wrongpage.Hides(why) || why == suspect.ErrorPage))
	}
	t.Logf("wrong pages: missed %v of %v, called otherwise %v; real changes: held %v of %v, never told %v", missed.wrong, missed.of, misnamed.wrong, held.wrong, held.of, lost.wrong)
	if n := missed.wrong[1]; n > 2 {
		t.Errorf("%d of %d wrong pages of the other half were missed", n, missed.of[1])
	}
	if n := held.wrong[1]; n > 1 {
		t.Errorf("%d of %d real changes of the other half were held", n, held.of[1])
	}
	if lost.wrong != [2]int{} {
		t.Errorf("%v real changes would never be told", lost.wrong)
	}
}
