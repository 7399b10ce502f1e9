package extract

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How a child ends that would have taken too much memory, or too much time.
const (
	exitMemory = 86
	exitTime   = 87
)

// Serve is the body of a child process of a [Reader]: it reads responses as it
// is asked to on in and answers on out, until in ends. If reading one takes
// more than memory bytes (0 means 256 MiB) or than the Reader asks for, or more
// processor time than it asks for, Serve ends the process: there is no other way to stop a
// selector.
func Serve(in io.Reader, out io.Writer, memory int64) error {
	if memory <= 0 {
		memory = defaultMemory
	}
	if _, err := io.WriteString(out, greeting); err != nil {
		return fmt.Errorf("greet the parent: %w", err)
	}
	for {
		var q question
		body, err := readMessage(in, &q)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		if q.Memory > 0 {
			memory = min(memory, q.Memory)
		}
		// Near the limit, rather collect garbage than count it as use.
		debug.SetMemoryLimit(memory - memory/4)
		done := make(chan struct{})
		go watch(done, memory, q.Timeout)
		a, text := answerOf(extractSafely(q, body))
		close(done)
		if err := writeMessage(out, a, text); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}

// extractSafely turns a panic of a parser into an error.
func extractSafely(q question, body []byte) (rd Reading, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fail(FailParse, "", "the parser failed: %v", p)
		}
	}()
	p, err := compile(q.Recipe)
	if err != nil {
		return Reading{}, err
	}
	return p.traced(q.response(body), q.Trace)
}

// watch ends the process if it takes too much memory or time before done is
// closed. The time is that of the processor where it can be asked for: a machine that
// is busy with others, or was suspended, says nothing about a selector.
func watch(done <-chan struct{}, memory int64, limit time.Duration) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	begin := time.Now()
	before, known := worked()
	use := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		metrics.Read(use)
		if int64(use[0].Value.Uint64()-use[1].Value.Uint64()) > memory {
			os.Exit(exitMemory)
		}
		took := time.Since(begin)
		if now, ok := worked(); known && ok {
			took = min(took, now-before) // several threads work at once when memory is tidied up
		}
		if limit > 0 && took > limit {
			os.Exit(exitTime)
		}
	}
}
