package client

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Words explains the next poll in sentences that a person understands. Times of
// day are those of a zone.
func (w Why) Words(zone *time.Location) string {
	var said []string
	for _, sentence := range []string{
		w.saySeen(), w.sayChance(), w.sayWaiting(), w.sayWorth(zone), w.sayAsked(), w.sayBound(zone), w.sayHold(zone), w.sayTrouble(),
	} {
		if sentence != "" {
			said = append(said, sentence)
		}
	}
	return strings.Join(said, " ")
}

// still reports whether nothing is weighed: a poll is under way, or none is
// wanted.
func (w Why) still() bool { return w.Hold.Kind == "under_way" || w.Hold.Kind == "paused" }

func (w Why) saySeen() string {
	name := cmp.Or(w.Name, w.URL, string(w.ID))
	if w.LastSeen.IsZero() {
		return name + " has never been seen."
	}
	return fmt.Sprintf("%s was last seen %s ago.", name, span(w.At.Sub(w.LastSeen)))
}

func (w Why) sayChance() string {
	o := w.Outlook
	switch {
	case o == nil && !w.still():
		return "What to expect of it is not known: the policy does not say."
	case o == nil:
		return ""
	case w.LastSeen.IsZero():
		return fmt.Sprintf("Sources like it change %s.", oftenWords(o.RatePerDay))
	case o.Captured.Polls == 0: // a first look tells nothing of it
		return fmt.Sprintf("How often it changes has not shown yet; sources like it do %s. The chance that it has changed since is %s.", oftenWords(o.RatePerDay), chance(o.Chance))
	}
	return fmt.Sprintf("It changes %s; %sthe chance that it has changed since is %s.", oftenWords(o.RatePerDay), w.going(), chance(o.Chance))
}

// going says whether much more or much less is going on, there and elsewhere,
// than the rate alone would have it.
func (w Why) going() string {
	const much = 3
	usual := w.Outlook.RatePerDay.Mean * w.At.Sub(w.LastSeen).Hours() / 24
	switch {
	case w.Outlook.Expected > much*usual:
		return "more than usual is going on, and "
	case w.Outlook.Expected < usual/much:
		return "less than usual is going on, and "
	}
	return ""
}

// sayWaiting says what waiting costs.
func (w Why) sayWaiting() string {
	o := w.Outlook
	switch {
	case o == nil || w.LastSeen.IsZero() || w.still():
	case o.LostPerDay > 0 && o.LostPerDay < 1.0/3650:
		return "Waiting costs next to nothing."
	case o.LostPerDay > 0:
		every := time.Duration(float64(24*time.Hour) / o.LostPerDay)
		return fmt.Sprintf("Waiting costs about a change every %s, replaced by the next before it is seen.", span(every))
	case o.DelayedPerDay > 0:
		return fmt.Sprintf("Nothing is lost by waiting: about %s of its changes wait, and are seen later.", digits(o.DelayedPerDay))
	}
	return ""
}

func (w Why) sayWorth(zone *time.Location) string {
	o := w.Outlook
	switch {
	case o == nil || w.still() || w.Asked:
		return ""
	case w.LastSeen.IsZero() && o.Due.After(w.At): // it was tried, and failed
		return fmt.Sprintf("A first look was tried and failed; the next is due %s.", w.moment(o.Due, zone))
	case w.LastSeen.IsZero():
		return "A first look comes before all that has been seen."
	case o.Worth == 0 && o.Price == 0:
		return "The policy does not say what a poll of it is worth."
	case o.Price == 0:
		return fmt.Sprintf("A poll now would be worth %s; what is enough has not shown yet.", digits(o.Worth))
	}
	worth, price := digits(o.Worth), digits(o.Price)
	switch {
	case o.Due.IsZero():
		return fmt.Sprintf("A poll now would be worth %s; polls are made from %s upwards, which it does not reach within a year.", worth, price)
	case !o.Due.After(w.At):
		return fmt.Sprintf("A poll now would be worth %s, which is enough: polls are made from %s upwards.", worth, price)
	}
	return fmt.Sprintf("A poll now would be worth %s; polls are made from %s upwards, which it reaches %s.", worth, price, w.moment(o.Due, zone))
}

func (w Why) sayAsked() string {
	if w.Asked && w.Hold.Kind != "under_way" {
		return "Somebody asked for a poll, which comes before those that the policy wants."
	}
	return ""
}

// wanted reports whether a poll would be made now if nothing held it back.
func (w Why) wanted() bool {
	due := w.Outlook != nil && !w.Outlook.Due.IsZero() && !w.Outlook.Due.After(w.At)
	return due || w.Asked || w.overdue()
}

func (w Why) overdue() bool { return !w.Deadline.IsZero() && !w.Deadline.After(w.At) }

