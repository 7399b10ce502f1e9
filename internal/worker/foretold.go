package worker

import (
	"time"

	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// foretold returns what a source that was read says of when it will change; nil if that is
// nothing.
func (o *Order) foretold(rd extract.Reading, took time.Duration) *freshet.Foretelling {
	now, setting := o.At.Add(took), o.Source.NextChange
	zone := setting.Location()
	f := freshet.Foretelling{Rests: rd.Foretold.Rests}
	for _, n := range rd.Foretold.Next {
		if passed := now.Sub(n.At); passed >= 0 { // of a schedule, the next is wanted
			n.At = n.At.Add(passed.Truncate(n.Every) + n.Every)
		}
		f.Next = append(f.Next, n)
	}
	switch rd.Kind {
	case freshet.HTML, freshet.Text, freshet.PDF:
		if n, ok := extract.Foretold(rd.Text, now, zone); ok {
			f.Next = append(f.Next, n)
		}
	}
	if n, ok := foretoldBy(rd.Fields[setting.Field], now, zone); ok {
		f.Next = append(f.Next, n)
	}
	if len(f.Next) == 0 && f.Rests == 0 {
		return nil
	}
	for i := range f.Next {
		f.Next[i].At = f.Next[i].At.Truncate(time.Second)
	}
	return &f
}

// foretoldBy returns when the next change comes by the value that a user has named.
func foretoldBy(v any, now time.Time, zone *time.Location) (next freshet.NextWord, ok bool) {
	switch v := v.(type) {
	case string:
		return extract.ForetoldBy(v, now, zone)
	case float64:
		const millis = 1e11 // seconds since 1970 are fewer
		if v > millis {
			v /= 1000
		}
		if at := time.Unix(int64(v), 0).UTC(); v > 0 && v < millis && at.After(now) {
			return freshet.NextWord{By: freshet.NextByField, At: at}, true
		}
	}
	return next, false
}
