package extract

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/mask"
)

// A Trace is what one step made of a response.
type Trace struct {
	Step string        `json:"step"`
	Out  string        `json:"out"` // as text, cut if it is very long
	Took time.Duration `json:"took"`
}

// maxTrace is how many bytes of the result of a step a trace keeps.
const maxTrace = 1 << 20

// traced reads a response, and tells what each step made of it if that is wanted.
func (p program) traced(resp freshet.Response, wanted bool) (Reading, error) {
	if !wanted {
		return p.read(resp, nil)
	}
	steps := []Trace{}
	rd, err := p.read(resp, func(s step, v value, took time.Duration) {
		text, err := v.plain()
		if err != nil {
			text = []byte(err.Error())
		}
		steps = append(steps, Trace{Step: s.name, Out: mask.Shorten(string(text), maxTrace), Took: took})
	})
	rd.Steps = steps
	return rd, err
}

// largeBody is the size, in bytes, up to which patterns are run here.
const largeBody = 1 << 20

// needsFence reports whether reading a response may take so long, or so much
// memory, that it has to be done where it can be stopped.
func (p program) needsFence(resp freshet.Response) bool {
	if p.heavy || len(p.steps) > 0 && len(resp.Body) > largeBody {
		return true
	}
	kind := p.kind
	if kind == reading.Auto {
		kind, _ = kindOf(resp)
	}
	return kind == reading.PDF || isOffice(kind)
}

// blamed names what is at fault if reading takes too much.
func (p program) blamed() string {
	switch {
	case p.alone && len(p.steps) > 0:
		return "the selector"
	case len(p.steps) == 1:
		return p.steps[0].field
	case len(p.steps) > 1:
		return "the chain of steps in read"
	}
	return "reading the response"
}
