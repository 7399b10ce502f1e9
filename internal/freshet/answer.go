package freshet

import (
	"context"
	"time"
)

// A KeptAnswer is what a request that wrote something was answered with, kept under the
// key that its client gave it: so that the client can send it again if it did not hear the
// answer, and it is done once.
type KeptAnswer struct {
	Key     Hash // of the client's key, and of whoever gave it
	Request Hash // of what was asked for
	At      time.Time

	// Status is zero as long as there is no answer: the request is under way, or the
	// process that was at it has died.
	Status int
	Header map[string]string
	Body   []byte
}

// An AnswerStore keeps answers.
type AnswerStore interface {
	// ClaimAnswer notes that a request is about to be done, and returns ErrNotFound: there
	// is no answer yet. If its key is there already it changes nothing, and returns what is
	// kept under it. What is older than oldest is forgotten first.
	ClaimAnswer(ctx context.Context, a KeptAnswer, oldest time.Time) (KeptAnswer, error)

	// KeepAnswer keeps the answer of a request that was claimed; one without a status lets
	// the key be claimed again.
	KeepAnswer(ctx context.Context, a KeptAnswer) error
}
