package extract_test

import (
	"strings"
	"testing"
	"time"

	"freshet/internal/extract"
	"freshet/internal/freshet/evidence"
	"freshet/internal/units"
)

// beginnings are those of words that announce a change.
const beginnings = "n ne nex näc pro prox will be up ends clos endet termin time lef rest tiempo updat refre akt à jou actuali"

// A text that says when its page changes next is understood, and one that says something
// else is not.
func TestAnnounced(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 16, 12, 30, 0, 0, time.UTC) // a Monday
	on := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour, minute, 0, 0, time.UTC) }
	for _, c := range []struct {
		text  string
		at    time.Time // zero if nothing is said
		every time.Duration
		flags string // z: no zone, d: no day
	}{
		{"Next update 14:00", on(16, 14, 0), 0, "zd"},
		{"NEXT UPDATE: 14:00 UTC", on(16, 14, 0), 0, "d"},
		{"Next update at 2 pm GMT.", on(16, 14, 0), 0, "d"},
		{"Next update at 11.45 a.m. UTC", on(17, 11, 45), 0, "d"},
		{"Next update: 16 Nov 2026 14:00 CET", on(16, 13, 0), 0, ""},
		{"Next update: November 17, 2026 at 2:30 PM EST", on(17, 19, 30), 0, ""},
		{"Next scheduled update\n2026-11-16T15:00:00Z", on(16, 15, 0), 0, ""},
		{"Next update 2026-11-16 15:00 +02:00", on(16, 13, 0), 0, ""},
		{"Next update 15:00 UTC+2", on(16, 13, 0), 0, "d"},
		{"Next issue: 20.11.2026", on(20, 0, 0), 0, "z"},
		{"Next update in 45 minutes", on(16, 13, 15), 0, ""},
		{"Next update in 1 hour and 15 min", on(16, 13, 45), 0, ""},
		{"Next update: tomorrow at 06:00 UTC", on(17, 6, 0), 0, ""},
		{"Next update: Friday 09:00 UTC", on(20, 9, 0), 0, ""},
		{"The list will be updated at 18:00 UTC.", on(16, 18, 0), 0, "d"},
		{"Nächste Aktualisierung: 14:00 Uhr", on(16, 14, 0), 0, "zd"},
		{"Nächste Aktualisierung um 14.30 Uhr MEZ", on(16, 13, 30), 0, "d"},
		{"NÄCHSTE AUSGABE: 18. November 2026, 7 Uhr MEZ", on(18, 6, 0), 0, ""},
		{"Nächster Bericht morgen um 06:00 Uhr MEZ", on(17, 5, 0), 0, ""},
		{"Prochaine mise à jour à 14h30 UTC", on(16, 14, 30), 0, "d"},
		{"Prochaine mise à jour dans 2 heures", on(16, 14, 30), 0, ""},
		{"Prochain bulletin : 17 novembre 2026 à 6h00 UTC", on(17, 6, 0), 0, ""},
		{"Próxima actualización: 14:00 UTC", on(16, 14, 0), 0, "d"},
		{"Próxima actualización: mañana a las 08:00 UTC", on(17, 8, 0), 0, ""},
		{"Updated daily at 06:30 UTC", on(17, 6, 30), units.Day, "d"},
		{"This page is updated every Monday at 09:00 UTC", on(23, 9, 0), 7 * units.Day, ""},
		{"Die Seite wird täglich um 15:30 Uhr MEZ aktualisiert.", on(16, 14, 30), units.Day, "d"},
		{"Mis à jour tous les jours à 15h00 UTC", on(16, 15, 0), units.Day, "d"},
		{"Se actualiza diariamente a las 15:00 UTC", on(16, 15, 0), units.Day, "d"},
		{"This page refreshes every 15 minutes.", on(16, 12, 45), 15 * time.Minute, ""},
		{"Wird alle 10 Minuten aktualisiert", on(16, 12, 40), 10 * time.Minute, ""},
		{"Se actualiza cada hora", on(16, 13, 30), time.Hour, ""},
		{"Actualisé toutes les 2 heures", on(16, 14, 30), 2 * time.Hour, ""},
		{"Auction ends in 3 h", on(16, 15, 30), 0, ""},
		{"Bidding closes 17 November 2026 20:00 UTC", on(17, 20, 0), 0, ""},
		{"Time left: 2d 4h 10m", time.Date(2026, 11, 18, 16, 40, 0, 0, time.UTC), 0, ""},
		{"Restzeit: 2 Std. 30 Min.", on(16, 15, 0), 0, ""},
		{"La subasta termina en 5 horas", on(16, 17, 30), 0, ""},
		{"Next update: 18:00 UTC\nNext report: 14:00 UTC", on(16, 14, 0), 0, "d"},

		{"Last updated 14:00", time.Time{}, 0, ""},
		{"Updated 16 Nov 2026 14:00", time.Time{}, 0, ""},
		{"Next update: 12 Nov 2026 14:00 UTC", time.Time{}, 0, ""},
		{"Next update: 12 Nov 2096 14:00 UTC", time.Time{}, 0, ""},
		{"Next update 12:15", on(17, 12, 15), 0, "zd"},
		{"Next update 16 Nov 2026 06:00", on(16, 6, 0), 0, "z"}, // it is 04:30 in California
		{"Next update 15 Nov 2026 23:00", time.Time{}, 0, ""},
		{"Next update 12:15 UTC", time.Time{}, 0, ""}, // it is overdue
		{"Next update soon. We have 14 shops.", time.Time{}, 0, ""},
		{"The next page has 20:15 minutes of film", time.Time{}, 0, ""},
		{"The show ends at 20:15", time.Time{}, 0, ""},
		{"Updated every day", time.Time{}, 0, ""},
		{"Get updates every time", time.Time{}, 0, ""},
		{"Prices 14.30, next update unknown", time.Time{}, 0, ""},
		{"", time.Time{}, 0, ""},
	} {
		got, ok := extract.Announced([]byte(c.text), now, nil)
		for cut := range len(beginnings) { // most of a text is skipped, whatever stands in it
			if again, found := extract.Announced([]byte(beginnings[cut:]+"\n"+strings.ToUpper(beginnings)+"\n"+c.text), now, nil); found != ok || again != got {
				t.Errorf("%q says %v behind %q, and %v alone", c.text, again, beginnings[cut:], got)
			}
		}
		flags := ""
		if got.Zoneless {
			flags += "z"
		}
		if got.Dayless {
			flags += "d"
		}
		if ok != !c.at.IsZero() || ok && (!got.At.Equal(c.at) || got.Every != c.every || flags != c.flags || got.By != evidence.NextByText) {
			t.Errorf("%q says %v, every %v %s (%t), want %v, every %v %s", c.text, got.At, got.Every, flags, ok, c.at, c.every, c.flags)
		}
	}
	if got, ok := extract.Announced([]byte("Nächste Aktualisierung: 14:00 Uhr"), now, berlin); !ok || !got.At.Equal(on(16, 13, 0)) || got.Zoneless {
		t.Errorf("in Berlin it is at %v", got)
	}
	for value, want := range map[string]time.Time{
		"2026-11-16T15:00:00Z": on(16, 15, 0), "14:00": on(16, 13, 0), "in 2 h": on(16, 14, 30), "2h": on(16, 14, 30), "1794841200": on(16, 15, 0),
		"2026-11-17": on(16, 23, 0), "yesterday": {}, "2026-11-15T15:00:00Z": {}, "": {}, "12": {},
	} {
		if got, ok := extract.AnnouncedBy(value, now, berlin); ok != !want.IsZero() || ok && !got.At.Equal(want) {
			t.Errorf("the value %q says %v (%t), want %v", value, got.At, ok, want)
		}
	}
}

