package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A pipe speaks the DevTools protocol with a browser: JSON messages that end with a
// zero byte. It keeps only the answers that a caller waits for, and ends when a message is
// too long.
type pipe struct {
	out  io.WriteCloser
	in   io.ReadCloser
	most int // bytes of a message

	// heard is called for each event, one after the other. It must not block.
	heard func(event)

	mu     sync.Mutex
	last   int64
	asked  map[int64]chan<- reply
	broken error         // why there is no answer any more
	ended  chan struct{} // closed then
}

// An event is something that the browser tells unasked.
type event struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// A reply is the answer to a command.
type reply struct {
	Result json.RawMessage
	Err    error
}

// A message is what comes over the pipe: a reply or an event.
type message struct {
	ID     int64           `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	event
}

var errLongMessage = errors.New("a message of the browser is too long")

func newPipe(out io.WriteCloser, in io.ReadCloser, most int, heard func(event)) *pipe {
	p := &pipe{out: out, in: in, most: most, heard: heard, asked: map[int64]chan<- reply{}, ended: make(chan struct{})}
	go p.listen()
	return p
}

// close ends the conversation.
func (p *pipe) close() {
	p.out.Close()
	p.in.Close()
}

// listen takes in what the browser says until it says no more.
func (p *pipe) listen() {
	from := bufio.NewReaderSize(p.in, 64<<10)
	for {
		text, err := p.next(from)
		var m message
		if err == nil {
			err = json.Unmarshal(text, &m)
		}
		if err != nil {
			p.end(err)
			return
		}
		if m.ID == 0 {
			p.heard(m.event)
			continue
		}
		r := reply{Result: m.Result}
		if m.Error != nil {
			r.Err = fmt.Errorf("%.300s", m.Error.Message)
		}
		p.mu.Lock()
		answer := p.asked[m.ID]
		delete(p.asked, m.ID)
		p.mu.Unlock()
		if answer != nil {
			answer <- r
		}
	}
}

// next returns the next message without its zero byte.
func (p *pipe) next(from *bufio.Reader) (text []byte, err error) {
	for {
		piece, err := from.ReadSlice(0)
		if len(text)+len(piece) > p.most {
			return nil, errLongMessage
		}
		text = append(text, piece...)
		switch {
		case err == nil:
			return text[:len(text)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// end gives everybody who waits an error.
func (p *pipe) end(err error) {
	if errors.Is(err, io.EOF) {
		err = errors.New("it ended unexpectedly")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = err
	for id, answer := range p.asked {
		answer <- reply{Err: err}
		delete(p.asked, id)
	}
	close(p.ended)
}

// call sends a command of a session and waits for its result.
func (p *pipe) call(ctx context.Context, session, method string, params, result any) error {
	answer := make(chan reply, 1)
	p.mu.Lock()
	if p.broken != nil {
		p.mu.Unlock()
		return p.broken
	}
	p.last++
	id := p.last
	p.asked[id] = answer
	command := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		command["sessionId"] = session
	}
	text, err := json.Marshal(command)
	if err == nil {
		_, err = p.out.Write(append(text, 0))
	}
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case r := <-answer:
		if r.Err == nil && result != nil {
			r.Err = json.Unmarshal(r.Result, result)
		}
		if r.Err != nil {
			return fmt.Errorf("%s: %w", method, r.Err)
		}
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		delete(p.asked, id)
		p.mu.Unlock()
		return context.Cause(ctx)
	}
}
