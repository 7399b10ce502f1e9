package queries_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/queries"
)

// A seen is one version in a history.
type seen struct {
	source string
	at     time.Duration
	fields freshet.Fields
	held   bool // in quarantine
}

// statesAt returns what each source was at a time: a look at the whole history.
func statesAt(history []seen, at time.Duration) map[string]seen {
	states := map[string]seen{}
	for _, s := range history {
		if s.at <= at && !s.held {
			states[s.source] = s
		}
	}
	return states
}

// naive answers a query of the property test by going through all combinations of states.
func naive(history []seen, at time.Duration, aggregate, by, sign string, bound float64, join bool) string {
	type groupOf struct {
		key    any
		values []float64
		times  []time.Duration
	}
	groups := map[string]*groupOf{}
	states := statesAt(history, at)
	ids := slices.Sorted(maps.Keys(states))
	if by == "" {
		groups["all"] = &groupOf{}
	}
	for _, id := range ids {
		s := states[id]
		times := 1
		if !strings.HasPrefix(id, "a") {
			continue
		}
		price, ok := s.fields["price"].(float64)
		if !ok || sign == "<" && !(price < bound) || sign == ">=" && !(price >= bound) {
			continue
		}
		if join {
			times = 0
			for _, other := range ids {
				if strings.HasPrefix(other, "b") && s.fields["sku"] != nil && states[other].fields["sku"] == s.fields["sku"] {
					times++
				}
			}
		}
		for range times {
			key, name := any(nil), "all"
			if by != "" {
				key = s.fields[by]
				name = fmt.Sprintf("%T %v", key, key)
			}
			if groups[name] == nil {
				groups[name] = &groupOf{key: key}
			}
			groups[name].values = append(groups[name].values, price)
			groups[name].times = append(groups[name].times, s.at)
		}
	}
	sorted := slices.SortedFunc(maps.Values(groups), func(a, b *groupOf) int {
		if a.key == nil || b.key == nil {
			return cmp.Compare(fmt.Sprint(a.key == nil), fmt.Sprint(b.key == nil))
		}
		return cmp.Compare(a.key.(string), b.key.(string))
	})
	text := ""
	for _, g := range sorted {
		var value any
		sum := 0.0
		for _, v := range g.values {
			sum += v
		}
		switch {
		case aggregate == "count":
			value = float64(len(g.values))
		case len(g.values) == 0:
		case aggregate == "min":
			value = slices.Min(g.values)
		case aggregate == "max":
			value = slices.Max(g.values)
		case aggregate == "sum":
			value = sum
		case aggregate == "avg":
			value = sum / float64(len(g.values))
		default:
			best := 0
			for i, t := range g.times {
				if aggregate == "first" && t < g.times[best] || aggregate == "last" && t >= g.times[best] {
					best = i
				}
			}
			value = g.values[best]
		}
		if by != "" {
			text += freshet.ShowValue(g.key) + " "
		}
		text += freshet.ShowValue(value) + "\n"
	}
	return text
}

// TestStatesAreThoseOfTheHistory holds queries at any time against a replay of the whole history.
func TestStatesAreThoseOfTheHistory(t *testing.T) {
	for seed := range uint64(2) {
		random := rand.New(rand.NewPCG(seed, 0))
		a := newArchive(t)
		for i := range 10 {
			tag := []string{"a", "b"}[i%2]
			a.watch(fmt.Sprintf("%s%d", tag, i), "", []string{tag}, map[string]reading.ValueType{"price": reading.AsNumber, "sku": reading.AsText, "shop": reading.AsText})
		}
		var history []seen
		for minute := range 120 {
			i := random.IntN(10)
			s := seen{source: fmt.Sprintf("%s%d", []string{"a", "b"}[i%2], i), at: time.Duration(minute) * time.Minute, fields: freshet.Fields{}}
			for name, value := range map[string]any{"price": float64(random.IntN(20)), "sku": fmt.Sprint("k", random.IntN(3)), "shop": fmt.Sprint("s", random.IntN(3))} {
				s.fields[name] = value
			}
			for _, name := range []string{"price", "sku", "shop"} {
				if random.IntN(6) == 0 {
					delete(s.fields, name)
				}
			}
			quiet := freshet.Quiet("")
			if _, begun := statesAt(history, math.MaxInt64)[s.source]; begun && random.IntN(5) == 0 {
				s.held, quiet = true, freshet.QuietSuspect
			}
			a.see(s.source, s.at, fmt.Sprintf("text %d", minute), s.fields, quiet)
			history = append(history, s)
		}
		rapid.Check(t, func(t *rapid.T) {
			at := time.Duration(rapid.IntRange(-60, 125*60).Draw(t, "at")) * time.Second
			aggregate := rapid.SampledFrom([]string{"min", "max", "sum", "avg", "count", "first", "last"}).Draw(t, "aggregate")
			by := rapid.SampledFrom([]string{"", "shop", "sku"}).Draw(t, "by")
			sign := rapid.SampledFrom([]string{"<", ">="}).Draw(t, "sign")
			bound := rapid.IntRange(0, 20).Draw(t, "bound")
			join := rapid.Bool().Draw(t, "join")
			parts := []string{"from tag:a", fmt.Sprintf("where price %s %d", sign, bound)}
			if by != "" {
				parts = append(parts, "by "+by)
			}
			if join {
				parts = append(parts, "join tag:b as b on sku")
			}
			text := aggregate + "(price) " + strings.Join(rapid.Permutation(parts).Draw(t, "parts"), " ")
			table, err := a.states.Eval(a.Context(), queries.StateQuery{Text: text, AsOf: start.Add(at), Limit: 100})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got, want := shown(table), naive(history, at, aggregate, by, sign, float64(bound), join); got != want {
				t.Errorf("%s at %v:\n%swant\n%s", text, at, got, want)
			}
		})
	}
}

// FuzzStateQuery: whatever is written is answered or refused with a place in it.
func FuzzStateQuery(f *testing.F) {
	for _, text := range []string{"min(price) by shop", "a, b from items of tag:x join news as n on a = b where x == 'y' sort a desc", "count(", "\"", "'''", "// x", "é by ü\nwhere", "from from from", "r'\\' by x", "min(\n\n) * é"} {
		f.Add(text)
	}
	a := shops(f)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := a.states.Eval(t.Context(), queries.StateQuery{Text: text, AsOf: start, Limit: 10})
		if m, ok := err.(*queries.Mistake); ok {
			lines := strings.Split(text, "\n")
			if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > len([]rune(lines[m.Line-1]))+1 {
				t.Errorf("%q: %v is not in it", text, m)
			}
		}
	})
}
