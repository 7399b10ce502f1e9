package daemon_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
	"freshet/internal/units"
)

// A press is pages that change when they like, and say when they do. Their host names them.
type press struct {
	editions map[string][]time.Time
	say      map[string]func(draw *rand.Rand, edition int, next time.Time) string
}

// ServeHTTP answers as the server of the pages.
func (p *press) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	times := p.editions[r.Host]
	edition, _ := slices.BinarySearchFunc(times, time.Now(), func(at, now time.Time) int {
		if at.After(now) {
			return 1
		}
		return -1
	})
	draw := rand.New(rand.NewPCG(uint64(edition), uint64(len(r.Host))))
	body := p.say[r.Host](draw, edition, times[min(edition, len(times)-1)])
	w.Header().Set("Content-Type", "text/html")
	if strings.HasPrefix(body, "<rss") {
		w.Header().Set("Content-Type", "application/rss+xml")
	}
	fmt.Fprint(w, body)
}

// Fetch asks that server.
func (p *press) Fetch(_ context.Context, r freshet.Request) (freshet.Response, error) {
	u, err := url.Parse(r.URL)
	if err != nil {
		return freshet.Response{}, err
	}
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, &http.Request{Method: http.MethodGet, URL: u, Host: u.Host})
	return freshet.Response{URL: r.URL, Status: answer.Code, Requests: 1, Header: answer.Header(), MediaType: answer.Header().Get("Content-Type"), Body: answer.Body.Bytes()}, nil
}

