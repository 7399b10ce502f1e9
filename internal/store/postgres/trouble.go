package postgres

import (
	"context"
	"log/slog"

	"freshet/internal/freshet"
)

// A trouble is logged when it begins and when it is over, and not at each attempt in between: a
// database can be away for hours.
type trouble struct {
	log         *slog.Logger
	level       slog.Level
	begun, over string

	on bool
}

// tell takes note of how it went: nil means well.
func (t *trouble) tell(ctx context.Context, err error) {
	switch was := t.on; {
	case err != nil && !was:
		t.on = true
		t.log.Log(ctx, t.level, t.begun, "err", err, "hint", freshet.HintOf(err))
	case err == nil && was:
		t.on = false
		t.log.InfoContext(ctx, t.over)
	}
}
