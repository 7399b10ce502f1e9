package app

import (
	"freshet/internal/app/config"
	"freshet/internal/sched"
)

// ownFiles is how many open files the daemon needs for itself: the store and its
// readers, the children that apply selectors, the listener, the log.
const ownFiles = 32

// shareFiles divides the open files that this process may have between the API
// and polls, beside what it needs itself.
func shareFiles(limit int) (api, polls int) {
	rest := max(limit-ownFiles, 8)
	api = min(rest/3, 1024)
	return api, rest - api
}

// fitFiles returns settings whose polls find a file each for their connection and
// their lookups, and for connections that are kept open.
func fitFiles(s config.Settings, limit int) config.Settings {
	if limit <= 0 {
		return s
	}
	_, polls := shareFiles(limit)
	workers := s.Limits.Workers
	if workers <= 0 {
		workers = sched.DefaultLimits().Workers
	}
	s.Limits.Workers = max(1, min(workers, polls/2))
	idle := max(1, polls/4)
	s.Limits.Slow = max(1, min(8*s.Limits.Workers, polls-idle-s.Limits.Workers))
	if s.Fetch.IdleConns == 0 && idle < 1024 {
		s.Fetch.IdleConns = idle
	}
	return s
}
