package queries_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// A crowd is many queries of one kind with what each must say to an event.
type crowd struct {
	engine *queries.Engine
	fits   map[queries.ID]func(queries.Content) bool
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	e, err := queries.NewEngine()
	if err != nil {
		t.Fatal(err)
	}
	return &crowd{e, map[queries.ID]func(queries.Content) bool{}}
}

func (c *crowd) put(t *testing.T, when string, fits func(queries.Content) bool) {
	t.Helper()
	id := queries.ID(fmt.Sprintf("q%05d", len(c.fits)))
	if err := c.engine.Put(queries.Query{ID: id, When: when}); err != nil {
		t.Fatal(err)
	}
	c.fits[id] = fits
}

// drop removes some of the queries.
func (c *crowd) drop(chance *rand.Rand) {
	ids := []queries.ID{}
	for id := range c.fits {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if chance.IntN(3) == 0 {
			c.engine.Remove(id)
			delete(c.fits, id)
		}
	}
}

// tell compares what the engine says to a change with what it must say.
func (c *crowd) tell(t *testing.T, cursor int, content queries.Content) (matches int) {
	t.Helper()
	var got, want []queries.ID
	change := freshet.Change{Cursor: freshet.Cursor(cursor), Source: "a", Before: start}
	for _, m := range c.engine.Observe(queries.Event{Subject: queries.Subject{ID: "a"}, Change: &change, Content: content}) {
		got = append(got, m.Query)
	}
	for id, fits := range c.fits {
		if fits(content) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%+v:\n%s", content, diff)
	}
	return len(want)
}

// TestManyBounds compares numbers with many bounds, some of them equal.
func TestManyBounds(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	c := newCrowd(t)
	signs := map[string]func(a, b float64) bool{
		"<": func(a, b float64) bool { return a < b }, "<=": func(a, b float64) bool { return a <= b },
		">": func(a, b float64) bool { return a > b }, ">=": func(a, b float64) bool { return a >= b }, "==": func(a, b float64) bool { return a == b },
	}
	matches, cursor := 0, 0
	for range 4 {
		for sign, holds := range signs {
			for range 40 {
				bound := float64(chance.IntN(20)) / 2
				c.put(t, fmt.Sprintf("now.price %s %v", sign, bound), func(x queries.Content) bool { return holds(x.Now["price"].(float64), bound) })
				c.put(t, fmt.Sprintf("%v %s now.price", bound, sign), func(x queries.Content) bool { return holds(bound, x.Now["price"].(float64)) })
			}
		}
		for range 30 {
			cursor++
			matches += c.tell(t, cursor, price(float64(chance.IntN(22)-1)/2, 0))
		}
		c.drop(chance)
		for range 10 {
			cursor++
			matches += c.tell(t, cursor, price(float64(chance.IntN(22)-1)/2, 0))
		}
	}
	if matches < 1000 {
		t.Errorf("only %d matches", matches)
	}
}

// TestManyWords looks for many texts at once, of all lengths, some within others.
func TestManyWords(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 4))
	c := newCrowd(t)
	word := func(letters string) string {
		b := make([]byte, 1+chance.IntN(12))
		for i := range b {
			b[i] = letters[chance.IntN(len(letters))]
		}
		return string(b)
	}
	matches, cursor := 0, 0
	for range 3 {
		for range 600 {
			text := word("abé")
			text = strings.ToValidUTF8(text, "x")
			if chance.IntN(2) == 0 {
				text = word("abcdefgh") + fmt.Sprint(chance.IntN(50))
			}
			c.put(t, fmt.Sprintf("added.contains(%q)", text), func(x queries.Content) bool { return strings.Contains(x.Added, text) })
		}
		for range 20 {
			cursor++
			text := ""
			for range 20 {
				text += word("ab") + word("abcdefgh") + fmt.Sprint(chance.IntN(50))
			}
			matches += c.tell(t, cursor, added(text))
		}
		c.drop(chance)
		cursor++
		matches += c.tell(t, cursor, added(word("ab")+word("ab")+word("abcdefgh")))
	}
	if matches < 500 {
		t.Errorf("only %d matches", matches)
	}
}
