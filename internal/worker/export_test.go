package worker

import (
	"context"

	"freshet/internal/freshet"
)

// Speak returns what a new version says of other pages.
func Speak(ctx context.Context, o Task, kind freshet.Kind, body []byte) *freshet.Word {
	f := Result{kind: kind}
	f.readHints(ctx, &o, body, o.Source.URL)
	return f.Word
}