// begin starts a daemon on the pages with the policy that ships, which has learnt nothing
// but what its store holds.
func (p *press) begin(t *testing.T, dir string, perHour float64, more ...func(*freshet.Source)) *bench {
	t.Helper()
	limits := sched.DefaultLimits()
	limits.Budget = sched.Budget{Polls: perHour, Per: time.Hour}
	chosen, learner, err := policy.Wire(policy.Default, policy.InDaemon(policy.Default, limits.Budget, len(p.editions)))
	if err != nil {
		t.Fatal(err)
	}
	var sources []freshet.Source
	for host := range p.editions {
		s := freshet.Source{ID: freshet.SourceID(strings.TrimSuffix(host, ".example")), URL: "http://" + host + "/"}
		for _, edit := range more {
			edit(&s)
		}
		sources = append(sources, s)
	}
	slices.SortFunc(sources, func(a, b freshet.Source) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return begin(t, dir, daemon.Config{Fetcher: p, Policy: chosen, Learner: learner, Limits: limits}, sources...)
}

// Pages that say in their text when the next update comes are polled right after it if that
// is true. Those that lie are found out, and are polled as if they said nothing. A restart
// forgets nothing of it.
func TestForetoldUpdates(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates days of polls")
	const days, pages, perHour = 6, 3, 10
	inBubble(t, func(t *testing.T, dir string) {
		p := &press{editions: map[string][]time.Time{}, say: map[string]func(*rand.Rand, int, time.Time) string{}}
		draw := rand.New(rand.NewPCG(1, 7))
		for i := range 2 * pages {
			host := fmt.Sprintf("truth%d.example", i)
			lies := i >= pages
			if lies {
				host = fmt.Sprintf("lie%d.example", i)
			}
			for at := start; at.Before(start.Add((days + 1) * units.Day)); {
				at = at.Add(time.Hour + time.Duration(draw.ExpFloat64()*float64(2*time.Hour))).Truncate(time.Minute)
				p.editions[host] = append(p.editions[host], at)
			}
			p.say[host] = func(draw *rand.Rand, edition int, next time.Time) string {
				if lies {
					next = next.Add(time.Duration((draw.Float64() - 0.5) * float64(6*time.Hour)))
				}
				return fmt.Sprintf("<p>Edition %d<p>Next update: %s", edition, next.Format("2 Jan 2006 15:04 MST"))
			}
		}
		b := p.begin(t, dir, perHour)
		time.Sleep(days / 2 * units.Day)
		synctest.Wait()
		b.stop()
		b = p.begin(t, dir, perHour)
		time.Sleep(time.Minute)
		for host := range p.editions {
			id := freshet.SourceID(strings.TrimSuffix(host, ".example"))
			why, err := b.Why(t.Context(), id)
			if f := why.Outlook.Foretold; err != nil || f.Believed != strings.HasPrefix(host, "truth") && !f.At.IsZero() || !f.At.IsZero() && f.Times < 3 {
				t.Errorf("after a restart what %s says is thought of as %+v (%v)", host, f, err)
			}
		}
		from := time.Now()
		time.Sleep(days / 2 * units.Day)
		synctest.Wait()
		b.stop()
		store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		captured, delays := map[bool]float64{}, map[bool][]time.Duration{}
		happened := map[bool]float64{}
		for host, times := range p.editions {
			honest := strings.HasPrefix(host, "truth")
			for _, at := range times {
				if at.After(from) && at.Before(from.Add(days/2*units.Day)) {
					happened[honest]++
				}
			}
			log, err := store.Outcomes(t.Context(), freshet.OutcomeQuery{Source: freshet.SourceID(strings.TrimSuffix(host, ".example")), Limit: 100_000})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range log {
				if o.Result != freshet.Changed || !o.Began.After(from) {
					continue
				}
				captured[honest]++
				n, _ := slices.BinarySearchFunc(times, o.Began, time.Time.Compare)
				delays[honest] = append(delays[honest], o.Began.Sub(times[n-1]))
			}
		}
		for honest, list := range delays {
			slices.Sort(list)
			t.Logf("honest %t: %.0f of %.0f captured, half within %v", honest, captured[honest], happened[honest], list[len(list)/2])
		}
		half := func(honest bool) time.Duration { return delays[honest][len(delays[honest])/2] }
		const wait = time.Hour / perHour / 2 // for the budget, on average
		if share := captured[true] / happened[true]; share < 0.95 || half(true) > wait+time.Minute || half(true) > half(false)/2 {
			t.Errorf("of the pages that tell the truth %.3f is captured, half of it within %v; of those that lie half within %v", share, half(true), half(false))
		}
		if share := captured[false] / happened[false]; share < 0.8 {
			t.Errorf("of the pages that lie %.3f is captured", share)
		}
	})
}

// A feed that says in which hours it is not updated, and is not, is hardly polled then.
func TestFeedRestsAtNight(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates days of polls")
	const days = 6
	inBubble(t, func(t *testing.T, dir string) {
		skip := "<skipHours>"
		for h := range 8 {
			skip += fmt.Sprintf("<hour>%d</hour>", h)
		}
		skip += "</skipHours>"
		p := &press{editions: map[string][]time.Time{}, say: map[string]func(*rand.Rand, int, time.Time) string{}}
		draw := rand.New(rand.NewPCG(3, 7))
		for _, host := range []string{"rests.example", "plain.example"} {
			for at := start; at.Before(start.Add((days + 1) * units.Day)); {
				if at = at.Add(time.Duration(draw.ExpFloat64() * float64(90*time.Minute))); at.Hour() >= 8 || host == "plain.example" {
					p.editions[host] = append(p.editions[host], at)
				}
			}
			p.say[host] = func(_ *rand.Rand, edition int, _ time.Time) string {
				return fmt.Sprintf(`<rss version="2.0"><channel><title>f</title>%s<item><title>Edition %d</title></item></channel></rss>`, skip, edition)
			}
		}
		b := p.begin(t, dir, 2)
		time.Sleep(days * units.Day)
		synctest.Wait()
		night, day := map[string]float64{}, map[string]float64{}
		for host := range p.editions {
			id := freshet.SourceID(strings.TrimSuffix(host, ".example"))
			log, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{Source: id, Limit: 100_000})
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range log {
				switch {
				case o.Began.Before(start.Add(days / 2 * units.Day)):
				case o.Began.Hour() < 8:
					night[host] += 1.0 / 8
				default:
					day[host] += 1.0 / 16
				}
			}
			why, err := b.Why(t.Context(), id)
			if r := why.Outlook.Resting; err != nil || r.Believed != (host == "rests.example") {
				t.Errorf("the rests of %s are thought of as %+v (%v)", host, r, err)
			}
			t.Logf("%s: %.1f polls an hour at night, %.1f by day", host, night[host]*2/days, day[host]*2/days)
		}
		b.stop()
		if rests := "rests.example"; night[rests] > 0.3*day[rests] {
			t.Errorf("%.1f polls an hour of the night, and %.1f of the day", night[rests], day[rests])
		}
		if plain := "plain.example"; night[plain] < 0.6*day[plain] {
			t.Errorf("of a feed that does not rest there are %.1f polls an hour of the night, and %.1f of the day", night[plain], day[plain])
		}
	})
}

