package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"freshet/internal/freshet"
)

// ClaimAnswer implements [freshet.AnswerStore].
func (s *Store) ClaimAnswer(ctx context.Context, a freshet.KeptAnswer, oldest time.Time) (kept freshet.KeptAnswer, err error) {
	var found bool
	err = s.write(ctx, "claiming the key of a request", func(b *batch) (err error) {
		if err := b.remove(&answersTable, "at < ?", momentOf(oldest).value()); err != nil {
			return err
		}
		if kept, found, err = b.answer(a.Key); err != nil || found {
			return err
		}
		return b.insert(&answersTable, a.Key[:], a.Request[:], momentOf(a.At).value(), int64(0), "", nil)
	})
	if err == nil && !found {
		err = fmt.Errorf("an answer: %w", freshet.ErrNotFound)
	}
	return kept, err
}

// KeepAnswer implements [freshet.AnswerStore].
func (s *Store) KeepAnswer(ctx context.Context, a freshet.KeptAnswer) error {
	header, err := json.Marshal(a.Header)
	if err != nil {
		return err
	}
	return s.write(ctx, "keeping an answer", func(b *batch) error {
		if a.Status == 0 {
			return b.remove(&answersTable, "key = ?", a.Key[:])
		}
		return b.put(&answersTable, a.Key[:], a.Request[:], momentOf(a.At).value(), int64(a.Status), string(header), blob(a.Body))
	})
}

// answer returns what is kept under a key.
func (b *batch) answer(key freshet.Hash) (a freshet.KeptAnswer, found bool, err error) {
	err = b.Query("SELECT request, at, status, header, body FROM answers WHERE key = ?", []driver.Value{key[:]}, func(v []driver.Value) error {
		a, found = freshet.KeptAnswer{Key: key}, true
		request, _ := v[0].([]byte)
		copy(a.Request[:], request)
		var at moment
		if err := at.Scan(v[1]); err != nil {
			return err
		}
		a.At = at.time()
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
