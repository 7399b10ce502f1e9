package lab

import "iter"

// A recordedLook is a poll that a daemon made.
type recordedLook struct {
	at     int64 // when it ended, in nanoseconds since 1970
	page   int32
	failed bool
}

// A lookList holds polls, some ten million of them: in blocks, because a slice
// that grows is there twice while it does.
type lookList struct {
	blocks []*lookBlock
	n      int
}

// A lookBlock holds a few thousand polls.
type lookBlock struct {
	at   [lookBlockSize]int64
	page [lookBlockSize]int32 // its complement if the poll failed
}

const lookBlockSize = 8192

// add appends a poll.
func (l *lookList) add(at int64, page int32, failed bool) {
	if l.n == len(l.blocks)*lookBlockSize {
		l.blocks = append(l.blocks, &lookBlock{})
	}
	b, i := l.blocks[len(l.blocks)-1], l.n%lookBlockSize
	if failed {
		page = ^page
	}
	b.at[i], b.page[i] = at, page
	l.n++
}

// rename gives the pages other numbers.
func (l *lookList) rename(to []int32) {
	for i := range l.n {
		b := l.blocks[i/lookBlockSize]
		if page := &b.page[i%lookBlockSize]; *page < 0 {
			*page = ^to[^*page]
		} else {
			*page = to[*page]
		}
	}
}

// all returns the polls in order.
func (l *lookList) all() iter.Seq[recordedLook] {
	return func(yield func(recordedLook) bool) {
		for i := range l.n {
			b := l.blocks[i/lookBlockSize]
			look := recordedLook{at: b.at[i%lookBlockSize], page: b.page[i%lookBlockSize]}
			if look.failed = look.page < 0; look.failed {
				look.page = ^look.page
			}
			if !yield(look) {
				return
			}
		}
	}
}