// However a text is made, reading it takes little time, and what it says lies ahead.
func TestAnnouncedIsQuick(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 30, 0, 0, time.UTC)
	for _, text := range []string{
		strings.Repeat("next update ", 100_000), strings.Repeat("next ", 1_000_000), strings.Repeat("every 1 ends auction update in 9 h 1", 100_000),
		strings.Repeat("next update: 99:99 99.99.9999 ", 50_000), strings.Repeat("Ã\xc3\x9c", 500_000),
	} {
		began := time.Now()
		extract.Announced([]byte(text), now, nil)
		if took := time.Since(began); took > 5*time.Minute {
			t.Errorf("%.40q takes %v", text, took)
		}
	}
}

func FuzzForetold(f *testing.F) {
	for _, s := range []string{"Next update: 16 Nov 2026 14:00 CET", "updated daily at 06:30", "auction ends in 3 h", "Prochaine mise à jour à 14h30", "every 15 minutes refresh", "Time left: 2d", "nächste Ausgabe 24:00 UTC+14"} {
		f.Add(s, int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		now := time.Unix(unix&(1<<33-1), 0).UTC()
		for _, read := range []func() (evidence.Next, bool){
			func() (evidence.Next, bool) { return extract.Announced([]byte(text), now, nil) },
			func() (evidence.Next, bool) { return extract.AnnouncedBy(text, now, nil) },
		} {
			if next, ok := read(); ok && (!next.At.After(now) && (!next.Zoneless || !next.At.After(now.Add(-12*time.Hour))) || next.Every < 0 || next.At.Sub(now) > 410*24*time.Hour && !strings.ContainsAny(text, "0123456789")) {
				t.Errorf("%q says at %v that it changes at %v", text, now, next)
			}
		}
	})
}
