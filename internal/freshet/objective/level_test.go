package objective_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
)

func TestParseServiceLevel(t *testing.T) {
	for text, want := range map[string]objective.ServiceLevel{
		"":                          {},
		"  ":                        {},
		"90% within 10m":            {Share: 0.9, Within: 10 * time.Minute},
		"99.5% within 1h30m":        {Share: 0.995, Within: 90 * time.Minute},
		"50 within 1s":              {Share: 0.5, Within: time.Second},
		" 7%  within  24h ":         {Share: 0.07, Within: 24 * time.Hour},
		"90% within 1d":             {Share: 0.9, Within: 24 * time.Hour},
		"90% within 1w2d":           {Share: 0.9, Within: 9 * 24 * time.Hour},
		"0.001% within 2562047h47m": {Share: 0.00001, Within: 2562047*time.Hour + 47*time.Minute},
	} {
		got, err := objective.ParseServiceLevel(text)
		if err != nil || got != want {
			t.Errorf("%q is read as %+v (%v), want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"90%", "within 10m", "90% in 10m", "0% within 10m", "100% within 10m", "101% within 10m", "-5% within 10m",
		"NaN% within 10m", "x% within 10m", "90% within 10", "90% within 0s", "90% within -10m", "90% within 500ms", "90% within soon",
	} {
		_, err := objective.ParseServiceLevel(text)
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || invalid.Field != "level" {
			t.Errorf("%q is refused with %v, want an InvalidError of the level", text, err)
		}
	}
}

func TestServiceLevelIsWrittenAsItIsRead(t *testing.T) {
	for _, text := range []string{"", "90% within 10m", "99.5% within 1h", "33.3% within 1m30s", "29% within 36h", "90% within 168h"} {
		l, err := objective.ParseServiceLevel(text)
		if err != nil || l.String() != text {
			t.Errorf("%q is written as %q (%v)", text, l, err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		want := objective.ServiceLevel{
			Share:  rapid.Float64Range(1e-6, 0.999999).Draw(rt, "share"),
			Within: time.Duration(rapid.Int64Range(int64(time.Second), 1<<62).Draw(rt, "within")),
		}
		got, err := objective.ParseServiceLevel(want.String())
		if err != nil || got.Within != want.Within {
			rt.Fatalf("%+v is written as %q and read as %+v (%v)", want, want, got, err)
		}
		if diff := got.Share - want.Share; diff > 1e-15 || diff < -1e-15 {
			rt.Fatalf("a share of %v is read as %v", want.Share, got.Share)
		}
		if again, err := objective.ParseServiceLevel(got.String()); err != nil || again != got {
			rt.Fatalf("%q is read as %+v (%v), not %+v", got, again, err, got)
		}
	})
}

func TestLevelOf(t *testing.T) {
	level := func(text string) objective.ServiceLevel {
		l, err := objective.ParseServiceLevel(text)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	byTag := []freshet.TagLevel{
		{Tag: "news", Level: level("90% within 10m")},
		{Tag: "slow", Level: level("90% within 6h")},
		{Tag: "sure", Level: level("99% within 10m")},
		{Tag: "half", Level: level("50% within 6m")},
	}
	for _, tt := range []struct {
		name string
		tags []string
		own  string
		want string
	}{
		{"no tag", nil, "", ""},
		{"a tag without a level", []string{"other"}, "", ""},
		{"one tag", []string{"slow"}, "", "90% within 6h"},
		{"the sooner of two", []string{"news", "slow"}, "", "90% within 10m"},
		{"the surer of two", []string{"news", "sure"}, "", "99% within 10m"},
		{"more polls for a surer level than for a sooner one", []string{"half", "sure"}, "", "99% within 10m"},
		{"its own, though it is less strict", []string{"news"}, "50% within 24h", "50% within 24h"},
	} {
		got := freshet.LevelOf(freshet.Source{Tags: tt.tags, Level: level(tt.own)}, byTag)
		if got.String() != tt.want {
			t.Errorf("%s: the level is %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Of two levels exactly one is stricter, unless they are the same.
func TestStricterIsAnOrder(t *testing.T) {
	draw := rapid.Custom(func(rt *rapid.T) objective.ServiceLevel {
		if rapid.IntRange(0, 5).Draw(rt, "none") == 0 {
			return objective.ServiceLevel{}
		}
		return objective.ServiceLevel{
			Share:  rapid.SampledFrom([]float64{0.25, 0.5, 0.9}).Draw(rt, "share"),
			Within: time.Duration(rapid.IntRange(1, 9).Draw(rt, "within")) * time.Minute,
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		a, b := draw.Draw(rt, "a"), draw.Draw(rt, "b")
		if ab, ba := a.Stricter(b), b.Stricter(a); ab && ba || (ab || ba) != (a != b) {
			rt.Fatalf("%q is stricter than %q: %v; the other way: %v", a, b, ab, ba)
		}
	})
}

// A source that is polled at the gap of its level has just the share of its
// changes seen in time.
func TestGapKeepsTheLevel(t *testing.T) {
	for _, tt := range []struct {
		what  string
		level objective.ServiceLevel
		life  objective.Visibility
		every time.Duration
	}{
		{"slow page", objective.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, objective.Visibility{}, 5 * time.Hour},
		{"busy page", objective.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, objective.Visibility{}, 10 * time.Minute},
		{"half of it", objective.ServiceLevel{Share: 0.5, Within: 10 * time.Minute}, objective.Visibility{}, 10 * time.Minute},
		{"log", objective.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, objective.Visibility{Kind: objective.VisibleForever}, time.Minute},
		{"list of five", objective.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, objective.Visibility{Kind: objective.VisibleLast, N: 5}, 3 * time.Minute},
		{"window", objective.ServiceLevel{Share: 0.9, Within: 10 * time.Minute}, objective.Visibility{Kind: objective.VisibleFor, For: 4 * time.Minute}, 3 * time.Minute},
	} {
		t.Run(tt.what, func(t *testing.T) {
			gap := tt.level.Gap(tt.life, 1/tt.every.Seconds())
			draw := rand.New(rand.NewPCG(1, 2))
			all, inTime := 0, 0
			for range 20000 {
				var at []float64
				for x := draw.ExpFloat64() * tt.every.Seconds(); x < gap; x += draw.ExpFloat64() * tt.every.Seconds() {
					at = append(at, x)
				}
				for i, x := range at {
					all++
					waits, after := gap-x, len(at)-1-i
					there := tt.life.Kind == objective.VisibleForever || tt.life.Kind == objective.VisibleFor && waits <= tt.life.For.Seconds() ||
						tt.life.Kind == objective.VisibleLast && after < tt.life.N || tt.life.Kind == objective.VisibleUntilNext && after == 0
					if there && waits <= tt.level.Within.Seconds() {
						inTime++
					}
				}
			}
			if share := float64(inTime) / float64(all); math.Abs(share-tt.level.Share) > 0.03 {
				t.Errorf("polled every %.0f s, %.3f of %d changes are seen in time, want %v", gap, share, all, tt.level.Share)
			}
		})
	}
}
