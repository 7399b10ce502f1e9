package queries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/binenc"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/strictjson"
	"freshet/internal/units"
)

// A DigestEvery is the period of a digest.
type DigestEvery string

// The periods of a digest.
const (
	DigestNever DigestEvery = ""
	DigestHour  DigestEvery = "hour"
	DigestDay   DigestEvery = "day"
	DigestWeek  DigestEvery = "week"
)

// A Digest delivers matches together: at a time, when there are enough of them, or whichever comes
// first. The zero Digest delivers each by itself.
type Digest struct {
	Every DigestEvery     `json:"every,omitempty"`
	At    units.TimeOfDay `json:"at,omitzero"`    // of the day or the week; for an hour, only the minutes count
	On    string          `json:"on,omitempty"`   // the day of a week: mon, tue, ...; "" means mon
	Zone  string          `json:"zone,omitempty"` // such as Europe/Berlin; "" means UTC
	Count int             `json:"count,omitempty"`
}

// Weekday returns the day of a weekly digest.
func (d Digest) Weekday() time.Weekday {
	if i := slices.Index(units.Weekdays, d.On); i >= 0 {
		return time.Weekday(i)
	}
	return time.Monday
}

// UnmarshalJSON reads an object, a number of matches, or one of "hourly", "daily",
// "weekly", "daily 08:00" and "daily 08:00 Europe/Berlin".
func (d *Digest) UnmarshalJSON(text []byte) error {
	*d = Digest{}
	if n, err := strconv.Atoi(string(text)); err == nil {
		d.Count = n
		return nil
	}
	if bytes.HasPrefix(text, []byte(`"`)) {
		var line string
		if err := json.Unmarshal(text, &line); err != nil {
			return err
		}
		return d.parse(line)
	}
	type plain Digest
	v, err := strictjson.Parse[plain](string(text))
	if err != nil {
		return invalid.Errorf("digest", "%v", err)
	}
	*d = Digest(v)
	return nil
}

func (d *Digest) parse(line string) error {
	words := strings.Fields(line)
	every := map[string]DigestEvery{"hourly": DigestHour, "daily": DigestDay, "weekly": DigestWeek}
	if len(words) == 0 || len(words) > 3 || every[words[0]] == "" {
		return invalid.Errorf("digest", "%.60q is not hourly, daily, weekly, or such as daily 08:00 Europe/Berlin", line)
	}
	d.Every = every[words[0]]
	if len(words) > 1 {
		at, err := units.ParseTimeOfDay(words[1])
		if err != nil {
			return invalid.Errorf("digest.at", "%v", err)
		}
		d.At = at
	}
	if len(words) > 2 {
		d.Zone = words[2]
	}
	return nil
}

const maxDigest = 10_000 // matches

func (d *Digest) check() error {
	switch d.Every {
	case DigestNever, DigestHour, DigestDay, DigestWeek:
	default:
		return invalid.Errorf("digest.every", "%.40q is not hour, day or week", string(d.Every))
	}
	switch {
	case d.Every == DigestNever && d.At != 0:
		return invalid.Errorf("digest.at", "needs digest.every")
	case d.Every == DigestHour && d.At >= 60:
		return invalid.Errorf("digest.at", "%s is not a time within an hour; write 00:15 for a quarter past", d.At)
	case d.On != "" && d.Every != DigestWeek:
		return invalid.Errorf("digest.on", "needs every: week")
	case d.On != "" && !slices.Contains(units.Weekdays, d.On):
		return invalid.Errorf("digest.on", "%.40q is not a day: use %s", d.On, strings.Join(units.Weekdays, ", "))
	case d.Count < 0 || d.Count > maxDigest:
		return invalid.Errorf("digest.count", "must be from 1 to %d", maxDigest)
	}
	return units.CheckZone("digest.zone", d.Zone)
}

// QuietHours are hours without deliveries, in the local time of a zone. What matches meanwhile is
// delivered afterwards, together. Equal From and To mean the whole day.
type QuietHours struct {
	From units.TimeOfDay `json:"from"`
	To   units.TimeOfDay `json:"to"`
	Zone string          `json:"zone,omitempty"`
	Days []string        `json:"days,omitempty"` // on which they begin: mon, tue, ...; none means all
}

// IsZero reports whether there are no quiet hours.
func (q QuietHours) IsZero() bool { return q.From == q.To && len(q.Days) == 0 }

