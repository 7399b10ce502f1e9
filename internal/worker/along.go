package worker

import (
	"errors"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// after returns the order as one for what another order brings: it was given then, and
// where the document has moved to is known from there.
func (o Order) after(first *Order) Order {
	o.At, o.Head.Moved = first.At, first.Head.Moved
	return o
}

// tells reports whether the end of a fetch says something about the document, and so
// about every source that watches it: it came, or its server is at fault.
func tells(err error) bool {
	if err == nil {
		return true
	}
	e, ok := errors.AsType[*freshet.FetchError](err)
	return ok && !e.Class.Ours() && !e.Class.Is(failure.Deferred) && !e.Class.Is(failure.Canceled) && !e.Class.Is(failure.Internal) && !e.Class.Is(failure.Robots)
}
