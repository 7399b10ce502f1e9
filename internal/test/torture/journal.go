package torture

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"sync"
)

// A journal is what a daemon wrote to its standard error: lines of JSON, and
// what a Go program says when it dies of a panic.
type journal struct {
	mu     sync.Mutex
	tail   []string // the last lines
	errors []string // lines of level ERROR that nobody has looked at
	strays []string // lines that are no entries of the log
}

// journalTail is how many lines are kept to show what led to a violation.
const journalTail = 40

func (j *journal) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		j.note(lines.Text())
	}
	io.Copy(io.Discard, r) // after a line that is too long
}

func (j *journal) note(line string) {
	var entry struct {
		Level string `json:"level"`
	}
	stray := json.Unmarshal([]byte(line), &entry) != nil
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.tail = append(j.tail, line); len(j.tail) > journalTail {
		j.tail = j.tail[1:]
	}
	switch {
	case stray:
		j.strays = append(j.strays, line)
	case entry.Level == "ERROR":
		j.errors = append(j.errors, line)
	}
}

// take returns the errors and stray lines since it was last called.
func (j *journal) take() (errors, strays []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	errors, strays = j.errors, j.strays
	j.errors, j.strays = nil, nil
	return errors, strays
}

// end returns the last lines.
func (j *journal) end() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.tail, "\n")
}
