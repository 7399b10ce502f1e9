package shards

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A Table is where several brains share a budget. Each has a seat, and may make as many
// polls in a stretch as its part says. The parts of all are never more than the budget, and
// one is raised only when what another gave up can no longer be seen in any stretch: whoever
// is to have more waits for that by its own clock. No two clocks are compared.
//
// A Table is kept where all brains see it, and one at a time changes it.
type Table struct {
	Budget  sched.Budget `json:"budget"`
	Seats   []Seat       `json:"seats"`
	Version int64        `json:"version"`           // grows whenever a part changes, or is to
	Since   time.Time    `json:"since"`             // when parts last were as they are to be
	Began   time.Time    `json:"began,omitzero"`    // when the move began that is under way
	Moves   int          `json:"moves,omitempty"`   // of parts of the budget, so far
	Met     bool         `json:"met,omitempty"`     // the prices were about the same at the last look
	Weighed bool         `json:"weighed,omitempty"` // the parts were once as the numbers of sources have them
}

// A Seat is that of one brain.
type Seat struct {
	Store   string        `json:"store,omitempty"` // of the brain that sits there; "" if none ever did
	Run     int64         `json:"run,omitempty"`   // how often somebody has sat down; only the last may speak
	Address string        `json:"address,omitempty"`
	Seen    time.Time     `json:"seen,omitzero"` // when it last spoke
	Sources int           `json:"sources,omitempty"`
	Wants   sched.Budget  `json:"wants,omitzero"`    // the whole budget, as the brain was told
	Longest time.Duration `json:"longest,omitempty"` // that a request of it can take
	Claim   Claim         `json:"claim,omitzero"`

	Part   float64      `json:"part"`             // polls in a stretch that it may make
	Goal   float64      `json:"goal"`             // that it may make when others have given up what they are to
	Was    float64      `json:"was,omitempty"`    // its part before the move that is under way, if it can be undone
	Uses   sched.Budget `json:"uses,omitzero"`    // it makes no more polls than that, by what it knows
	Unsure bool         `json:"unsure,omitempty"` // the table is an older copy: what the brain uses is not known
}

// A Report is what a brain says when it speaks.
type Report struct {
	Store   string
	Address string
	Sources int
	Wants   sched.Budget
	Longest time.Duration

	Run    int64        // that it was last; 0 if it never sat there
	Uses   sched.Budget // it makes no more polls than that; zero if it makes none
	Known  int64        // Version of the table that it has seen last; 0 if none
	Waited int64        // Version for which it has waited as it was told; 0 if for none

	Price float64
	Made  float64       // polls since it last spoke
	Given float64       // polls that it could have made since then
	Spoke time.Duration // so long ago; 0 if it has not spoken yet
}

// An Allowance is what a brain is told.
type Allowance struct {
	Part    sched.Budget // it may make so many polls from now on
	Whole   sched.Budget
	Version int64

	// Wait is how long the brain has to wait, from when it is first told this Version with a
	// Wait, until it may have more; 0 if it is to have no more.
	Wait time.Duration
}

// Reasons why a brain may not speak.
var (
	ErrUnseated = errors.New("another daemon speaks for this shard")
	ErrTaken    = errors.New("another store has this shard")
)

// How long the others wait for one that does not speak.
const (
	silence  = 2 * time.Minute  // until it gives and gets nothing
	patience = 10 * time.Minute // until what it was to do is undone, at least
)

// Check says why a budget cannot be divided between so many brains; nil if it can.
func Check(b sched.Budget, brains int) error {
	if b.Polls >= float64(brains) && b.Per > 0 {
		return nil
	}
	return &freshet.InvalidError{Field: "budget", Reason: fmt.Sprintf("%s is not enough for %d shards: each needs one poll in that time; count over a longer time, such as polls per hour instead of per minute", b, brains)}
}

// NewTable returns a table with seats for so many brains, all with the same part.
func NewTable(b sched.Budget, brains int, now time.Time) (*Table, error) {
	if err := Check(b, brains); err != nil {
		return nil, err
	}
	t := &Table{Budget: sched.Budget{Polls: b.Polls, Per: b.Per}, Seats: make([]Seat, brains), Version: 1, Since: now}
	for i, part := range Divide(b.Polls, slices.Repeat([]float64{1}, brains), true) {
		t.Seats[i].Part, t.Seats[i].Goal = part, part
	}
	return t, nil
}

// Sit takes a seat for a brain, which speaks as the run that is returned from now on. Only one
// brain at a time has a store, so one with the same store may sit down at once.
func (t *Table) Sit(number int, r Report, now time.Time) (run int64, a Allowance, err error) {
	s := &t.Seats[number-1]
	if s.Store != "" && s.Store != r.Store {
		return 0, a, ErrTaken
	}
	// What the run before made is counted by this one, which keeps to its part from the
	// beginning.
	if now := t.per(s.Part); r.Uses.Per != now.Per || r.Uses.Polls > now.Polls {
		r.Uses = now
	}
	t.compare(r)
	s.Run = max(s.Run, r.Run) + 1
	a, err = t.Tell(number, s.Run, r, now)
	return s.Run, a, err
}