// On reports whether quiet hours begin on a day of the week.
func (q QuietHours) On(day time.Weekday) bool {
	return len(q.Days) == 0 || slices.Contains(q.Days, units.Weekdays[day])
}

// UnmarshalJSON reads an object, or "22:00-07:00", or "22:00-07:00 Europe/Berlin".
func (q *QuietHours) UnmarshalJSON(text []byte) error {
	*q = QuietHours{}
	if !bytes.HasPrefix(text, []byte(`"`)) {
		type plain QuietHours
		v, err := strictjson.Parse[plain](string(text))
		if err != nil {
			return invalid.Errorf("quiet", "%v", err)
		}
		*q = QuietHours(v)
		return nil
	}
	var line string
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	hours, zone, _ := strings.Cut(strings.TrimSpace(line), " ")
	from, to, ok := strings.Cut(hours, "-")
	if !ok {
		return invalid.Errorf("quiet", "%.60q is not such as 22:00-07:00 or 22:00-07:00 Europe/Berlin", line)
	}
	var err error
	if q.From, err = units.ParseTimeOfDay(from); err != nil {
		return invalid.Errorf("quiet.from", "%v", err)
	}
	if q.To, err = units.ParseTimeOfDay(to); err != nil {
		return invalid.Errorf("quiet.to", "%v", err)
	}
	q.Zone = strings.TrimSpace(zone)
	return nil
}

func (q *QuietHours) check() error {
	for i, day := range q.Days {
		if !slices.Contains(units.Weekdays, day) {
			return invalid.Errorf(fmt.Sprintf("quiet.days[%d]", i), "%.40q is not a day: use %s", day, strings.Join(units.Weekdays, ", "))
		}
	}
	q.Days = sortedUnique(q.Days)
	if q.From == q.To && len(q.Days) == 0 && q.From != 0 || len(q.Days) == len(units.Weekdays) && q.From == q.To {
		return invalid.Errorf("quiet", "would never end; to stop a query, pause it")
	}
	return units.CheckZone("quiet.zone", q.Zone)
}

// A Rate limits how many batches are delivered in a length of time. The rest is delivered together
// when there is room again. Zero means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// ParseRate reads a rate such as "10/h" or "1/15m".
func ParseRate(text string) (Rate, error) {
	number, per, ok := strings.Cut(strings.TrimSpace(text), "/")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	if !ok || err != nil || n < 1 {
		return Rate{}, fmt.Errorf("%.40q is not a rate, such as 10/h or 1/15m", text)
	}
	length, err := units.ParsePer(strings.TrimSpace(per))
	return Rate{n, length}, err
}

// String returns the rate as ParseRate reads it; "" if there is none.
func (r Rate) String() string {
	if r == (Rate{}) {
		return ""
	}
	return strconv.Itoa(r.N) + "/" + units.FormatPer(r.Per)
}

// MarshalText implements encoding.TextMarshaler.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r = Rate{}
	if len(text) == 0 {
		return nil
	}
	if *r, err = ParseRate(string(text)); err != nil {
		return invalid.Errorf("rate", "%v", err)
	}
	return nil
}

const mostRate = 1000 // deliveries whose times are remembered

func (r *Rate) check() error {
	switch {
	case *r == Rate{}:
		return nil
	case r.N < 1 || r.N > mostRate:
		return invalid.Errorf("rate", "must be from 1 to %d in a length of time", mostRate)
	case r.Per < time.Second || r.Per > longestWindow:
		return invalid.Errorf("rate", "the length of time must be from 1s to %s", units.FormatDuration(longestWindow))
	}
	return nil
}

// A Pace says when the matches of one query are sent: in a digest, outside of quiet
// hours, and no more than a rate allows.
type Pace struct {
	query             Query
	digestIn, quietIn *time.Location

	from, to int64       // numbers of the matches that wait; none if from > to
	since    time.Time   // when the first of them came
	delay    Delay       // what they wait for
	due      time.Time   // when they are sent; zero if they wait for more of them
	sent     []time.Time // when the last batches were sent, as many as the rate counts
	again    time.Time   // when the unacknowledged matches are sent again; zero if they are not
}

