package noise_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"freshet/internal/extract/noise"
)

// TestTokens says what is found in lines. What stands between angle brackets is a token,
// with its kind and a colon before it.
func TestTokens(t *testing.T) {
	short := map[noise.Kind]string{
		noise.Age: "age", noise.Time: "time", noise.Date: "date", noise.ID: "id", noise.Counter: "counter",
		noise.Number: "number", noise.Money: "money", noise.Release: "release", noise.Mail: "mail",
	}
	for _, want := range []string{
		"", "plain words and nothing else", "Closed on Monday", "été, naïve, 日本語", "a - b + c [d] $ €",

		"at <time:12:03>", "at <time:12:03:44>", "at <time:12:03:44.250> sharp", "<time:2026-03-01T12:03:44Z>", "<time:2026-03-01 12:03>", "<time:2026-03-01T12:03:44+01:00>.",
		"<time:2026-03-01 12:03:44 +0100>", "<time:3 pm>", "<time:3:15 p.m.> is <age:today>", "<time:11AM>", "room <number:12>:<number:345>",

		"<date:2026-03-01>", "<date:2026/3/1>", "<date:2026.03.01>", "<date:01/03/2026>", "<date:1-3-26>", "<date:1.3.2026>", "<date:1. 3. 2026>", "<date:1 March 2026>", "<date:1st of March 2026>",
		"<date:1. März 2026>", "<date:1 de marzo de 2026>", "<date:1 d'avril 2026>", "<date:March 1, 2026>", "<date:Mar. 1st, 2026>", "<date:March 1> at noon", "<date:2 March>", "<date:2026年3月1日>", "<date:2026年3月>",
		"<date:Monday> <date:1 March 2026>", "<number:3> marching bands", "<number:10>-<date:12 March 2026>", "<number:2026>", "<release:1.2.3.4.5>",

		"<age:3 hours ago>", "<age:3h ago>", "<age:an hour ago>", "<age:about 2 days ago>", "<age:less than 5 minutes ago>", "<age:1 hour and 5 minutes ago>", "<age:1 day, 2 hours ago>", "<age:just now>", " <age:3 hours ago> or <age:an hour ago>", "<age:Yesterday>",
		"<age:vor 3 Stunden>", "<age:vor einer Stunde>", "<age:il y a 2 heures>", "<age:hace una hora>", "<age:há 3 dias>", "<age:3 giorni fa>", "<age:un'ora fa>", "<age:een uur geleden>", "<age:3 dni temu>", "<age:5 минут назад>",
		"<age:för 3 timmar sedan>", "<age:3 dager siden>", "<age:5分钟前>更新", "<age:3 小时前>", "long ago", "a few hours ago", "<counter:3> hours", "over the hill",

		"<money:$5>", "<money:$ 1,204.50> each", "<money:€5m>", "<money:£3 million>", "<money:EUR 5>", "<money:usd5>", "<money:5 €>", "<money:1.204,50 EUR>", "<money:10 kr>", "<money:3 dollars>", "<money:1’000 CHF>", "it is $ or €",

		"<release:1.2.3>", "<release:v1.2.3-rc1>.", "version <release:12>", "Version: <release:2026.1>", "v9", "v. <release:9>", "release of the year <number:2019>", "version of the <release:7>", "patch <release:a1b2>",
		"<id:10.0.0.1>", "<id:255.255.255.0>", "version <release:10.0.0.1>", "<release:10.0.0.256>", "<release:1.2.3a>",

		"<id:f81d4fae-7dec-11d0-a765-00a0c91e6bf6>", "<id:0f3a9b2c>", "<id:x9Yz>", "<id:1700000000>", "<id:web17>", "<id:AbCdEfGhIjKlMnOpQr>", "internationalization", "build <id:deadbeef01>",

		"<number:12>", "<number:+12>", "<number:-3.5>", "<number:12%>", "<number:3.5 %>", "<number:1'000'000>", "<number:10km>", "<number:1>.<number:5km>", "the <number:2nd>",
		"<counter:1,204> views", "Views: <counter:1204>", "load time <counter:0.23>", "<counter:3> days left", "<counter:3h>", "<counter:12> seconds", "<counter:3> + <counter:4> = ?", "<number:3> + <number:4>",
		"views are far away from here, very far away <number:12>", "<counter:17> keer bekeken", "<counter:12> просмотров",

		"<mail:a.b+c@d-e.example>.", "<mail:[email protected]>", "<mail:[Email\u00a0protected]>", "[email] me", "a@b", "@<id:x9Yz>", "x.y.z <mail:a@b.co> q.r",
		"tel <number:555><number:-1234>", "<number:5>", "_<number:5>"[1:],
	} {
		var b strings.Builder
		line := plainLine(want)
		at := 0
		for _, tok := range noise.TokensOf(line) {
			fmt.Fprintf(&b, "%s<%s:%s>", line[at:tok.From], short[tok.Kind], line[tok.From:tok.To])
			at = tok.To
		}
		if got := b.String() + line[at:]; got != want {
			t.Errorf("found\n%s, want\n%s", got, want)
		}
	}
}

