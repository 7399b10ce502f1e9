package store

import (
	"database/sql/driver"
	"errors"
	"math"
	"slices"
	"time"

	"freshet/internal/binenc"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
)

// What a source says when it is polled, of itself and of other pages, and what others had
// said of it, is mostly nothing, and sometimes long. So it is not in the log but beside it, one row for each outcome
// that has any.
//
// A row begins with what it has in it. Times are counted in seconds if all of them are
// whole, and otherwise in nanoseconds, each from the one before it: the pages of an index
// were mostly changed close to each other, so that a page takes about 11 bytes, and 8 of
// them are its key.
const (
	saidDates  = 1 << iota // of the source itself
	saidWord               // of other pages
	saidFrom               // the word has a beginning
	saidNanos              // times are nanoseconds
	saidPushed             // a notification said that the source has changed
	saidNext               // when the source says that it will change
	saidClaims             // the word says how often pages change
	saidBefore             // what this version can read is less than this
)

// A page begins with the length from the time before it, and these.
const (
	pageGone  = 1 << iota // the index does not list it any more
	pageDated             // it has a date
	pageBits  = 2
)

// mostSaid bounds what is read of a row: more than an index says at once.
const mostSaid = 1 << 20

var errSaid = errors.New("what the source said cannot be read")

// settle brings the times of what an outcome says to those that are stored.
func settle(o *freshet.Outcome) {
	o.Pushed = MomentOf(o.Pushed).Time()
	if len(o.Dates) > 0 {
		o.Dates = slices.Clone(o.Dates)
		for i, at := range o.Dates {
			o.Dates[i] = MomentOf(at).Time()
		}
	}
	if o.Foretold != nil {
		f := *o.Foretold
		f.Next = slices.Clone(f.Next)
		for i, n := range f.Next {
			f.Next[i].At = MomentOf(n.At).Time()
		}
		o.Foretold = &f
	}
	if o.Word == nil {
		return
	}
	w := *o.Word
	w.From = MomentOf(w.From).Time()
	w.Pages = slices.Clone(w.Pages)
	for i, p := range w.Pages {
		w.Pages[i].Date = MomentOf(p.Date).Time()
	}
	o.Word = &w
}

// encodeSaid returns what an outcome says, as it is stored; nil if it says nothing.
func encodeSaid(o *freshet.Outcome) []byte {
	if len(o.Dates) == 0 && o.Word == nil && o.Foretold == nil && o.Pushed.IsZero() {
		return nil
	}
	w := saidWriter{Writer: make([]byte, 1, 16), unit: 1e9}
	has := byte(0)
	w.look(o)
	if w.unit == 1 {
		has |= saidNanos
	}
	if at := MomentOf(o.Pushed); at != never {
		has |= saidPushed
		w.Varint(w.since(at))
	}
	if len(o.Dates) > 0 {
		has |= saidDates
		w.Uvarint(uint64(len(o.Dates)))
		for _, at := range o.Dates {
			w.Varint(w.since(MomentOf(at)))
		}
	}
	if o.Foretold != nil {
		has |= saidNext
		w.foretold(o.Foretold)
	}
	if o.Word != nil {
		has |= saidWord
		w.Byte(byte(o.Word.Kind))
		if from := MomentOf(o.Word.From); from != never {
			has |= saidFrom
			w.Varint(w.since(from))
		}
		w.pages(o.Word.Pages)
		if len(o.Word.Claims) > 0 {
			has |= saidClaims
			w.claims(o.Word.Claims)
		}
	}
	w.Writer[0] = has
	return w.Writer
}

// A saidWriter writes what a source said.
type saidWriter struct {
	binenc.Writer
	unit int64 // nanoseconds
	last int64 // the time before, in units
}

// look finds out in what unit the times of an outcome can be written.
func (w *saidWriter) look(o *freshet.Outcome) {
	whole := func(m Moment) {
		if m != never && m%1e9 != 0 {
			w.unit = 1
		}
	}
	whole(MomentOf(o.Pushed))
	for _, at := range o.Dates {
		whole(MomentOf(at))
	}
	if o.Foretold != nil {
		for _, n := range o.Foretold.Next {
			whole(MomentOf(n.At))
		}
	}
	if o.Word == nil {
		return
	}
	whole(MomentOf(o.Word.From))
	for _, p := range o.Word.Pages {
		whole(MomentOf(p.Date))
	}
}

// since returns how long after the time before a moment is. What wraps around does so
// back when it is read.
func (w *saidWriter) since(m Moment) int64 {
	at := int64(m) / w.unit
	step := at - w.last
	w.last = at
	return step
}

// zigzag returns a number without a sign that is small if n is near zero.
func zigzag(n int64) uint64 { return uint64(n<<1) ^ uint64(n>>63) }

// unzigzag returns what zigzag was given.
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// A next word begins with its kind and these.
const (
	nextZoneless = 1 << (nextBits + iota)
	nextDayless
	nextBits = 2
)

