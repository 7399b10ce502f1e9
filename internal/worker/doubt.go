package worker

import (
	"context"
	"sync"

	"freshet/internal/extract/wrongpage"
	"freshet/internal/freshet"
)

// doubt decides what becomes of a capture that differs from the head, by what is held
// against it. What nothing speaks against is told. What is suspect is held until
// enough looks agree; then it is told as the change from the head to it. It reports
// whether that settles what becomes of it.
func (o *Order) doubt(ctx context.Context, f *Finding, seen wrongpage.Page) (settled bool) {
	switch {
	case o.Source.Suspect != freshet.HoldSuspects:
		return false
	case f.Suspect == "", f.Suspect == o.Head.Suspect, wrongpage.IsWall(o.Head.Suspect) && !wrongpage.Hides(f.Suspect):
		return o.behind(f, seen)
	}
	at := o.At.Add(f.Took)
	held, agrees := o.Head.Held, o.agrees(ctx, f)
	next := freshet.Held{Suspect: f.Suspect, Landed: f.Landed, Seen: at, Since: at, Looks: 1, Agreed: 1}
	if held.Number > 0 {
		next.Since, next.Looks = held.Since, held.Looks+1
	}
	if agrees {
		next.Seen, next.Agreed = held.Seen, held.Agreed+1
	}
	if wrongpage.Believed(next, at) {
		f.Suspect = ""
		return true
	}
	f.Result, f.Capture.Quiet = freshet.Doubted, freshet.QuietSuspect
	if agrees {
		f.Capture = nil // it is stored already, or as good as
	}
	f.LookAgain = wrongpage.LookAgain(next)
	if f.LookAgain > 0 {
		next.Again = at.Add(f.LookAgain)
	}
	f.Held, f.Moved, f.FreshFor, f.Foretold = next, o.Head.Moved, 0, nil
	return true
}

// behind decides what becomes of a capture that nothing speaks against which did not
// speak against the head. Where no look has ever seen more than a wall, the page behind
// it is first seen, and what else is odd about it is only marked, as in a first look. Another captcha is still no page; another form to log in may be
// what somebody watches.
func (o *Order) behind(f *Finding, seen wrongpage.Page) (settled bool) {
	wall := o.Head.Suspect
	switch {
	case !wrongpage.IsWall(wall):
		return false
	case f.Suspect != wall && !wrongpage.SaysTheSame(seen, wall):
		f.Result = freshet.First
	case wall == freshet.SuspectLogin:
		f.Suspect = wall
	default:
		f.Result, f.Suspect, f.Capture = freshet.Unchanged, wall, nil
	}
	return true
}

// agrees reports whether a capture is what is held, or nearly that.
func (o *Order) agrees(ctx context.Context, f *Finding) bool {
	held := o.Head.Held
	switch {
	case held.Number == 0 || held.Recipe != f.Capture.Recipe:
		return false
	case held.Hash == f.Capture.Hash:
		return true
	case held.Suspect != f.Suspect || o.HeldText == nil:
		return false
	}
	text, err := o.HeldText(ctx)
	return err == nil && wrongpage.Alike(text, f.Capture.Text)
}

// past returns what the head says, to hold a page against. It is nil if that cannot
// be read.
func (o *Order) past(ctx context.Context, s step) *wrongpage.Past {
	if s.unknown || wrongpage.IsWall(o.Head.Suspect) { // a wall says nothing of the page
		return nil
	}
	past := &wrongpage.Past{Text: s.base, Kept: s.delta.KeptBytes(s.base)}
	if read := o.BaseBody; read != nil {
		past.Body = sync.OnceValue(func() []byte { // only if something depends on it
			body, err := read(ctx)
			if err != nil {
				return nil
			}
			return body
		})
	}
	return past
}
