package worker

import (
	"context"

	"freshet/internal/freshet"
)

// Speak returns what a new version says of other pages.
func Speak(ctx context.Context, o Order, kind freshet.Kind, body []byte) *freshet.Word {
	f := Finding{kind: kind}
	f.speak(ctx, &o, body, o.Source.URL)
	return f.Word
}
