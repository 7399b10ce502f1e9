package noise_test

import (
	"fmt"
	"strings"
	"testing"

	"freshet/internal/extract/noise"
)

// A catalog is a list of products with prices.
func catalog(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("The %s of %c%c | %d.%02d EUR", goods[i%len(goods)], 'A'+i%26, 'a'+i/26, 10+i*7%90, i*13%100))
	}
	return list
}

// shop is a page about one pump, among blocks that take turns. Its price, a number in its text and its list of parts change now and then.
func shop(k int, above, below []string) string {
	lines := append([]string{"# Garden pump"}, above...)
	parts := goods[:3+k/13%4]
	lines = append(lines, fmt.Sprintf("Price: %d.90 EUR", 40+k/26), "## Description",
		fmt.Sprintf("The pump lifts %d litres an hour and weighs 12 kg.", 1200+k/39*50), "## Parts")
	for _, p := range parts {
		lines = append(lines, "- "+p)
	}
	return strings.Join(append(append(lines, "## Service", "Write to us or visit our shop in the old town."), below...), "\n") + "\n"
}

// rotatingSites are shops with blocks that take turns at each poll.
func rotatingSites() (list []site) {
	stock := catalog(30)
	add := func(name string, below func(k int) []string) {
		list = append(list, site{name, func(k int) string { return shop(k, nil, below(k)) }, every(13)})
		list = append(list, site{name + ", above", func(k int) string { return shop(k, below(k), nil) }, every(13)})
	}
	add("advertisements with prices", func(k int) []string {
		return shuffled(60, k, []string{"Sunny tours from 99 EUR", "Rent a van: 49.90 EUR a day", "4 tyres for the price of 3", "Phone plans, 20 GB for 9.99 EUR", "Learn to sail in 14 days", "Save 25% on garden chairs"})[:1]
	})
	add("advertisements of several lines", func(k int) []string {
		return strings.Split([]string{"Sunny tours|from 99 EUR|7 nights", "Rent a van|49.90 EUR a day", "Tyres|4 for 3|until 30 June|in all shops", "Phone plans|9.99 EUR", "Garden chairs|25% off"}[chance(61, k).IntN(5)], "|")
	})
	add("advertisement with a number alone", func(k int) []string { return line("Ad %d: buy one, get one", 1+chance(62, k).IntN(50)) })
	add("advertisement of one form", func(k int) []string {
		return []string{"Sponsored", fmt.Sprintf("Offer %d for only %d.99 EUR", chance(63, k).IntN(900), 5+chance(64, k).IntN(90))}
	})
	add("related items", func(k int) []string { return append([]string{"## You may also like"}, shuffled(65, k, stock)[:4]...) })
	add("related items of many", func(k int) []string {
		return append([]string{"Customers also bought"}, shuffled(66, k, catalog(200))[:3]...)
	})
	add("carousel", func(k int) []string {
		all := append(catalog(9), catalog(9)...)
		return all[k%9 : k%9+3]
	})
	add("cards with buttons", func(k int) (cards []string) {
		cards = append(cards, "## Recommended for you")
		for _, p := range shuffled(67, k, stock)[:3] {
			name, price, _ := strings.Cut(p, " | ")
			cards = append(cards, name, price, "Add to cart")
		}
		return append(cards, "## Imprint", "Old Town Pumps Ltd")
	})
	add("advertisement with a price of its own each time", func(k int) []string {
		return line("%s now %d.%02d EUR", []string{"Tours to the sea", "A van for the weekend", "Four tyres", "Phone plans"}[chance(68, k).IntN(4)], 20+chance(69, k).IntN(50), chance(70, k).IntN(100))
	})
	add("people who look, a clock and an advertisement", func(k int) []string {
		return []string{fmt.Sprintf("%d people are viewing this", 2+chance(71, k).IntN(30)), began.AddDate(0, 0, k/20).Format("It is 15:04:05"), []string{"Tours from 99 EUR", "Vans from 49 EUR", "Tyres from 29 EUR", "Plans from 9 EUR"}[chance(72, k).IntN(4)]}
	})
	return list
}

