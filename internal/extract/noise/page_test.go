package noise_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// A site is a page of the tests: what it says at each poll, and at which polls
// something real has changed.
type site struct {
	name string
	at   func(poll int) string
	real func(poll int) bool // nil means never
}

const rounds = 60

// every reports real changes at every n-th poll.
func every(n int) func(int) bool { return func(poll int) bool { return poll%n == 0 } }

// chance is a seeded one of its own for each poll of each site.
func chance(seed, poll int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), uint64(poll))) }

// clause is a line of a text that nobody edits.
func clause(i int) string {
	return fmt.Sprintf("Clause %c%c. The customer shall keep the %s in good order and return it at the end of the term.", 'A'+i/26, 'a'+i%26, goods[i%len(goods)])
}

var goods = []string{"pump", "ladder", "hammer", "kettle", "lantern", "bicycle", "drill", "saw", "tent", "rope", "compass"}

// terms is a page of clauses, of which one is edited after every n-th poll, around
// other lines.
func terms(edits int, head, foot []string) string {
	lines := append([]string{"Terms of use"}, head...)
	for i := range 40 {
		if i == 17 && edits > 0 {
			lines = append(lines, fmt.Sprintf("Clause on fees, in the %s wording.", []string{"old", "new", "better", "clear", "short", "long", "kind", "firm"}[edits%8]))
		}
		lines = append(lines, clause(i))
	}
	return strings.Join(append(lines, foot...), "\n") + "\n"
}

func line(format string, args ...any) []string { return []string{fmt.Sprintf(format, args...)} }

var began = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func shuffled(seed, poll int, list []string) []string {
	out := slices.Clone(list)
	chance(seed, poll).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func siteNamed(name string) site {
	sites := noisySites()
	return sites[slices.IndexFunc(sites, func(s site) bool { return s.name == name })]
}

// noisySites have noise at nearly every poll, and real edits now and then.
func noisySites() []site {
	var adverts []string
	for i := range 12 {
		adverts = append(adverts, "Try the "+goods[i%len(goods)]+" of "+[]string{"Muller", "Ferrari"}[i%2]+" and sons")
	}
	edit := every(13)
	return []site{
		{name: "clock", real: edit, at: func(k int) string {
			return terms(k/13, line("It is now %s", began.Add(time.Duration(k)*97*time.Second).Format("15:04:05")), nil)
		}},
		{name: "stamp with a date", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("Last updated: %s", began.AddDate(0, 0, k).Format("January 2, 2006")))
		}},
		{name: "stamp with a day of the week", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("Generated on %s", began.Add(time.Duration(k)*31*time.Hour).Format(time.RFC1123)))
		}},
		{name: "countdown", real: edit, at: func(k int) string {
			return terms(k/13, line("The offer ends in %d days and %d hours", 90-k, 23-k%24), nil)
		}},
		{name: "short ages", real: edit, at: func(k int) string {
			return terms(k/13, line("Anna · %dh", k+1), nil)
		}},
		{name: "votes on a page of help", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("%d out of %d found this helpful", 98+k/2, 226+k))
		}},
		{name: "two designs with a clock", real: edit, at: func(k int) string {
			clock := fmt.Sprintf("It is now 12:%02d", k)
			if chance(14, k).IntN(2) == 0 {
				return terms(k/13, []string{"Home", "Shop", clock, "Learn more"}, []string{"Learn more", "Learn more", "Imprint"})
			}
			return terms(k/13, []string{"Start", "All goods", clock, "Learn more"}, []string{"Who we are"})
		}},
		{name: "stamp in German", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("Stand: %s Uhr", began.Add(time.Duration(k)*time.Hour).Format("02.01.2006 15:04")))
		}},
		{name: "visitors", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("You are visitor %d of this page", 120_345+k*17))
		}},
		{name: "visitors beside their caption", real: edit, at: func(k int) string {
			return terms(k/13, nil, []string{"Page views", fmt.Sprintf("%d,%03d", 12+k/10, 100+k*7)})
		}},
		{name: "time to render", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("Page generated in 0.%03d seconds", chance(1, k).IntN(1000)))
		}},
		{name: "server name", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("node%d", chance(2, k).IntN(40)))
		}},
		{name: "nonce", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("Request %08x%08x", chance(3, k).Uint32(), chance(4, k).Uint32()))
		}},
		{name: "two servers", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("Served from the %s", []string{"northern house", "southern house"}[chance(5, k).IntN(2)]))
		}},
		{name: "flapping", real: edit, at: func(k int) string {
			return terms(k/13, []string{"", "Buy our new umbrella", "Subscribe to our letter"}[k%2:][:1+k%2], nil)
		}},
		{name: "advertisements", real: edit, at: func(k int) string {
			return terms(k/13, shuffled(6, k, adverts)[:2], nil)
		}},
		{name: "rows in any order", real: edit, at: func(k int) string {
			return terms(k/13, nil, shuffled(7, k, adverts))
		}},
		{name: "words in any order", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("Tags: %s", strings.Join(shuffled(8, k, goods), ", ")))
		}},
		{name: "ages", real: edit, at: func(k int) string {
			return terms(k/13, nil, []string{fmt.Sprintf("Anna wrote %d hours ago", k+2), fmt.Sprintf("Bert schrieb vor %d Stunden", k+3)})
		}},
		{name: "hidden addresses", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("Write to %s with any question.", []string{"[email protected]", "desk@example.org"}[chance(9, k).IntN(2)]))
		}},
		{name: "sum against robots", real: edit, at: func(k int) string {
			return terms(k/13, nil, line("What is %d + %d ?", 1+chance(10, k).IntN(9), 1+chance(11, k).IntN(9)))
		}},
		{name: "shop with people who look", real: edit, at: func(k int) string {
			return terms(0, []string{"Garden pump", fmt.Sprintf("Price: %d.90 EUR", 40+k/13), fmt.Sprintf("%d people are viewing this", 2+chance(12, k).IntN(30)), "In stock"}, nil)
		}},
		{name: "status page", real: edit, at: func(k int) string {
			state := []string{"All systems operational", "Partial outage"}[k/13%2]
			return terms(0, []string{state, "Last checked " + began.Add(time.Duration(k)*time.Minute).Format("15:04:05")}, nil)
		}},
		{name: "document with the time of its making", real: edit, at: func(k int) string {
			return fmt.Sprintf("{\n  \"generated_at\": \"%s\",\n  \"name\": \"pumps\",\n  \"left\": %d\n}\n", began.Add(time.Duration(k)*time.Minute).Format(time.RFC3339), 40-k/13)
		}},
	}
}

