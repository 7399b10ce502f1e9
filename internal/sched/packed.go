package sched

import (
	"hash/fnv"
	"math"
	"math/bits"
	"reflect"
	"time"

	"freshet/internal/freshet"
)

// A packed is a source as the scheduler keeps it. Most attributes of a source are those of
// thousands of others, and kept once for all of them.
type packed struct {
	ID       freshet.SourceID
	URL      string
	Name     string
	Created  stamp // 0 if it does not fit, and the common attributes have it
	Revision int64
	*common
}

// A common is the attributes that sources share: all but those that a packed has for itself,
// which are zero here.
type common struct {
	freshet.Source
	hours   *openHours // in which it is polled; nil if in all
	sources int        // that have it
	sum     uint64     // where it is found
	next    *common    // of the same sum
}

// whole returns the source as it was given.
func (p *packed) whole() freshet.Source {
	if p.common == nil {
		return freshet.Source{}
	}
	s := p.common.Source
	s.ID, s.URL, s.Name, s.Revision = p.ID, p.URL, p.Name, p.Revision
	if p.Created != 0 {
		s.Created = p.Created.time()
	}
	return s
}

// commons finds shared attributes by a hash of them.
type commons struct {
	bySum map[uint64]*common
	hours *hoursTable
}

func newCommons() commons {
	return commons{bySum: map[uint64]*common{}, hours: &hoursTable{byName: map[string]*openHours{}}}
}

// pack returns a source as it is kept. It has to be dropped when it is not needed any
// more.
func (c commons) pack(s freshet.Source) packed {
	p := packed{ID: s.ID, URL: s.URL, Name: s.Name, Revision: s.Revision}
	s.ID, s.URL, s.Name, s.Revision = "", "", "", 0
	if at := stampOf(s.Created); at.time() == s.Created {
		p.Created, s.Created = at, time.Time{}
	}
	sum := sumOfCommon(&s)
	p.common = c.bySum[sum]
	for p.common != nil && !sameAttributes(&p.common.Source, &s) {
		p.common = p.common.next
	}
	if p.common == nil {
		p.common = &common{Source: s, hours: c.hours.of(s.Active), sum: sum, next: c.bySum[sum]}
		c.bySum[sum] = p.common
	}
	p.common.sources++
	return p
}

// drop says that a source is not kept any more.
func (c commons) drop(p packed) {
	if p.common == nil {
		return
	}
	if p.common.sources--; p.common.sources > 0 {
		return
	}
	at := c.bySum[p.common.sum]
	if at == p.common {
		if at.next == nil {
			delete(c.bySum, at.sum)
		} else {
			c.bySum[at.sum] = at.next
		}
		return
	}
	for at.next != p.common {
		at = at.next
	}
	at.next = p.common.next
}

// sumOfCommon returns a hash of the attributes that most often differ.
func sumOfCommon(s *freshet.Source) uint64 {
	sum := uint64(0)
	add := func(x uint64) { sum = (bits.RotateLeft64(sum, 5) ^ x) * 0x9e3779b97f4a7c15 }
	for _, tag := range s.Tags {
		add(sumOf(tag))
	}
	for _, text := range [...]string{string(s.Of), s.Recipe.CSS, s.From, s.Strategy.Zone, s.Active.Zone} {
		add(sumOf(text))
	}
	for _, x := range [...]float64{s.Weight, s.Cost, s.Level.Share} {
		add(math.Float64bits(x))
	}
	for _, d := range [...]time.Duration{s.MinGap, s.MaxGap, s.Keep.Age, s.Life.For} {
		add(uint64(d))
	}
	if s.Paused {
		add(1)
	}
	return sum
}

// sameAttributes reports whether two sources have the same attributes. Most are zero in both.
func sameAttributes(a, b *freshet.Source) bool {
	x, y := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range x.NumField() {
		v, w := x.Field(i), y.Field(i)
		if v.IsZero() && w.IsZero() {
			continue
		}
		if !reflect.DeepEqual(v.Addr().Interface(), w.Addr().Interface()) {
			return false
		}
	}
	return true
}

// sumOf returns a hash of a text.
func sumOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// A stamp is a time in nanoseconds, and a third of the size of a time.Time. The zero
// stamp is the zero time. Times before 1678 and after 2261 are taken for the first and
// the last that fit.
type stamp uint64

// The first and the last time that a stamp can be.
var (
	firstStamp = time.Unix(0, math.MinInt64+1)
	lastStamp  = time.Unix(0, math.MaxInt64)
)

// stampOf returns the stamp of a time.
func stampOf(t time.Time) stamp {
	switch {
	case t.IsZero():
		return 0
	case t.Before(firstStamp):
		t = firstStamp
	case t.After(lastStamp):
		t = lastStamp
	}
	return stamp(uint64(t.UnixNano()) + 1<<63)
}

// time returns the time of a stamp.
func (s stamp) time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(uint64(s)-1<<63)).UTC()
}