// Blocks that take turns are noise, prices in them included; what changes beside them is not. Few of their turns are told
// before they are known.
func TestRotatingBlocks(t *testing.T) {
	var noisy, spared, real, lost int
	for _, s := range rotatingSites() {
		var m noise.Memory
		var ofNoise, ofSpared, told int
		for k := 1; k < 2*rounds; k++ {
			j := m.Judge([]byte(s.at(k-1)), []byte(s.at(k)))
			if j.Verdict == noise.Change && !s.real(k) && s.at(k) != s.at(k-1) {
				told++
			}
			switch {
			case k < warm:
			case s.real(k):
				if real++; j.Verdict != noise.Change {
					lost++
					t.Errorf("%s: step %d is %s, but something real has changed (%q)", s.name, k, j.Verdict, j.Where)
				}
			default:
				if ofNoise++; j.Verdict != noise.Change {
					ofSpared++
				}
			}
		}
		t.Logf("%s: %d of %d spared, %d told", s.name, ofSpared, ofNoise, told)
		if told > 14 {
			t.Errorf("%s: %d turns were told as changes, want at most 14", s.name, told)
		}
		if ofSpared*10 < ofNoise*8 {
			t.Errorf("%s: %d of %d steps that are only noise were spared, want 80%%", s.name, ofSpared, ofNoise)
		}
		noisy, spared = noisy+ofNoise, spared+ofSpared
	}
	t.Logf("%d of %d steps of noise spared, %d of %d real changes lost", spared, noisy, lost, real)
}

// What looks like turns and is not is a change.
func TestWhatDoesNotTakeTurns(t *testing.T) {
	advert := func(k int) string {
		return []string{"Tours from 99 EUR", "Vans from 49 EUR", "Tyres from 29 EUR", "Plans from 9 EUR"}[chance(80, k).IntN(4)]
	}
	window := func(k, n int, entry func(i int) string) (lines []string) {
		for i := range n {
			lines = append(lines, entry(k+n-i))
		}
		return lines
	}
	for _, s := range []site{
		{name: "a price between three known ones", at: func(k int) string {
			return shop(0, line("Today %d EUR", []int{97, 99, 101}[k%3]), nil)
		}},
		{name: "a price beside an advertisement", at: func(k int) string {
			return shop(0, []string{advert(k), fmt.Sprintf("Now at %d EUR", []int{97, 99, 101}[k%3])}, nil)
		}},
		{name: "news below an advertisement", at: func(k int) string {
			return shop(0, nil, append([]string{"Advertisement"}, window(k, 8, func(i int) string {
				return fmt.Sprintf("%02d:%02d The council has met for the %dth time on the %s", i/60%24, i%60, i, goods[i%11])
			})...))
		}},
		{name: "a log of jobs", at: func(k int) string {
			return shop(0, nil, append([]string{"Jobs"}, window(k, 10, func(i int) string { return fmt.Sprintf("Job %d took %d apples", i, 3+i%4) })...))
		}},
		{name: "departures that move up", at: func(k int) string {
			return shop(0, nil, append([]string{"Departures"}, window(-k, 6, func(i int) string {
				return fmt.Sprintf("%02d:%02d | %s | platform %d", -i/6%24+24, (i%60+60)%60, goods[(i%11+11)%11], (i%5+5)%5)
			})...))
		}},
		{name: "a document with a state", at: func(k int) string {
			return fmt.Sprintf("{\n  \"crew\": \"%s\",\n  \"cause\": \"%s\",\n  \"name\": \"north\"\n}\n", []string{"under way", "at work", "waiting", "not sent"}[chance(91, k).IntN(4)], []string{"storm", "not known", "a tree"}[chance(92, k).IntN(3)])
		}},
		{name: "a table of goals", at: func(k int) string {
			lines := []string{"Goals"}
			for i, g := range shuffled(90, k/3, goods[:6]) {
				lines = append(lines, fmt.Sprintf("%d. %s | %d", i+1, g, 40+k-3*i))
			}
			return shop(0, nil, lines)
		}},
	} {
		var m noise.Memory
		for k := 1; k < 40; k++ {
			old, new := s.at(k-1), s.at(k)
			if j := m.Judge([]byte(old), []byte(new)); old != new && j.Verdict != noise.Change && k < 20 {
				t.Errorf("%s: step %d is %s (%q), want a change", s.name, k, j.Verdict, j.Where)
			}
		}
	}
}