// honestSites change at every poll, and somebody may want to know.
func honestSites() []site {
	return []site{
		{name: "news", at: func(k int) string {
			var lines []string
			for i := range 20 {
				lines = append(lines, fmt.Sprintf("The %s of %s is %s", goods[(k+i)%11], string(rune('A'+(k+i)%26))+string(rune('a'+(k+i)/26)), goods[(3*(k+i))%11]))
			}
			return strings.Join(lines, "\n") + "\n"
		}},
		{name: "prices", at: func(k int) string {
			return terms(0, []string{"Silver", fmt.Sprintf("%d.%02d EUR", 20+k%7, k)}, nil)
		}},
		{name: "table of numbers", at: func(k int) string {
			lines := []string{"Levels of rivers"}
			for i := range 20 {
				lines = append(lines, fmt.Sprintf("River %s | %d | %+d", goods[i%11]+string(rune('a'+i)), 100+chance(20+i, k).IntN(300), chance(50+i, k).IntN(20)-10))
			}
			return strings.Join(lines, "\n") + "\n"
		}},
		{name: "news among advertisements", at: func(k int) string {
			news := "The mayor has opened the " + goods[k%11] + " of " + goods[k/11%11] + " and " + goods[k*7%11]
			return terms(0, []string{"Try a " + goods[k%3], news}, nil)
		}},
		{name: "one number", at: func(k int) string { return terms(0, line("Free places: %d", chance(13, k).IntN(1000)), nil) }},
		{name: "departures", at: func(k int) string {
			lines := []string{"Departures"}
			for i := range 12 {
				lines = append(lines, fmt.Sprintf("%s | %s", goods[i%11]+" town", began.Add(time.Duration(k*7+i*11)*time.Minute).Format("15:04")))
			}
			return strings.Join(lines, "\n") + "\n"
		}},
		{name: "releases", at: func(k int) string { return terms(0, line("The current version is %d.%d.%d", 1+k/20, k/5, k), nil) }},
		{name: "nightly builds", at: func(k int) string {
			return fmt.Sprintf("{\n  \"name\": \"pump\",\n  \"version\": \"156.0a%d.2026%04d\",\n  \"hash\": \"sha512:%016x\"\n}\n", 1+k%2, 101+k, chance(16, k).Uint64())
		}},
		{name: "builds by name", at: func(k int) string { return terms(0, line("Version: r%05db", 7919*k%99999), nil) }},
		{name: "one release a version", at: func(k int) string { return terms(0, line("Latest version %d", 100+k), nil) }},
		{name: "change log", at: func(k int) string {
			lines := []string{"Changes"}
			for i := k; i >= 0; i-- {
				lines = append(lines, fmt.Sprintf("%s: the %s was mended", began.AddDate(0, 0, i).Format(time.DateOnly), goods[i%11]))
			}
			return strings.Join(lines, "\n") + "\n"
		}},
		{name: "stock that comes and goes", at: func(k int) string { return terms(0, [][]string{{"In stock"}, {"Sold out"}}[k/4%2], nil) }},
		{name: "a switch", at: func(k int) string { return terms(0, line("Heating: %s", []string{"on", "off"}[k/4%2]), nil) }},
	}
}