// A page that says when its auction ends is looked at right after it, from the first one on
// if its user has said where that stands, although bids change the page before. One that says
// so in its text alone is found out to be right.
func TestEndOfAnAuction(t *testing.T) {
	t.Parallel()
	const days, perHour = 3, 4
	inBubble(t, func(t *testing.T, dir string) {
		p := &press{editions: map[string][]time.Time{}, say: map[string]func(*rand.Rand, int, time.Time) string{}}
		draw := rand.New(rand.NewPCG(4, 7))
		ends := map[string][]time.Time{}
		for _, host := range []string{"field.example", "text.example", "other1.example", "other2.example", "other3.example"} {
			for end := start; end.Before(start.Add((days + 1) * units.Day)); {
				began := end
				end = end.Add(3*time.Hour + time.Duration(draw.ExpFloat64()*float64(2*time.Hour))).Truncate(time.Minute)
				if draw.IntN(3) == 0 { // a bid
					p.editions[host] = append(p.editions[host], began.Add(time.Duration(draw.Float64()*float64(end.Sub(began)))))
				}
				p.editions[host] = append(p.editions[host], end)
				ends[host] = append(ends[host], end)
			}
			p.say[host] = func(_ *rand.Rand, edition int, _ time.Time) string {
				n, _ := slices.BinarySearchFunc(ends[host], time.Now().Add(1), time.Time.Compare)
				end := ends[host][n]
				switch host {
				case "field.example":
					return fmt.Sprintf("<p>Price %d<p class=until>%s", edition, end.Format(time.RFC3339))
				case "text.example":
					return fmt.Sprintf("<p>Price %d<p>Auction ends %s", edition, end.Format("2 Jan 2006 15:04 MST"))
				}
				return fmt.Sprintf("<p>Price %d", edition)
			}
		}
		b := p.begin(t, dir, perHour, func(s *freshet.Source) {
			if s.ID == "field" {
				s.Recipe.Extract = reading.Extracts{"until": {CSS: ".until"}}
				s.NextChange.Field = "until"
			}
		})
		time.Sleep(days * units.Day)
		synctest.Wait()
		half := map[freshet.SourceID]time.Duration{}
		for _, id := range []freshet.SourceID{"field", "text", "other1"} {
			log, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{Source: id, Limit: 100_000})
			if err != nil {
				t.Fatal(err)
			}
			var delays []time.Duration
			for _, end := range ends[string(id)+".example"] {
				if i := slices.IndexFunc(log, func(o freshet.Outcome) bool { return !o.Began.Before(end) }); i >= 0 && (id == "field" || end.After(start.Add(units.Day))) {
					delays = append(delays, log[i].Began.Sub(end))
				}
			}
			slices.Sort(delays)
			half[id] = delays[len(delays)/2]
			why, err := b.Why(t.Context(), id)
			if f := why.Outlook.Foretold; err != nil || f.Believed != (id != "other1") {
				t.Errorf("what %s says of the end is thought of as %+v (%v)", id, f, err)
			}
		}
		b.stop()
		t.Logf("half of the ends are seen within %v", half)
		const soon = 10 * time.Minute // for the budget alone half of that has to be waited, and more
		if half["field"] > soon || half["text"] > soon || half["other1"] < 2*soon {
			t.Errorf("half of the ends are seen within %v", half)
		}
	})
}
