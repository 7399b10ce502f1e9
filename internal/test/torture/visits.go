package torture

import (
	"sync"
	"time"
)

// A visit is one request as its server saw it, a redirect's hop like any other.
type visit struct {
	at     time.Time // when the handler was called
	done   time.Time // just before it answered; zero if it did not, or not well
	left   time.Time // when the handler returned; zero while it runs
	host   string
	source string // that the request was made for, by the URL's query
	path   string
	first  bool          // the request the poll began with, not a redirect's target
	away   time.Duration // how long the answer asked to be left alone

	// unheard means that the client had gone when the handler was called: on a
	// busy machine a server can come to a request long after it was sent.
	unheard bool
}

// visits are all requests in the order of their arrival.
type visits struct {
	mu  sync.Mutex
	all []*visit
}

// arrive notes a request. The clock is read under the lock, so that the order of
// the log is the order of time.
func (l *visits) arrive(v *visit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v.at = time.Now()
	l.all = append(l.all, v)
}

// last returns when the last request came; zero if none has.
func (l *visits) last() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return time.Time{}
	}
	return l.all[len(l.all)-1].at
}

// misses notes that the client of a visit had gone when it came.
func (l *visits) misses(v *visit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v.unheard = true
}

// asks notes that the answer to a visit will ask to be left alone.
func (l *visits) asks(v *visit, away time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v.away = away
}

// answers notes that a visit is about to be answered.
func (l *visits) answers(v *visit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v.done = time.Now()
}

// leave notes that a visit is over.
func (l *visits) leave(v *visit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v.left = time.Now()
}

// since returns copies of the visits from the nth on.
func (l *visits) since(n int) []visit {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := make([]visit, 0, len(l.all)-n)
	for _, v := range l.all[n:] {
		found = append(found, *v)
	}
	return found
}

// count returns how many there are.
func (l *visits) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}
