package auth

import (
	"context"
	"database/sql/driver"
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

	// Status is zero as long as there is no answer: the request is under way, or its
	// process has died.
	Status int
	Header map[string]string
	Body   []byte
}

// ClaimAnswer notes that a request is about to be performed, and returns ErrNotFound: there is
// no answer yet. If its key is there already it changes nothing, and returns what is kept
// under it. Answers that are older than oldest are deleted first.
func (s *Store) ClaimAnswer(ctx context.Context, a KeptAnswer, oldest time.Time) (kept KeptAnswer, err error) {
	var found bool
	err = s.db.Write(ctx, "claiming the key of a request", func(tx *store.Tx) (err error) {
		if err := tx.Remove("answers", "at < ?", store.MomentOf(oldest).Value()); err != nil {
			return err
		}
		if kept, found, err = keptAnswer(tx, a.Key); err != nil || found {
			return err
		}
		return tx.Insert("answers", a.Key[:], a.Request[:], store.MomentOf(a.At).Value(), int64(0), "", nil)
	})
	if err == nil && !found {
		err = fmt.Errorf("an answer: %w", freshet.ErrNotFound)
	}
	return kept, err
}

// KeepAnswer keeps the answer to a request that was claimed. One without a status lets the key
// be claimed again.
func (s *Store) KeepAnswer(ctx context.Context, a KeptAnswer) error {
	header, err := json.Marshal(a.Header)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, "keeping an answer", func(tx *store.Tx) error {
		if a.Status == 0 {
			return tx.Remove("answers", "key = ?", a.Key[:])
		}
		return tx.Put("answers", a.Key[:], a.Request[:], store.MomentOf(a.At).Value(), int64(a.Status), string(header), store.Blob(a.Body))
	})
}

// keptAnswer returns what is kept under a key.
func keptAnswer(tx *store.Tx, key freshet.Hash) (a KeptAnswer, found bool, err error) {
	err = tx.Query("SELECT request, at, status, header, body FROM answers WHERE key = ?", []driver.Value{key[:]}, func(v []driver.Value) error {
		a, found = KeptAnswer{Key: key}, true
		request, _ := v[0].([]byte)
		copy(a.Request[:], request)
		var at store.Moment
		if err := at.Scan(v[1]); err != nil {
			return err
		}
		a.At = at.Time()
		status, _ := v[2].(int64)
		a.Status = int(status)
		body, _ := v[4].([]byte)
		a.Body = append(a.Body, body...)
		if header, _ := v[3].(string); header != "" {
			return json.Unmarshal([]byte(header), &a.Header)
		}
		return nil
	})
	return a, found, err
}