// Tell takes in what a brain says, and returns what it may do.
func (t *Table) Tell(number int, run int64, r Report, now time.Time) (Allowance, error) {
	s := &t.Seats[number-1]
	if run < s.Run {
		return Allowance{}, ErrUnseated
	}
	t.compare(r)
	s.hear(run, r, now, t.instant())
	t.turn(now)
	if r.Waited == t.Version && s.Goal > s.Part {
		s.Part = s.Goal
		t.settle(now)
	}
	if s.Uses.Per != t.Budget.Per || s.Uses.Polls < s.Part {
		s.Uses = t.per(s.Part) // for it will, as soon as it hears of it
	}
	a := Allowance{Part: t.per(s.Part), Whole: t.Budget, Version: t.Version}
	if s.Goal > s.Part && t.quiet() {
		a.Wait = t.wait()
	}
	return a, nil
}

// hear takes in what a brain says of itself.
func (s *Seat) hear(run int64, r Report, now time.Time, instant time.Duration) {
	s.Store, s.Run, s.Address, s.Seen = r.Store, run, r.Address, now
	s.Sources, s.Wants, s.Longest, s.Uses = r.Sources, r.Wants, r.Longest, r.Uses
	s.Claim.Made += r.Made
	s.Claim.Given += r.Given
	s.Claim.Hear(r.Price, max(r.Spoke, time.Millisecond).Seconds()/instant.Seconds())
	if s.Unsure {
		s.Unsure = false
		s.Part = min(s.Part, r.Uses.Polls)
		s.Goal = s.Part
	}
}

// leap is by how much the version grows when the table was replaced by an older copy: past all
// that the other copies can have.
const leap = 1_000_000

// compare finds out again who uses what if a brain has seen a newer table than this one. Until a
// brain has spoken it is taken to use what it did, and then keeps to that, or to what is
// written here if that is less. A seat that nobody has in this copy may have been taken since.
func (t *Table) compare(r Report) {
	if r.Known <= t.Version {
		return
	}
	t.Version = r.Known + leap
	t.Began = time.Time{}
	for i := range t.Seats {
		s := &t.Seats[i]
		s.Unsure, s.Goal, s.Was = true, s.Part, 0
	}
}

// moving reports whether some part is not as it is to be.
func (t *Table) moving() bool { return !t.all(func(s Seat) bool { return s.Part == s.Goal }) }

// quiet reports whether all brains keep to their parts by now.
func (t *Table) quiet() bool {
	return t.all(func(s Seat) bool {
		return !s.Unsure && (s.Uses == sched.Budget{} || s.Uses.Per == t.Budget.Per && s.Uses.Polls <= s.Part)
	})
}

// goals returns what each is to have.
func (t *Table) goals() []float64 {
	goals := make([]float64, len(t.Seats))
	for i, s := range t.Seats {
		goals[i] = s.Goal
	}
	return goals
}

// Heard reports whether a brain sits there that has spoken of late.
func (s Seat) Heard(now time.Time) bool { return s.Store != "" && now.Sub(s.Seen) < silence }

// spare returns what nobody is to have.
func (t *Table) spare() float64 {
	left := t.Budget.Polls
	for _, s := range t.Seats {
		left -= s.Goal
	}
	return left
}

// wait returns how long it takes until nothing is seen any more of polls by a larger part: the
// longest request, and a whole stretch after it.
func (t *Table) wait() time.Duration {
	longest := time.Duration(0)
	for _, s := range t.Seats {
		longest = max(longest, s.Longest)
	}
	return t.Budget.Per + longest
}

// pause returns how long parts stay as they are. A brain that has more to spend polls the same
// sources as before, only sooner, and what a poll of them is worth has fallen when all have had
// their turn.
func (t *Table) pause() time.Duration {
	turn := time.Duration(float64(t.Budget.Per) * float64(t.sources()) / t.Budget.Polls)
	return max(Memory*t.instant(), min(turn, 7*freshet.Day))
}

// instant returns over what time one price is taken.
func (t *Table) instant() time.Duration { return min(t.Budget.Per, time.Hour) }

// sources returns how many there are in all.
func (t *Table) sources() (n int) {
	for _, s := range t.Seats {
		n += s.Sources
	}
	return n
}

// weights returns what each would have an equal part by: its sources, and one more, for a brain
// without any has to have something when the first comes.
func (t *Table) weights() []float64 {
	all := make([]float64, len(t.Seats))
	for i, s := range t.Seats {
		all[i] = float64(s.Sources + 1)
	}
	return all
}

func (t *Table) per(polls float64) sched.Budget { return sched.Budget{Polls: polls, Per: t.Budget.Per} }

func (t *Table) all(is func(Seat) bool) bool {
	return !slices.ContainsFunc(t.Seats, func(s Seat) bool { return !is(s) })
}

// Forget frees a seat whose store will not come back. Its part stays with it until somebody
// else sits there.
func (t *Table) Forget(number int) {
	s := &t.Seats[number-1]
	*s = Seat{Run: s.Run + 1, Part: s.Part, Goal: s.Part, Longest: s.Longest}
	t.Version++
}