// NewPace returns the pace of a query whose matches up to a number have been sent.
func NewPace(q Query, told int64) (*Pace, error) {
	p := &Pace{query: q, from: told + 1, to: told}
	var err error
	if p.digestIn, err = time.LoadLocation(q.Digest.Zone); err != nil {
		return nil, &invalid.Error{Field: "digest.zone", Reason: err.Error()}
	}
	if p.quietIn, err = time.LoadLocation(q.Quiet.Zone); err != nil {
		return nil, &invalid.Error{Field: "quiet.zone", Reason: err.Error()}
	}
	return p, nil
}

// Add adds the match with the next number, and returns the batches that are due. It ignores a match
// that it already has; one that comes too early is an error, because those before it would be lost.
func (p *Pace) Add(m Match, now time.Time) ([]Batch, error) {
	if m.Number <= p.to {
		return nil, nil
	}
	if m.Number != p.to+1 {
		return nil, fmt.Errorf("query %s: match %d comes after match %d", m.Query, m.Number, p.to)
	}
	ready := p.Tick(now) // what is due is sent before what has just come
	if p.from > p.to {
		p.since, p.delay, p.due = now, DelayNone, p.digestDue(now)
	}
	p.to = m.Number
	return append(ready, p.Tick(now)...), nil
}

// digestDue returns when matches that came at a time are due: at once, if there is no
// digest; zero, if only their number counts.
func (p *Pace) digestDue(came time.Time) time.Time {
	switch d := p.query.Digest; {
	case d.Every != DigestNever:
		return nextDigest(d, came, p.digestIn)
	case d.Count > 0:
		return time.Time{}
	}
	return came
}

// Waiting returns how many matches wait, and for what.
func (p *Pace) Waiting() (int64, Delay) {
	delay := p.delay
	if delay == DelayNone {
		delay = DelayDigest
	}
	return p.to - p.from + 1, delay
}

// Due returns when the waiting matches are sent, unless something is sent before.
func (p *Pace) Due() (time.Time, bool) { return p.due, p.from <= p.to && !p.due.IsZero() }

// next returns when Tick is to be called; zero if only a match can bring anything.
func (p *Pace) next() time.Time {
	due, waits := p.Due()
	if !waits || !p.again.IsZero() && p.again.Before(due) {
		return p.again
	}
	return due
}

// Tick moves the time on, and returns what is to be sent.
func (p *Pace) Tick(now time.Time) []Batch {
	batches := p.tickNew(now)
	if len(batches) == 0 {
		batches = p.tickRepeat(now)
	}
	p.planRepeat(now)
	return batches
}

// tickNew returns the matches to send for the first time.
func (p *Pace) tickNew(now time.Time) []Batch {
	if p.from > p.to {
		return nil
	}
	full := p.query.Digest.Count > 0 && p.to-p.from+1 >= int64(p.query.Digest.Count)
	if !full && (p.due.IsZero() || now.Before(p.due)) {
		return nil
	}
	if p.delay == DelayNone && (p.query.Digest.Every != DigestNever || p.query.Digest.Count > 0) {
		p.delay = DelayDigest
	}
	if isQuiet(p.query.Quiet, now.In(p.quietIn)) {
		p.delay, p.due = DelayQuiet, quietEnd(p.query.Quiet, now, p.quietIn)
		return nil
	}
	if free := p.free(now); free.After(now) {
		p.delay, p.due = DelayRate, free
		return nil
	}
	batch := Batch{Query: p.query.ID, From: p.from, To: p.to, Delay: p.delay, At: now}
	p.from, p.since, p.delay, p.due = p.to+1, time.Time{}, DelayNone, time.Time{}
	p.count(now)
	return []Batch{batch}
}

// count counts a batch that is sent, for the rate.
func (p *Pace) count(now time.Time) {
	if n := p.query.Rate.N; n > 0 {
		p.sent = append(p.sent, now)
		p.sent = p.sent[max(0, len(p.sent)-n):]
	}
}

// free returns when the rate has room for a batch.
func (p *Pace) free(now time.Time) time.Time {
	r := p.query.Rate
	if r.N == 0 || len(p.sent) < r.N {
		return now
	}
	return p.sent[len(p.sent)-r.N].Add(r.Per)
}

// Save returns what the pace remembers.
func (p *Pace) Save() []byte {
	w := &binenc.Writer{noteVersion}
	w.Varint(p.from)
	w.Varint(p.to)
	w.Varint(moment(p.since))
	writeText(w, string(p.delay))
	w.Varint(moment(p.due))
	w.Varint(int64(len(p.sent)))
	for _, t := range p.sent {
		w.Varint(moment(t))
	}
	if !p.again.IsZero() {
		w.Varint(moment(p.again))
	}
	return *w
}

