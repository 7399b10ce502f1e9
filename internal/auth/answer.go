package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// A KeptAnswer is the answer to a request that wrote something, kept under the idempotency key
// of its client: a client that missed the answer can send the request again, and it is
// performed once.
type KeptAnswer struct {
	Key     freshet.Hash // of the client's key and its user
	Request freshet.Hash
	At      time.Time

	// Status is Performed as long as the answer is not known: it was being made, or its process
	// has died.
	Status int
	Header map[string]string
	Body   []byte
}

// Performed stands for the status of an answer to a request that was performed.
const Performed = 1

// Answer returns what is kept under a key, or ErrNotFound. What is older than oldest does not count.
func (s *Store) Answer(ctx context.Context, key freshet.Hash, oldest time.Time) (a KeptAnswer, err error) {
	err = s.db.Each(ctx, "looking for the answer to a request", "SELECT request, at, status, header, body FROM answers WHERE key = ?", []any{key[:]}, func(scan func(...any) error) error {
		var request []byte
		var at store.Moment
		var header string
		if err := scan(&request, &at, &a.Status, &header, &a.Body); err != nil {
			return err
		}
		a.Key, a.At = key, at.Time()
		copy(a.Request[:], request)
		if header == "" {
			return nil
		}
		return json.Unmarshal([]byte(header), &a.Header)
	})
	if err == nil && (a.Status == 0 || a.At.Before(oldest)) {
		err = fmt.Errorf("an answer: %w", freshet.ErrNotFound)
	}
	return a, err
}

// WithAnswer returns a context whose next write is committed together with the answer that answer makes
// of its result: after a crash either both are there or neither is.
func WithAnswer(ctx context.Context, answer func(result any) KeptAnswer) (context.Context, *store.Rider) {
	return store.WithRider(ctx, func(tx *store.Tx, result any) error { return putAnswer(tx, answer(result)) })
}

// KeepAnswer keeps the answer to a request. Answers that are older than oldest are deleted.
func (s *Store) KeepAnswer(ctx context.Context, a KeptAnswer, oldest time.Time) error {
	return s.db.Write(ctx, "keeping an answer", func(tx *store.Tx) error {
		if err := tx.Remove("answers", "at < ?", store.MomentOf(oldest).Value()); err != nil {
			return err
		}
		return putAnswer(tx, a)
	})
}

func putAnswer(tx *store.Tx, a KeptAnswer) error {
	header, err := json.Marshal(a.Header)
	if err != nil {
		return err
	}
	return tx.Put("answers", a.Key[:], a.Request[:], store.MomentOf(a.At).Value(), int64(a.Status), string(header), store.Blob(a.Body))
}
