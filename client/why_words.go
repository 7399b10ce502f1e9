package client

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Words says in plain sentences when a source is polled next, and what it is waiting for.
// Times of day are those of a zone.
func (w Why) Words(zone *time.Location) string {
	return join(w.sayNext(zone), w.sayReason(zone), w.sayPushed(), w.sayHeard(zone), w.sayForetold(zone), w.sayHold(zone), w.sayTrouble(), w.sayKnown(), w.sayTaught(), w.sayGiven(zone), w.sayStake(), w.sayShared())
}

// Details says the rest: how sure that is, what waiting costs, and what a poll is
// worth to the policy.
func (w Why) Details() string { return join(w.sayRange(), w.sayWaiting(), w.sayWorth()) }

// join puts sentences together; an empty one is left out.
func join(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// still reports whether nothing is weighed: a poll is under way, or none is
// wanted.
func (w Why) still() bool { return w.Hold.Kind == "under_way" || w.Hold.Kind == "paused" }

// sayNext says when the next poll is expected.
func (w Why) sayNext(zone *time.Location) string {
	switch {
	case w.Hold.Kind == "under_way":
		return "A poll is under way."
	case w.Hold.Kind == "paused":
		return fmt.Sprintf("No poll: it is paused. To resume: freshet resume %s.", w.ID)
	case w.Next.IsZero() && w.Outlook != nil && w.Outlook.Price > 0:
		return "No poll is in sight within a year."
	case w.Next.IsZero():
		return "When it is polled next is not known."
	case w.queued():
		return fmt.Sprintf("Next poll within about %s.", span(time.Duration(w.Within)))
	case w.Next.Sub(w.At) < time.Second:
		return "Next poll any moment now."
	}
	return fmt.Sprintf("Next poll about %s, %s.", w.clock(w.Next, zone), ahead(w.Next.Sub(w.At)))
}

// queued reports whether the first poll waits for those of other sources.
func (w Why) queued() bool {
	return w.Waiting > 1 && time.Duration(w.Within) >= 2*time.Second && !w.Asked && w.Strategy == "" && w.Opens.IsZero()
}

// sayReason says what makes the poll wait or not, apart from limits.
func (w Why) sayReason(zone *time.Location) string {
	o := w.Outlook
	switch {
	case w.still():
		return ""
	case w.Asked && w.Cause == "push": // which is said next
		return ""
	case w.Asked:
		return "Somebody asked for it."
	case w.Cause == "strategy" && w.LastSeen.IsZero():
		return fmt.Sprintf("It was never polled; then it is polled by its strategy: %s.", w.Strategy)
	case w.Cause == "strategy" && !w.Planned.After(w.At):
		return fmt.Sprintf("A time of its strategy has passed: %s.", w.Strategy)
	case w.Cause == "strategy":
		return fmt.Sprintf("That is by its strategy: %s.", w.Strategy)
	case !w.Opens.IsZero() && w.Cause != "bound":
		return fmt.Sprintf("The policy polls in its window only, which opens at %s.", w.clock(w.Opens, zone))
	case w.overdue():
		return fmt.Sprintf("Its max_gap of %s has passed.", w.MaxGap)
	case w.Cause == "bound":
		return fmt.Sprintf("Its max_gap of %s ends then.", w.MaxGap)
	case w.LastSeen.IsZero() && o != nil && o.Due.After(w.At):
		return "The first poll failed."
	case w.LastSeen.IsZero() && w.queued():
		return fmt.Sprintf("It was never polled. First polls come first, and %d sources wait for theirs.", w.Waiting)
	case w.LastSeen.IsZero():
		return "It was never seen, and first polls come first."
	case o == nil:
		return "The policy does not say when it wants to poll."
	case !o.RatePerDay.IsKnown():
		return w.sayUnknown()
	case o.Price == 0:
		return fmt.Sprintf("It %s.", w.likely())
	case w.held():
		return fmt.Sprintf("It %s.", w.likely())
	case o.Idle:
		return fmt.Sprintf("It %s; it is polled when a change is likelier.", w.likely())
	case o.Due.After(w.At) || o.Due.IsZero():
		return fmt.Sprintf("It %s; other pages look more promising.", w.likely())
	case o.Chance < 0.5:
		return fmt.Sprintf("It %s, but no other page looks more promising.", w.likely())
	}
	return fmt.Sprintf("It %s.", w.likely())
}

// sayUnknown says what makes the poll of a source wait or not whose rate is not known.
func (w Why) sayUnknown() string {
	o := w.Outlook
	said := fmt.Sprintf("It changes %s, by what was seen", o.RatePerDay.Short())
	if o.RatePerDay.Known != "at_most" {
		said = "How often it changes is not known yet"
	}
	if o.Price > 0 && !w.held() && (o.Idle || o.Due.After(w.At) || o.Due.IsZero()) {
		said += "; other pages look more promising"
	}
	return said + "."
}

// sayHeard says what a list of pages says of the source.
func (w Why) sayHeard(zone *time.Location) string {
	h := w.Heard
	if h == nil || w.still() {
		return ""
	}
	name := h.Kind
	if name == "hub" {
		name = "page"
	}
	says := fmt.Sprintf("The %s %s says that it had not changed by %s", name, h.Index, w.clock(h.Until, zone))
	switch {
	case !h.Changed.IsZero() && w.At.Sub(h.Changed) < time.Second:
		says = fmt.Sprintf("The %s %s says that it has just changed", name, h.Index)
	case !h.Changed.IsZero():
		says = fmt.Sprintf("The %s %s says that it changed %s ago", name, h.Index, span(w.At.Sub(h.Changed)))
	}
	return says + borneOut("it has", h.Right, h.Times)
}

// sayPushed says what a hook or hub says of the source.
func (w Why) sayPushed() string {
	p := w.Pushed
	switch {
	case p == nil || w.still():
		return ""
	case w.At.Sub(p.At) < time.Second:
		return "A push has just said that it changed" + borneOut("pushes have", p.Right, p.Times)
	}
	return fmt.Sprintf("A push said %s ago that it changed%s", span(w.At.Sub(p.At)), borneOut("pushes have", p.Right, p.Times))
}

// borneOut ends a sentence with how often such notifications were true.
func borneOut(who string, right, times float64) string {
	times = math.Round(times)
	right = min(math.Round(right), times)
	switch {
	case times < 1:
		return "; whether it can be believed is not known yet."
	case times == 1 && right == 1:
		return fmt.Sprintf("; %s been right once.", who)
	}
	return fmt.Sprintf("; %s been right %.0f of %.0f times.", who, right, times)
}

// held reports whether it is a limit that decides when the poll comes.
func (w Why) held() bool {
	return !w.Next.IsZero() && !w.Hold.Until.IsZero() && !w.Next.After(w.Hold.Until)
}

// likely says how likely the source is to have changed.
func (w Why) likely() string {
	p := w.Outlook.Chance
	words := "has almost certainly changed"
	switch {
	case p < 0.1:
		words = "has very probably not changed yet"
	case p < 0.5:
		words = "has probably not changed yet"
	case p < 0.9:
		words = "has probably changed"
	}
	return fmt.Sprintf("%s (%s)", words, chance(p))
}

func (w Why) overdue() bool { return !w.Deadline.IsZero() && !w.Deadline.After(w.At) }

// wanted reports whether a poll would be made now if nothing held it back.
func (w Why) wanted() bool {
	due := w.Outlook != nil && !w.Outlook.Due.IsZero() && !w.Outlook.Due.After(w.At)
	if w.Strategy != "" {
		due = w.Cause == "strategy" && !w.Planned.After(w.At)
	}
	return due || w.Asked || w.overdue()
}

// sayHold says which limit holds the poll back, if one does.
func (w Why) sayHold(zone *time.Location) string {
	reason := w.Hold.Reason
	switch w.Hold.Kind {
	case "under_way", "paused", "none":
		return ""
	case "workers", "budget":
		if !w.wanted() { // by then it will have passed
			return ""
		}
	}
	switch until := w.Hold.Until; {
	case w.Hold.Kind == "hours":
		return fmt.Sprintf("It is polled only in its active hours, %s, which begin at %s.", w.Active, w.clock(until, zone))
	case until.IsZero():
		return fmt.Sprintf("It waits: %s.", reason)
	case w.wanted() || !w.Next.After(until):
		when := w.clock(until, zone)
		if w.Next.Equal(until) {
			when = "then"
		}
		return fmt.Sprintf("It waits until %s: %s.", when, reason)
	case w.Outlook == nil || w.Outlook.Due.IsZero(): // it may be wanted before its max_gap ends
		return fmt.Sprintf("It cannot be polled before %s: %s.", w.clock(until, zone), reason)
	}
	return "" // it has passed before the poll is due
}

func (w Why) sayTrouble() string {
	if w.Trouble == "" {
		return ""
	}
	return "Nothing can be captured at the moment: " + w.Trouble + "."
}

// sayKnown says what is known of the source.
func (w Why) sayKnown() string {
	o := w.Outlook
	switch {
	case w.LastSeen.IsZero() && (o == nil || !o.RatePerDay.IsKnown()):
		return ""
	case w.LastSeen.IsZero(): // it was imported
		return fmt.Sprintf("It changes %s.", o.RatePerDay.Short())
	}
	seen := fmt.Sprintf("It was last seen %s ago", span(w.At.Sub(w.LastSeen)))
	switch {
	case o == nil:
		return seen + "."
	case !o.RatePerDay.IsKnown():
		return fmt.Sprintf("%s; polls have seen %s.", seen, plural(math.Round(o.Captured.Captured), "change"))
	}
	return fmt.Sprintf("%s and changes %s%s.", seen, o.RatePerDay.Short(), w.going())
}

// sayStake says what its changes matter by the queries that they match.
func (w Why) sayStake() string {
	s := w.Stake
	if s == nil {
		return ""
	}
	return fmt.Sprintf("A change counts as %.2g: %d of its last %d matched a query with an importance.", s.Factor, s.Matched, s.Changes)
}

// sayTaught says which update times were imported.
func (w Why) sayTaught() string {
	if w.Taught == nil {
		return ""
	}
	return fmt.Sprintf("It was %s.", w.Taught.Words())
}

// sayShared says with which sources it shares its polls.
func (w Why) sayShared() string {
	const few = 3
	names := make([]string, 0, few)
	for _, id := range w.SharedWith[:min(few, len(w.SharedWith))] {
		names = append(names, string(id))
	}
	switch n := len(w.SharedWith); {
	case n == 0:
		return ""
	case n > few:
		names = append(names, fmt.Sprintf("%d more", n-few))
	}
	last := len(names) - 1
	list := names[last]
	if last > 0 {
		list = strings.Join(names[:last], ", ") + " and " + list
	}
	if len(w.SharedWith) == 1 {
		return fmt.Sprintf("It is also read from polls of %s, which watches the same document.", list)
	}
	return fmt.Sprintf("It is also read from polls of %s, which watch the same document.", list)
}

// going says whether much more or much less is going on, there and elsewhere,
// than the rate alone would have it.
func (w Why) going() string {
	const much = 3
	usual := w.Outlook.RatePerDay.Mean * w.At.Sub(w.LastSeen).Hours() / 24
	switch {
	case w.Outlook.RatePerDay.Known != "estimated":
	case w.Outlook.Expected > much*usual:
		return ", and more than usual is going on"
	case w.Outlook.Expected < usual/much:
		return ", and less than usual is going on"
	}
	return ""
}

// sayRange says how well the rate is known.
func (w Why) sayRange() string {
	if w.Outlook == nil {
		return ""
	}
	r, now := w.Outlook.RatePerDay, w.Outlook.RateNowPerDay
	switch r.Known {
	case "estimated":
		said := fmt.Sprintf("It changes %s.", r.Words)
		if now != nil && w.LastSeen.Before(w.At) {
			said += fmt.Sprintf(" At this moment it is expected to change about %s.", oftenWords(now.Mean))
		}
		return said
	case "at_least":
		return "Every poll finds a change, so nobody can tell how many came in between."
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
		return fmt.Sprintf("Waiting loses about one change every %s: it is replaced before it is seen.", span(every))
	case o.DelayedPerDay > 0:
		return fmt.Sprintf("Waiting loses nothing: about %s of its changes wait, and are seen later.", digits(o.DelayedPerDay))
	}
	return ""
}

// sayWorth says what a poll is worth to the policy.
func (w Why) sayWorth() string {
	o := w.Outlook
	switch {
	case o == nil || w.still() || w.LastSeen.IsZero() || o.Worth == 0 && o.Price == 0:
		return ""
	case o.Price == 0:
		return fmt.Sprintf("A poll now is worth %s; what is enough is not known yet.", digits(o.Worth))
	}
	return fmt.Sprintf("A poll now is worth %s; under the present budget polls are made from %s on.", digits(o.Worth), digits(o.Price))
}

// clock writes a time of day, with the date if it is another day's and with the
// seconds if it is close.
func (w Why) clock(t time.Time, zone *time.Location) string {
	t, at := t.In(zone), w.At.In(zone)
	layout := "15:04"
	switch {
	case t.YearDay() != at.YearDay() || t.Year() != at.Year():
		layout = "15:04 on 2 January"
	case t.Sub(at).Abs() < 2*time.Minute:
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
func oftenWords(perDay float64) string {
	n, unit := perUnit(perDay)
	if digits(n) == "1" {
		return "once " + unit
	}
	return fmt.Sprintf("%s times %s", digits(n), unit)
}

// plural writes a number of things.
func plural(n float64, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%.0f %ss", n, what)
}

// rateUnits are the units of time of rates, with the rate a day from which on each is used.
var rateUnits = []struct {
	name string
	days float64
	from float64
}{
	{"a second", 1.0 / 86400, 3 * 86400}, {"a minute", 1.0 / 1440, 3 * 1440}, {"an hour", 1.0 / 24, 3 * 24},
	{"a day", 1, 0.995}, {"a week", 7, 0.995 / 7}, {"a month", 30.44, 0.995 / 30.44}, {"a year", 365.25, 0},
}

// perUnit returns a rate by the unit of time that gives a number that people
// like.
func perUnit(perDay float64) (float64, string) {
	for _, unit := range rateUnits {
		if perDay >= unit.from {
			return perDay * unit.days, unit.name
		}
	}
	return 0, "a year"
}

// inUnit returns a rate a day by a unit of time.
func inUnit(perDay float64, name string) float64 {
	for _, unit := range rateUnits {
		if unit.name == name {
			perDay *= unit.days
		}
	}
	return perDay
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
