package daemon_test

import (
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/test/tier"
	"freshet/internal/units"
)

// What the log says of each day is counted as it is, and what was missed is near the
// truth.
func TestDays(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates days of polls")
	inBubble(t, func(t *testing.T, dir string) {
		w := poissonWeb(time.Hour, 90*time.Minute, 2*time.Hour, 3*time.Hour, 4*time.Hour, 5*time.Hour)
		b := begin(t, dir, learning(w, sched.Budget{Polls: 1, Per: 10 * time.Minute}), w.Sources()...)
		defer b.stop()
		zone, err := time.LoadLocation("Asia/Kolkata") // 5:30 ahead
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * units.Day)
		synctest.Wait()
		ask := func(q daemon.DaysQuery) daemon.Days {
			t.Helper()
			q.Zone = zone
			days, err := b.Days(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			return days
		}
		midnight := time.Date(2000, 1, 3, 0, 0, 0, 0, zone)
		days := ask(daemon.DaysQuery{In: freshet.Between{Since: midnight.Add(7 * time.Hour), Until: time.Now()}})
		if len(days.List) != 3 || !days.List[0].Begins.Equal(midnight) || !days.From.IsZero() {
			t.Fatalf("the days are %+v", days)
		}
		log, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{Limit: 100_000})
		if err != nil {
			t.Fatal(err)
		}
		whole := daemon.Day{}
		for i, day := range days.List {
			end := day.Begins.AddDate(0, 0, 1)
			var want daemon.Day
			for _, o := range log {
				if o.Began.Before(day.Begins) || !o.Began.Before(end) {
					continue
				}
				want.Polls++
				want.Requests += o.Requests
				if o.Result == freshet.Changed {
					want.Changes++
				}
			}
			if day.Polls != want.Polls || day.Requests != want.Requests || day.Changes != want.Changes || day.Captured != float64(want.Changes) || want.Polls == 0 {
				t.Errorf("day %d is %+v, want %+v", i, day, want)
			}
			whole.Captured += day.Captured
			whole.Happened += day.Happened
		}
		happened := 0
		for _, s := range w.Sources() {
			happened += len(w.Changes(s.ID, midnight, time.Now()))
		}
		t.Logf("%.0f captured, %.0f said to have happened, %d in truth", whole.Captured, whole.Happened, happened)
		if share := days.ShareOf(whole); whole.Captured/float64(happened) < share.Low || whole.Captured/float64(happened) > share.High {
			t.Errorf("%.3f of the changes were captured, said are %+v", whole.Captured/float64(happened), share)
		}
		host := w.Sources()[0].Host()
		one := ask(daemon.DaysQuery{In: freshet.Between{Since: midnight, Until: time.Now()}, Host: host})
		if one.List[0].Polls == 0 || one.List[0].Polls >= days.List[0].Polls {
			t.Errorf("%s alone had %d polls of %d", host, one.List[0].Polls, days.List[0].Polls)
		}
		none := ask(daemon.DaysQuery{In: freshet.Between{Since: midnight, Until: time.Now()}, Tag: "none"})
		if none.List[0].Polls != 0 {
			t.Errorf("sources that there are not were polled: %+v", none.List[0])
		}
	})
}
