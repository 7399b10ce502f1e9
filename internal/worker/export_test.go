package worker

import (
	"context"

	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/reading"
)

// Speak returns what a new version says of other pages.
func Speak(ctx context.Context, o Task, kind reading.Kind, body []byte) *evidence.IndexHint {
	f := Result{kind: kind}
	f.readHints(ctx, &o, body, o.Source.URL)
	return f.Word
}
