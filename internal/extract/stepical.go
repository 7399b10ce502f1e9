package extract

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
)

const (
	maxICal   = 8 << 20 // bytes
	maxEvents = 5_000
)

func compileICal(a argument) (func(value) (value, error), bool, error) {
	return func(v value) (value, error) {
		text, err := v.verbatim()
		if err != nil {
			return v, err
		}
		g, err := readCalendar(text)
		if err != nil {
			return v, err
		}
		out := v.withItems(g.items, nil).withText(g.text)
		out.title = g.title
		return out, nil
	}, true, a.none()
}

// looksLikeICal reports whether a body is a calendar.
func looksLikeICal(body []byte) bool {
	head := strings.TrimLeft(string(body[:min(len(body), 256)]), "\ufeff \t\r\n")
	return len(head) >= 15 && strings.EqualFold(head[:15], "BEGIN:VCALENDAR")
}

// readCalendar returns the entries of a calendar by time. What a calendar stamps
// again at each request does not show.
func readCalendar(src []byte) (g glance, err error) {
	if len(src) > maxICal {
		return g, fail(FailLimit, asText, "the calendar has %d bytes; the most is %d MiB", len(src), maxICal>>20)
	}
	if !looksLikeICal(src) {
		return g, fail(FailParse, "Check that the URL returns a calendar.", "not a calendar: it does not begin with BEGIN:VCALENDAR")
	}
	var open *freshet.Item
	var recurrence string
	depth := 0 // of what stands within an entry, such as an alarm
	for line := range unfolded(string(src)) {
		name, params, text := property(line)
		switch {
		case name == "BEGIN" && isEntry(text) && open == nil:
			open, recurrence = &freshet.Item{Fields: freshet.Fields{}}, ""
		case name == "BEGIN" && open != nil:
			depth++
		case name == "END" && open != nil && depth > 0:
			depth--
		case name == "END" && open != nil:
			if recurrence != "" {
				open.Key += " " + recurrence
			}
			if g.items = append(g.items, *open); len(g.items) > maxEvents {
				return g, fail(FailLimit, asText, "the calendar has more than %d entries", maxEvents)
			}
			open = nil
		case open == nil:
			if name == "X-WR-CALNAME" {
				g.title = oneLine(unescapeICal(text), maxTitle)
			}
		case depth == 0:
			if name == "RECURRENCE-ID" {
				recurrence = calendarTime(text, params)
			}
			setProperty(open, name, params, text)
		}
	}
	slices.SortStableFunc(g.items, func(a, b freshet.Item) int {
		return cmp.Or(strings.Compare(a.Date, b.Date), strings.Compare(a.Title, b.Title), strings.Compare(a.Key, b.Key))
	})
	for _, item := range g.items {
		g.text = appendEvent(g.text, item)
	}
	g.items = uniqueKeys(g.items[:min(len(g.items), maxItems)])
	return g, nil
}

// unfolded yields the lines of a calendar: one that begins with a space goes on
// the line before.
func unfolded(src string) func(func(string) bool) {
	return func(yield func(string) bool) {
		var line strings.Builder
		for raw := range strings.Lines(src) {
			raw = strings.TrimRight(raw, "\r\n")
			if strings.HasPrefix(raw, " ") || strings.HasPrefix(raw, "\t") {
				line.WriteString(raw[1:])
				continue
			}
			if line.Len() > 0 && !yield(line.String()) {
				return
			}
			line.Reset()
			line.WriteString(raw)
		}
		if line.Len() > 0 {
			yield(line.String())
		}
	}
}

// property splits a line into a name, its parameters and a value. A colon within
// quotes divides nothing.
func property(line string) (name, params, text string) {
	quoted := false
	for i, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ':' && !quoted:
			name, params, _ = strings.Cut(line[:i], ";")
			return strings.ToUpper(name), params, line[i+1:]
		}
	}
	return "", "", ""
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";")

func unescapeICal(s string) string {
	if strings.IndexByte(s, '\\') < 0 { // as nearly always
		return s
	}
	return unescaper.Replace(s)
}

func setProperty(item *freshet.Item, name, params, text string) {
	plain := func() string { return oneLine(unescapeICal(text), maxCell) }
	switch name {
	case "UID":
		item.Key = plain()
	case "SUMMARY":
		item.Title = plain()
	case "URL":
		item.Link = plain()
	case "DTSTART":
		item.Date = calendarTime(text, params)
	case "DTEND":
		item.Fields["end"] = calendarTime(text, params)
	case "DUE":
		item.Fields["due"] = calendarTime(text, params)
	case "DURATION", "RRULE", "LOCATION", "STATUS", "CATEGORIES", "ORGANIZER":
		item.Fields[strings.ToLower(name)] = plain()
	case "DESCRIPTION":
		item.Text = string(plainText([]byte(unescapeICal(text))))
	}
}

// calendarTime returns a time of a calendar as a date, a time in UTC, or a time
// with the name of its zone, which the calendar itself explains.
func calendarTime(text, params string) string {
	if t, err := time.Parse("20060102", text); err == nil {
		return t.Format(time.DateOnly)
	}
	if t, err := time.Parse("20060102T150405Z", text); err == nil {
		return t.Format(time.RFC3339)
	}
	t, err := time.Parse("20060102T150405", text)
	if err != nil {
		return oneLine(text, 100)
	}
	out := t.Format("2006-01-02T15:04:05")
	for p := range strings.SplitSeq(params, ";") {
		if zone, ok := strings.CutPrefix(p, "TZID="); ok {
			out += " " + oneLine(strings.Trim(zone, `"`), 100)
		}
	}
	return out
}

func appendEvent(out []byte, item freshet.Item) []byte {
	when := item.Date
	if end, ok := item.Fields["end"].(string); ok && end != "" {
		when += " to " + end
	}
	out = append(out, strings.TrimSpace(when+" "+item.Title)...)
	for _, name := range []string{"location", "status", "rrule"} {
		if s, ok := item.Fields[name].(string); ok && s != "" {
			out = append(append(out, " | "...), s...)
		}
	}
	out = append(out, '\n')
	for line := range strings.Lines(item.Text) {
		out = append(append(out, "  "...), line...)
	}
	return out
}

// isEntry reports whether a part of a calendar is an event, a task or a note.
func isEntry(name string) bool {
	return name == "VEVENT" || name == "VJOURNAL" || strings.EqualFold(name, "vtodo")
}