// plainLine returns a line without the signs of its tokens.
func plainLine(marked string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(marked, "<") {
		if _, rest, ok := strings.Cut(part, ":"); ok && strings.Contains(part, ">") {
			part = strings.Replace(rest, ">", "", 1)
		}
		b.WriteString(part)
	}
	return b.String()
}

// FuzzTokens wants the tokens of any line in their order, within it, and of whole
// letters.
func FuzzTokens(f *testing.F) {
	for _, line := range []string{
		"Last checked 12:03:44 on Monday, 1 March 2026", "3 hours ago, about", "less than", "more than a", "vor ", "for 3 ", "il y a", "v1.2.", "2026-03-01T", "12:", "5\u00a0€", "$", "+", "-1", "[email",
		"a@b.", "1.2.3.4", "2026年3月", "\xff12\xfe", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "= ?", "3+=", "un'", strings.Repeat("9", 400), strings.Repeat("a.", 300) + "@",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		at := 0
		for _, tok := range noise.TokensOf(line) {
			if tok.From < at || tok.To <= tok.From || tok.To > len(line) {
				t.Fatalf("of %q there is a token from %d to %d after one up to %d", line, tok.From, tok.To, at)
			}
			if !utf8.ValidString(line) {
				at = tok.To
				continue
			}
			if !utf8.RuneStart(line[tok.From]) || tok.To < len(line) && !utf8.RuneStart(line[tok.To]) {
				t.Errorf("of %q there is a token from %d to %d, within a letter", line, tok.From, tok.To)
			}
			at = tok.To
		}
		noise.SaysState(line)
		noise.IsStamp(line)
		noise.GrownOlder(line, line)
	})
}

func TestSaysState(t *testing.T) {
	for line, want := range map[string]bool{
		"In stock": true, "SOLD OUT": true, "Status: ok": true, "Auf Lager": true, "épuisé": true, "störung": true, "yes": true, "Open: no.": true, `"open" = "off"`: true, "live | up!": true, "Geöffnet": true,
		"": false, "stockings": false, "in the lager": false, "they say yes": false, "a plain line": false, "no way": false, "auf": false, ".": false, `"`: false,
		"in stock, " + strings.Repeat("and more ", 12): false,
	} {
		if got := noise.SaysState(line); got != want {
			t.Errorf("%q says a state: %v, want %v", line, got, want)
		}
	}
}

func TestIsStamp(t *testing.T) {
	for line, want := range map[string]bool{
		"Last updated 12:03": true, "as of 2026-03-01": true, "Mise à jour : 12:03": true, "AUJOURD'HUI 12:03": true, "Обновлено 12:03": true, "mis à jour": true,
		"": false, "lasting": false, "as if": false, "mise en place": false, "aujourd": false, "12:03": false,
	} {
		if got := noise.IsStamp(line); got != want {
			t.Errorf("%q is a stamp: %v, want %v", line, got, want)
		}
	}
}

func TestGrownOlder(t *testing.T) {
	for _, tt := range []struct {
		old, new string
		want     bool
	}{
		{"3 hours ago", "4 hours ago", true}, {"59 minutes ago", "1 hour ago", true}, {"3 hours ago", "2 hours ago", false}, {"just now", "an hour ago", true}, {"yesterday", "2 days ago", true}, {"2 days ago", "yesterday", false},
		{"1 hour and 5 minutes ago", "1 hour and 6 minutes ago", true}, {"about 1 month ago", "3 weeks ago", false}, {"vor 3 Stunden", "vor einem Tag", true}, {"3小时前", "5小时前", true}, {"5小时前", "3小时前", false},
		{"3 dni temu", "4 dni temu", false}, {"3 hours ago", "gone", false}, {"99999999999999999999 days ago", "1 day ago", false},
	} {
		if got := noise.GrownOlder(tt.old, tt.new); got != tt.want {
			t.Errorf("from %q to %q it has grown older: %v, want %v", tt.old, tt.new, got, tt.want)
		}
	}
}