// Restore takes over what Save returned. If the query was edited meanwhile, what waits
// for its digest waits for that of the new one.
func (p *Pace) Restore(data []byte) error {
	in := binenc.NewReader(data)
	if in.Byte() != noteVersion {
		return fmt.Errorf("the pace of query %s: %w", p.query.ID, freshet.ErrDamaged)
	}
	from, to := in.Varint(), in.Varint()
	since, delay, due := momentAt(in.Varint()), Delay(readText(in)), momentAt(in.Varint())
	var sent []time.Time
	for range readCount(in, maxRecords) {
		sent = append(sent, momentAt(in.Varint()))
	}
	if in.Len() > 0 { // which no earlier version had
		p.again = momentAt(in.Varint())
	}
	if in.Close() != nil || from < 1 || to < from-1 {
		return fmt.Errorf("the pace of query %s: %w", p.query.ID, freshet.ErrDamaged)
	}
	p.from, p.to, p.since, p.delay, p.due, p.sent = from, to, since, delay, due, sent
	if p.from <= p.to && p.delay == DelayNone {
		p.due = p.digestDue(p.since)
	}
	return nil
}

// moment returns a time as a number; zero for none.
func moment(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func momentAt(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// wall returns when a clock on the wall shows a time on a day. Where it shows it twice,
// because it was put back, that is the first time; where it never does, because it was
// put forward, it is the minute after the gap.
func wall(year int, month time.Month, day int, at units.TimeOfDay, in *time.Location) time.Time {
	utc := time.Date(year, month, day, int(at)/60, int(at)%60, 0, 0, time.UTC)
	var found time.Time
	for _, around := range []time.Duration{-units.Day, units.Day} {
		_, offset := utc.Add(around).In(in).Zone()
		t := utc.Add(-time.Duration(offset) * time.Second)
		if shows(t.In(in), at) && (found.IsZero() || t.Before(found)) {
			found = t
		}
	}
	if !found.IsZero() {
		return found
	}
	_, offset := utc.Add(-units.Day).In(in).Zone()
	t := utc.Add(-time.Duration(offset) * time.Second)
	for date := t.In(in).YearDay(); minutesOf(t.Add(-time.Minute).In(in)) >= at && t.Add(-time.Minute).In(in).YearDay() == date; {
		t = t.Add(-time.Minute)
	}
	return t
}

func shows(t time.Time, at units.TimeOfDay) bool { return minutesOf(t) == at }

func minutesOf(t time.Time) units.TimeOfDay { return units.TimeOfDay(t.Hour()*60 + t.Minute()) }

// nextDigest returns the first time of a digest after a moment.
func nextDigest(d Digest, after time.Time, in *time.Location) time.Time {
	local := after.In(in)
	if d.Every == DigestHour {
		// Offsets of time zones are not always whole hours.
		t := after.Truncate(time.Minute).Add(time.Minute)
		for t.In(in).Minute() != int(d.At)%60 {
			t = t.Add(time.Minute)
		}
		return t
	}
	for days := 0; ; days++ {
		year, month, day := local.Date()
		t := wall(year, month, day+days, d.At, in)
		if t.After(after) && (d.Every == DigestDay || t.In(in).Weekday() == d.Weekday()) {
			return t
		}
	}
}

// isQuiet reports whether a moment lies in quiet hours, by the clock on the wall.
func isQuiet(q QuietHours, local time.Time) bool {
	if q.IsZero() {
		return false
	}
	at, today := minutesOf(local), local.Weekday()
	yesterday := (today + 6) % 7
	if q.From < q.To {
		return q.From <= at && at < q.To && q.On(today)
	}
	return at >= q.From && q.On(today) || at < q.To && q.On(yesterday)
}

// quietEnd returns the first minute that is not quiet. Going by minutes is right
// whatever happens to the clock meanwhile.
func quietEnd(q QuietHours, now time.Time, in *time.Location) time.Time {
	t := now.Truncate(time.Minute)
	for end := t.Add(9 * units.Day); isQuiet(q, t.In(in)) && t.Before(end); {
		t = t.Add(time.Minute)
	}
	return t
}