// foretold writes what a source says of when it will change.
func (w *saidWriter) foretold(f *evidence.Announcement) {
	w.Uvarint(uint64(f.Rests))
	w.Uvarint(uint64(len(f.Next)))
	for _, n := range f.Next {
		has := byte(n.By)
		if n.Zoneless {
			has |= nextZoneless
		}
		if n.Dayless {
			has |= nextDayless
		}
		w.Byte(has)
		w.Varint(w.since(MomentOf(n.At)))
		w.Varint(int64(n.Every))
	}
}

func (w *saidWriter) pages(pages []evidence.PageHint) {
	w.Uvarint(uint64(len(pages)))
	w.Writer = slices.Grow(w.Writer, 11*len(pages))
	for _, p := range pages {
		w.Uint64(uint64(p.Page))
		bits := uint64(0)
		if p.Gone {
			bits |= pageGone
		}
		date := MomentOf(p.Date)
		if date == never {
			w.Uvarint(bits)
			continue
		}
		bits |= pageDated
		step := w.since(date)
		if w.unit == 1 { // a length can take all 64 bits
			w.Uvarint(bits)
			w.Varint(step)
			continue
		}
		w.Uvarint(zigzag(step)<<pageBits | bits)
	}
}

func (w *saidWriter) claims(claims []evidence.PageClaim) {
	w.Uvarint(uint64(len(claims)))
	for _, c := range claims {
		w.Uint64(uint64(c.Page))
		w.Byte(byte(c.Freq))
	}
}

// decodeSaid reads what encodeSaid returned into an outcome.
func decodeSaid(said []byte, o *freshet.Outcome) error {
	if len(said) == 0 || said[0] >= saidBefore || len(said) > mostSaid {
		return errSaid
	}
	has := said[0]
	r := saidReader{Reader: binenc.NewReader(said[1:]), unit: 1e9}
	if has&saidNanos != 0 {
		r.unit = 1
	}
	if has&saidPushed != 0 {
		o.Pushed = r.after(r.Varint()).Time()
	}
	if has&saidDates != 0 {
		for range r.Count(mostSaid, 1) {
			o.Dates = append(o.Dates, r.after(r.Varint()).Time())
		}
	}
	if has&saidNext != 0 {
		o.Foretold = r.foretold()
	}
	if has&saidWord != 0 {
		w := &evidence.IndexHint{Kind: evidence.IndexKind(r.Byte())}
		if has&saidFrom != 0 {
			w.From = r.after(r.Varint()).Time()
		}
		w.Pages = r.pages()
		if has&saidClaims != 0 {
			w.Claims = r.claims()
		}
		o.Word = w
	}
	if r.Close() != nil {
		o.Pushed, o.Dates, o.Word, o.Foretold = time.Time{}, nil, nil, nil
		return errSaid
	}
	return nil
}

// A saidReader reads what a saidWriter wrote.
type saidReader struct {
	*binenc.Reader
	unit int64
	last int64
}

// after returns the moment that is so long after the time before.
func (r *saidReader) after(step int64) Moment {
	r.last += step
	if r.unit > 1 && (r.last > math.MaxInt64/r.unit || r.last < math.MinInt64/r.unit) {
		r.Fail()
		return never
	}
	return Moment(r.last * r.unit)
}

func (r *saidReader) foretold() *evidence.Announcement {
	f := &evidence.Announcement{Rests: evidence.QuietHours(r.Uvarint())}
	for range r.Count(mostSaid, 3) {
		has := r.Byte()
		n := evidence.Next{By: evidence.NextKind(has & (1<<nextBits - 1)), Zoneless: has&nextZoneless != 0, Dayless: has&nextDayless != 0}
		n.At = r.after(r.Varint()).Time()
		n.Every = time.Duration(r.Varint())
		f.Next = append(f.Next, n)
	}
	r.Require(f.Rests.Sound() && len(f.Next) <= evidence.NextKinds)
	return f
}

func (r *saidReader) pages() []evidence.PageHint {
	n := r.Count(mostSaid, 9)
	if n == 0 {
		return nil
	}
	pages := make([]evidence.PageHint, n)
	for i := range pages {
		p := &pages[i]
		p.Page = crawl.PageKey(r.Uint64())
		v := r.Uvarint()
		p.Gone = v&pageGone != 0
		switch {
		case v&pageDated == 0:
		case r.unit == 1:
			p.Date = r.after(r.Varint()).Time()
		default:
			p.Date = r.after(unzigzag(v >> pageBits)).Time()
		}
	}
	return pages
}

func (r *saidReader) claims() (claims []evidence.PageClaim) {
	for range r.Count(mostSaid, 9) {
		c := evidence.PageClaim{Page: crawl.PageKey(r.Uint64()), Freq: evidence.ChangeFreq(r.Byte())}
		r.Require(c.Freq < evidence.ChangeFreqs)
		claims = append(claims, c)
	}
	return claims
}

// say stores what an outcome says beside it.
func (b *batch) say(o *freshet.Outcome) error {
	said := encodeSaid(o)
	if said == nil {
		return nil
	}
	return b.insert(&evidenceTable, int64(o.Cursor), driver.Value(said))
}
