package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// A KeptAnswer is the stored response to a request with an idempotency key. A client that missed
// the response can repeat the request, which is then performed at most once.
type KeptAnswer struct {
	Key     freshet.Hash // hash of the client's key and its user
	Request freshet.Hash
	At      time.Time

	// Status is Performed while the response is unknown: it is not complete, or its process has
	// died.
	Status int
	Header map[string]string
	Body   []byte
}

// Performed is the Status of a request that was performed and whose response is unknown.
const Performed = 1

// Answer returns the response stored under a key since oldest, or ErrNotFound.
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

// WithAnswer returns a context whose next write is committed together with the response that answer
// derives from its result.
func WithAnswer(ctx context.Context, answer func(result any) KeptAnswer) (context.Context, *store.Rider) {
	return store.WithRider(ctx, func(tx *store.Tx, result any) error { return putAnswer(tx, answer(result)) })
}

// KeepAnswer stores the response to a request and deletes responses older than oldest.
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