func (w Why) sayHold(zone *time.Location) string {
	reason := w.Hold.Reason
	switch w.Hold.Kind {
	case "under_way":
		return "A poll of it is under way."
	case "paused":
		return fmt.Sprintf("It is paused, and is not polled until somebody resumes it (freshet resume %s).", w.ID)
	case "workers", "budget":
		if !w.wanted() { // by then it will have passed
			return w.sayFree()
		}
	case "none":
		return w.sayFree()
	}
	switch until := w.Hold.Until; {
	case until.IsZero():
		return fmt.Sprintf("But %s; it has to wait for that to end.", reason)
	case w.wanted() || !w.Next.After(until):
		return fmt.Sprintf("But %s, so that it has to wait until %s (%s).", reason, w.clock(until, zone), ahead(until.Sub(w.At)))
	case w.Outlook == nil || w.Outlook.Due.IsZero(): // it may be wanted before its max_gap runs out
		return fmt.Sprintf("It cannot be polled before %s (%s): %s.", w.clock(until, zone), ahead(until.Sub(w.At)), reason)
	default:
		return fmt.Sprintf("Besides, %s until %s.", reason, w.clock(until, zone))
	}
}

// sayFree says that nothing holds the poll back.
func (w Why) sayFree() string {
	switch {
	case w.wanted() || w.LastSeen.IsZero():
		return "Nothing holds it back: it is polled as soon as its turn comes."
	case w.Outlook == nil || w.Outlook.Price == 0:
		return "Nothing holds it back."
	}
	return "Nothing else holds it back."
}

// sayBound says what max_gap means for the poll.
func (w Why) sayBound(zone *time.Location) string {
	switch {
	case w.Cause != "bound" || w.still():
		return ""
	case w.overdue():
		return fmt.Sprintf("Its max_gap of %s has run out, and that comes before what the policy wants.", w.MaxGap)
	case w.Outlook == nil || w.Outlook.Due.IsZero():
		return fmt.Sprintf("Its max_gap of %s makes it due %s.", w.MaxGap, w.moment(w.Next, zone))
	}
	return fmt.Sprintf("Its max_gap of %s makes it due sooner, %s.", w.MaxGap, w.moment(w.Next, zone))
}

func (w Why) sayTrouble() string {
	if w.Trouble == "" {
		return ""
	}
	return "Nothing can be captured at the moment: " + w.Trouble + "."
}

// moment writes a time to come, as in "in about 9 minutes, at 10:42".
func (w Why) moment(t time.Time, zone *time.Location) string {
	return ahead(t.Sub(w.At)) + ", at " + w.clock(t, zone)
}

// clock writes a time of day, with the date if it is another day's and with the
// seconds if it is close.
func (w Why) clock(t time.Time, zone *time.Location) string {
	t, at := t.In(zone), w.At.In(zone)
	layout := "15:04"
	switch {
	case t.YearDay() != at.YearDay() || t.Year() != at.Year():
		layout = "15:04 on 2 January"
	case t.Sub(at) < 2*time.Minute:
		layout = "15:04:05"
	}
	if zone == time.UTC {
		layout = strings.Replace(layout, "15:04:05", "15:04:05 UTC", 1)
		if !strings.Contains(layout, "UTC") {
			layout = strings.Replace(layout, "15:04", "15:04 UTC", 1)
		}
	}
	return t.Format(layout)
}

// ahead says how far off something is.
func ahead(d time.Duration) string {
	if d < time.Second {
		return "in a moment"
	}
	return "in about " + span(d)
}

// span writes a length of time in one unit.
func span(d time.Duration) string {
	for _, unit := range []struct {
		name string
		is   time.Duration
		from time.Duration
	}{
		{"day", 24 * time.Hour, 36 * time.Hour},
		{"hour", time.Hour, 90 * time.Minute},
		{"minute", time.Minute, 90 * time.Second},
		{"second", time.Second, time.Second},
	} {
		if d < unit.from {
			continue
		}
		n := int64(math.Round(float64(d) / float64(unit.is)))
		if n == 1 {
			return "1 " + unit.name
		}
		return strconv.FormatInt(n, 10) + " " + unit.name + "s"
	}
	return "less than a second"
}

// oftenWords says how often something happens.
func oftenWords(perDay Estimate) string {
	mean, unit := perUnit(perDay.Mean)
	scale := mean / perDay.Mean
	times := digits(mean) + " times"
	if digits(mean) == "1" {
		times = "once"
	}
	return fmt.Sprintf("about %s %s (between %s and %s times)", times, unit, digits(perDay.Low*scale), digits(perDay.High*scale))
}

// perUnit returns a rate by the unit of time that gives a number that people
// like.
func perUnit(perDay float64) (float64, string) {
	for _, unit := range []struct {
		name string
		days float64
	}{
		{"a second", 1.0 / 86400}, {"a minute", 1.0 / 1440}, {"an hour", 1.0 / 24}, {"a day", 1}, {"a week", 7}, {"a month", 30.44},
	} {
		if x := perDay * unit.days; x >= 0.995 {
			return x, unit.name
		}
	}
	return perDay * 365.25, "a year"
}

// chance writes a probability for people.
func chance(p float64) string {
	switch {
	case p < 0.01:
		return "under 1%"
	case p > 0.99:
		return "over 99%"
	}
	return strconv.FormatFloat(100*p, 'f', 0, 64) + "%"
}

// digits writes a number with the two digits that count.
func digits(x float64) string {
	if !(x > 0) || math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	after := max(0, 1-int(math.Floor(math.Log10(x))))
	text := strconv.FormatFloat(x, 'f', after, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
