package queries

import (
	"fmt"
	"time"

	"freshet/internal/binenc"
	"freshet/internal/freshet"
)

// A Pace says when the matches of one query are told: in a digest, outside of quiet
// hours, and no more than a rate allows.
type Pace struct {
	query             freshet.Query
	digestIn, quietIn *time.Location

	from, to int64        // numbers of the matches that wait; none if from > to
	since    time.Time    // when the first of them came
	hold     freshet.Hold // what they wait for
	due      time.Time    // when they are told; zero if they wait for more of them
	sent     []time.Time  // when the last parcels were told, as many as the rate counts
}

// NewPace returns the pace of a query whose matches up to a number have been told.
func NewPace(q freshet.Query, told int64) (*Pace, error) {
	p := &Pace{query: q, from: told + 1, to: told}
	var err error
	if p.digestIn, err = time.LoadLocation(q.Digest.Zone); err != nil {
		return nil, &freshet.InvalidError{Field: "digest.zone", Reason: err.Error()}
	}
	if p.quietIn, err = time.LoadLocation(q.Quiet.Zone); err != nil {
		return nil, &freshet.InvalidError{Field: "quiet.zone", Reason: err.Error()}
	}
	return p, nil
}

// Tell tells of the match with the next number, and returns what is to be told now. One
// that it was told of before is passed over; one that comes too early is an error of the
// caller, because those before it would be lost.
func (p *Pace) Tell(m freshet.Match, now time.Time) ([]freshet.Parcel, error) {
	if m.Number <= p.to {
		return nil, nil
	}
	if m.Number != p.to+1 {
		return nil, fmt.Errorf("query %s: match %d comes after match %d", m.Query, m.Number, p.to)
	}
	ready := p.Tick(now) // what is due is told before what has just come
	if p.from > p.to {
		p.since, p.hold, p.due = now, freshet.HoldNone, p.digestDue(now)
	}
	p.to = m.Number
	return append(ready, p.Tick(now)...), nil
}

// digestDue returns when matches that came at a time are due: at once, if there is no
// digest; zero, if only their number counts.
func (p *Pace) digestDue(came time.Time) time.Time {
	switch d := p.query.Digest; {
	case d.Every != freshet.DigestNever:
		return nextDigest(d, came, p.digestIn)
	case d.Count > 0:
		return time.Time{}
	}
	return came
}

// Waiting returns how many matches wait, and for what.
func (p *Pace) Waiting() (int64, freshet.Hold) {
	hold := p.hold
	if hold == freshet.HoldNone {
		hold = freshet.HoldDigest
	}
	return p.to - p.from + 1, hold
}

// Due returns when Tick is to be called, if nothing is told before.
func (p *Pace) Due() (time.Time, bool) { return p.due, p.from <= p.to && !p.due.IsZero() }

// Tick says that it is a certain time, and returns what is to be told.
func (p *Pace) Tick(now time.Time) []freshet.Parcel {
	if p.from > p.to {
		return nil
	}
	full := p.query.Digest.Count > 0 && p.to-p.from+1 >= int64(p.query.Digest.Count)
	if !full && (p.due.IsZero() || now.Before(p.due)) {
		return nil
	}
	if p.hold == freshet.HoldNone && (p.query.Digest.Every != freshet.DigestNever || p.query.Digest.Count > 0) {
		p.hold = freshet.HoldDigest
	}
	if isQuiet(p.query.Quiet, now.In(p.quietIn)) {
		p.hold, p.due = freshet.HoldQuiet, quietEnd(p.query.Quiet, now, p.quietIn)
		return nil
	}
	if free := p.free(now); free.After(now) {
		p.hold, p.due = freshet.HoldRate, free
		return nil
	}
	parcel := freshet.Parcel{Query: p.query.ID, From: p.from, To: p.to, Hold: p.hold, At: now}
	p.from, p.since, p.hold, p.due = p.to+1, time.Time{}, freshet.HoldNone, time.Time{}
	if n := p.query.Rate.N; n > 0 {
		p.sent = append(p.sent, now)
		p.sent = p.sent[max(0, len(p.sent)-n):]
	}
	return []freshet.Parcel{parcel}
}

// free returns when the rate has room for a parcel.
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
	writeText(w, string(p.hold))
	w.Varint(moment(p.due))
	w.Varint(int64(len(p.sent)))
	for _, t := range p.sent {
		w.Varint(moment(t))
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
	since, hold, due := momentAt(in.Varint()), freshet.Hold(readText(in)), momentAt(in.Varint())
	var sent []time.Time
	for range readCount(in, maxRecords) {
		sent = append(sent, momentAt(in.Varint()))
	}
	if in.Close() != nil || from < 1 || to < from-1 {
		return fmt.Errorf("the pace of query %s: %w", p.query.ID, freshet.ErrDamaged)
	}
	p.from, p.to, p.since, p.hold, p.due, p.sent = from, to, since, hold, due, sent
	if p.from <= p.to && p.hold == freshet.HoldNone {
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
