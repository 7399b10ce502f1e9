//go:build unix

package torture

import "strings"

// explained are the errors in the daemon's log that a fault explains, by words
// of the message.
var explained = map[Kind][]string{
	Reload: {"reload failed"},
	Hooks:  {"answered 410 Gone", "delivery given up"},
	Memory: {"too many large responses are being sent"},
	Full:   {"the data cannot be written", "disk is full", "database or disk is full", "could not be recorded"},
	Sync:   {"nothing more is written to this store", "disk I/O error"},
}

// checkLog wants no error in the log that no fault explains, and no panic.
func (e *episode) checkLog(l *life) {
	errors, strays := l.log.take()
	e.report.checked("log", 1)
	for _, line := range errors {
		if !e.explains(line) {
			e.violate("log", "an error that no fault explains: %s", line)
		}
	}
	for _, line := range strays {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.Contains(line, "DATA RACE") || strings.Contains(line, "goroutine ") {
			e.violate("panic", "%s", line)
		}
	}
}

// explains reports whether some fault of this episode explains an error: what
// one leaves behind can show up rounds later.
func (e *episode) explains(line string) bool {
	for _, words := range explained {
		for _, w := range words {
			if strings.Contains(line, w) {
				return true
			}
		}
	}
	return false
}
