package queries_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/queries"
	"freshet/internal/units"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	m, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPace tells matches at moments and lets time pass to whatever is due.
func TestPace(t *testing.T) {
	berlin, lordHowe := "Europe/Berlin", "Australia/Lord_Howe"
	tests := []struct {
		name    string
		query   queries.Query
		matches []string // when they come
		want    []string // what is told: from-to why when
	}{
		{"at once", queries.Query{}, []string{"2026-03-02T09:00:00Z", "2026-03-02T09:00:05Z"}, []string{"1-1  2026-03-02T09:00:00Z", "2-2  2026-03-02T09:00:05Z"}},
		{
			"daily at eight in Berlin", queries.Query{Digest: queries.Digest{Every: queries.DigestDay, At: 8 * 60, Zone: berlin}},
			[]string{"2026-03-27T06:59:00Z", "2026-03-27T07:00:00Z", "2026-03-27T18:00:00Z", "2026-03-28T10:00:00Z", "2026-03-29T10:00:00Z"},
			// On 29 March clocks go forward: eight is an hour earlier from then on.
			[]string{"1-1 digest 2026-03-27T07:00:00Z", "2-3 digest 2026-03-28T07:00:00Z", "4-4 digest 2026-03-29T06:00:00Z", "5-5 digest 2026-03-30T06:00:00Z"},
		},
		{
			"a time that does not come", queries.Query{Digest: queries.Digest{Every: queries.DigestDay, At: 2*60 + 30, Zone: berlin}},
			[]string{"2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z"},
			[]string{"1-1 digest 2026-03-29T01:00:00Z", "2-2 digest 2026-03-30T00:30:00Z"},
		},
		{
			"a time that comes twice", queries.Query{Digest: queries.Digest{Every: queries.DigestDay, At: 2*60 + 30, Zone: berlin}},
			[]string{"2026-10-24T12:00:00Z", "2026-10-25T00:45:00Z"},
			[]string{"1-1 digest 2026-10-25T00:30:00Z", "2-2 digest 2026-10-26T01:30:00Z"},
		},
		{
			"hourly where the clock is half an hour off", queries.Query{Digest: queries.Digest{Every: queries.DigestHour, Zone: lordHowe}},
			[]string{"2026-07-01T00:10:00Z"}, []string{"1-1 digest 2026-07-01T00:30:00Z"},
		},
		{
			"weekly on Friday", queries.Query{Digest: queries.Digest{Every: queries.DigestWeek, On: "fri", At: 9 * 60}},
			[]string{"2026-03-02T00:00:00Z", "2026-03-06T09:00:00Z"}, []string{"1-1 digest 2026-03-06T09:00:00Z", "2-2 digest 2026-03-13T09:00:00Z"},
		},
		{
			"by three", queries.Query{Digest: queries.Digest{Count: 3}},
			[]string{"2026-03-02T01:00:00Z", "2026-03-02T02:00:00Z", "2026-03-02T03:00:00Z", "2026-03-02T04:00:00Z"}, []string{"1-3 digest 2026-03-02T03:00:00Z"},
		},
		{
			"daily, or by two", queries.Query{Digest: queries.Digest{Every: queries.DigestDay, Count: 2}},
			[]string{"2026-03-02T01:00:00Z", "2026-03-02T02:00:00Z", "2026-03-02T03:00:00Z"}, []string{"1-2 digest 2026-03-02T02:00:00Z", "3-3 digest 2026-03-03T00:00:00Z"},
		},
		{
			"quiet at night", queries.Query{Quiet: queries.QuietHours{From: 22 * 60, To: 7 * 60, Zone: berlin}},
			[]string{"2026-10-24T19:59:00Z", "2026-10-24T20:00:00Z", "2026-10-25T05:59:59Z", "2026-10-25T06:00:00Z"},
			[]string{"1-1  2026-10-24T19:59:00Z", "2-3 quiet 2026-10-25T06:00:00Z", "4-4  2026-10-25T06:00:00Z"},
		},
		{
			"quiet at weekends", queries.Query{Quiet: queries.QuietHours{Days: []string{"sat", "sun"}}},
			[]string{"2026-03-06T23:59:00Z", "2026-03-07T00:00:00Z", "2026-03-08T12:00:00Z"},
			[]string{"1-1  2026-03-06T23:59:00Z", "2-3 quiet 2026-03-09T00:00:00Z"},
		},
		{
			"a digest that is due in quiet hours", queries.Query{Digest: queries.Digest{Every: queries.DigestDay, At: 6 * 60}, Quiet: queries.QuietHours{From: 22 * 60, To: 7 * 60}},
			[]string{"2026-03-02T12:00:00Z"}, []string{"1-1 quiet 2026-03-03T07:00:00Z"},
		},
		{
			"two an hour", queries.Query{Rate: queries.Rate{N: 2, Per: time.Hour}},
			[]string{"2026-03-02T09:00:00Z", "2026-03-02T09:10:00Z", "2026-03-02T09:20:00Z", "2026-03-02T09:30:00Z", "2026-03-02T10:05:00Z", "2026-03-02T10:15:00Z"},
			[]string{"1-1  2026-03-02T09:00:00Z", "2-2  2026-03-02T09:10:00Z", "3-4 rate 2026-03-02T10:00:00Z", "5-5 rate 2026-03-02T10:10:00Z", "6-6 rate 2026-03-02T11:00:00Z"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.query.ID, tt.query.Name = "q", "q"
			q, err := tt.query.Validate()
			if err != nil {
				t.Fatal(err)
			}
			p, err := queries.NewPace(q, 0)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			show := func(batches []queries.Batch) {
				for _, x := range batches {
					got = append(got, fmt.Sprintf("%d-%d %s %s", x.From, x.To, x.Delay, x.At.UTC().Format(time.RFC3339)))
				}
			}
			for i, text := range tt.matches {
				now := at(t, text)
				for due, ok := p.Due(); ok && due.Before(now); due, ok = p.Due() {
					show(p.Tick(due))
				}
				batches, err := p.Add(queries.Match{Query: "q", Number: int64(i + 1)}, now)
				if err != nil {
					t.Fatal(err)
				}
				show(batches)
			}
			for due, ok := p.Due(); ok; due, ok = p.Due() {
				show(p.Tick(due))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPaceLosesNothing holds a pace to what it promises whatever the settings: batches
// follow each other without a gap, none in quiet hours and no more than the rate; what
// is due is in the future; and a restart does not show.
func TestPaceLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"})
		minutes := rapid.IntRange(0, 24*60-1)
		q := queries.Query{ID: "q", Name: "q"}
		if rapid.Bool().Draw(t, "digest") {
			q.Digest = queries.Digest{Every: rapid.SampledFrom([]queries.DigestEvery{"", "hour", "day", "week"}).Draw(t, "every"), Count: rapid.IntRange(0, 4).Draw(t, "count"), Zone: zone.Draw(t, "zone")}
			if q.Digest.Every != "" {
				q.Digest.At = units.TimeOfDay(minutes.Draw(t, "at"))
			}
			if q.Digest.Every == queries.DigestHour {
				q.Digest.At %= 60
			}
		}
		if rapid.Bool().Draw(t, "quiet") {
			q.Quiet = queries.QuietHours{From: units.TimeOfDay(minutes.Draw(t, "from")), To: units.TimeOfDay(minutes.Draw(t, "to")), Zone: zone.Draw(t, "zone"), Days: rapid.SampledFrom([][]string{nil, {"sat", "sun"}, {"mon"}}).Draw(t, "days")}
		}
		if rapid.Bool().Draw(t, "rate") {
			q.Rate = queries.Rate{N: rapid.IntRange(1, 3).Draw(t, "n"), Per: time.Duration(rapid.IntRange(1, 600).Draw(t, "per")) * time.Minute}
		}
		q, err := q.Validate()
		if err != nil {
			t.Skip(err)
		}
		p, err := queries.NewPace(q, 0)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(2026, rapid.SampledFrom([]time.Month{3, 10}).Draw(t, "month"), 23, 0, 0, 0, 0, time.UTC)
		told, number := int64(0), int64(0)
		var sent []time.Time
		take := func(batches []queries.Batch) {
			for _, x := range batches {
				if x.From != told+1 || x.To < x.From || !x.At.Equal(now) {
					t.Fatalf("after match %d at %v: %+v", told, now, x)
				}
				told = x.To
				if queries.IsQuiet(q.Quiet, now) {
					t.Fatalf("told at %v, in quiet hours %+v", now, q.Quiet)
				}
				sent = append(sent, now)
				if n := q.Rate.N; n > 0 && len(sent) > n && now.Sub(sent[len(sent)-1-n]) < q.Rate.Per {
					t.Fatalf("more than %v told", q.Rate)
				}
			}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			next := now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "wait")) * time.Minute)
			for due, ok := p.Due(); ok && !due.After(next); due, ok = p.Due() {
				if due.Before(now) {
					t.Fatalf("at %v something is due at %v", now, due)
				}
				now = due
				take(p.Tick(now))
			}
			now = next
			number++
			batches, err := p.Add(queries.Match{Query: "q", Number: number}, now)
			if err != nil {
				t.Fatal(err)
			}
			take(batches)
			if rapid.IntRange(0, 4).Draw(t, "restart") == 0 {
				again, err := queries.NewPace(q, 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := again.Restore(p.Save()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(p.Save(), again.Save()); diff != "" {
					t.Fatal(diff)
				}
				p = again
			}
		}
		for range 20 {
			due, ok := p.Due()
			if !ok {
				break
			}
			now = due
			take(p.Tick(now))
		}
		waiting, _ := p.Waiting()
		if told+waiting != number || waiting > 0 && (q.Digest.Every != "" || int(waiting) >= max(q.Digest.Count, 1)) {
			t.Fatalf("of %d matches %d are told, and %d wait", number, told, waiting)
		}
	})
}
